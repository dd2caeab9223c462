"""Milestone 5: `kill -9`, really, at random moments, and what is taken up again."""

from __future__ import annotations

import unittest

from .kill_child import SCENARIOS
from .kills import kill

LIVES = 3


class KilledForReal(unittest.TestCase):
    """Two hundred of them are in `make fuzz` (`tests/kills.py`)."""

    def test_whatever_was_at_work_nothing_is_lost_and_nothing_done_twice(self) -> None:
        """Results, commands, a summary, sub-agents: a session of each, killed and taken up
        again and again; each time the request that goes out is what the records determine."""
        names, kills = set(), 0
        for seed in range(len(SCENARIOS)):
            session = kill(seed, LIVES)
            names.add(session.name)
            kills += session.kills
        self.assertEqual(set(SCENARIOS), names)
        self.assertGreaterEqual(kills, len(SCENARIOS) * (LIVES - 1))


if __name__ == "__main__":
    unittest.main()
