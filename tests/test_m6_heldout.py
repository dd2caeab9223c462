"""Milestone 6: settings measured on sessions they were not chosen on, and half sessions."""

from __future__ import annotations

import random
import unittest
from dataclasses import replace
from typing import Any

from mini_agent.compression.policies import find_policy
from mini_agent.lab.compare import Plan, result_of
from mini_agent.lab.extremes import check_names
from mini_agent.lab.recording import second_half
from mini_agent.lab.heldout import SHIPPED, HeldOut, second_halves
from mini_agent.lab.sessions import LogSession
from mini_agent.lab.sources import Source
from mini_agent.lab.study import KNOWN, POLICIES, Study
from mini_agent.lab.variants import GRID, variant
from mini_agent.messages import pairing_faults

from .histories import random_messages
from .support import ROOT
from .test_m3_digest import session

OTHER = "digest_65_40_6.25"


def result(number: int, window: int = 1_000, **context: float) -> dict[str, Any]:
    """A session that keeps this in context under some policies, .5 under the others; the
    settings that ship cost most."""
    rows = [{"session": f"s{number}", "window": window, "policy": policy, "steps": 10,
             "far_recall": .9, "far_in_context": context.get(policy, .5),
             "recall": .9, "fresh": .5, "lines": None, "reach": .9,
             "cost": .4 + .1 * (policy == SHIPPED),
             "summary_price": .0, "summary_tokens": 0, "sent_tokens": 100, "prefix_breaks": 1.0,
             "bill": None, "over_window_steps": 0, "law_breaks": 0}
            for policy in ("none", *POLICIES, *GRID)]
    return {"session": f"s{number}", "calls": 30, "tokens": 9 * window, "head": 10, "rows": rows}


class LeftOut(unittest.TestCase):
    """Each session gets the settings that are best on the others."""

    def test_a_session_has_no_say_in_its_own_settings(self) -> None:
        """What is best on one alone is taken for the others, and not for it."""
        results = [result(0, **{OTHER: 1.0, SHIPPED: .2}), result(1, **{SHIPPED: .7}),
                   result(2, **{SHIPPED: .7})]
        held = HeldOut(results)
        self.assertEqual(held.chosen, {"s0": SHIPPED, "s1": OTHER, "s2": OTHER})
        for rows, expected in ((held.held_out(1_000), {"s0": .2, "s1": .5, "s2": .5}),
                               (held.shipped(1_000), {"s0": .2, "s1": .7, "s2": .7})):
            self.assertEqual({name: row["far_in_context"] for name, row in rows.items()}, expected)

    def test_of_equal_settings_the_cheapest_is_chosen(self) -> None:
        """All keep the same here; those that ship cost more."""
        self.assertNotIn(SHIPPED, HeldOut([result(n) for n in range(3)]).chosen.values())

    def test_only_sessions_that_count_have_a_say(self) -> None:
        """Too few calls, and a session is neither measured nor asked."""
        short = {**result(2, **{OTHER: 1.0}), "calls": 3}
        held = HeldOut([result(0, **{SHIPPED: .7}), result(1, **{SHIPPED: .7}), short])
        self.assertEqual(held.chosen, {"s0": SHIPPED, "s1": SHIPPED})

    def test_the_sentences_have_both_figures_and_the_best_known_policy(self) -> None:
        """Held out, as shipped, and the distance session by session."""
        results = [result(n, digest=.7, clip=.6, **{SHIPPED: .7}) for n in range(2)]
        said = list(HeldOut(results).sentences(Study(results)))
        self.assertRegex(said[0], r"^Held out, .* of 8; so many times: 75_50_10 2:$")
        self.assertEqual(said[1:], [
            "window 1000, held out: 0.700 [0.700 0.700] in context, 0.900 far recall, 0.500 cost",
            "window 1000, as shipped, 75_50_10: 0.700 [0.700 0.700] in context, 0.900 far "
            "recall, 0.500 cost",
            "window 1000, held out against clip in context: +0.100 [+0.100 +0.100], 2 sessions "
            "better, 0 worse, 0 equal"])
        alone = list(HeldOut(results[:1]).sentences(Study(results[:1])))
        self.assertEqual(alone, ["Held out:", "it takes two sessions that count"])

    def test_the_settings_that_ship_are_in_the_grid(self) -> None:
        """`digest` under another name; the lab knows all of them."""
        plain = find_policy("digest")
        self.assertEqual(plain, replace(variant(SHIPPED), name=plain.name, source=plain.source,
                                        about=plain.about))
        check_names(tuple(GRID))

    def test_on_the_recorded_sessions_those_that_ship_are_chosen_for_each(self) -> None:
        """As the README says of the reference table."""
        told = (ROOT / "traces/reference/evidence.txt").read_text("utf-8")
        self.assertRegex(told, r"\nHeld out, .*; so many times: 75_50_10 \d+:\n")


class Halves(unittest.TestCase):
    """The second half of a session is a session."""

    def test_a_second_half_begins_with_the_task_and_tears_no_call_from_its_result(self) -> None:
        """On random sessions: the opening, then an unbroken end that begins with a call."""
        for seed in range(200):
            messages = list(random_messages(random.Random(seed)))
            half = second_half(messages)
            opening = next((at + 1 for at, message in enumerate(messages)
                            if message["role"] == "user"), 0)
            rest = half[opening:]
            self.assertEqual(half[:opening], messages[:opening])
            self.assertEqual(rest, messages[len(messages) - len(rest):])
            self.assertLessEqual(len(rest), len(messages) - len(messages) // 2)
            if rest:
                self.assertEqual(rest[0]["role"], "assistant")
            self.assertEqual(list(pairing_faults(half)), [])

    def test_half_a_session_is_replayed_where_a_plan_asks_for_it(self) -> None:
        """Fewer calls and tokens, and sentences about the known policies."""
        whole = LogSession("made", "trace", session(40))
        source = Source(0, "made", "made", 1, True)
        full, half = (result_of(whole, source, Plan((*KNOWN, "digest"), (2_000,), half=half),
                                lambda _: None) for half in (False, True))
        self.assertEqual((full["calls"], half["calls"]), (40, 20))
        self.assertLess(half["tokens"], full["tokens"])
        self.assertEqual(list(second_halves(Study([])))[1:], ["none counts at these windows"])
        said = list(second_halves(Study([half])))
        self.assertRegex(said[1], r"^window 2000, 1 count: digest [01]\.\d{3} in context, ")
        self.assertRegex(said[2], r"^window 2000, digest against \w+ in context: [+-]")


if __name__ == "__main__":
    unittest.main()
