"""Milestone 6: policies held against each other session by session, and the picture."""

from __future__ import annotations

import json
import random
import unittest
import xml.etree.ElementTree as ElementTree
from typing import Any

from mini_agent.compression.policies import ALWAYS, differing, find_policy
from mini_agent.lab.extremes import check_names
from mini_agent.lab.frontier import frontier_svg
from mini_agent.lab.labels import Label, Point, placed, text_width
from mini_agent.lab.panel import on_frontier
from mini_agent.lab.study import KNOWN, OURS, POLICIES, Pair, Study, difference
from mini_agent.lab.variants import VARIANTS, variant
from mini_agent.messages import Message

from .support import ROOT, FolderTest, command, scripted
from .test_m3_digest import session

SESSIONS = ROOT / "workspace" / "sessions"


def result(number: int, window: int = 1_000, **far: float | None) -> dict[str, Any]:
    """A session with this far recall under some policies, .5 under the others."""
    rows = [{"session": f"s{number}", "window": window, "policy": policy, "steps": 10,
             "far_recall": far.get(policy, .5), "far_in_context": (far.get(policy, .5) or .1) - .1,
             "recall": .9, "fresh": .5, "lines": None, "reach": .9,
             "cost": .4 + .1 * (policy in KNOWN),
             "summary_price": .2 * (policy == "tail_summary"), "summary_tokens": 0,
             "sent_tokens": 100, "prefix_breaks": 1.0, "over_window_steps": 0,
             "law_breaks": 0, "bill": None}
            for policy in ("none", *POLICIES)]
    return {"session": f"s{number}", "calls": 30, "tokens": 9 * window, "head": 10, "rows": rows}


