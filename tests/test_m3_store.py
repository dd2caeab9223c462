"""Milestone 3: the store in a run's folder, and the tools that read from it."""

from __future__ import annotations

import sqlite3
import stat
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from mini_agent.compression import store
from mini_agent.compression.store import FolderStore, MemoryStore, terms_of
from mini_agent.compression.tools import page_chars, read_result_tool, recall_tool
from mini_agent.errors import StrategyError, ToolError
from mini_agent.messages import assistant, call, tool_result, user
from mini_agent.texts import Texts
from mini_agent.tools.base import FunctionTool, ToolBox
from tests.support import full_disk

SAID = {2: "read config.py\nDATABASE_URL is taken from the environment\nport = 8080",
        5: "数据库的端口是 5432,连接走环境变量\n第二行", 7: "port = 9090\nport again, port",
        9: "nothing of interest here", 11: "数据库连接失败: 超时"}


@contextmanager
def folder() -> Iterator[Path]:
    """The folder of a run, not there yet."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place) / "run.d"


class Files(unittest.TestCase):
    """Large results in files."""

    def test_a_result_is_there_whole_under_a_short_safe_name(self) -> None:
        """The name is made of the content's hash, whatever the result says;
        the folder is private."""
        with folder() as place:
            FolderStore(place).put(3, "../../x\r\n数据\n")
            (found,) = (place / "results").iterdir()
            self.assertRegex(found.name, r"^[0-9a-f]{32}\.txt$")
            self.assertEqual(found.read_bytes().decode(), "../../x\r\n数据\n")
            self.assertEqual(stat.S_IMODE(place.stat().st_mode), 0o700)
            self.assertEqual(stat.S_IMODE((place / "results").stat().st_mode), 0o700)

    def test_the_same_content_is_kept_once(self) -> None:
        """Two messages with one content are one file."""
        with folder() as place:
            kept = FolderStore(place)
            for index in (3, 9):
                kept.put(index, "same")
            self.assertEqual(len(list((place / "results").iterdir())), 1)

    def test_a_file_that_was_cut_off_is_written_again(self) -> None:
        """What an earlier run left half done is not taken for the result."""
        with folder() as place:
            FolderStore(place).put(3, "whole result")
            (found,) = (place / "results").iterdir()
            found.write_text("who")
            FolderStore(place).put(3, "whole result")
            self.assertEqual(found.read_text(), "whole result")

    def test_a_full_disk_leaves_no_half_file(self) -> None:
        """The failure says what and why, and nothing lies in the folder."""
        with folder() as place:
            with full_disk(1000), self.assertRaises(StrategyError) as caught:
                FolderStore(place).put(3, "y" * 5000)
            self.assertIn("File too large", str(caught.exception))
            self.assertEqual(list((place / "results").iterdir()), [])

    def test_a_folder_that_cannot_be_made_is_a_failed_strategy(self) -> None:
        """Where a file stands in the way, nothing is lost and the strategy says so."""
        with folder() as place:
            place.write_text("in the way")
            for attempt in (lambda: FolderStore(place).put(3, "x"),
                            lambda: FolderStore(place).remember({3: "x"})):
                with self.assertRaises(StrategyError):
                    attempt()

    def test_nothing_is_made_before_it_is_needed(self) -> None:
        """A run that keeps nothing leaves no folder."""
        with folder() as place:
            FolderStore(place)
            self.assertFalse(place.exists())


class StoreTest(unittest.TestCase):
    """What can be searched: the same answers with an index, without one, and in memory."""

    def answers(self, kept: MemoryStore | FolderStore) -> list[Any]:
        kept.remember(SAID)
        return [list(kept.find(query, 3)[1]) for query in (
            "port", "DATABASE_URL", "database_url port", "数据库端口", "端口", "环境变量", "超时 数据库",
            "absent", "of", "8080 9090", '"quoted" OR port*', "第")]

    def test_rare_terms_count_more_and_newer_messages_come_first(self) -> None:
        """The expected ranking of a dozen queries, English and Chinese."""
        self.assertEqual(self.answers(MemoryStore()), [
            [7, 2], [2], [2, 7], [11, 5], [5], [5], [11, 5], [], [9], [7, 2], [7, 2], [5]])

    def test_an_index_and_a_scan_find_the_same(self) -> None:
        """SQLite with the trigram index, and without FTS5, answer as memory does."""
        expected = self.answers(MemoryStore())
        with folder() as place:
            self.assertEqual(self.answers(FolderStore(place)), expected)
        with folder() as place, mock.patch.object(store, "TOKENIZERS", ()):
            self.assertEqual(self.answers(FolderStore(place)), expected)

    def test_an_index_of_whole_words_finds_words(self) -> None:
        """Where SQLite has FTS5 without trigrams, words come from the index,
        Chinese from a scan."""
        with folder() as place, mock.patch.object(store, "TOKENIZERS", ("unicode61",)):
            kept = FolderStore(place)
            kept.remember(SAID)
            self.assertEqual([list(kept.find(query, 3)[1]) for query in ("port", "数据库端口")],
                             [[7, 2], [11, 5]])

    def test_this_sqlite_has_the_trigram_index(self) -> None:
        """The path that is measured is the one that is meant (skipped where SQLite lacks it)."""
        with folder() as place:
            FolderStore(place).remember(SAID)
            base = sqlite3.connect(place / "store.sqlite")
            made = [row[0] for row in base.execute("SELECT sql FROM sqlite_master")]
            base.close()
            if sqlite3.sqlite_version_info < (3, 34):
                self.skipTest("this SQLite has no trigram tokenizer")
            self.assertTrue(any("trigram" in (sql or "") for sql in made))

    def test_a_message_is_remembered_once(self) -> None:
        """Giving it again changes nothing."""
        with folder() as place:
            kept = FolderStore(place)
            kept.remember({2: "port"})
            kept.remember({2: "port", 3: "port"})
            self.assertEqual(kept.unknown([2, 3, 4]), [4])
            self.assertEqual(list(kept.find("port", 9)[1]), [3, 2])

    def test_a_new_run_does_not_search_an_old_ones_store(self) -> None:
        """The store of a run that lay in the same place is taken away first."""
        with folder() as place:
            FolderStore(place).remember(SAID)
            self.assertEqual(FolderStore(place).find("port", 9), (0, {}))

    def test_a_full_store_keeps_what_it_had(self) -> None:
        """All or none of a batch is remembered; the failure is a failed strategy."""
        with folder() as place:
            kept = FolderStore(place)
            kept.remember({1: "port"})
            with full_disk(40_000), self.assertRaises(StrategyError) as caught:
                kept.remember({2: "port", 3: "y" * 900_000})
            self.assertIn("store.sqlite", str(caught.exception))
            self.assertEqual(kept.unknown([1, 2, 3]), [2, 3])
            self.assertEqual(list(kept.find("port", 9)[1]), [1])

    def test_a_python_without_sqlite_is_a_failed_strategy(self) -> None:
        """What cannot be stored stays in the view, and the session goes on."""
        with folder() as place, mock.patch.dict(sys.modules, {"sqlite3": None}):
            with self.assertRaises(StrategyError) as caught:
                FolderStore(place).remember(SAID)
            self.assertEqual("store.sqlite: this Python has no module 'sqlite3'; "
                             "use a Python that was built with it", str(caught.exception))

    def test_a_file_that_is_no_store_is_a_failed_strategy(self) -> None:
        """A store that was broken meanwhile is named; nothing is written over it."""
        with folder() as place:
            kept = FolderStore(place)
            kept.remember({1: "port"})
            broken = "this is no database, it is a text " * 40
            (place / "store.sqlite").write_text(broken)
            with self.assertRaises(StrategyError):
                kept.find("port", 9)
            self.assertEqual(broken, (place / "store.sqlite").read_text())

    def test_a_query_is_bounded(self) -> None:
        """However long it is, 24 terms are looked for."""
        self.assertEqual(len(terms_of(" ".join(f"w{number}" for number in range(900)))), 24)
        self.assertEqual(terms_of("!?  ..."), [])


def session() -> list[dict[str, Any]]:
    """A history with one result of 200 lines, one of a single long line, and an empty one."""
    return [user("Go."), assistant("I read it.", [
        call("a", "read_file", {"path": "notes.txt"}), call("b", "run_command", {"command": "x"}),
        call("c", "read_file", {"path": "empty"})]),
        tool_result("a", "read_file", "".join(f"{number}: note\n" for number in range(1, 201))),
        tool_result("b", "run_command", "".join(f"{number:06d}" for number in range(5000))),
        tool_result("c", "read_file", "")]


class Reading(unittest.TestCase):
    """`read_result`: parts by line and by character, the first line says which."""

    def read(self, *arguments: Any, limit: int = 1000, **named: Any) -> str:
        return read_result_tool(session(), Texts(), limit)(*arguments, **named)

    def test_lines_from_1_both_ends_included(self) -> None:
        """The asked lines, and what comes next."""
        self.assertEqual(self.read(2, 41, 43), "[#2 read_file notes.txt: lines 41 to 43 of 200; "
                         "next: start=44, unit=lines]\n41: note\n42: note\n43: note")

    def test_the_pages_put_together_are_the_result(self) -> None:
        """Following `next` gives every line once, and the last page says that it is the end."""
        start, pages = 1, []
        while start:
            head, _, body = self.read(2, start).partition("\n")
            pages += body.split("\n")
            self.assertLessEqual(len(body), 1000)
            start = int(head.split("start=")[1].split(",")[0]) if "next" in head else 0
        self.assertIn("this is the end", head)
        self.assertEqual(pages, session()[2]["content"].splitlines())

    def test_a_line_of_30_000_characters_is_paged_by_character(self) -> None:
        """Asked by line it begins by character, and says how to go on; the parts are the whole."""
        head, _, text = self.read(3).partition("\n")
        self.assertEqual(head, "[#3 run_command x: characters 1 to 1000 of 30000; "
                         "next: start=1001, unit=chars]")
        start = 1001
        while len(text) < 30_000:
            head, _, part = self.read(3, start, unit="chars").partition("\n")
            text += part
            start += len(part)
        self.assertIn("this is the end", head)
        self.assertEqual(text, session()[3]["content"])

    def test_a_call_is_read_back_with_its_arguments(self) -> None:
        """A handle of an assistant message gives its text and its calls."""
        self.assertEqual(self.read(1).split("\n")[1:], [
            "I read it.", 'read_file {"path": "notes.txt"}', 'run_command {"command": "x"}',
            'read_file {"path": "empty"}'])

    def test_an_empty_result_is_no_error(self) -> None:
        """There is nothing, and that is said."""
        self.assertEqual(self.read(4), "[#4 read_file empty: lines 0 to 0 of 0; this is the end]")
        self.assertEqual(self.read(4, unit="chars").strip(),
                         "[#4 read_file empty: characters 0 to 0 of 0; this is the end]")

    def test_what_is_not_there_is_an_error_with_the_numbers(self) -> None:
        """An unknown handle and a part behind the end name what there is."""
        for arguments, code, words in (
                ((5,), "NO_SUCH_HANDLE", "from #0 to #4"),
                ((2, 201), "BAD_RANGE", "#2 has no lines 201 to 200: it has 200"),
                ((2, 9, 3), "BAD_RANGE", "#2 has no lines 9 to 3: it has 200"),
                ((3, 40_000, None, "chars"), "BAD_RANGE", "it has 30000")):
            with self.assertRaises(ToolError) as caught:
                self.read(*arguments)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(words, str(caught.exception))

    def test_a_handle_is_taken_as_the_texts_of_a_window_write_it(self) -> None:
        """3, "3", "#3" and " #3 " are one message; what is no handle is refused with what is
        wanted, and a line is no handle."""
        box = ToolBox([read_result_tool(session(), Texts())], Texts())

        def said(**arguments: object) -> str:
            return str(box.run(call("c", "read_result", arguments))["content"])

        for handle in ("2", "#2", " #2 "):
            self.assertEqual(said(handle=2, end=1), said(handle=handle, end=1))
        self.assertIn("[#2 read_file notes.txt: ", said(handle="#2", end=1))
        self.assertEqual("ERROR NO_SUCH_HANDLE: there is no message #99: they go from #0 to #"
                         f"{len(session()) - 1}", said(handle="#99"))
        for handle in ("", "#", "##2", "#-2", "-2", "2.0", "#2-#3", "two", "２", "#" + "9" * 10):
            self.assertEqual(f"ERROR BAD_ARGUMENTS: handle must be integer, not string {handle!r}",
                             said(handle=handle))
        self.assertEqual("ERROR BAD_ARGUMENTS: start must be integer, not string '#2'",
                         said(handle="#2", start="#2"))

    def test_a_page_is_bounded_by_the_window(self) -> None:
        """A sixteenth of the window, 400 characters at least and 10,000 at most."""
        self.assertEqual([page_chars(window) for window in (None, 1200, 8_000, 200_000)],
                         [10_000, 400, 2_000, 10_000])


class Searching(unittest.TestCase):
    """`recall`: handles and lines, ranked and bounded."""

    def tool(self, limit: int = 10_000) -> FunctionTool:
        kept = MemoryStore()
        history = session()
        kept.remember({2: history[2]["content"], 3: history[3]["content"], 1: "I read it."})
        return recall_tool(kept, history, Texts(), limit)

    def test_a_hit_names_its_handle_its_source_and_the_line(self) -> None:
        """The message with most of the terms comes first, with the line that holds most of them."""
        self.assertEqual(self.tool()("note 137").split("\n")[:2], [
            "[hits 1 to 2 of 2 messages with any of these words, best first; "
            "read_result(handle=N, start=LINE) reads on; this is the end]",
            "#2 read_file notes.txt, line 137 of 200: 137: note"])

    def test_a_long_line_is_cut_around_the_term(self) -> None:
        """300 characters of a line of 30,000, marked as cut on both sides."""
        hit = self.tool()("004711").split(": ", 1)[1]
        self.assertIn("004711", hit)
        self.assertEqual((len(hit), hit[:3], hit[-3:]), (306, "...", "..."))

    def test_no_hit_is_an_answer(self) -> None:
        """None of none, no error."""
        self.assertTrue(self.tool()("absent").startswith("[hits 0 to 0 of 0 messages"))

    def test_an_empty_query_is_an_error(self) -> None:
        """Blanks and punctuation have no words to look for."""
        with self.assertRaises(ToolError):
            self.tool()(" ?! ")

    def test_the_answer_is_bounded(self) -> None:
        """Hits beyond the limit are counted, and shown when they are asked for."""
        kept = MemoryStore()
        kept.remember({index: "port " * 50 for index in range(5)})
        tool = recall_tool(kept, session(), Texts(), 700)
        self.assertLess(len(tool("port")), 900)
        self.assertRegex(tool("port"),
                         r"^\[hits 1 to 2 of 5 messages .*; next: start=3\]\n#4 .*\n#3 ")
        self.assertRegex(tool("port", 5), r"^\[hits 5 to 5 of 5 .*; this is the end\]\n#0 ")
        with self.assertRaises(ToolError):
            tool("port", 6)

    def test_a_store_that_cannot_be_read_is_a_tool_error(self) -> None:
        """The model is told; the run goes on."""
        with folder() as place:
            place.write_text("in the way")
            with self.assertRaises(ToolError) as caught:
                recall_tool(FolderStore(place), session(), Texts())("port")
            self.assertEqual(caught.exception.code, "STORE_ERROR")
