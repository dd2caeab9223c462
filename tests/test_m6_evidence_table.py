"""Milestone 6: what is claimed of the digest, on recorded sessions (SESSIONS=FOLDER).

`make evidence SESSIONS=FOLDER` makes the whole table; here the strongest of the known
policies are replayed, so that the claims are held within seconds. The margins are below
what was measured, for sessions differ.
"""

from __future__ import annotations

import os
import unittest

from mini_agent.lab.compare import Plan, file_results
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.sources import Source, find_sources
from mini_agent.lab.study import CONTEXT, FAR, Study
from mini_agent.errors import UsageError
from mini_agent.messages import calls_of

WINDOWS = (16_000, 32_000)
KNOWN = ("clip_errors", "clip_errors_summary", "segmented", "reserve_16k")
OURS = ("digest", "digest_no_coverage", "bag_of_words")
SMALL = 40_000  # bytes; a file below has no session that counts


def long_enough(source: Source) -> bool:
    """Whether a file has a session that may count, by a look that costs little."""
    if source.size < SMALL:
        return False
    try:
        sessions = open_sessions(source.path)
    except UsageError:
        return False
    return any(sum(len(calls_of(message)) for message in session.messages) >= 20
               and sum(len(message["content"]) for message in session.messages) > 40_000
               for session in sessions)


@unittest.skipUnless(os.environ.get("SESSIONS"), "no recorded sessions: give SESSIONS=FOLDER")
class Claims(unittest.TestCase):
    """Measured once for all claims."""

    study: Study

    @classmethod
    def setUpClass(cls) -> None:
        plan = Plan((*KNOWN, *OURS), WINDOWS)
        sources = filter(long_enough, find_sources([os.environ["SESSIONS"]]))
        cls.study = Study([found for source in sources for found in file_results(source, plan)
                           if "rows" in found], KNOWN)

    def gain(self, window: int, measure: str) -> float:
        """The digest's mean over that of the best known policy for this measure."""
        best = self.study.best_known(window, measure)
        return (self.study.cell(window, "digest")[measure]
                - self.study.cell(window, best)[measure])

    def test_sessions_count(self) -> None:
        """There is something to measure at each window."""
        self.assertEqual(self.study.windows, list(WINDOWS))

    def test_the_digest_keeps_more_than_the_best_known_policy(self) -> None:
        """5 points more far recall at 16k and 3 at 32k, with its context too."""
        for measure in (FAR, CONTEXT):
            self.assertGreater(self.gain(16_000, measure), .05, measure)
            self.assertGreater(self.gain(32_000, measure), .03, measure)

    def test_no_known_policy_that_keeps_nearly_as_much_is_cheaper(self) -> None:
        """Within 10 points of its far recall every one costs more."""
        for window in WINDOWS:
            for name in self.study.near(window):
                self.assertGreater(self.study.paid(window, name),
                                   self.study.paid(window, "digest"), name)

    def test_the_prefix_is_broken_rarely(self) -> None:
        """At most 6 times in 100 steps at 16k."""
        self.assertLessEqual(self.study.cell(16_000, "digest")["prefix_breaks"], 6)

    def test_no_step_is_over_the_window_but_for_what_nothing_can_shorten(self) -> None:
        """At most one step in 100 of a session: where the model itself wrote too much."""
        for window in WINDOWS:
            self.assertLessEqual(self.study.cell(window, "digest")["over_share"], .01)

    def test_no_law_is_broken(self) -> None:
        """In no session at any window."""
        for result in self.study.results:
            for row in result["rows"]:
                if row["policy"] == "digest":
                    self.assertEqual(row["law_breaks"], 0, row["session"])

    def test_the_measure_is_not_gamed(self) -> None:
        """A bag of words has the far recall of a digest, and loses in context."""
        for window in WINDOWS:
            bag, ours = (self.study.cell(window, name) for name in ("bag_of_words", "digest"))
            self.assertGreater(ours[CONTEXT] - bag[CONTEXT], .1)
            self.assertLess(ours[FAR] - ours[CONTEXT], .01)

    def test_coverage_is_what_makes_it(self) -> None:
        """Without "not held so far" it forgets more."""
        self.assertGreater(self.study.cell(16_000, "digest")[FAR]
                           - self.study.cell(16_000, "digest_no_coverage")[FAR], .02)


if __name__ == "__main__":
    unittest.main()
