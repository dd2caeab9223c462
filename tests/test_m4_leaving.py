"""Milestone 4: no process is left, whatever the parent dies of. These tests look."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest
import uuid
from typing import Any

from mini_agent.audit import Line, audit
from mini_agent.messages import pairing_faults
from mini_agent.trace import Trace, read_trace

from .subagents import SubagentTest, delegate, running_with
from .support import ROOT, payloads

SLEEP = "python3 -c 'import time; time.sleep(600)'"
FEW_SECONDS = 60.0  # for a machine under load; it takes a few hundredths


@unittest.skipUnless(sys.platform == "linux", "looks into /proc")
class LeavingTest(SubagentTest):
    """A parent with two children, both busy with commands."""

    BUSY: dict[str, Any] = {
        "tool_calls": [{"name": "run_command", "arguments": {"command": SLEEP}}]}

    SEARCH: dict[str, Any] = {"tool_calls": [{"name": "search_text", "arguments": {
        "pattern": "(a+)+$", "regex": True}}]}  # takes for ever, in a process of its own

    def begin(self, *command: str) -> subprocess.Popen[str]:
        """The parent, once both commands are running."""
        child = {"replies": [self.SEARCH if command else self.BUSY]}
        (self.workspace / "a.txt").write_text("a" * 60 + "!", encoding="utf-8")
        order = delegate() if command else delegate(tools=["run_command"])
        task = self.write_task(replies=[{
            "tool_calls": [order] * 2,
            "children": {str(number): child for number in range(2)}}])
        self.trace = self.folder / "parent.jsonl"
        return self.start(["-m", "mini_agent", *(command or ["run"]), str(task), "--workspace",
                           str(self.workspace), "--trace", str(self.trace)], 5)

    def start(self, arguments: list[str], processes: int) -> subprocess.Popen[str]:
        """A program of Python, once so many processes have its mark."""
        self.mark = mark = f"NURSERY={uuid.uuid4()}"
        parent = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, text=True, stderr=subprocess.PIPE,
            env={**os.environ, "NURSERY": mark.partition("=")[2],
                 "TMPDIR": str(self.folder)}, process_group=0)  # who is killed leaves a folder
        self.addCleanup(self.wait_until, lambda: not running_with(mark), "something is left")
        self.addCleanup(lambda: parent.poll() is None and parent.kill())
        self.wait_until(lambda: len(running_with(mark)) == processes, "they do not come up")
        return parent

    def wait_until(self, true: object, what: str) -> None:
        """Look again and again, for a few seconds."""
        deadline = time.monotonic() + FEW_SECONDS
        while not true():  # type: ignore[operator]
            self.assertLess(time.monotonic(), deadline, f"{what}: {running_with(self.mark)}")
            time.sleep(0.03)

    def ended_by(self, number: int, to_group: bool = False) -> tuple[int, Trace]:
        """Send the parent a signal: its exit status and its trace, once nobody is left."""
        parent = self.begin()
        (os.killpg if to_group else os.kill)(parent.pid, number)
        _, errors = parent.communicate(timeout=FEW_SECONDS)
        self.assertNotIn("Traceback", errors)
        self.wait_until(lambda: not running_with(self.mark), "something is left")
        return parent.returncode, read_trace(self.trace)

    def test_ctrl_c(self) -> None:
        """Every child has an end record, every call a result, and the run an end."""
        self.ends_well(signal.SIGINT, to_group=True)

    def ends_well(self, number: int, to_group: bool = False) -> None:
        status, trace = self.ended_by(number, to_group)
        self.assertEqual(130, status)
        told = [record.get("event") or record["message"]["role"] for record in trace.records]
        self.assertEqual(["subagent_end"] * 2 + ["interrupted"] + ["tool_result", "tool"] * 2
                         + ["run_end"], told[-8:])
        self.assertEqual(["killed"] * 2, [
            told["status"] for told in payloads(trace.records, "subagent_end")])
        self.assertEqual([], list(pairing_faults(trace.messages())))

    def test_ctrl_c_in_a_live_session(self) -> None:
        """The same, where an interrupt is only let through while something is waited for."""
        parent = self.begin("chat", "go", "--yes", "--sub-agents", "--script")
        os.killpg(parent.pid, signal.SIGINT)
        _, errors = parent.communicate(timeout=FEW_SECONDS)
        self.assertNotIn("Traceback", errors)
        self.assertEqual(130, parent.returncode)
        self.wait_until(lambda: not running_with(self.mark), "something is left")
        records = read_trace(self.trace).records
        self.assertEqual([], list(audit([Line(*pair) for pair in enumerate(records, 1)])))
        self.assertEqual(["killed"] * 2, [
            told["status"] for told in payloads(records, "subagent_end")])

    def test_sigterm(self) -> None:
        """A parent that is told to leave: the same as Ctrl-C."""
        self.ends_well(signal.SIGTERM)

    def test_sigkill(self) -> None:
        """A parent that can do nothing any more: its children find out by their pipe."""
        status, _ = self.ended_by(signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, status)

    def test_a_child_that_is_killed_by_hand_leaves_nothing(self) -> None:
        """Its command goes with it, though it had no time to say so; the others go on."""
        parent = self.begin()
        child = min(pid for pid in running_with(self.mark) if pid != parent.pid)
        os.kill(child, signal.SIGKILL)
        self.wait_until(lambda: len(running_with(self.mark)) == 3, "its command is left")
        parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=FEW_SECONDS)

    def test_generations_leave_together(self) -> None:
        """A grandchild and its command go when its grandparent is killed, or its parent."""
        below = {"replies": [self.BUSY]}
        child = {"replies": [{"tool_calls": [delegate(tools=["run_command"])],
                              "children": {"0": below}}]}
        task = self.write_task(replies=[{
            "tool_calls": [delegate(tools=["delegate", "run_command"])], "children": {"0": child}}])
        for depth in (0, 1):
            with self.subTest(depth):
                parent = self.start(["-m", "mini_agent", "run", str(task), "--depth", "2",
                                     "--workspace", str(self.workspace)], 4)
                os.kill(sorted(running_with(self.mark))[depth], signal.SIGKILL)
                self.wait_until(lambda: len(running_with(self.mark)) <= depth, "something is left")
                parent.communicate(timeout=FEW_SECONDS)


if __name__ == "__main__":
    unittest.main()
