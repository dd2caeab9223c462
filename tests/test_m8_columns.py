"""All milestones: what people read fits their terminal; a file or a pipe gets all of it."""

from __future__ import annotations

import ast
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from mini_agent import cli
from mini_agent.columns import FIRST, Table, columns_of, hung, number_of, width, write_rows
from tests.sources import modules, nodes_of
from tests.support import ROOT, called, read_some, scripted
from tests.talks import Terminal
from tests.test_m3_digest import session
from tests.test_m6_study import openai_form

HEAD = ("policy", "far", "cost", "done")
ROWS = [("clip", "0.5", "12345", "a=1"), ("a_very_long_name_of_a_policy_file.json", "-", "1", "")]


NOUNS = ("byte call character command compression file finding item job line message record "
         "request session step time token").split()
PLURALS = "children entries facts hits matches policies results samples summaries".split()
NEVER_ONE = {  # large enough (three summaries in a row), or a form that is fixed
    "errors.py", "lint.py", "lab/sessions/fields.py", "data_uris.py", "chat/narrator.py",
    "lab/happened.py"}


class CountsTest(unittest.TestCase):
    """A number and what it counts."""

    def test_one_is_no_plural(self) -> None:
        """None and many are."""
        self.assertEqual(["0 steps", "1 step", "2 steps", "? steps", "12,000 steps"],
                         [*(number_of(count, "step") for count in (0, 1, 2, "?")),
                          number_of(12_000, "step", ",")])
        self.assertEqual(["0 entries", "1 entry"], [number_of(count, "entry", many="entries")
                                                    for count in (0, 1)])

    def test_every_sentence_counts_this_way(self) -> None:
        """No text for people puts a number before a plural by itself."""
        before_plural = re.compile(rf" ([a-z]+ )?(({'|'.join(NOUNS)})s|{'|'.join(PLURALS)})\b")
        found = []
        for path in modules("mini_agent"):
            for node in nodes_of(path):
                parts = node.values if isinstance(node, ast.JoinedStr) else []
                found += [(path.relative_to(ROOT / "mini_agent").as_posix(), ast.unparse(node))
                          for number, said in zip(parts, parts[1:])
                          if isinstance(number, ast.FormattedValue)
                          and isinstance(said, ast.Constant)
                          and before_plural.match(said.value)]
        self.assertLessEqual(NEVER_ONE, {name for name, _ in found}, "so that it can fail")
        self.assertEqual([], [where for where in found if where[0] not in NEVER_ONE])


class RowsTest(unittest.TestCase):
    """Rows and sentences."""

    def test_a_row_is_broken_at_a_blank_and_goes_on_indented(self) -> None:
        """Also beside a Chinese character; what fits, and what goes into a pipe, stays as it is."""
        self.assertEqual(["  one two", "    three", "    four"],
                         list(hung("  one two three four", 12)))
        self.assertEqual(["ab cd"], list(hung("ab cd", 5)))
        self.assertEqual(["ab", "    cd"], list(hung("ab cd", 4)))
        self.assertEqual(["事实 一二", "  三四"], list(hung("事实 一二三四", 9, 2)))
        self.assertEqual(["x " * 99], list(hung("x " * 99, None)))

    def test_a_word_without_room_stays_whole(self) -> None:
        """So that a path can be copied."""
        path = "traces/" + "x" * 30
        self.assertEqual(["see", f"    {path}:", "    broken"],
                         list(hung(f"see {path}: broken", 20)))

    def test_no_line_is_wider_and_no_word_is_lost(self) -> None:
        """On random rows."""
        chance = random.Random(1)
        for _ in range(300):
            row = " ".join("".join(chance.choice("ab中") for _ in range(chance.randint(1, 9)))
                           for _ in range(chance.randint(1, 30)))
            lines = list(hung(row, 24))
            self.assertLessEqual(max(map(width, lines)), 24)
            self.assertEqual(row.replace(" ", ""), "".join(lines).replace(" ", ""))

    def test_control_characters_are_shown(self) -> None:
        """What a log holds does not reach the terminal as it is."""
        out = Terminal()
        write_rows(["a\x1b[2Jb"], out)
        self.assertEqual("a\\x1b[2Jb\n", out.getvalue())

    def test_only_a_terminal_has_columns(self) -> None:
        """However many the environment says that there are."""
        with mock.patch.dict(os.environ, {"COLUMNS": "99"}):
            self.assertEqual((99, None), (columns_of(Terminal()), columns_of(io.StringIO())))
        with mock.patch.dict(os.environ, {"COLUMNS": "9" * 20}):  # such a bar fills the memory
            self.assertEqual(1_000, columns_of(Terminal()))


