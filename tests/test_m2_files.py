"""Milestone 2: listing, reading, searching, writing and editing files."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from mini_agent.data_uris import without_data
from mini_agent.errors import ToolError
from mini_agent.hostile import clean_output
from mini_agent.tools.files import ReadFile, list_files_tool
from mini_agent.tools.pieces import text_pieces
from mini_agent.tools.search import _CHILD as CHILD
from mini_agent.tools.search import SearchText
from .support import PATIENCE
from .test_m2_tools import ToolCase

NOTES = Path(__file__).resolve().parent.parent / "workspace" / "m3" / "long_notes.txt"
NUMBERED = "".join(f"line {number}\n" for number in range(1, 1001))


class ListTest(ToolCase):
    def test_a_listing_is_recursive_sorted_and_complete(self) -> None:
        """Every file with its size, relative to the workspace, whichever folder was asked for."""
        for path in ("b.txt", "a/z.txt", "a/b/c.txt", "a.txt"):
            self.put(path, "x" * len(path))
        self.assertEqual(self.ok("list_files"),
                         "total 4 under .\na.txt  5 bytes\na/b/c.txt  9 bytes\n"
                         "a/z.txt  7 bytes\nb.txt  5 bytes")
        for path in ("a/b", "./a/b/", str(self.root / "a" / "b")):
            self.assertEqual(self.ok("list_files", path=path),
                             "total 1 under a/b\na/b/c.txt  9 bytes")

    def test_what_is_not_listed_is_named(self) -> None:
        """Bytecode, git and links that lead outside are no files of the project."""
        self.put("__pycache__/a.pyc", "x")
        self.put(".git/config", "x")
        self.put("a", "x")
        (self.root / "in").symlink_to("a")
        (self.root / "out").symlink_to(self.outer, target_is_directory=True)
        (self.root / "passwd").symlink_to("/etc/passwd")
        self.assertEqual(self.ok("list_files"),
                         "total 2 under . (left out: .git, __pycache__, out, passwd)\n"
                         "a  1 byte\nin  1 byte")

    def test_a_walk_through_very_many_files_stops_and_says_so(self) -> None:
        """Not where there are just as many as it takes."""
        for name in "abc":
            self.put(f"{name}/x", "x")
        rows = "a/x  1 byte\nb/x  1 byte\nc/x  1 byte"
        with (mock.patch("mini_agent.tools.workspace.MAX_FILES", 3),
              mock.patch("mini_agent.tools.files.MAX_FILES", 3)):
            self.assertEqual(self.ok("list_files"), f"total 3 under .\n{rows}")
            self.put("d/x", "x")
            self.put("e/x", "x")
            stopped = f"total 3 under . (there are more files; it stopped after 3)\n{rows}"
            self.assertEqual(self.ok("list_files"), stopped)

    def test_a_long_listing_is_paged(self) -> None:
        """The first line has the total and where to go on; pages put together are the whole."""
        for number in range(30):
            self.put(f"{number:03}", "")
        tool = list_files_tool(self.workspace, limit=1_200)
        first, *rest = tool().split("\n")
        self.assertEqual(first, "total 30 under . [1 to 15 are shown; next: start=16]")
        second, *more = tool(start=16).split("\n")
        self.assertEqual(second, "total 30 under . [16 to 30 are shown]")
        self.assertEqual(rest + more, [f"{number:03}  0 bytes" for number in range(30)])
        self.assertEqual(self.fails("BAD_RANGE", "list_files", start=31),
                         "there is no entry 31: 30 in all")

    def test_a_listing_and_hits_are_short_unless_more_is_asked_for(self) -> None:
        """Of 1,500 files or hits a page of 20,000 characters comes, and how many there are."""
        for number in range(1_500):
            self.put(f"some_module_{number:04}.py", "import os\n")
        for text, total in ((self.ok("list_files"), "total 1500 under . [1 to "),
                            (self.ok("search_text", pattern="import"), "1500 matches for ")):
            self.assertTrue(text.startswith(total), text[:80])
            self.assertTrue(15_000 < len(text) <= 20_000, len(text))

    def test_a_listing_says_when_there_is_no_such_folder(self) -> None:
        """A missing folder and a file in its place are two different mistakes."""
        self.put("a", "")
        self.assertEqual(self.fails("FILE_NOT_FOUND", "list_files", path="b"), "no such file: b")
        self.assertEqual(self.fails("NOT_A_FOLDER", "list_files", path="a"), "not a folder: a")


class ReadTest(ToolCase):
    def test_a_file_that_fits_is_read_raw_and_whole(self) -> None:
        """16,400 characters come back as they are; so does a range of lines, both ends included."""
        shutil.copy(NOTES, self.root)
        text = NOTES.read_text(encoding="utf-8")
        self.assertEqual(len(text), 16_400)
        self.assertEqual(self.ok("read_file", path="long_notes.txt"), text)
        lines = text.splitlines(keepends=True)
        self.assertEqual(self.ok("read_file", path="long_notes.txt", start_line=101, end_line=200),
                         "".join(lines[100:200]))
        self.assertEqual(self.ok("read_file", path="long_notes.txt", start_line=3, end_line=3),
                         lines[2])

    def test_a_file_that_does_not_fit_says_so_first(self) -> None:
        """The first line has what is shown, of how much, and the next line; no part is lost."""
        self.put("a", NUMBERED)
        tool = ReadFile(self.workspace, limit=6_000)
        head, text = tool("a").split("\n", 1)
        self.assertEqual(head, "[lines 1 to 567 of 1000 are shown, 4995 of 8893 characters; "
                               "next: start_line=568]")
        self.assertEqual(text + tool("a", start_line=568), NUMBERED)

    def test_one_very_long_line_is_read_by_character(self) -> None:
        """100,000 characters without a newline come in parts of the limit."""
        line = "".join(chr(0x4e00 + number % 5_000) for number in range(100_000))
        self.put("a", f"first\n{line}\nlast")
        head, text = self.ok("read_file", path="a", start_line=2).split("\n", 1)
        self.assertEqual(head, "[of line 2 of 3, characters 1 to 49000 of 100001 are shown; "
                               "next: start_line=2, start_char=49001]")
        head, more = self.ok("read_file", path="a", start_line=2, start_char=49_001).split("\n", 1)
        self.assertEqual(head, "[of line 2 of 3, characters 49001 to 98000 of 100001 are shown; "
                               "next: start_line=2, start_char=98001]")
        rest = self.ok("read_file", path="a", start_line=2, start_char=98_001)
        self.assertEqual(text + more + rest, f"{line}\nlast")

    def test_lines_that_are_not_there_are_an_error(self) -> None:
        """The error has the file's true number of lines; an end behind the last line is fine."""
        self.put("a", "1\n2\n3")
        self.put("empty", "")
        self.assertEqual(self.fails("BAD_RANGE", "read_file", path="a", start_line=4),
                         "no lines 4 to 3: the file has 3 lines")
        self.assertEqual(self.fails("BAD_RANGE", "read_file", path="a", start_line=3, end_line=2),
                         "no lines 3 to 2: the file has 3 lines")
        self.assertEqual(self.fails("BAD_RANGE", "read_file", path="a", start_char=3),
                         "line 1 has no character 3: it has 2")
        self.assertEqual(self.ok("read_file", path="a", start_line=3, end_line=9), "3")
        self.assertEqual(self.ok("read_file", path="empty"), "")

    def test_only_a_newline_ends_a_line(self) -> None:
        """Form feeds and line separators do not shift the numbers; CRLF and CR read as newlines."""
        self.put("a", "\ufeffone\u2028still\x0c one\r\ntwo\rthree\n")
        self.assertEqual(self.ok("read_file", path="a"), "one\u2028still one\ntwo\nthree\n")
        self.assertEqual(self.ok("read_file", path="a", start_line=2, end_line=2), "two\n")

    def test_what_is_no_text_file_is_refused(self) -> None:
        """Binary, missing, a folder, a pipe, too large: each with its own code."""
        self.put("a.bin", b"\x7fELF\0\1")
        self.put("b.bin", bytes(range(128, 256)))
        self.put("few.txt", b"caf\xe9 and more text than that")
        os.mkfifo(self.root / "pipe")
        with open(self.root / "large", "wb") as file:
            file.truncate(50_000_001)
        self.assertEqual(self.fails("BINARY_FILE", "read_file", path="a.bin"),
                         "not a UTF-8 text file: a.bin, 6 bytes")
        self.fails("BINARY_FILE", "read_file", path="b.bin")
        self.assertEqual(self.ok("read_file", path="few.txt"), "caf\ufffd and more text than that")
        self.assertEqual(self.fails("FILE_NOT_FOUND", "read_file", path="no/such"),
                         "no such file: no/such")
        self.assertEqual(self.fails("NOT_A_FILE", "read_file", path="."), "not a regular file: .")
        self.fails("NOT_A_FILE", "read_file", path="pipe")
        self.fails("NOT_A_FOLDER", "read_file", path="few.txt/x")
        self.assertEqual(self.fails("FILE_TOO_LARGE", "read_file", path="large"),
                         "large has 50000001 bytes, more than 50000000 are not read")