class StudyTest(unittest.TestCase):
    """What a table of means does not say."""

    def setUp(self) -> None:
        self.study = Study([result(0, digest=.9, clip=.8, tail_summary=.85),
                            result(1, digest=.7, clip=.8, tail_summary=.6),
                            result(2, digest=.8, clip=.8, tail_summary=.8),
                            {**result(3, digest=.0), "calls": 3}])

    def test_the_best_known_policy_is_chosen_by_the_table(self) -> None:
        """Ours never are; a session that does not count is left out."""
        self.assertEqual(self.study.best_known(1_000, "far_recall"), "clip")
        self.assertEqual(self.study.cell(1_000, "digest")["sessions"], 3)
        self.assertTrue(set(OURS).isdisjoint(KNOWN))

    def test_pairs_are_of_one_session_each(self) -> None:
        """One better, one worse, one equal."""
        pairs = self.study.pairs(1_000, "digest", "clip", "far_recall")
        self.assertEqual(pairs, [Pair("s0", .9, .8), Pair("s1", .7, .8), Pair("s2", .8, .8)])
        self.assertRegex(difference(pairs), r"^[+-]0\.000 \[-0\.\d+ \+0\.\d+\], 1 session better, "
                                      r"1 worse, 1 equal$")

    def test_what_is_paid_includes_the_summaries(self) -> None:
        """Of the policies that keep nearly as much the cheapest comes first."""
        self.assertAlmostEqual(self.study.paid(1_000, "tail_summary"), .7)
        self.assertEqual(self.study.near(1_000), ["clip", "tail_summary"])

    def test_what_was_not_measured_is_in_no_pair_and_chosen_last(self) -> None:
        """A session without far evidence, a policy that has none, one that costs nothing; and of
        two windows each has its own."""
        bare = dict.fromkeys((*KNOWN, "digest"))
        study = Study([result(0, digest=.9, clip=.5), result(1, digest=.4, clip=None),
                       result(2, digest=None, clip=.4)])
        self.assertEqual([Pair("s0", .9, .5)],
                         study.pairs(1_000, "digest", "clip", "far_recall"))
        none = Study([result(0, **bare)])
        self.assertEqual(([], KNOWN[0], [*KNOWN]), (
            none.pairs(1_000, "digest", "clip", "far_recall"),
            none.best_known(1_000, "far_recall"), sorted(none.near(1_000),
                                                         key=KNOWN.index)))
        self.assertEqual([], [told for told in Study([result(0, 16_000, **bare)]).distances(16_000)
                              if told.startswith("digest ")])
        free = Study([{**whole, "rows": [{**row, "cost": None, "summary_price": None}
                                         for row in whole["rows"]]} for whole in [result(0)]])
        self.assertEqual(0, free.paid(1_000, "clip"))
        both = result(0, digest=.9)
        both["rows"] += result(0, 2_000, digest=.1)["rows"]
        self.assertEqual([.9, .1], [Study([both]).pairs(
            window, "digest", "clip", "far_recall")[0].ours for window in (1_000, 2_000)])

    def test_the_sentences_name_every_part(self) -> None:
        """Each variant, the negative results too."""
        said = "\n".join(self.study.sentences())
        for name in VARIANTS:
            self.assertIn(f"{name} (", said)
        self.assertIn("Window 1000, 3 sessions counted:", said)
        self.assertIn("digest costs 0.400; the cheapest known policy within ", said)
        self.assertIn("digest against clip, the known policy with the most far recall: ", said)
        alone = "\n".join(Study([result(0, digest=1.0)]).sentences())
        self.assertIn("digest costs 0.400; no known policy is within ", alone)

    def test_the_distance_to_the_prototype_has_the_interval_of_the_sessions_here(self) -> None:
        """The mean of the differences, where the prototype was measured at this window."""
        study = Study([result(0, 16_000, digest=.95), result(1, 16_000, digest=.89)])
        self.assertIn("digest 0.911, here +0.009 [-0.021 +0.039]",
                      list(study.distances(16_000)))
        self.assertEqual([], list(self.study.distances(1_000)))
        said = "\n".join(study.sentences())
        self.assertIn("far recall that a prototype measured on 39 sessions: published 0.656, "
                      "here -0.156 [-0.156 -0.156]; ", said)

    def test_the_picture_shows_ours_and_the_frontier_of_the_known(self) -> None:
        """Well-formed, the same bytes twice, a dot a policy; what is dominated has no name."""
        picture = frontier_svg(self.study)
        self.assertEqual(picture, frontier_svg(Study(self.study.results)))
        root = ElementTree.fromstring(picture)
        dots = root.findall(".//{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(dots), len(KNOWN) + len(OURS))
        self.assertEqual(on_frontier({"clip": (.5, .8), "layered": (.5, .7), "naive": (.4, .6),
                                      "twin": (.5, .8)}), ["naive", "clip", "twin"])


class LabelsTest(unittest.TestCase):
    """Names in a picture."""

    def placed(self, seed: int, names: int, dots: int) -> tuple[list[Label], list[Point]]:
        """Labels of the first of so many dots of chance."""
        chance = random.Random(seed)
        points = [Point(chance.uniform(0, 340), chance.uniform(0, 380)) for _ in range(dots)]
        named = [(chance.choice(KNOWN), dot) for dot in points[:names]]
        return placed(named, points, 340, 380), points

    def test_no_name_lies_on_another_on_a_dot_or_on_a_line(self) -> None:
        """A dozen names among thirty dots, all within the panel, the same each time."""
        for seed in range(8):
            labels, dots = self.placed(seed, 12, 30)
            if not seed:
                self.assertEqual(labels, self.placed(seed, 12, 30)[0])
            for at, label in enumerate(labels):
                self.assertFalse([dot for dot in dots if label.holds(dot)], seed)
                for other in labels[:at]:
                    self.assertFalse(label.meets(other), seed)
                    self.assertFalse(any(map(other.holds, label.line())), seed)
                self.assertTrue(0 <= label.x <= 340 - text_width(label.name))
                self.assertTrue(0 <= label.y <= 380)

    def test_a_name_stands_at_its_dot_where_there_is_room(self) -> None:
        """To the right; to the left at the right edge; below where a dot is in the way."""
        dot, right = Point(100, 100), Point(330, 100)
        for named, dots, x, y in ((dot, [dot], 112, 100),
                                  (right, [right], 318 - text_width("clip"), 100),
                                  (dot, [dot, Point(120, 100), Point(80, 100)], 112, 111)):
            label, = placed([("clip", named)], dots, 340, 380)
            self.assertEqual((x, y), (label.x, label.y))

    def test_where_nothing_is_free_it_stands_there_all_the_same(self) -> None:
        """In a panel full of dots."""
        dots = [Point(x, y) for x in range(0, 60, 5) for y in range(0, 60, 5)]
        self.assertEqual([Label("clip", dots[0], 12, 0)], placed([("clip", dots[0])], dots, 60, 60))

    def test_policies_with_one_dot_share_a_label(self) -> None:
        """Two of them are named, the others counted."""
        for best, expected in (({"clip": .9, "naive": .9}, "naive, clip"),
                               ({name: .9 for name in KNOWN[:9]},
                                f"{KNOWN[0]}, {KNOWN[1]} and 7 more")):
            root = ElementTree.fromstring(frontier_svg(Study([result(0, **best)])))
            names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn(expected, names)


class Script(FolderTest):
    """`make evidence`, over a folder with one session that counts."""

    def test_the_table_the_sentences_and_the_files_are_made(self) -> None:
        """A table with every policy, what it says of the digest, a picture and a page."""
        (self.folder / "sessions").mkdir()
        (self.folder / "sessions" / "one.json").write_text(
            json.dumps(openai_form(session(40))), encoding="utf-8")
        made = command("scripts/evidence.py", str(self.folder / "sessions"), "--windows", "3000",
                       "--jobs", "1", "--traces", str(self.folder / "traces"))
        self.assertEqual(made.returncode, 0, made.stderr)
        for name in POLICIES:
            self.assertRegex(made.stdout, rf"(?m)^{name} +1 ")
        self.assertIn("Window 3000, 1 session counted:", made.stdout)
        self.assertIn("\nHeld out:\n  it takes two sessions that count\n", made.stdout)
        self.assertIn("\nSecond halves of the sessions", made.stdout)
        self.assertIn("<svg", (self.folder / "traces" / "evidence.svg").read_text("utf-8"))
        page = (self.folder / "traces" / "evidence.html").read_text("utf-8")
        self.assertIn("digest_no_coverage", page)

    def test_where_no_session_counts_it_says_so(self) -> None:
        """One line and exit status 2."""
        (self.folder / "short.json").write_text(json.dumps(openai_form(session(3))), "utf-8")
        made = scripted("evidence", self.folder, "--traces", self.folder)
        self.assertEqual((made.returncode, made.stdout), (2, ""))
        self.assertRegex(made.stderr, r"\Amini-agent: .*no session counts.*; .*SESSIONS.*\n\Z")


class ShownDigests(unittest.TestCase):
    """The two digests that the documents show, one of them Chinese."""

    def test_they_are_what_the_script_prints(self) -> None:
        """The same bytes, from the shipped sessions."""
        for name, source, window in (("digest.txt", "rename.json", "3000"),
                                     ("digest-zh.txt", "log-review-zh.json", "1200")):
            made = scripted("show_digest", SESSIONS / source, "--window", window)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(made.stdout,
                             (ROOT / "traces" / "reference" / name).read_text("utf-8"))

    def test_where_all_fits_it_says_so(self) -> None:
        """One line and exit status 2."""
        made = scripted("show_digest", SESSIONS / "rename.json", "--window", "100000")
        self.assertEqual((made.returncode, made.stdout), (2, ""))
        self.assertIn("give a smaller --window", made.stderr)


def openai_form(messages: list[Message]) -> list[dict[str, Any]]:
    """These messages as a list in the form of the chat interface."""
    return [{**{key: value for key, value in message.items() if key in (
        "role", "content", "tool_call_id")}, **({"tool_calls": [
            {"id": made["id"], "type": "function", "function": {
                "name": made["name"], "arguments": json.dumps(made["arguments"])}}
            for made in message["tool_calls"]]} if "tool_calls" in message else {})}
            for message in messages]


class Variants(unittest.TestCase):
    """The digest with one part switched off."""

    def test_each_variant_differs_from_the_digest_in_one_thing(self) -> None:
        """A setting, or a rung more or less; the prototype's settings are three."""
        plain = find_policy("digest")
        for name in set(VARIANTS) - {"digest_prototype"}:
            made = variant(name)
            self.assertEqual(made.name, name)
            if len(made.ladder) == len(plain.ladder):
                self.assertNotEqual(made.ladder, plain.ladder)
                changed = [one for one, other in zip(made.ladder, plain.ladder) if one != other]
                self.assertLessEqual(len({rung.strategy.name for rung in changed}), 1)
            else:
                self.assertEqual(abs(len(made.ladder) - len(plain.ladder)), 1)
        self.assertFalse(any(rung.trigger == ALWAYS for rung in
                             variant("digest_no_admission").ladder))
        made = variant("digest_prototype")
        self.assertEqual(("65%", .0625, .4), (made.target, made.ladder[0].strategy.share,
                                              made.ladder[1].strategy.digest))

    def test_all_names_of_the_study_are_known(self) -> None:
        """The lab takes each of them, and each once."""
        check_names(POLICIES)
        self.assertEqual(len(set(POLICIES)), len(POLICIES))
        self.assertEqual(differing(find_policy("digest")), {})


if __name__ == "__main__":
    unittest.main()