class TableTest(unittest.TestCase):
    """Cells under a head."""

    def table(self, columns: int | None) -> Table:
        """Four columns, of which `cost` weighs least."""
        return Table(HEAD, ("policy", "far", "done", "cost"), {"title": ROWS}, columns)

    def test_a_pipe_gets_all_columns(self) -> None:
        """As wide as they need to be."""
        made = self.table(None)
        self.assertEqual(["title" + " " * 35 + "far   cost  done",
                          "clip" + " " * 36 + "0.5  12345  a=1",
                          f"{ROWS[1][0]}    -      1"], list(made.lines("title")))
        self.assertEqual((), made.left_out)

    def test_a_terminal_leaves_out_what_weighs_least(self) -> None:
        """And cuts a long name; at the columns that it needs nothing is left out."""
        for columns, left in ((FIRST + 18, []), (FIRST + 17, ["cost"]),
                              (FIRST + 10, ["cost", "done"]),
                              (10, ["policy", "far", "cost", "done"])):
            with self.subTest(columns):
                made = self.table(columns)
                self.assertEqual(left, list(made.left_out))
                self.assertLessEqual(max(map(len, made.lines("title"))), columns)
        self.assertIn("a_very_long_name_of_a...", "\n".join(self.table(40).lines("title")))

    def test_two_files_of_one_folder_are_told_apart(self) -> None:
        """Of a long path the end stands there; in a pipe, all of it."""
        paths = [f"/home/somebody/笔记/policies/{name}.json" for name in ("one", "two")]
        rows = [(path, "1", "1", "1") for path in paths]
        for columns, told in ((60, ["...记/policies/one.json", "...记/policies/two.json"]),
                              (None, paths)):
            made = Table(HEAD, HEAD, {"a": rows}, columns)
            self.assertEqual(told, [line.split()[0] for line in made.lines("a")][1:])

    def test_all_blocks_have_the_same_columns(self) -> None:
        """Those for which the widest has room."""
        made = Table(HEAD, HEAD, {"a": [("x", "1", "1", "1")], "b": [("x", "1", "1" * 60, "1")]},
                     40)
        self.assertEqual(["a  far", "x    1"], list(made.lines("a")))


