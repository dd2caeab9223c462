"""Milestone 6: which policy a comparison advises, and why."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

from mini_agent.lab.printing import advice_of
from mini_agent.lab.verdict import UNMEASURED, Verdict, verdicts
from tests.labs import SAMPLES, mini_agent


def row(policy: str, far: float | None, cost: float | None, **more: Any) -> dict[str, Any]:
    """A row of one session."""
    return {"session": "s", "window": 900, "policy": policy, "steps": 10, "far_recall": far,
            "far_in_context": far, "recall": .9, "cost": cost, "summary_price": 0,
            "peak_tokens": 800, "bill": None, "over_window_steps": 0, "law_breaks": 0, **more}


def advised(*rows: dict[str, Any], unsound: frozenset[str] = frozenset()) -> Verdict:
    """The verdict on one session that does not fit by itself."""
    found, = verdicts([row("none", 0, 1, over_window_steps=4), *rows], (), set(unsound))
    return found


class VerdictTest(unittest.TestCase):
    """The rule, on rows that are made for it."""

    def taken(self, *rows: dict[str, Any], **more: Any) -> str:
        """The policy to take, "" for none."""
        found = advised(*rows, **more)
        return found.take["policy"] if found.take else ""

    def test_of_those_that_keep_nearly_the_most_the_cheapest_is_taken(self) -> None:
        """Within two points, by far recall and in context; summaries are paid in full."""
        most = row("a", .90, .8)
        self.assertEqual("b", self.taken(most, row("b", .88, .5)))
        self.assertEqual("a", self.taken(most, row("b", .879, .5)))
        self.assertEqual("a", self.taken(most, row("b", .95, .5, far_in_context=.8)))
        self.assertEqual("a", self.taken(most, row("b", .90, .5, summary_price=.4)))
        self.assertEqual("c", self.taken(most, row("b", .89, .5), row("c", .90, .5)))

    def test_what_breaks_a_law_or_the_window_is_not_advised(self) -> None:
        """By its own account, as measured, over the window; nor a bound or a part of ours."""
        sound = row("b", .5, .9)
        for better, more in ((row("a", .9, .5), {"unsound": frozenset("a")}),
                             (row("a", .9, .5, law_breaks=1), {}),
                             (row("a", .9, .5, over_window_steps=1), {}),
                             (row("oracle", .9, .5), {}), (row("digest_no_card", .9, .5), {})):
            with self.subTest(better, **more):
                self.assertEqual("b", self.taken(better, sound, **more))
        found = advised(row("a", .9, .5, law_breaks=1))
        self.assertEqual((None, "No policy here stays within the window and keeps the laws."),
                         (found.take, found.instead))

    def test_what_keeps_nothing_is_not_said_to_keep_the_most(self) -> None:
        """Where every policy forgets all that is used again, none is advised for it."""
        found = advised(row("a", .0, .5), row("b", .0, .4))
        self.assertEqual((None, "No policy here keeps anything of what is used again from far "
                                "back; try a larger window."), (found.take, found.instead))
        self.assertEqual("without compression 4 of 10 steps would not have fitted. "
                         f"{found.instead}",
                         found.said())
        self.assertEqual("a", self.taken(row("a", .0, .5, far_in_context=.1), row("b", .0, .4)))

    def test_the_sentences_name_both_sides_of_each(self) -> None:
        """What is taken, what keeps the most, what is cheapest; each once."""
        so = "without compression 4 of 10 steps would not have fitted."
        self.assertEqual(
            f"{so} Take b: it keeps nearly the most of what is used again, far recall 0.890, "
            "0.890 in context, at a cost of 0.60 (0.10 of it for summaries). Most is kept by a: "
            "far recall 0.900, 0.900 in context, at a cost of 0.80. The cheapest is c: far "
            "recall 0.100, 0.100 in context, at a cost of 0.20.",
            advised(row("a", .9, .8), row("b", .89, .5, summary_price=.1), row("c", .1, .2)).said())
        self.assertEqual(
            f"{so} Take *a*: it keeps the most of what is used again, far recall 0.900.",
            advised(row("a", .9, None, far_in_context=None)).said(lambda name: f"*{name}*"))

    def test_without_evidence_the_smallest_peak_is_named(self) -> None:
        """And where all of a session fits there is nothing to advise."""
        small = row("b", None, .6, peak_tokens=700)
        for first, more in (("Too little is used again to measure what is lost.", {}),
                            (UNMEASURED, {"recall": None})):
            self.assertIn(f"{first} b has the smallest peak, 700 tokens.",
                          advised(row("a", None, .5), small | more).said())
        found, = verdicts([row("none", 1, 1), row("a", .5, .5)], (), set())
        self.assertEqual("the whole session fits, its largest request has 800 tokens.",
                         found.said())

    def test_many_sessions_are_advised_on_by_their_means(self) -> None:
        """With their number and the interval; a step in a thousand over the window is none."""
        means = {"sessions": 8, "low": .8, "high": .95, "over_share": 0}
        found, empty, unmeasured = verdicts((), [
            row("a", .9, .5, **means | {"over_share": .004}),
            row("b", .95, .5, **means | {"over_share": .005}),
            row("a", None, None, **means | {"window": 999, "sessions": 0}),
            row("a", None, .5, **means | {"window": 1_000, "recall": None})], set())
        for count, said in ((5, "5 sessions"), (4, "only 4 sessions"), (1, "only 1 session")):
            few, = verdicts((), [row("a", None, .5, **means | {"sessions": count})], set())
            self.assertEqual((f"Window 900, {said}", "Too little is used again to measure what is "
                              "lost."), (str(few.where), few.said()))
        self.assertEqual("Window 900, 8 sessions", str(found.where))
        self.assertEqual("Take a: it keeps the most of what is used again, far recall 0.900 (0.800 "
                         "to 0.950), 0.900 in context, at a cost of 0.50.", found.said())
        self.assertEqual(
            ("Window 999", "no session is long enough for its evidence to count; "
             "try a smaller window."), (str(empty.where), empty.said()))
        self.assertEqual(("Window 1000, 8 sessions", UNMEASURED),
                         (str(unmeasured.where), unmeasured.said()))

    def test_of_many_sessions_too_only_what_may_ship_is_advised(self) -> None:
        """No bound, no part of ours, nothing that breaks a law by its account or as measured."""
        means = {"sessions": 8, "low": .8, "high": .95, "over_share": 0}
        found, = verdicts((), [row("none", 1, .1, **means), row("oracle", .9, .2, **means),
                               row("digest_no_card", .9, .2, **means), row("bad", .9, .2, **means),
                               row("wrong", .9, .2, **means | {"law_breaks": 1}),
                               row("a", .5, .5, **means)], {"bad"})
        self.assertEqual("a", found.take["policy"])

    def test_of_many_sessions_the_difference_is_taken_session_by_session(self) -> None:
        """To what keeps the most beside it: one that every session shows is none by chance."""
        def means(each: list[float | None]) -> dict[str, Any]:
            return {"sessions": 4, "low": .8, "high": .95, "over_share": 0, "each": each,
                    "over_steps": 0, "worst_session": "<b>"}
        for theirs, said in (
                ([.8, .7, .9, None], "+0.083 (+0.050 to +0.100), higher in 3 of 3 and lower in 0."),
                ([.8, .9, .9, .5], "+0.012 (-0.062 to +0.075), higher in 2 of 4 and lower in 1, "
                                   "which may be chance.")):
            found, = verdicts((), [row("a", .9, .5, **means([.9, .8, .95, .5])), row(
                "b", .8, .6, **means(theirs)), row("c", .7, .3, **means([.1, .1, .1, .1]))], set())
            self.assertIn(f"Session by session its far recall differs from that of *b* by {said} "
                          "It keeps the least in *<b>*, 0.500. The cheapest",
                          found.said("*{}*".format))

    def test_a_script_gets_what_the_sentences_say(self) -> None:
        """Who is taken, the difference and its interval, the worst session; None for what is not
        said."""
        def means(each: list[float | None], **more: Any) -> dict[str, Any]:
            return {"sessions": 4, "low": .8, "high": .95, "over_share": 0, "each": each,
                    "over_steps": 0, "worst_session": "<b>", **more}
        many, = verdicts((), [row("a", .9, .5, **means([.9, .8, .95, .5])), row(
            "b", .8, .6, **means([.8, .7, .9, None])), row("c", .7, .3, **means([.1] * 4))], set())
        told = advice_of(many)
        difference = told.pop("difference")
        assert difference is not None
        self.assertEqual(.0833, difference.pop("mean"))
        self.assertEqual({"policy": "b", "low": .05, "high": .1, "higher": 3, "lower": 0,
                          "sessions": 3, "may_be_chance": False}, difference)
        self.assertEqual({"window": 900, "session": "", "sessions": 4, "take": "a", "most": "a",
                          "cheapest": "c", "smallest": None, "over_steps": 0, "said": many.said(),
                          "worst": {"session": "<b>", "far_recall": .5}}, told)
        one = advice_of(advised(row("a", None, .5)))
        self.assertEqual(("s", 1, "a", [None] * 6), (
            one["session"], one["sessions"], one["smallest"],
            [one[key] for key in ("take", "most", "cheapest", "difference", "worst",
                                  "over_steps")]))

    def test_with_verdict_the_json_is_an_object_with_the_rows_as_ever(self) -> None:
        """And the means that are printed, and the verdicts; without --json it is wrong use."""
        call = "compare", SAMPLES, "--policy", "clip,published", "--window", "1500,2k"
        data = json.loads(mini_agent(*call, "--json", "--verdict")[1])
        self.assertEqual(["estimator", "rows", "means", "verdicts"], list(data))
        self.assertEqual(json.loads(mini_agent(*call, "--json")[1]), data["rows"])
        self.assertEqual([(window, policy) for window in (1500, 2000)
                          for policy in ("none", "clip", "published")],
                         [(row["window"], row["policy"]) for row in data["means"]])
        printed = " ".join(mini_agent(*call)[1].split())
        for found in data["verdicts"]:
            self.assertIn(f"Window {found['window']}, only {found['sessions']} session", printed)
            self.assertIn(found["said"], printed)
        alone = json.loads(mini_agent("compare", SAMPLES / "lesson.jsonl", *call[2:], "--json",
                                      "--verdict")[1])
        self.assertEqual(([], ["lesson.jsonl"] * 2), (
            alone["means"], [found["session"] for found in alone["verdicts"]]))
        status, out, err = mini_agent(*call, "--verdict")
        self.assertEqual((2, "", 1), (status, out, err.count("\n")))

    def test_one_that_nothing_else_comes_up_to_is_held_against_what_may_not_be_taken(self) -> None:
        """A policy in use that does not fit is what its user compares with; a bound is none."""
        def means(each: list[float], **more: Any) -> dict[str, Any]:
            return {"sessions": 2, "low": .8, "high": .95, "over_share": 0, "each": each,
                    "over_steps": 0, "worst_session": None, **more}
        found, = verdicts((), [row("none", .1, 1, **means([.1, .1])),
                               row("a", .9, .5, **means([.9, .9])),
                               row("b", .8, .6, **means([.8, .7], over_share=.2))], set())
        self.assertIn("from that of b by +0.150 (+0.100 to +0.200), higher in 2 of 2", found.said())

    def test_steps_that_did_not_fit_are_told_of_what_is_advised(self) -> None:
        """So few of many that the table says none; a session would have ended there."""
        means = {"sessions": 8, "low": .8, "high": .95, "over_share": .001, "over_steps": 2,
                 "each": [], "worst_session": None}
        found, = verdicts((), [row("a", .9, .5, **means)], set())
        self.assertTrue(found.said().endswith(
            "cost of 0.50. In 2 steps of all it did not fit: there a session would have ended."))

    def test_with_prices_the_bill_decides(self) -> None:
        """In place of the relative cost, which takes a cached token for a tenth of any."""
        found = advised(row("a", .9, .5, bill=2.0), row("b", .9, .8, bill=1.5))
        self.assertEqual("Take b: it keeps the most of what is used again, far recall 0.900, 0.900 "
                         "in context, at a bill of 1.5000.", found.said().partition("fitted. ")[2])

    def test_without_evidence_nothing_is_said_of_it(self) -> None:
        """`--no-evidence` measures none; that is not too little."""
        out = mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "clip,whole_rounds",
                         "--window", "1800", "--no-evidence")[1]
        self.assertIn(f"{UNMEASURED} whole_rounds has the smallest peak, 1619 tokens.",
                      " ".join(out.split()))

    def test_where_no_session_counts_there_is_no_table_but_a_word(self) -> None:
        """Of many sessions; a table of nothing but dashes would say less."""
        _, out, _ = mini_agent("compare", SAMPLES, "--policy", "none,clip", "--window", "2k,90k")
        self.assertEqual(["window 2000"], re.findall("^window [0-9]+", out, re.M))
        self.assertIn("Window 90000: no session is long enough", out)

    def test_sessions_too_short_for_a_mean_have_a_table_each(self) -> None:
        """As if each had been compared alone: what one asked for is shown."""
        names = SAMPLES / "lesson.jsonl", SAMPLES / "four-requests.jsonl"
        alone = [mini_agent("compare", name, "--policy", "clip", "--window", "1800")[1]
                 for name in names]
        (first, advice), (second, more) = [
            (out[:out.rindex("\n\n")], out[out.rindex("\n\n"):]) for out in alone]
        self.assertEqual(f"{first}\n\n{second}{advice[:-1]}{more}", mini_agent(
            "compare", *names, "--policy", "clip", "--window", "1800")[1])

    def test_facts_of_many_sessions_are_told_where_they_were_said(self) -> None:
        """Session by session, under the table of means."""
        out = mini_agent("compare", SAMPLES, "--policy", "clip", "--window", "1800", "--fact",
                         "AssertionError", "--fact", "never said")[1]
        self.assertIn("\nlesson.jsonl, window 1800\n  fact 'AssertionError': verbatim under none; "
                      "handle under clip\n", out)
        self.assertNotIn("never said", out)

    def test_compare_ends_with_it(self) -> None:
        """Under the table, in lines of at most 80 columns; `naive` is never the answer."""
        out = mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "naive,clip",
                         "--window", "1800")[1]
        last = out.rpartition("\n\n")[2]
        self.assertTrue(" ".join(last.split()).startswith(
            "lesson.jsonl, window 1800: without compression 3 of 8 steps would not have fitted. "
            "Take clip: it keeps the most of what is used again, far recall 1.000,"), last)
        self.assertLessEqual(max(map(len, last.splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
