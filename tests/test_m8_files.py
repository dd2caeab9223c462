"""All milestones: what a file or a pipe brings, damaged in every way, is read or refused."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from mini_agent import cli
from mini_agent.columns import number_of
from mini_agent.models.base import Reply
from mini_agent.trace import read_trace
from tests.damage import HARMLESS, damages, read_by_all, shown
from tests.sessions import Counter, Speaker, counting, started
from tests.support import ROOT, FolderTest

VALID = [path for path in sorted((ROOT / "tests" / "data" / "sessions" / "valid").iterdir())
         if ".expected" not in path.name]
LAST = 3  # lines that are cut at every byte


class EveryByteTest(FolderTest):
    """A trace that is cut at each byte of its last lines, through every command."""

    LINES = LAST

    def test_what_is_cut_is_as_if_it_had_never_begun(self) -> None:
        """`show`, `why`, `check`, `convert` and `resume` say of whole records the same,
        whatever stands behind them; `check` names the line that is cut, and where."""
        for raw in self.traces():
            rows = raw.splitlines(keepends=True)
            size, path = len(raw), self.folder / "cut.jsonl"
            for row in reversed(rows[-self.LINES:]):
                start = size - len(row)
                path.write_bytes(raw[:start])
                whole = shown(path)
                for end in range(start + 1, size):
                    path.write_bytes(raw[:end])
                    now = shown(path)
                    number = raw.count(b"\n", 0, start) + 1
                    said = (f"t:{number}: trace: the last line is cut off after "
                            f"{number_of(end - start, 'byte')}")
                    self.assertIn(said, now["check"])
                    now["check"].remove(said)
                    if end == size - 1:  # for who reads logs, this line is whole
                        whole["convert"] = now["convert"]
                    for name, told in whole.items():
                        self.assertEqual(told, now[name], f"{name} at byte {end} of {size}")
                size = start

    def traces(self) -> list[bytes]:
        """Ends of a session: within a batch, behind an answer, and closed."""
        found = []
        for replies, closed in (([counting(1, 2)], False),
                                ([counting(1), Reply("done \U0001f600 数据")], True)):
            session, file = started(self.folder, Speaker(replies), "go", extra=(Counter(lines=1),))
            with file:
                outcome = session.turn("go")
                if closed:
                    session.finish(outcome)
            found.append((self.folder / "s.jsonl").read_bytes())
        return found


class ReadersTest(FolderTest):
    """Every reader of logs, on every file of the tests, damaged in every way."""

    LARGE, FILES = 20_000, VALID[::3]

    def test_each_damaged_log_is_read_or_refused_in_one_line(self) -> None:
        """A byte order mark, CRLF and blanks change nothing; no damage raises anything else."""
        for path in self.FILES:
            raw = path.read_bytes()
            whole = read_by_all(path)
            self.assertTrue(whole)
            for name, bad in damages(raw, self.LARGE):
                place = self.folder / path.name
                place.write_bytes(bad)
                with self.subTest(path.name, damage=name):
                    found = read_by_all(place)
                    if name in HARMLESS:
                        self.assertEqual(whole, found)


class TypedTest(FolderTest):
    """What comes through a pipe into `chat` and `resume`."""

    def said(self, raw: bytes, command: str = "chat", **environment: str) -> list[str]:
        """The users' messages in the trace, after so many bytes of input."""
        trace = self.folder / "s.jsonl"
        task = self.write_task(replies=[{"content": "one"}, {"content": "two"}])
        words = [command, *(["--trace"] if command == "chat" else []), str(trace), "--script",
                 str(task), "--workspace", str(self.folder)]
        if environment:
            done = subprocess.run([sys.executable, "-X", "dev", "-m", "mini_agent", *words],
                                  cwd=ROOT, input=raw, capture_output=True, timeout=300,
                                  env={**os.environ, **environment})
            status, told = done.returncode, done.stderr.decode("utf-8", "replace")
        else:
            status, told = self.here(raw, words)
        self.assertEqual(0, status, told[-2000:])
        return [message["content"] for message in read_trace(trace).messages()
                if message["role"] == "user"]

    def here(self, raw: bytes, words: list[str]) -> tuple[int, str]:
        """The status of a command in this process, and what it said beside its results."""
        typed, err = io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="\n"), io.StringIO()
        with mock.patch("sys.stdin", typed), redirect_stdout(io.StringIO()), redirect_stderr(err):
            return cli.main(words), err.getvalue()

    def test_typed_text_comes_in_as_it_is_meant(self) -> None:
        """Marks of files from elsewhere are left out, what is no letter becomes U+FFFD."""
        for raw, meant in ((b"\xef\xbb\xbfhello\r\n", "hello"), (b"hello", "hello"),
                           (b"a \\\r\nb\r\n", "a \nb"), (b'"""\r\na\r\nb\r\n"""\r\n', "a\nb"),
                           (b"\xff\xfe x\n", "\ufffd\ufffd x"), (b"h\xe9llo\n", "h\ufffdllo"),
                           (b"he\0llo\n", "he\0llo"), (b"a\rb\n", "a\rb"),
                           (b"\xed\xa0\x80\n", "\ufffd\ufffd\ufffd"),
                           (b"\0" * 70_000, "\0" * 70_000),
                           ("\u202e数据\u200b\U0010ffff\n".encode(), "\u202e数据\u200b\U0010ffff")):
            with self.subTest(raw=raw[:20]):
                self.assertEqual([meant], self.said(raw))

    def test_the_locale_decides_nothing(self) -> None:
        """A strict one, one of ASCII, and one that has no such letters for line editing."""
        for environment in ({"PYTHONIOENCODING": "utf-8:strict"},
                            {"PYTHONIOENCODING": "", "LC_ALL": "C"}):
            with self.subTest(environment):
                self.assertEqual(["h\u00e9llo \ufffd"],
                                 self.said(b"h\xc3\xa9llo \xff\n", **environment))

    def test_a_line_of_10_mb_is_a_message(self) -> None:
        """In a new session, and in one that is gone on with, which reads it back."""
        large = b"x" * 10_000_000
        self.assertEqual([10_000_000], [len(text) for text in self.said(large)])
        self.assertEqual([10_000_000, 5], [len(text) for text in self.said(b"again\n", "resume")])


if __name__ == "__main__":
    unittest.main()
