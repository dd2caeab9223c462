"""Milestone 2: the scripted session finds a bug, fixes it, and meets every failure once."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from mini_agent.messages import pairing_faults
from mini_agent.trace import Trace, read_trace

from .support import command

FAILURES = ("UNKNOWN_TOOL", "INVALID_JSON", "BAD_ARGUMENTS", "FILE_NOT_FOUND", "BINARY_FILE",
            "NO_MATCH", "SEVERAL_MATCHES", "COMMAND_FAILED", "COMMAND_TIMEOUT",
            "COMMAND_NOT_ALLOWED", "TOOL_CRASHED")


def drive(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`scripts/drive_m2.py` as a user runs it."""
    return command("scripts/drive_m2.py", "--traces", folder, *arguments)


class SessionTest(unittest.TestCase):
    """One run for all of these tests; it takes a second."""

    printed: str
    trace: Trace

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        done = drive(folder)
        assert done.returncode == 0 and not done.stderr, done
        cls.printed = done.stdout
        cls.trace = read_trace(Path(folder) / "m2-trace.jsonl")

    def test_every_kind_of_failure_is_shown_once(self) -> None:
        """A path outside is shown three times: upwards, absolute, and through a link."""
        wanted = Counter({code: 1 for code in FAILURES} | {"OUTSIDE_WORKSPACE": 3, "ok": 8})
        codes = Counter(result["code"] or "ok" for result in self.trace.events("tool_result"))
        self.assertEqual(codes, wanted)
        for code, count in wanted.items():
            self.assertEqual(self.printed.count(f"\n      {code:20}"), count, code)
        self.assertTrue(self.printed.endswith(
            "\n22 calls: 8 ok, 14 failed with 12 codes, each answered\nthe run ended with "
            "final_answer\n"))

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
        with tempfile.TemporaryDirectory() as folder:
            drive(folder)
            self.assertEqual(fixed(read_trace(Path(folder) / "m2-trace.jsonl")), fixed(self.trace))
        self.assertNotIn(tempfile.gettempdir(), json.dumps(self.trace.records))

    def test_a_wrong_task_file_is_one_line(self) -> None:
        """The driver's exit status is 2, nothing is printed and nothing written."""
        with tempfile.TemporaryDirectory() as folder:
            done = drive(folder, "--task", "missing.json")
            self.assertEqual(list(Path(folder).iterdir()), [])
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