@unittest.skipUnless(sys.platform != "win32", "no pseudo-terminals")
class TerminalTest(unittest.TestCase):
    """Commands on a real terminal of 80 columns, those that are many in this process."""

    def shown(self, *arguments: str, status: int = 0) -> list[str]:
        """The lines that Python with these arguments writes to a terminal."""
        import fcntl
        import pty
        import struct
        import termios

        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environ = {key: value for key, value in os.environ.items()
                   if key not in ("COLUMNS", "LINES")}
        with subprocess.Popen([sys.executable, *arguments], cwd=ROOT,
                              stdin=follower, stdout=follower, stderr=follower,
                              env=environ) as process:
            os.close(follower)
            text = b"".join(iter(lambda: read_some(leader), b""))
        os.close(leader)
        self.assertEqual(status, process.returncode, text)
        return text.decode("utf-8").splitlines()

    def drawn(self, *arguments: str, status: int = 0) -> list[str]:
        """The lines that a command in this process writes to a terminal."""
        import pty

        leader, follower = pty.openpty()
        self.enterContext(mock.patch.dict(os.environ, {"COLUMNS": "80"}))
        with ThreadPoolExecutor(1) as reader:
            text = reader.submit(lambda: b"".join(iter(lambda: read_some(leader), b"")))
            with (open(follower, "w", encoding="utf-8") as terminal, chdir(ROOT),
                  redirect_stdout(terminal), redirect_stderr(terminal)):
                self.assertEqual(status, cli.main([*arguments]))
        os.close(leader)
        return text.result().decode("utf-8").splitlines()

    def test_no_row_of_a_command_is_wider(self) -> None:
        """Tables, sentences, facts, what is missing; one session and many."""
        sessions = "workspace/sessions"
        for arguments in (
                ("compare", sessions, "--window", "1800,2k", "--policy",
                 "clip_errors_summary,tiers_50_70_90,digest"),
                ("compare", f"{sessions}/lesson.jsonl", "--window", "1800", "--evidence", "3",
                 "--policy", "naive,clip,digest_minimal", "--fact", "AssertionError"),
                ("show", "traces/reference/m3-trace.jsonl"),
                ("show", "traces/reference/m4-trace.jsonl"),
                ("show", f"{sessions}/lesson.jsonl", "--policy", "layered", "--window", "1200"),
                ("why", "traces/reference/m4-trace.jsonl", "212 of 4380"),
                ("policies",), ("policies", "two_layer"), ("tokens", "README.md")):
            with self.subTest(arguments):
                lines = self.drawn(*arguments)
                self.assertTrue(lines)
                self.assertEqual([], [line for line in lines if width(line) > 80])

    def test_plain_is_what_a_pipe_gets(self) -> None:
        """Whole rows and all columns, of every command that fits its own."""
        sessions = "workspace/sessions"
        for arguments in (
                ("compare", sessions, "--window", "1800", "--policy", "clip,digest"),
                ("compare", f"{sessions}/lesson.jsonl", "--window", "1800", "--evidence", "3",
                 "--policy", "naive,clip", "--fact", "AssertionError"),
                ("show", "traces/reference/m4-trace.jsonl"),
                ("why", "traces/reference/m4-trace.jsonl", "212 of 4380"),
                ("policies", "two_layer"),
                ("tokens", "README.md", *["scripts/drive_m3_paths.py"] * 2),
                ("check", str(self.broken()))):
            with self.subTest(arguments):
                status = int(arguments[0] == "check")
                plain = self.drawn(*arguments, "--plain", status=status)
                with chdir(ROOT):
                    self.assertEqual(called(*arguments)[1].splitlines(), plain)
                if arguments[0] != "tokens":
                    self.assertNotEqual(plain, self.drawn(*arguments, status=status))

    def broken(self) -> Path:
        """A log with a finding whose row is long."""
        path = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mini-agent-test-")),
                    "log of another agent.jsonl")
        path.write_text("".join(json.dumps(one) + "\n" for one in (
            {"role": "user", "content": "x"},
            {"role": "tool", "tool_call_id": "a call that nobody has made", "content": "y"})),
                        "utf-8")
        return path

    def test_no_line_of_the_evidence_is_wider(self) -> None:
        """The table of every policy, and the sentences behind it."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mini-agent-test-")))
        (folder / "one.json").write_text(json.dumps(openai_form(session(40))), "utf-8")
        lines = self.shown("scripts/evidence.py", str(folder), "--windows", "3000", "--jobs", "1",
                           "--traces", str(folder))
        self.assertIn("Window 3000, 1 session counted:", lines)
        self.assertEqual([], [line for line in lines if width(line) > 80 and "\r" not in line])

    def test_no_line_of_a_demo_is_wider(self) -> None:
        """Also in a pipe. Of milestone 3 the published bytes are as they are; what its
        paths and milestone 4 print is measured where it is run."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mini-agent-test-"))
        for script in ("drive_m1", "drive_m2"):
            with self.subTest(script):
                done = scripted(script, "--traces", folder)
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertEqual([],
                                 [line for line in done.stdout.splitlines() if width(line) > 80])

    def test_the_columns_that_decide_are_there(self) -> None:
        """And the others are named."""
        lines = self.shown("-m", "mini_agent", "compare", "workspace/sessions/lesson.jsonl",
                           "--window", "1800", "--policy", "clip_errors_summary")
        self.assertEqual(["window", "1800", "far", "in", "context", "cost", "summary", "peak",
                          "over", "breaks", "laws"], lines[2].split())
        self.assertIn("(a file or a pipe also gets: recall, fresh, lines, "
                      "reach, sent, compressions)",
                      lines)


if __name__ == "__main__":
    unittest.main()
