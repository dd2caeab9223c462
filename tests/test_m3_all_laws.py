"""Milestone 3: the laws under every policy, every strategy alone, and ladders of several.

The same but for the ladders with settings, with 10,000 sessions each, is `make fuzz`.
"""

from __future__ import annotations

import math
import unittest

from mini_agent.compression.policies import STRATEGIES, policy_names

from .fuzz import HISTORIES, LADDERS, Verdict, case_of, names, options, try_all, turns
from .lawbook import broken_laws, live

SESSIONS = 40        # each; more of those that break laws, until they have
NAIVE_SESSIONS = 150


class AllLaws(unittest.TestCase):
    """No combination of what there is breaks a law that its policy does not name."""

    def test_every_policy_strategy_and_pipeline_keeps_the_laws(self) -> None:
        """A policy breaks only the laws that it says it breaks."""
        for name in [*names(), *LADDERS]:
            with self.subTest(name=name):
                self.assertEqual(try_all(name, range(SESSIONS)).fault, "")

    def test_a_policy_that_names_a_law_does_break_it(self) -> None:
        """Otherwise it would be slandering itself, and teach a lie."""
        broken = {}
        for name in policy_names():
            verdict = try_all(name, range(NAIVE_SESSIONS if name in ("naive", "keep_head") else 1))
            if verdict.allowed:
                broken[name] = (set(verdict.allowed), verdict.broken & set(verdict.allowed))
        self.assertEqual(sorted(broken), ["keep_head", "naive"])
        for name, (told, found) in broken.items():
            self.assertEqual(told, found, name)

    def test_a_smaller_window_moves_words_of_users_that_were_sent(self) -> None:
        """Behind handles, also under a policy that freezes; no law forbids it."""
        life = live(case_of("two_layer", 943_997_201))
        self.assertEqual([], list(broken_laws(life)))
        self.assertIn("user_share", [record["payload"]["strategy"] for record in life.records
                                     if record.get("event") == "context_compression"])

    def test_every_strategy_is_at_work_in_these_sessions(self) -> None:
        """Each makes changes among the seeds that are judged, or the judgement is empty."""
        for name in STRATEGIES.keys() - {"input_budget"}:  # which changes no message
            self.assertTrue(any(record.get("event") == "context_compression"
                                and record["payload"]["strategy"] == name
                                for seed in range(SESSIONS)
                                for record in live(case_of(f"+{name}", seed)).records), name)
        for name in LADDERS:
            changes = [record for seed in range(SESSIONS)
                       for record in live(case_of(name, seed)).records
                       if record.get("event") == "context_compression"]
            self.assertGreater(len(changes), 10, name)

    def test_the_sessions_meet_what_they_are_for(self) -> None:
        """Changes of both kinds, skips, overflows and long batches occur among the seeds."""
        lives = [live(case_of("aging, summary", seed)) for seed in range(SESSIONS)]
        events = {(record.get("event"), record.get("payload", {}).get("strategy"),
                   record.get("payload", {}).get("reason"))
                  for life in lives for record in life.records}
        for wanted in (("context_compression", "tool_result_aging", None),
                       ("context_compression", "rolling_summary", None),
                       ("compression_skipped", "tool_result_aging", "no_gain"),
                       ("compression_skipped", "rolling_summary", "failed"),
                       ("context_overflow", None, None)):
            self.assertIn(wanted, events)
        self.assertTrue(any(len(message.get("tool_calls", ())) == 7
                            for life in lives for message in life.case.messages))


class Fuzzing(unittest.TestCase):
    """What `make fuzz` is asked for, and what it tries."""

    def test_each_session_is_tried_once_from_each_seed(self) -> None:
        """In turns, until there are enough or the time is up."""
        parts = [part for turn in turns([0, 5_000], 250, math.inf) for part in turn]
        self.assertEqual(sorted(seed for part in parts for seed in part),
                         [*range(250), *range(5_000, 5_250)])
        self.assertEqual(list(turns([0], 250, -math.inf)), [])

    def test_a_time_without_seeds_draws_three(self) -> None:
        """Without a time it is 10,000 sessions of each name from seed 0, always the same."""
        plain, timed = options([]), options(["--minutes", "10"])
        self.assertEqual((plain.seeds, plain.histories, plain.minutes), ([0], HISTORIES, math.inf))
        self.assertEqual((len(set(timed.seeds)), timed.minutes), (3, 10))
        self.assertGreater(timed.histories, 10**9)
        chosen = options(["5", "none", "+recall", "--seeds", "7", "9"])
        self.assertEqual((chosen.histories, chosen.names, chosen.seeds),
                         (5, ["none", "+recall"], [7, 9]))

    def test_a_fault_is_told_before_anything_else(self) -> None:
        """A policy that does not break the law that it names has not held either."""
        self.assertEqual(Verdict("x", (4,), broken={4}).what, "holds")
        self.assertEqual(Verdict("x", (1, 4), broken={4}).what, "does not break law [1]")
        self.assertEqual(Verdict("x", (4,), fault="x, seed 3: law 2").what, "x, seed 3: law 2")


if __name__ == "__main__":
    unittest.main()
