"""Milestone 5: `kill -9`, really, at random moments, and what is taken up again."""

from __future__ import annotations

import unittest

from .kill_child import SCENARIOS
from .kills import kill

LIVES, SEEDS = 2, 80


class KilledForReal(unittest.TestCase):
    """Two hundred of them are in `make fuzz` (`tests/kills.py`)."""

    def test_whatever_was_at_work_nothing_is_lost_and_nothing_done_twice(self) -> None:
        """Results, commands, a summary, sub-agents: a session of each, killed and taken up
        again and again; each time the request that goes out is what the records determine."""
        killed, seed = dict.fromkeys(SCENARIOS, 0), 0
        while not all(killed.values()):  # one may be done before it is killed: then another seed
            self.assertLess(seed, SEEDS, killed)
            session = kill(seed, LIVES)
            killed[session.name] += session.kills
            seed += 1


if __name__ == "__main__":
    unittest.main()
