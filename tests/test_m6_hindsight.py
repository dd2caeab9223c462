"""Milestone 6: a live run knows at its end what its views had forgotten."""

from __future__ import annotations

import unittest

from mini_agent.compression.policies import find_policy
from mini_agent.compression.state import WindowState
from mini_agent.held import own_evidence
from mini_agent.lab.measures import Tally
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Trial, replay
from mini_agent.messages import assistant, call, tool_result
from mini_agent.models.base import Reply
from mini_agent.tokens import estimator
from mini_agent.trace import read_trace

from .histories import Case
from .lawbook import live
from .sessions import Counter, Speaker, counting, started
from .support import FolderTest
from .test_m3_digest import session


class Hindsight(FolderTest):
    """The measure of the lab, taken of the run itself."""

    def test_it_is_what_the_lab_would_measure(self) -> None:
        """Folded from the records, under two policies, it equals the row of a replay."""
        messages = session(60, seed=5)
        for n in range(30):  # names that were read once, long ago
            query = {"query": f"name_{n}_0 name_{n}_2"}
            messages += [assistant("", [call(f"g{n}", "search", query)]),
                         tool_result(f"g{n}", "search", "found")]
        for policy in ("digest_minimal", "digest_lean"):
            case = Case(tuple(messages), policy=policy, window=1_500, estimate="runs")
            found = own_evidence(live(case).records, WindowState(estimator("runs")))
            recording = Recording("s", "test", messages, estimator("runs"))
            base, tally = Tally(recording), Tally(recording)
            replay(recording, [Trial(recording, find_policy(policy), 1_500, [tally])])
            row = tally.row(policy, 1_500, base)
            self.assertLess(found["far_recall"], 1)
            self.assertEqual(tally._means["far"].count, found["measured"])
            self.assertEqual([found[key] for key in ("far_recall", "far_in_context", "recall")],
                             [row[key] for key in ("far_recall", "far_in_context", "recall")])

    def test_a_live_session_that_compressed_records_it_at_its_end(self) -> None:
        """One record before `run_end`; a session that was never compressed has none."""
        for window, wanted in ((4_000, ["evidence", "run_end"]), (90_000, ["run_end"])):
            model = Speaker([*(counting(n) for n in range(30)), Reply("done")])
            folder = self.folder / str(window)
            folder.mkdir()
            made, file = started(folder, model, "Count.", window=window, policy="digest",
                                 extra=(Counter(),))
            with file:
                made.finish(made.turn("Count."))
            records = read_trace(made.path).records
            events = [record.get("event") for record in records]
            self.assertEqual([event for event in events if event in ("evidence", "run_end")],
                             wanted)
            self.assertEqual(events[-1], "run_end")
            if len(wanted) > 1:
                self.assertEqual(set(records[-2]["payload"]), {
                    "step", "measured", "far_recall", "far_in_context", "recall"})


if __name__ == "__main__":
    unittest.main()
