"""All milestones: Ctrl-C in the demos and in `make fuzz`, as real processes get it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from mini_agent.trace import read_trace
from tests.support import ROOT, FolderTest, command, is_gone, listening

SLEEP = {"tool_calls": [{"name": "run_command", "arguments": {"command": "sleep 60"}}]}
PATIENCE = 120  # seconds until a test is given up


class CtrlCTest(FolderTest):
    """A process in a session of its own, which gets what a terminal would send."""

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """Python with these arguments; what it throws away is in `self.folder`."""
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, encoding="utf-8",
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, preexec_fn=listening,
                                   env={**os.environ, "TMPDIR": str(self.folder)})
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def ended(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Exit status and standard error behind a Ctrl-C; nothing is left behind."""
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
        self.assertTrue(is_gone(process.pid))
        self.assertEqual([], list(self.folder.glob("mini-agent-*")))
        return process.returncode, said


class DemosTest(CtrlCTest):
    """`scripts/drive_*.py`."""

    def test_the_trace_of_a_demo_that_is_interrupted_has_its_end(self) -> None:
        """An answer for the call that is open, the last record, one line, status 130."""
        task = self.write_task(replies=[SLEEP, {"content": "done"}])
        for script, trace in (("drive_m1", "m1-trace"), ("drive_m2", "m2-trace"),
                              ("drive_m3", "m3-trace"), ("drive_m3_paths", "m3-path-none"),
                              ("drive_m4", "m4-one")):
            with self.subTest(script):
                path = self.folder / f"{trace}.jsonl"
                process = self.started(f"scripts/{script}.py", "--task", str(task), "--traces",
                                       str(self.folder))
                self.wait_for('"event": "tool_call"', path)
                self.assertEqual((130, "mini-agent: interrupted\n"), self.ended(process))
                records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
                self.assertEqual(("run_end", "interrupted"), (
                    records[-1]["event"], records[-1]["payload"]["reason"]))
                self.assertEqual(["INTERRUPTED"], [record["message"]["error"]["code"] for record in
                                                   records if "error" in record.get("message", {})])

    def test_what_a_command_has_said_so_far_is_its_result(self) -> None:
        """The model and the record have it, marked as interrupted; and which protected files it
        has changed."""
        path = self.folder / "trace.jsonl"
        task = self.write_task(pins=[{"text": "Leave it.", "protect": "begun"}], replies=[
            {"tool_calls": [{"name": "run_command", "arguments": {
                "command": "python3 begin.py"}}] * 2}])
        (self.folder / "begin.py").write_text("import time\nprint('so far', flush=True)\n"
                                              "open('begun', 'w').write('begun')\n"
                                              "time.sleep(60)\n", encoding="utf-8")
        process = self.started("-m", "mini_agent", "run", str(task), "--workspace",
                               str(self.folder), "--trace", str(path))
        self.wait_for("begun", self.folder / "begun")
        self.assertEqual((130, "mini-agent: interrupted\n"), self.ended(process))
        said = "ERROR INTERRUPTED: interrupted by the user before it was finished"
        results = [record["message"]["content"] for record in read_trace(path).records
                   if record.get("message", {}).get("role") == "tool"]
        self.assertTrue(results[0].startswith(
            f"{said}\n[this command changed 1 protected file: begun]\nso far\n"), results)
        self.assertEqual(said, results[1])

    def wait_for(self, text: str, path: Path) -> None:
        """Until this stands in the file."""
        end = time.monotonic() + PATIENCE
        while not path.exists() or text not in path.read_text("utf-8"):
            self.assertLess(time.monotonic(), end, f"{text} never came")
            time.sleep(.01)


