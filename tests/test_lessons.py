"""The week of lessons in the READMEs: each is done as it is written, and seen.

A lesson is a head and five points: read, run, change, see, ask. What stands in code
there is the lesson's data, in either language: the command that is run; the file, the
old text and the new; what is seen then and what was seen before; the command that asks
the trace, and its answer.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from tests.support import ROOT, read_some
from tests.test_readme import CHINESE, CODE, README

NEEDED = ("mini_agent", "scripts", "workspace", "Makefile")
LESSON = re.compile(r"^### [^\n]*\d[^\n]*\n\n((?:- \*\*[^\n]*\n){5})", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """One day. The texts are what stands in code in its five points."""

    day: str
    run: str
    file: str
    old: str
    new: str
    seen: str
    before: str
    ask: str
    answer: str


def lessons(text: str) -> list[Lesson]:
    """The lessons of a README."""
    found = []
    for points in LESSON.findall(text):
        read, run, change, see, ask = points.splitlines()
        day = re.search(r"<!-- lines of (\d) -->", read)
        assert day is not None, read
        found.append(Lesson(day[1], CODE.findall(run)[0], *CODE.findall(change)[:3],
                            *CODE.findall(see)[:2], *CODE.findall(ask)[:2]))
    return found


class LessonsTest(unittest.TestCase):
    """Each lesson on a copy of the checkout."""

    def shell(self, folder: Path, line: str) -> str:
        """What a line prints on a terminal, where a reader is, with this Python; it may fail,
        but waits for nobody to type."""
        line = re.sub(r"\bpython3 -m mini_agent", f"{sys.executable} -m mini_agent", line)
        line = re.sub(r"^make ", f"make PYTHON={sys.executable} ", line)
        leader, follower = pty.openpty()
        with subprocess.Popen(["sh", "-c", line], cwd=folder, stdin=follower, stdout=follower,
                              stderr=follower, start_new_session=True,
                              env={**os.environ, "COLUMNS": "80", "TERM": "xterm"}) as process:
            os.close(follower)
            late = threading.Timer(120, os.killpg, (process.pid, signal.SIGKILL))
            late.start()
            text = b"".join(iter(lambda: read_some(leader), b"")).decode("utf-8")
            late.cancel()
        os.close(leader)
        self.assertGreaterEqual(process.returncode, 0, f"it waits for an answer: {text}")
        self.assertNotIn("Traceback (most recent call last)", text)
        return text.replace("\r\n", "\n")

    def do(self, lesson: Lesson) -> None:
        """Run, change, run, ask."""
        with tempfile.TemporaryDirectory(prefix="mini-agent-lesson-") as place:
            folder = Path(place)
            for name in NEEDED:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, folder / name)
            (folder / "traces").mkdir()
            first = self.shell(folder, lesson.run)
            self.assertIn(lesson.before, first)
            self.assertNotIn(lesson.seen, first)
            text = (folder / lesson.file).read_text(encoding="utf-8")
            self.assertEqual(1, text.count(lesson.old), f"{lesson.old} in {lesson.file}")
            (folder / lesson.file).write_text(text.replace(lesson.old, lesson.new), "utf-8")
            second = self.shell(folder, lesson.run)
            self.assertIn(lesson.seen, second)
            self.assertNotIn(lesson.before, second)
            self.assertIn(lesson.answer, self.shell(folder, lesson.ask))

    def test_each_lesson_shows_what_it_says(self) -> None:
        """The change is made once, seen, and the trace answers the question."""
        for lesson in lessons(README):
            with self.subTest(lesson.day):
                self.do(lesson)

    def test_there_is_a_lesson_for_each_day_in_both_languages(self) -> None:
        """Days in order, each with the rows that it is read in; the same in Chinese."""
        found = lessons(README)
        table = re.findall(r"^\| (\d): ", README, re.MULTILINE)
        self.assertEqual(table, [lesson.day for lesson in found])
        self.assertEqual(found, lessons(CHINESE))

    def test_no_day_is_much_longer_than_the_others(self) -> None:
        """At most half as long again as the mean, in lines to read."""
        lines = [int(number) for number in re.findall(r"<!-- lines of \d -->(\d+)", README)]
        self.assertLess(max(lines), 1.5 * fmean(lines))


if __name__ == "__main__":
    unittest.main()