class PiecesTest(ToolCase):
    """Of a large file only a piece is in memory, and nobody can tell."""

    ODD = (b"a", b"\n", b"\r", b"\r\n", "\u4e2d".encode(), b"\xe4\xb8", b"\xff", b"\xed\xa0\x80",
           b"\xef\xbb\xbf", b"\x1b[0m", b"\x1b]0;t", b"\x07", b"\b", b"\x1b", b"[", b"x" * 300,
           b"data:image/png;base64," + b"A" * 1_001, b"\nneedle\n", "\u2028\U0001f600".encode())

    def test_pieces_put_together_are_the_text(self) -> None:
        """Whatever bytes they are, and wherever a piece ends: in a letter, an escape, a CRLF."""
        chance = random.Random(5)
        for number in range(200):
            data = b"".join(chance.choices(self.ODD, [chance.random() ** 3 for _ in self.ODD],
                                           k=chance.choice((0, 1, 3, 20, 200))))
            self.put("a", data)
            raw = data.decode("utf-8-sig", "replace")
            whole = clean_output(re.sub("\r\n?", "\n", raw))
            for size in (1, 2, 7, 1 << 16):
                with self.subTest(number=number, size=size), mock.patch(
                        "mini_agent.tools.pieces.PIECE", size):
                    found = self.ask("read_file", path="a")["content"]
                    if found.startswith("ERROR BINARY_FILE"):
                        self.assertGreater(raw.count("\ufffd") * 10, len(raw))
                        continue
                    self.assertEqual(without_data(whole), found)
                    parts = list(text_pieces(self.workspace, "a"))
                    self.assertEqual(whole, "".join(parts))
                    self.assertTrue(all(part.endswith("\n") for part in parts[:-1]))

    def test_a_part_is_the_same_however_large_the_pieces_are(self) -> None:
        """Lines, characters of a line, the line that says what was cut, and every error."""
        self.put("a", "".join("x" * (number % 90) + "\n" for number in range(900)) + "z" * 9_000)
        tool = ReadFile(self.workspace, limit=2_000)
        for asked in ((1,), (2, 3), (1, 10), (500,), (900, 900), (901,), (901, None, 8_500),
                      (901, 950, 9_000), (901, 901, 9_001), (902,), (5, 4), (89, 91, 88)):
            told = []
            for size in (1, 7, 1_000, 1 << 20):
                with mock.patch("mini_agent.tools.pieces.PIECE", size):
                    try:
                        told.append(tool("a", *asked))
                    except ToolError as error:
                        told.append(str(error))
            with self.subTest(asked=asked):
                self.assertEqual(told[:1] * 4, told)

    def test_memory_does_not_grow_with_the_file(self) -> None:
        """Of eight million empty lines a page is read, searched for, and held: no list of all."""
        self.put("a", b"\n" * 8_000_000)
        for name, more, said in (
                ("read_file", {}, "[lines 1 to 49000 of 8000000 are shown, 49000 of 8000000 "
                 "characters; next: start_line=49001]"),
                ("read_file", {"start_line": 8_000_000}, ""),
                ("search_text", {"pattern": "x"}, "0 matches for 'x' in a")):
            with self.subTest(name):
                tracemalloc.start()
                try:
                    told = self.ok(name, path="a", **more)
                    _, most = tracemalloc.get_traced_memory()
                finally:
                    tracemalloc.stop()
                self.assertEqual(said, told.split("\n")[0])
                self.assertLess(most, 4_000_000)

    def test_a_file_that_grows_while_it_is_read_is_too_large(self) -> None:
        """Not read for ever, though it was small enough when it was opened."""
        self.put("a", b"x\n" * 5_000)
        with mock.patch("mini_agent.tools.pieces.MAX_BYTES", 5_000), mock.patch(
                "mini_agent.tools.pieces.PIECE", 10):
            self.assertEqual(self.fails("FILE_TOO_LARGE", "read_file", path="a"),
                             "a has 8192 bytes, more than 5000 are not read")

    def test_no_file_stays_open(self) -> None:
        """Read to its end, broken off, or refused as a folder."""
        self.put("a", NUMBERED)
        self.put("b", b"\0")
        (self.root / "d").mkdir()
        before = sorted(os.listdir("/dev/fd"))
        for path in ("a", "b", "d"):
            self.ask("read_file", path=path)
            self.ask("search_text", path=path, pattern="1", regex=True)
        next(text_pieces(self.workspace, "a"))
        self.assertEqual(before, sorted(os.listdir("/dev/fd")))


