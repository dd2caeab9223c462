"""Milestone 2: the scripted session finds a bug, fixes it, and meets every failure once."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from mini_agent.messages import pairing_faults
from mini_agent.trace import Trace, read_trace
from scripts import drive_m2

FAILURES = ("UNKNOWN_TOOL", "INVALID_JSON", "BAD_ARGUMENTS", "FILE_NOT_FOUND", "BINARY_FILE",
            "NO_MATCH", "SEVERAL_MATCHES", "COMMAND_FAILED", "COMMAND_TIMEOUT",
            "COMMAND_NOT_ALLOWED", "TOOL_CRASHED")


class SessionTest(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.trace, cls.printed, cls.codes = cls.run_once("a.jsonl")

    @classmethod
    def run_once(cls, name: str) -> tuple[Trace, str, Counter[str]]:
        """The trace, what was printed, and the codes of one run."""
        path, printed = Path(cls.folder.name) / name, io.StringIO()
        with contextlib.redirect_stdout(printed):
            outcome, codes = drive_m2.drive(drive_m2.TASK, path)
        assert outcome.done, outcome
        return read_trace(path), printed.getvalue(), codes

    def test_every_kind_of_failure_is_shown_once(self) -> None:
        """A path outside is shown three times: upwards, absolute, and through a link."""
        wanted = Counter({code: 1 for code in FAILURES} | {"OUTSIDE_WORKSPACE": 3, "ok": 8})
        self.assertEqual(self.codes, wanted)
        for code in FAILURES:
            self.assertIn(f"\n      {code:20}", self.printed)

    def test_every_call_has_one_result_and_the_run_goes_on(self) -> None:
        """No failure ends the run; it ends with the final answer."""
        history = self.trace.messages()
        self.assertEqual(list(pairing_faults(history)), [])
        self.assertEqual(sum(message["role"] == "tool" for message in history), 22)
        self.assertEqual(next(self.trace.events("run_end"))["reason"], "final_answer")

    def test_the_bug_is_really_fixed(self) -> None:
        """The same command fails before the edit and succeeds after it."""
        tests = [message["content"] for message in self.trace.messages()
                 if message["role"] == "tool" and "Ran 7 tests" in message["content"]]
        self.assertEqual([text.split("\n")[0] for text in tests],
                         ["ERROR COMMAND_FAILED: exit=1", "exit=0"])
        self.assertTrue(tests[0].endswith("FAILED (failures=3)"))
        self.assertTrue(tests[1].endswith("OK"))

    def test_two_runs_differ_only_in_the_output_of_commands(self) -> None:
        """Everything that the harness and its own tools say is the same, byte for byte."""
        def fixed(trace: Trace) -> list[str]:
            return [json.dumps(record) for record in trace.records
                    if record.get("message", {}).get("name") != "run_command"
                    and record.get("event") != "tool_result"]
        again, _, _ = self.run_once("b.jsonl")
        self.assertEqual(fixed(again), fixed(self.trace))
        self.assertNotIn(tempfile.gettempdir(), json.dumps(self.trace.records))

    def test_a_wrong_task_file_is_one_line(self) -> None:
        """The driver's exit status is 2, and nothing is printed on standard output."""
        trace = Path(self.folder.name) / "c.jsonl"
        done = subprocess.run(
            [sys.executable, drive_m2.__file__, "--task", "missing.json", "--trace", str(trace)],
            capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
        self.assertFalse(trace.exists())


if __name__ == "__main__":
    unittest.main()
