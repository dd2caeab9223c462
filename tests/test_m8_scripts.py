"""All milestones: the scripts that measure and prove, as far as a result of theirs has no noise."""

from __future__ import annotations

import io
import json
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from mini_agent.messages import calls_of, pairing_faults, text_of

from .support import SCRIPTS, command, scripted


@contextmanager
def scripts_on_the_path() -> Iterator[None]:
    """They import each other by name, as they do when one of them is started."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield
    finally:
        sys.path.remove(str(SCRIPTS))


class ScriptsTest(unittest.TestCase):
    """All of them."""

    def test_each_says_what_it_is_for(self) -> None:
        """`--help` of each that can be started begins with its own first words."""
        for path in sorted(SCRIPTS.glob("*.py")):
            source = path.read_text(encoding="utf-8")
            if "__main__" not in source or path.name == "test_browser.py":  # unittest's own help
                continue
            with self.subTest(path.name):
                done = scripted(path.stem, "--help")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertIn(source.partition('"""')[2].split()[0], done.stdout)

    def test_what_is_typed_wrong_is_told_in_one_line(self) -> None:
        """An option that nobody knows, and a window, a list of windows, jobs that cannot be."""
        session = "workspace/sessions/lesson.jsonl"
        for words in (*((name, "--nix") for name in (
                "drive_m1", "drive_m2", "drive_m3", "drive_m3_paths", "drive_m4", "drive_m6",
                "refresh_readme", "watch_m3")), ("drive_m3_paths", "--window", "0"),
                ("evidence", session, "--windows", "16k,abc"),
                ("evidence", session, "--windows", "2k", "--jobs", "0"),
                ("show_digest", session, "--window", "many")):
            with self.subTest(words):
                done = scripted(*words)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertRegex(done.stderr, r"\Amini-agent: [^\n]+; [^\n]+\n\Z")

    def test_a_module_is_run_and_counted_and_one_that_is_not_there_fails(self) -> None:
        """The numbers are those of unittest; the status is 1 where anything failed."""
        there = unittest.defaultTestLoader.loadTestsFromName("tests.test_m3_aging")
        done = command("scripts/run_tests.py", "tests.test_m3_aging")
        self.assertEqual(0, done.returncode)
        self.assertTrue(done.stdout.startswith(f"{there.countTestCases()} tests, 1 modules, "))
        self.assertTrue(done.stdout.endswith(
            f"{there.countTestCases()} passed, 0 failed, 0 skipped\n"), done.stdout)
        done = command("scripts/run_tests.py", "tests.test_m3_aging", "tests.test_no_such")
        self.assertEqual(1, done.returncode)
        self.assertIn("No module named 'tests.test_no_such'", done.stdout)

    def test_those_that_are_begun_first_are_there(self) -> None:
        """A module that was renamed would be begun last again."""
        with scripts_on_the_path():
            from run_tests import LONG, modules
        self.assertEqual({f"tests.{name}" for name in LONG}, set(modules()[:len(LONG)]))

    def test_a_comparison_is_measured_in_a_process_of_its_own(self) -> None:
        """A row a session: its steps, and numbers that are more than nothing."""
        done = command("scripts/scaling.py", "--steps", "5,10")
        rows = [line.split() for line in done.stdout.splitlines()[2:]]
        self.assertEqual(["5", "10"], [row[0] for row in rows])
        self.assertTrue(all(float(row[2]) > 0 and float(row[4]) > 1 for row in rows), rows)


class BenchTest(unittest.TestCase):
    """The bench, without its measurements."""

    def setUp(self) -> None:
        self.enterContext(scripts_on_the_path())

    def test_a_row_is_the_median_of_its_pairs(self) -> None:
        """And the spread from the least to the most; over its limit it is not met."""
        from ratios import row_of

        row = row_of("a step", [(2.0, 1.0), (8.0, 1.0), (9.0, 3.0)], 2.9)
        self.assertEqual((3.0, 2.0, 8.0), (row.ratio, row.low, row.high))
        self.assertFalse(row.met)
        self.assertTrue(row_of("a step", [(2.0, 1.0)]).met)

    def test_a_row_over_its_limit_fails_the_run(self) -> None:
        """It says so in its line, and `--json` is a list of rows."""
        from bench import main
        from ratios import row_of

        rows = [row_of("fast", [(1.0, 2.0)], 1.0), row_of("slow", [(3.0, 2.0)], 1.0)]
        head = "  ratio     low    high limit\n"
        fast = head + "  0.500   0.500   0.500     1      fast\n"
        slow = "  1.500   1.500   1.500     1 OVER slow\n"
        for shown, status, said in ((rows, 1, fast + slow), (rows[:1], 0, fast)):
            with redirect_stdout(io.StringIO()) as out:
                self.assertEqual(status, main([], lambda quick: shown))
            self.assertEqual(said, out.getvalue())
        with redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, main(["--json"], lambda quick: rows))
        self.assertEqual([True, False], [row["met"] for row in json.loads(out.getvalue())])

    def test_the_made_session_is_as_recorded_ones_are(self) -> None:
        """The same for the same seed, calls with their results, a third of it arguments."""
        from made import session

        made = session(402, seed=3)
        self.assertEqual(made, session(402, seed=3))
        self.assertEqual((402, []), (len(made), list(pairing_faults(made))))
        whole = sum(len(text_of(message)) for message in made)
        said = sum(len(str(call["arguments"])) for message in made for call in calls_of(message))
        self.assertAlmostEqual(4_700 * 200 / whole, 1, delta=.1)
        self.assertTrue(.2 < said / whole < .4, said / whole)


if __name__ == "__main__":
    unittest.main()
