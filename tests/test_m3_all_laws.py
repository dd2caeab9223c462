"""Milestone 3: the laws under every policy, every strategy alone, and random pipelines.

The same, with 10,000 sessions each, is `make fuzz`.
"""

from __future__ import annotations

import unittest

from mini_agent.compression.policies import STRATEGIES, policy_names

from .fuzz import case_of, names, try_all
from .lawbook import live

SESSIONS = 40        # each; more of those that break laws, until they have
NAIVE_SESSIONS = 300


class AllLaws(unittest.TestCase):
    """No combination of what there is breaks a law that its policy does not name."""

    def test_every_policy_strategy_and_pipeline_keeps_the_laws(self) -> None:
        """A policy breaks only the laws that it says it breaks."""
        for name in names():
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

    def test_every_strategy_is_at_work_in_these_sessions(self) -> None:
        """Each makes changes among the seeds that are judged, or the judgement is empty."""
        for name in STRATEGIES.keys() - {"input_budget"}:  # which changes no message
            applied = sum(record.get("event") == "context_compression"
                          and record["payload"]["strategy"] == name
                          for seed in range(SESSIONS)
                          for record in live(case_of(f"+{name}", seed)).records)
            self.assertGreater(applied, 0, name)


if __name__ == "__main__":
    unittest.main()
