"""Milestone 4: `make run-m4`, its figures and its bytes."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from mini_agent.columns import width
from mini_agent.messages import calls_of, text_of
from mini_agent.subagents.endings import numbers_of
from mini_agent.subagents.traces import child_trace
from mini_agent.trace import Trace, read_trace, trace_folder

from .support import ROOT, command

REFERENCE = ROOT / "traces" / "reference"
FACTS = (ROOT / "scripts" / "m4_facts.txt").read_text("utf-8").partition("\n\n")[0].split("\n")
FIGURES = """\
                          requests   largest       all   needed facts at the end
one window                      11     26632    146249   6 of 6
layered                         11     11860     88144   4 of 6
parent                           3      2314      5563   6 of 6
  child 1                        4     11338     26090   2 of 6
  child 2                        4      8255     17916   2 of 6
  child 3                        4      8901     19014   2 of 6
  together                      15     11338     68583
(requests are counted, sizes are in tokens of the runs estimate)

the parent's largest request is 8.7 % of that of one window, and all requests of
the family together are 46.9 % of all in one window
"""
CALENDAR = """\
one window              ▁0  ▁0  ▁1  ▄2  ▄2  ▄3  ▆4  ▆4  ▆4  █6  █6
layered                 ▁0  ▁0  ▁1  ▄2  ▄2  ▄3  ▃3  ▃3  ▃3  ▃4  ▄4
parent                  ▁0  ▁0                  ▁6
  child 1                       ▁0  ▁1  ▄2  ▄2
  child 2                       ▁0  ▁1  ▃2  ▃2
  child 3                       ▁0  ▁0  ▃2  ▃2
"""


class ReadmeTest(unittest.TestCase):
    """What the READMEs say of this run."""

    def test_both_readmes_show_the_figures_of_the_run(self) -> None:
        """The table stands in them to the letter; that it is printed, a test below holds."""
        table = FIGURES.partition("(requests")[0]
        for name in ("README.md", "README.zh-CN.md"):
            self.assertIn(f"```\n{table}```\n", (ROOT / name).read_text("utf-8"), name)


class DemoTest(unittest.TestCase):
    """One run of the driver, read from all sides."""

    printed: subprocess.CompletedProcess[str]
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        place = TemporaryDirectory(prefix="mini-agent-test-")
        cls.addClassCleanup(place.cleanup)
        cls.folder = Path(place.name)
        cls.printed = command("scripts/drive_m4.py", "--traces", place.name)

    def trace(self, name: str) -> Trace:
        """One of the traces that the run has written."""
        return read_trace(self.folder / f"{name}.jsonl")

    def children(self) -> list[Trace]:
        """The traces of the three children."""
        folder = trace_folder(self.folder / "m4-trace.jsonl")
        return [read_trace(child_trace(folder, number)) for number in (1, 2, 3)]

    def test_the_figures_are_the_published_ones(self) -> None:
        """The table and the drawing, to the letter."""
        self.assertEqual((0, ""), (self.printed.returncode, self.printed.stderr))
        self.assertTrue(self.printed.stdout.startswith(FIGURES))
        self.assertTrue(self.printed.stdout.endswith(CALENDAR))

    def test_the_bytes_are_those_of_the_reference(self) -> None:
        """The parent's trace, the traces of its children, the picture."""
        names = ["m4-trace.jsonl", "m4-who.svg",
                 *(f"m4-trace.d/children/{number}.jsonl" for number in (1, 2, 3))]
        for name in names:
            with self.subTest(name):
                self.assertEqual((REFERENCE / name).read_bytes(), (self.folder / name).read_bytes())

    def test_the_parents_window_stays_a_small_part(self) -> None:
        """Its largest request is less than a tenth of that of one window, all requests of the
        family together are less than half."""
        one, parent = (numbers_of(self.trace(name).records) for name in ("m4-one", "m4-trace"))
        self.assertLess(parent.peak_tokens * 10, one.peak_tokens)
        family = parent.sent_tokens + sum(
            numbers_of(child.records).sent_tokens for child in self.children())
        self.assertLess(family * 2, one.sent_tokens)

    def test_the_parent_has_all_that_the_answer_needs(self) -> None:
        """Each needed fact is in what was sent for its last reply, and not of its own making."""
        sent = self.trace("m4-trace").messages()[:-1]
        for fact in FACTS:
            with self.subTest(fact):
                self.assertTrue(any(fact in text_of(message) for message in sent
                                    if message["role"] == "tool"))

    def test_all_ways_do_the_same_work(self) -> None:
        """The calls of one window are those of the parent and its children, in order."""
        def calls(trace: Trace) -> list[tuple[str, str]]:
            return [(made["name"], str(made["arguments"])) for message in trace.messages()
                    for made in calls_of(message) if made["name"] != "delegate"]

        spread = [call for trace in (self.trace("m4-trace"), *self.children())
                  for call in calls(trace)]
        self.assertEqual(spread, calls(self.trace("m4-one")))
        self.assertEqual(spread, calls(self.trace("m4-compressed")))

    def test_the_facts_are_lines_of_the_logs(self) -> None:
        """Nothing that the answer needs is invented."""
        logs = "".join(path.read_text("utf-8") for path in (
            ROOT / "workspace" / "m4" / "logs").iterdir())
        for fact in FACTS:
            self.assertIn(fact, logs)
        self.assertEqual(6, len(FACTS))

    def test_another_policy_can_be_tried(self) -> None:
        """`--policy` changes the second way and nothing else."""
        with TemporaryDirectory() as place:
            done = command("scripts/drive_m4.py", "--traces", place, "--policy",
                           "clip_errors_summary")
        for shown in (self.printed.stdout, done.stdout):
            self.assertLessEqual(max(map(width, shown.splitlines())), 80)
        rows, expected = done.stdout.splitlines()[:8], FIGURES.splitlines()
        self.assertEqual(expected[:2] + expected[3:8], rows[:2] + rows[3:])
        self.assertRegex(rows[2], r"^clip_errors_summary {13}11 +\d+ +\d+   \d of 6$")


if __name__ == "__main__":
    unittest.main()
