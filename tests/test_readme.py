"""The README is part of the product: its numbers and its commands are tested."""

from __future__ import annotations

import re
import shlex
import subprocess
import unittest

from mini_agent.rhythm import all_rounds, rows
from mini_agent.trace import read_trace
from tests.support import ROOT, command
from tests.test_m3_session import EDITED, PUBLISHED, ROUNDS, SUMMARY

README = (ROOT / "README.md").read_text(encoding="utf-8")


class ReadmeTest(unittest.TestCase):
    """Each number and command of README.md."""

    def test_line_counts_are_those_of_the_files(self) -> None:
        """`scripts/refresh_readme.py --check` finds nothing out of date."""
        done = command("scripts/refresh_readme.py", "--check")
        self.assertEqual((0, "up to date\n"), (done.returncode, done.stdout))

    def test_the_figures_of_the_session_are_those_of_the_reference_trace(self) -> None:
        """Calls, last requests, share, rounds, and messages before and after the summary."""
        trace = read_trace(ROOT / "traces" / "reference" / "m3-trace.jsonl")
        table = rows(trace.records)
        calls = len(list(trace.events("model_call"))), len(list(trace.events("tool_call")))
        self.assertIn("{}\nmodel calls, {} tool calls".format(*calls), README)
        last, plain = table[-1].sent, PUBLISHED[-1][1]
        self.assertIn(f"the last request has {plain} tokens; with a\nthreshold of 1200 it has "
                      f"{last}, which is {100 * (1 - last / plain):.2f} % less", README)
        summary, = (c for c in all_rounds(table) if c.strategy == SUMMARY)
        self.assertIn(f"In {len(ROUNDS) - 1} steps long tool results", README)
        self.assertIn(f"*summary*, from {summary.before_messages} messages to "
                      f"{summary.after_messages}", README)

    def test_the_rows_shown_are_rows_of_the_program(self) -> None:
        """The table's lines stand to the letter in what `make run-m3` prints."""
        shown = re.search(r"rows 7 to 10 of make run-m3 -->\n```\n(.*?)```", README, re.S)[1]
        printed = command("scripts/drive_m3.py", "--traces", self.enterContext(_folder())).stdout
        for line in shown.splitlines():
            self.assertIn(line + "\n", printed)

    def test_the_thresholds_do_what_the_table_says(self) -> None:
        """Each row of "Watch the rhythm" against the figures of the session tests."""
        for threshold, words in (
                (5000, ("aging in 3 steps, no summary", 3, [])),
                (1300, ("aging in 7 steps, one summary at step 10", 7, [10])),
                (1150, ("two summaries, at steps 9 and 13", 8, [9, 13]))):
            aging, summary, *_ = EDITED[threshold]
            self.assertEqual(words[1:], (len(aging), summary))
            self.assertIn(f"| {threshold} | {words[0]}", README)
        self.assertIn("| 1200 | aging in 8 steps, one summary at step 9 |", README)
        self.assertIsNone(EDITED[900][3])
        self.assertIn("at step 13 there are 939 tokens that nobody may move", README)

    def test_every_command_of_the_readme_runs(self) -> None:
        """Each `python3 -m mini_agent` line exits with 0."""
        lines = re.findall(r"^    python3 (-m mini_agent .*)$", README, re.M)
        self.assertTrue(lines)
        for line in lines:
            with self.subTest(line):
                words = shlex.split(line.replace("traces/m3-", "traces/reference/m3-"))
                done = command(*words)
                self.assertEqual(0, done.returncode, done.stderr)

    def test_every_make_target_of_the_readme_is_in_the_makefile(self) -> None:
        """No target is promised that is not there."""
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in set(re.findall(r"make ([a-z][a-z0-9-]*)", README)) - {"and"}:
            self.assertRegex(makefile, rf"(?m)^{target}:")


def _folder():  # noqa: ANN202 - a context manager that gives a path as text
    import tempfile
    return tempfile.TemporaryDirectory(prefix="mini-agent-test-")


class HouseTest(unittest.TestCase):
    """What the README promises of the code: small files, small functions, no packages."""

    def test_no_module_has_over_250_lines_and_no_function_over_60(self) -> None:
        """The house rule, over every module of the package."""
        import ast
        for path in sorted((ROOT / "mini_agent").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            with self.subTest(str(path.relative_to(ROOT))):
                self.assertLessEqual(text.count("\n"), 250)
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.assertLessEqual(node.end_lineno - node.lineno + 1, 60, node.name)

    def test_the_loop_fits_on_two_screens(self) -> None:
        """120 lines, so that a learner sees it whole."""
        text = (ROOT / "mini_agent" / "loop.py").read_text(encoding="utf-8")
        self.assertLessEqual(text.count("\n"), 120)

    def test_no_file_holds_the_marks_of_a_conflict(self) -> None:
        """What a merge left unsettled is never committed, in code, data or documents."""
        done = subprocess.run(["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT,
                              capture_output=True, encoding="utf-8")
        self.assertEqual("", done.stdout)

    def test_only_the_standard_library_is_imported(self) -> None:
        """Package, scripts and tests name no other module."""
        import ast
        import sys
        own = {"mini_agent", "tests", "scripts", *(p.stem for p in (ROOT / "scripts").glob("*.py"))}
        for folder in ("mini_agent", "scripts", "tests"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    names = ([alias.name for alias in node.names] if isinstance(node, ast.Import)
                             else [node.module] if isinstance(node, ast.ImportFrom)
                             and not node.level else [])
                    for name in names:
                        root = name.split(".")[0]
                        self.assertTrue(root in sys.stdlib_module_names or root in own,
                                        f"{path}: {name}")

    def test_imports_only_point_down_the_floors(self) -> None:
        """No room imports from a floor above its own; M1 is readable without M3."""
        import ast
        floors = {"errors": 0, "messages": 0, "tokens": 0, "words": 0, "texts": 0, "schema": 0,
                  "trace": 1, "extract": 1, "models": 1, "tools": 1, "tasks": 1, "rhythm": 2,
                  "drawing": 0, "compression": 2, "evidence": 2, "asking": 2, "loop": 3, "subagents": 4,
                  "session": 4, "chat": 4, "runner": 4, "lab": 5, "cli": 6,
                  "interrupts": 0, "locks": 0, "lint": 1, "waiting": 2, "meter": 2, "audit": 4,
                  "live": 6}
        for path in sorted((ROOT / "mini_agent").rglob("*.py")):
            parts = path.relative_to(ROOT / "mini_agent").with_suffix("").parts
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.ImportFrom) or not node.level:
                    continue
                package = parts[:len(parts) - node.level]
                full = (*package, *(node.module or "").split("."))
                targets = [full[0]] if full[0] else [alias.name for alias in node.names]
                for target in targets:
                    if parts[0] in floors and target in floors:
                        self.assertLessEqual(floors[target], floors[parts[0]],
                                             f"{'/'.join(parts)} imports {target}")


if __name__ == "__main__":
    unittest.main()
