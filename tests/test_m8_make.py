"""All milestones: every target of the Makefile runs what it says, with options that there are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from .support import ROOT, FolderTest, command, listening
from .test_m8_ctrl_c import PATIENCE

PYTHON = f"PYTHON={shlex.quote(sys.executable)}"  # there may be no python3
TARGETS = re.findall(r"^([a-z][\w-]*):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
GIVEN = {"evidence": ("SESSIONS=a b",), "fuzz": ("MINUTES=10", "SEEDS=1 2 3"),
         "test-real": ("KEEP=x",)}


def outermost() -> dict[str, str]:
    """The environment without what a `make` that runs these tests has put there."""
    return {name: value for name, value in os.environ.items()
            if name != "MFLAGS" and not name.startswith("MAKE")}


def recipe(target: str, *variables: str) -> list[str]:
    """The words of the one line that a target runs."""
    done = subprocess.run(["make", "-n", target, PYTHON, *variables], cwd=ROOT,
                          env=outermost(), capture_output=True, encoding="utf-8", check=True)
    return shlex.split(done.stdout)


@unittest.skipUnless(shutil.which("make"), "there is no make")
class MakeTest(FolderTest):
    """`make`, as the README names it."""

    def test_each_target_starts_something_that_is_there(self) -> None:
        """A script or module, which knows each option that it is given."""
        self.assertLess(10, len(TARGETS))
        for target in TARGETS:
            for variables in {(), GIVEN.get(target, ())}:
                words = recipe(target, *variables)
                with self.subTest(target, words=words):
                    if target == "clean":
                        self.assertEqual("rm", words[0])
                        continue
                    self.assertEqual(sys.executable, words[0])
                    options = [word for word in words if word.startswith("--")]
                    self.assertEqual(len(variables) - (target == "evidence" and bool(variables)),
                                     len(options))
                    at = words.index("-m") if "-m" in words else 1
                    name = words[at:at + 2] if words[at] == "-m" else words[at:at + 1]
                    self.assertTrue(Path(ROOT, name[-1].replace(".", "/") + ".py"
                                         if name[0] == "-m" else name[0]).exists())
                    if options:
                        self.assertIn(options[0], command(*name, "--help").stdout)
        self.assertEqual("a b", recipe("evidence", "SESSIONS=a b")[-1])
        self.assertEqual("workspace/sessions", recipe("evidence", "SESSIONS=")[-1])

    def test_a_python_that_is_too_old_is_told_in_one_line(self) -> None:
        """By `make`, if it is none at all, too, and by the program."""
        for python in ("false", "no_such_python"):
            done = subprocess.run(["make", "run", f"PYTHON={python}"], cwd=ROOT, env=outermost(),
                                  capture_output=True, encoding="utf-8")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, rf"(?m)^Makefile:\d+: \*\*\* {python} is not Python "
                                          r"3\.11 or newer; .*PYTHON=.*\n\Z")
        done = command("-c", "import runpy, sys; sys.version_info = (3, 10, 4, 'final', 0)\n"
                             "runpy.run_module('mini_agent', run_name='__main__')")
        self.assertEqual((2, "mini-agent: Python 3.11 or newer is needed, this is 3.10\n"),
                         (done.returncode, done.stderr))

    def test_clean_takes_what_runs_have_written_and_nothing_else(self) -> None:
        """In a copy: the traces of a run, its own folders, bytecode; the references stay."""
        shutil.copytree(ROOT / "traces" / "reference", self.folder / "traces" / "reference")
        shutil.copy(ROOT / "Makefile", self.folder)
        before = sorted(self.folder.rglob("*"))
        for name in ("traces/m3-trace.jsonl", "traces/t.d/results/x.txt", "traces/page.html",
                     "build/m3/a.txt", "mini_agent/__pycache__/x.pyc"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text("x", encoding="utf-8")
        subprocess.run(["make", "-s", "clean", PYTHON], cwd=self.folder, env=outermost(),
                       check=True)
        (self.folder / "mini_agent").rmdir()
        self.assertEqual(before, sorted(self.folder.rglob("*")))

    def test_the_watch_ends_with_ctrl_c(self) -> None:
        """With a word and status 0, so that make has nothing to complain of."""
        with subprocess.Popen(["make", "watch-m3", PYTHON], cwd=ROOT,
                              env=outermost(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              start_new_session=True, preexec_fn=listening) as process:
            assert process.stdout is not None
            self.assertIn("watching ", process.stdout.readline())
            while "final_answer" not in process.stdout.readline():
                pass
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE)
        self.assertTrue(out.endswith("watch ended\n"), out)


if __name__ == "__main__":
    unittest.main()