class ChineseTest(ToolCase):
    language = "zh"

    def test_the_published_texts_are_in_chinese(self) -> None:
        """A missing file and a written one, word for word as in the published run."""
        self.assertEqual(self.ask("read_file", path="reports/open_items.md")["content"],
                         "ERROR FILE_NOT_FOUND: 文件不存在: reports/open_items.md")
        self.assertEqual(self.ok("write_file", path="reports/open_items.md", content="一\n二\n"),
                         "已写入 reports/open_items.md: 4 字符 / 2 行")


class SearchTest(ToolCase):
    def test_a_search_in_a_file_gives_numbers_and_lines(self) -> None:
        """The published call finds its 38 records; the pattern is taken literally."""
        shutil.copy(NOTES, self.root)
        first, *hits = self.ok("search_text", pattern="P1 open", path="long_notes.txt").split("\n")
        self.assertEqual(first, "38 matches for 'P1 open' in long_notes.txt")
        self.assertEqual(len(hits), 38)
        self.assertEqual(hits[0], "3: N003 2026-01-09 P1 open   chen quote the first line of every "
                                  "tool answer    r1111")
        self.assertEqual(self.ok("search_text", pattern="P.", path="long_notes.txt"),
                         "0 matches for 'P.' in long_notes.txt")

    def test_a_search_in_a_folder_names_the_file(self) -> None:
        """Hits are sorted by file and line; what was not searched is named in the first line."""
        self.put("b/x.py", "one\ntwo\none")
        self.put("a.py", "one\r\n")
        self.put("c.bin", b"one\0")
        self.assertEqual(self.ok("search_text", pattern="one"),
                         "3 matches for 'one' in . (left out: c.bin)\n"
                         "a.py:1: one\nb/x.py:1: one\nb/x.py:3: one")
        self.fails("BINARY_FILE", "search_text", pattern="one", path="c.bin")

    def test_a_regular_expression_is_asked_for(self) -> None:
        """It finds the same lines as the literal search; a wrong one says what is wrong."""
        shutil.copy(NOTES, self.root)
        literal = self.ok("search_text", pattern="P1 open")
        self.assertEqual(self.ok("search_text", pattern="P1 open", regex=True), literal)
        self.assertEqual(self.ok("search_text", pattern="^N00[12].*(wu|chen)", regex=True),
                         "1 match for '^N00[12].*(wu|chen)' in .\n"
                         "long_notes.txt:1: N001 2026-01-06 P3 open   wu   replay the task "
                         "script without any network   r1037")
        self.assertEqual(self.fails("BAD_PATTERN", "search_text", pattern="(", regex=True),
                         "the pattern cannot be used: "
                         "missing ), unterminated subpattern at position 0")
        for pattern in ("", "a\nb"):
            self.fails("BAD_PATTERN", "search_text", pattern=pattern)

    def test_a_hit_is_in_a_line_that_can_be_read(self) -> None:
        """Behind the last newline no line begins; numbers count on from piece to piece."""
        self.put("a", "one\n\ntwo\n")
        self.put("empty", "")
        self.put("open", "\n\nx")
        with mock.patch("mini_agent.tools.pieces.PIECE", 1):
            self.assertEqual(self.ok("search_text", pattern="^$", regex=True),
                             "3 matches for '^$' in .\na:2: \nopen:1: \nopen:2: ")
            self.assertEqual(self.ok("search_text", pattern="two", path="a"),
                             "1 match for 'two' in a\n3: two")

    def test_a_regular_expression_without_end_is_stopped(self) -> None:
        """Catastrophic backtracking costs its time limit and no more."""
        self.put("a", "a" * 60 + "b")
        tool, start = SearchText(self.workspace, seconds=.3), time.monotonic()
        with self.assertRaises(ToolError) as caught:
            tool("(a+)+$", regex=True)
        self.assertEqual(caught.exception.code, "SEARCH_TIMEOUT")
        self.assertLess(time.monotonic() - start, PATIENCE)  # it would take days

    def test_only_the_expression_takes_of_its_time(self) -> None:
        """A slow disk and a folder of many small files are not the pattern's fault."""
        clock = [0.0]

        def slow() -> Iterator[tuple[str, int, str]]:
            for number in range(300_000):  # 300,000 sizes added up for each file took minutes
                clock[0] += 1.0
                yield f"{number}:", 0, "abc" if number % 100_000 == 0 else ""

        with mock.patch("mini_agent.tools.search.time") as time_:
            time_.monotonic = lambda: clock[0]
            hits = list(SearchText(self.workspace, seconds=60.0)._expression("b", slow()))
        self.assertEqual([("0:", 1, "abc", 1), ("100000:", 1, "abc", 1), ("200000:", 1, "abc", 1)],
                         hits)

    def test_a_search_that_breaks_off_is_told_in_a_few_words(self) -> None:
        """Where the system ends it, not with the whole program that was run."""
        self.put("a", "b")
        with mock.patch("mini_agent.tools.search._CHILD", "raise SystemExit(3)"):
            self.assertEqual(self.fails("BAD_PATTERN", "search_text", pattern="b", regex=True),
                             "the pattern cannot be used: exit=3")

    def test_a_search_without_end_ends_though_nobody_is_left_to_end_it(self) -> None:
        """Its process has taken its processor time, and is killed by the system."""
        given = {"pattern": "(a+)+$", "texts": ["a" * 60 + "b"], "seconds": 1}
        done = subprocess.run([sys.executable, "-I", "-S", "-c", CHILD], capture_output=True,
                              input=json.dumps(given).encode(), timeout=300)
        self.assertLess(done.returncode, 0)

    def test_hits_are_bounded(self) -> None:
        """Of a long line the part around its match, of many hits a page with the total."""
        self.put("a", "x" * 5_000 + "needle" + "y" * 5_000)
        self.assertEqual(self.ok("search_text", pattern="needle", path="a").split("\n")[1],
                         "1: " + "x" * 125 + "needle" + "y" * 369
                         + " [characters 4876 to 5375 of 10006]")
        self.put("b", NUMBERED)
        tool = SearchText(self.workspace, limit=2_000)
        first = tool("line", "b").split("\n")[0]
        self.assertEqual(first, "1000 matches for 'line' in b [1 to 84 are shown; next: start=85]")
        self.assertEqual(tool("line", "b", start=1_000),
                         "1000 matches for 'line' in b [1000 to 1000 are shown]\n1000: line 1000")
