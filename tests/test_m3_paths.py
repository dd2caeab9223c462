"""Milestone 3: the laws, under each path that needs no model, on random sessions."""

from __future__ import annotations

import unittest
from typing import Any

from mini_agent.compression.policies import find_policy

from .histories import Case, random_case
from .lawbook import broken_laws, live

POLICIES = ("whole_rounds", "snip_middle", "clip", "clip_errors", "clip_errors_summary",
            "clear_keep_3", "clear_keep_10", "recall", "lean_input")
SMALL = {"max_chars": 300, "batch_chars": 800, "preview_chars": 60}
LADDERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "offload by step": (("result_offload",), SMALL),
    "offload of the view, frozen": (("result_offload",),
                                    {**SMALL, "batch_scope": "view", "frozen": True}),
    "offload, clip, drop, frozen": (("result_offload", "tool_result_clipping", "sliding_window"),
                                    {**SMALL, "frozen": True}),
    "clip to two lines": (("tool_result_clipping",), {
        "keep_rounds": 0, "min_chars": 100, "line_chars": 40, "lines": 1}),
    "clip around errors": (("tool_result_clipping",), {
        "keep_rounds": 0, "keep": "errors", "min_chars": 100, "protect_last": 0}),
    "clear all": (("tool_result_clearing",), {"keep": 0}),
    "clear behind a tail, recall": (("tool_result_clearing", "recall"), {
        "keep": 1, "shorten_tail": False, "protect_last": 3}),
    "snip all": (("sliding_window",), {"variant": "snip_middle", "keep_first": 0,
                                       "protect_last": 0, "user_share": .1}),
    "rounds, few words of users": (("sliding_window",), {"user_share": .05, "protect_last": 1}),
    "recall to a target": (("recall",), {"target": "50%", "user_share": .1}),
    "four rungs": (("tool_result_clearing", "recall", "rolling_summary", "sliding_window"),
                   {"keep": 1, "target": "60%"}),
}


class Laws(unittest.TestCase):
    """Judged by the law book, which knows nothing of the strategies."""

    def hold(self, seed: int, **fixed: Any) -> int:
        """How many changes the case of this seed has; every law holds in it."""
        life = live(random_case(seed, **fixed))
        self.assertEqual(list(broken_laws(life)), [])
        return sum(record.get("event") == "context_compression" for record in life.records)

    def test_the_policies_keep_the_laws(self) -> None:
        """No law is broken on 40 random sessions each, and no change is refused."""
        for name in POLICIES:
            with self.subTest(name):
                self.assertGreater(sum(self.hold(seed, policy=name) for seed in range(40)), 20)

    def test_the_strategies_keep_the_laws_with_other_settings_and_together(self) -> None:
        """Tails, shares, targets, frozen decisions and mixed ladders, 40 sessions each."""
        for name, (ladder, settings) in LADDERS.items():
            with self.subTest(name):
                self.assertGreater(sum(
                    self.hold(seed, ladder=ladder, settings=tuple(settings.items()))
                    for seed in range(40)), 10)

    def test_the_naive_policies_break_the_laws_that_they_name_and_no_other(self) -> None:
        """Each law in `breaks` is seen broken; none beside them is."""
        for name in ("naive", "keep_head"):
            with self.subTest(name):
                cases: list[Case] = [random_case(seed, policy=name) for seed in range(80)]
                broken = {law for case in cases for law, _ in broken_laws(live(case))}
                self.assertEqual(broken, set(find_policy(name).breaks))