# A program that presses Ctrl-C itself when it loads so many modules behind the first of ours.
PRESSING = """
import os, runpy, signal, sys
class Presser:
    first, left, begun = sys.argv[1], int(sys.argv[2]), False
    def find_spec(self, name, path=None, target=None):
        self.left -= self.begun
        if self.begun and self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        self.begun = self.begun or name == self.first
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Presser())
way, sys.argv = sys.argv[3], sys.argv[4:]
sys.path[0] = os.path.dirname(sys.argv[0])
if way == "-m":
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


class LoadingTest(CtrlCTest):
    """Ctrl-C before a program has begun its work: a person who thinks better of it."""

    def pressed(self, count: int, first: str, *words: str) -> tuple[int, str]:
        """Exit status and standard error: Ctrl-C at so many imports behind that of `first`."""
        done = command("-S", "-c", PRESSING, first, str(count), *words)
        return done.returncode, done.stderr

    def test_it_is_one_line_at_any_import(self) -> None:
        """Of the program and of a demo, until all is loaded."""
        for first, *words in (("mini_agent.__main__", "-m", "mini_agent", "tokens", "README.md"),
                              ("ctrl_c", "", "scripts/drive_m1.py", "--traces", str(self.folder))):
            count, statuses = 1, []
            while not statuses or statuses[-1] != 0:
                status, told = self.pressed(count, first, *words)
                statuses.append(status)
                self.assertEqual("mini-agent: interrupted\n" if status else "", told, count)
                count += 1 + count // 2
            self.assertGreater(len(statuses), 8)
            self.assertLessEqual({*statuses}, {130, -signal.SIGINT, 0})

    def test_each_script_is_quiet_from_its_first_import_on(self) -> None:
        """Whatever it loads behind that."""
        for path in sorted((ROOT / "scripts").glob("*.py")):
            if 'if __name__ == "__main__"' not in path.read_text("utf-8"):
                continue
            with self.subTest(path.name):
                status, told = self.pressed(1, "ctrl_c", "", str(path), "--help")
                self.assertEqual((-signal.SIGINT, "mini-agent: interrupted\n"), (status, told))


class ScriptsTest(CtrlCTest):
    """The other scripts: what they have begun is put away, and no traceback is printed."""

    def test_each_ends_with_one_line(self) -> None:
        """`make test` between two modules, and a script at any line of its own."""
        for lines, *words in (
                (2, "scripts/run_tests.py", "tests.test_m3_aging",
                 "tests.test_m3_all_laws"),
                (1, "-c", "import sys; sys.path.insert(0, 'scripts'); import ctrl_c, time\n"
                          "print('loaded', flush=True)\nfor _ in range(600): time.sleep(.1)")):
            with self.subTest(words):
                process = self.started(*words)
                self.assertTrue(all(process.stdout.readline() for _ in range(lines)))
                status, said = self.ended(process)
                self.assertIn(status, (130, -signal.SIGINT))
                self.assertEqual("mini-agent: interrupted\n", said)


class FuzzTest(CtrlCTest):
    """What `make fuzz` runs."""

    def test_it_ends_with_one_line_that_says_how_far_it_was(self) -> None:
        """No traceback, of the processes that judge neither; what was thrown away is gone."""
        process = self.started("-m", "tests.fuzz_all", "--seeds", "7")
        self.assertEqual("seeds: 7\n", process.stdout.readline())
        status, said = self.ended(process)
        self.assertEqual(130, status)
        self.assertRegex(said, r"\Ainterrupted after \d+ s in part 1 of 4, tests\.fuzz\n\Z")

    def test_a_later_part_says_what_it_was_at(self) -> None:
        """The last line that it had said; that part has a process group of its own."""
        process = self.started("-m", "tests.fuzz_all", "1", "none")
        lines = [process.stderr.readline() for _ in range(2)]
        self.assertEqual(["1 session\n", "100 runs with three children each\n"], lines)
        status, said = self.ended(process)
        self.assertEqual(130, status)
        self.assertRegex(said, r"\Ainterrupted after \d+ s in part 2 of 4, tests\.fuzz_children, "
                               r"which had said: 100 runs with three children each\n\Z")


if __name__ == "__main__":
    unittest.main()
