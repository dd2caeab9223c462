"""Milestone 3: results that keep their first and last lines, or the ones that matter."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path

from mini_agent.compression.policies import Policy
from mini_agent.errorlines import ErrorLines, error_weight
from mini_agent.words import rows_of

from .policy_session import PolicySession, ladder

OUTPUTS = Path(__file__).parent / "data" / "outputs"
EXPECTED: dict[str, list[str]] = json.loads((OUTPUTS / "expected.json").read_text(encoding="utf-8"))
HEADER = re.compile(r"\[clipped #(\d+): (\d+) of (\d+) lines?, (\d+) of (\d+) characters?(?:; "
                    r"error code (\w+))?; read_result\(handle=(\d+)\) gives it back\]")


def clipping(**settings: object) -> Policy:
    """Clipping alone, whatever the age of a result."""
    return ladder("tool_result_clipping", **{"keep_rounds": 0, **settings})


def clipped(text: str, **settings: object) -> str:
    """One result as it stands after clipping."""
    run = PolicySession(clipping(**settings), 10**6, trigger=0)
    run.round("x", text, tool="run_command")
    return run.ask()[3]["content"]


class ErrorLinesTest(unittest.TestCase):
    """Outputs of compilers, linkers, tests, package managers, type checkers and servers."""

    def test_what_is_wrong_and_where_survives_in_the_room_of_first_and_last_lines(self) -> None:
        """In each output the telling lines are kept by "errors",
        in no more characters than "ends"."""
        self.assertGreaterEqual(len(EXPECTED), 66)
        for name, wanted in EXPECTED.items():
            with self.subTest(name):
                text = (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")
                rows = rows_of(text)
                plain, telling = clipped(text, keep="ends"), clipped(text, keep="errors")
                for line in wanted:
                    self.assertIn(f"{rows.index(line) + 1}: {line}", telling)
                self.assertLessEqual(body_size(telling), max(240, body_size(plain)))

    def test_first_and_last_lines_lose_it(self) -> None:
        """The same lines are not all kept by "ends" in any of these outputs."""
        for name, wanted in EXPECTED.items():
            with self.subTest(name):
                text = (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")
                self.assertFalse(all(line in clipped(text, keep="ends") for line in wanted))

    def test_a_line_that_denies_an_error_is_none(self) -> None:
        """Counts of zero, passed tests and plain prose do not look like the point."""
        for line in ("0 errors, 0 warnings", "Tests: 0 failed, 12 passed", "no errors found",
                     "test_error_handling (tests.T) ... ok", "ok  \texample.org/errors\t0.1s",
                     "tests/test_errors.py::test_timeout PASSED [ 50%]", "没有错误", "失败: 0",
                     "✓ rejects invalid input (3 ms)", "errors: 0", "Error: (none)",
                     '{"error": null}', "see the manual", "错误\uff1a0", "程序正常退出", "进程已退出"):
            with self.subTest(line):
                self.assertEqual(error_weight(line), 0)

    def test_a_count_that_is_not_zero_is_still_seen(self) -> None:
        """`3 failed, 0 errors` says that something is wrong."""
        self.assertEqual(error_weight("3 failed, 0 errors"), 2)
        self.assertEqual(error_weight("共 41 项: 40 通过, 1 失败"), 2)

    def test_the_colon_of_chinese_text_is_one(self) -> None:
        """Compilers and servers that speak Chinese write U+FF1A."""
        for line in ("主.c:3:1: 错误\uff1a未知的类型名", "致命错误\uff1a磁盘已满", "【严重】队列不可用"):
            with self.subTest(line):
                self.assertEqual(error_weight(line), 3)
        self.assertEqual(error_weight("附注\uff1a错误地使用了引号"), 0)

    def test_a_level_in_front_counts_more_than_a_word_behind_it(self) -> None:
        """An error in a thread named debug is one; a note about an error is none."""
        for line, weight in (("2024-05-01 ERROR [jdbc-debug] the pool is gone", 2),
                             ("ERROR: deprecated API was removed", 3),
                             ("src/x.c:3:4: note: expected 'int' for the error", 0),
                             ("WARNING: an error code is deprecated", 1),
                             ("WARNING: DATA RACE", 3),
                             ("WARNING: ThreadSanitizer: data race (pid=7)", 3)):
            with self.subTest(line):
                self.assertEqual(error_weight(line), weight)

    def test_a_frame_and_a_header_say_nothing_themselves(self) -> None:
        """They take no room from the row that says what is wrong, which comes before them."""
        rows = ["Traceback (most recent call last):",
                '  File "/usr/lib/python3.12/asyncio/run.py", line 9, in run',
                '  File "app/sync.py", line 4, in load', "    raise GaveUp(7)",
                "app.sync.GaveUp: feed 7", "done"]
        self.assertEqual(ErrorLines().points(rows), [4, 2, 0])
        rows = ["/w/stock.js:8", "    throw new OutOfStock(7);", "    ^", "", "OutOfStock: feed 7",
                "    at reserve (/w/stock.js:8:11)", "    at Module.load (node:internal/x:1:32)"]
        self.assertEqual(ErrorLines().points(rows), [4, 5])
        self.assertEqual(ErrorLines().points(
            ["lib/a.py:90: in import_module", "E   ImportError: no b"])[:1], [1])
        self.assertEqual(error_weight("ERROR: test_raise (shop.tests.T.test_raise)"), 2)

    def test_what_a_row_announces_stands_below_it(self) -> None:
        """A colon at the end hands on to the next row; the place may stand 30 rows off."""
        rows = ["CMake Error at cmake/FindFoo.cmake:17 (message):", "",
                "  Foo 2.3 or newer is required", "ok"]
        self.assertEqual(ErrorLines().points(rows), [0, 2])
        rows = ["AssertionError: 1 != 2", *["  <div>"] * 28, "    at total (src/cart.test.ts:9:3)"]
        self.assertEqual(ErrorLines().points(rows), [0, 29])

    def test_of_two_failures_of_jest_each_has_its_own_frame(self) -> None:
        """It stands below the fault, however near that of the failure before may be; what was
        expected and what came go with it."""
        rows = """\
    expect(received).toBe(expected) // Object.is equality

    Expected: 1
    Received: 2

    > 11 |   expect(a).toBe(1);

      at Object.toBe (src/a.test.js:11:3)

  ● a › b

    TypeError: b is undefined

    > 15 |   const total = carried(b.c);
         |                         ^

      at push (node_modules/queue/index.js:4:4)
      at Object.<anonymous> (src/a.test.js:15:25)

  ● a › c

    thrown: "Exceeded timeout of 5000 ms for a test."


      at it (src/a.test.js:19:3)
""".split("\n")
        self.assertEqual(ErrorLines().faults(rows)[:3], [[0, 2, 3, 7], [11, 17], [21, 24]])
        self.assertEqual(error_weight("    expect(element).toBe(1);"), 0)

    def test_no_line_is_passed_over_that_would_have_been_judged_an_error(self) -> None:
        """The quick look that chooses what is judged finds each line with a weight."""
        for name in EXPECTED:
            rows = rows_of((OUTPUTS / f"{name}.txt").read_text(encoding="utf-8"))
            for at, row in enumerate(rows):
                with self.subTest(name, row=row):
                    self.assertEqual(ErrorLines().points([row])[:1],
                                     [0] if error_weight(row) else [])

    def test_of_an_output_full_of_errors_both_ends_are_judged(self) -> None:
        """5,000 lines that all fail, each in its own way: at most 100 points come back."""
        rows = [f"Error: {chr(0x4e00 + number)} is wrong" for number in range(5_000)]
        self.assertEqual(ErrorLines().points(rows), list(range(100)))
        self.assertEqual(ErrorLines().points(
            ["FAILED"] * 9 + ["ok"] * 9_000 + ["Error: late"])[:2], [9_009, 0])

    def test_a_line_of_100_000_characters_is_judged_by_its_start(self) -> None:
        """Judging never takes longer than the line's first 400 characters ask for."""
        self.assertEqual(error_weight("x" * 100_000 + " error: late"), 0)
        self.assertEqual(error_weight("error: early " + "a(" * 50_000), 3)


class Clipping(unittest.TestCase):
    """What is clipped, what is not, and what the header says of it."""

    def test_the_header_is_first_and_counts_truly(self) -> None:
        """Kept and total lines and characters are those of the result; the gap is counted."""
        rows = [f"line {number} of a long output" for number in range(1, 61)]
        lines = clipped("\n".join(rows) + "\n").split("\n")
        self.assertEqual(HEADER.fullmatch(lines[0]).groups(),
                         ("3", "6", "60", str(sum(map(len, rows[:3] + rows[-3:]))),
                          str(len("\n".join(rows)) + 1), None, "3"))
        self.assertEqual(lines[1:], [*rows[:3], "[... 54 lines left out ...]", *rows[-3:]])

    def test_what_is_kept_stands_in_order_whatever_there_is_of_it(self) -> None:
        """The first three lines and the last, of 20 to 200."""
        for count in range(20, 200):
            rows = [f"line {number} of some long output" for number in range(count)]
            self.assertEqual(clipped("\n".join(rows)).split("\n")[1:], [
                *rows[:3], f"[... {count - 6} lines left out ...]", *rows[-3:]])

    def test_one_line_of_100_000_characters_is_cut_by_character(self) -> None:
        """The line keeps its first 200 characters and says how many are missing."""
        text = clipped("x" * 100_000)
        self.assertEqual(text, "[clipped #3: 1 of 1 line, 200 of 100000 characters; "
                         "read_result(handle=3) gives it back]\n" + "x" * 200
                         + " [... 99800 characters of this line left out]")

    def test_head_and_tail_that_overlap_are_not_shown_twice(self) -> None:
        """Five long lines are five lines, each once."""
        rows = [f"{number} " + "y" * 400 for number in range(5)]
        lines = clipped("\n".join(rows)).split("\n")
        self.assertEqual([line[0] for line in lines[1:]], list("01234"))
        self.assertIn("5 of 5 lines", lines[0])

    def test_a_result_just_over_the_limit_that_would_grow_stays(self) -> None:
        """401 characters in six lines would get dearer with a header: no change, no record."""
        text = "\n".join(["z" * 66] * 6)
        self.assertEqual(len(text), 401)
        self.assertEqual(clipped(text), text)

    def test_a_result_of_400_characters_stays_whole(self) -> None:
        """The limit is for results over 400 characters."""
        text = "\n".join(["ab"] * 133) + "\nc"
        self.assertEqual(len(text), 400)
        self.assertEqual(clipped(text), text)
        self.assertNotEqual(clipped(text + "d"), text + "d")

    def test_a_result_that_begins_with_the_mark_is_clipped_like_any_other(self) -> None:
        """What a tool printed is text, also where it looks like a header of ours."""
        text = "[clipped #9: 1 of 1 lines, 2 of 2 characters; x]\n" + "row\n" * 200
        self.assertTrue(clipped(text).startswith("[clipped #3: 6 of 201 lines, "))

    def test_the_last_two_rounds_stay_whole(self) -> None:
        """With `keep_rounds` 2 the older results are clipped, the two newest rounds are not."""
        run = PolicySession(clipping(keep_rounds=2), 10**6, trigger=0)
        for number in range(4):
            run.round(f"f{number}", "row\n" * 200, "row\n" * 300)
        run.ask()
        self.assertEqual([entry.how for entry in run.entries if entry.message["role"] == "tool"],
                         ["shortened"] * 4 + ["verbatim"] * 4)

    def test_a_clipped_result_is_never_clipped_again(self) -> None:
        """Its bytes stay through every later request."""
        run = PolicySession(clipping(keep="errors", keep_rounds=2), 10**6, trigger=0)
        for number in range(8):
            run.round(f"f{number}", "row\nError: no\n" * 200)
        first = run.entry(3)
        run.round("last", "row\n" * 200)
        run.ask()
        self.assertIs(run.entry(3), first)

    def test_the_error_code_stands_in_the_header(self) -> None:
        """A failed result can still be told from one that did not fail."""
        run = PolicySession(clipping(), 10**6, trigger=0)
        run.round("x", "row\n" * 200)
        run.history[-1]["error"] = {"code": "COMMAND_FAILED", "message": "exit=1"}
        self.assertEqual(HEADER.match(run.ask()[3]["content"])[6], "COMMAND_FAILED")

    def test_no_text_names_a_tool_that_the_agent_does_not_have(self) -> None:
        """Without `read_result` the way back is the run log."""
        run = PolicySession(clipping(), 10**6, trigger=0, tools=("read_file",))
        run.round("x", "row\n" * 200)
        self.assertIn("; the whole is message #3 of the run log]", run.ask()[3]["content"])

    def test_the_texts_are_in_the_language_of_the_task(self) -> None:
        """In Chinese too the first line says what was kept."""
        run = PolicySession(clipping(), 10**6, trigger=0, language="zh")
        run.round("x", "行\n" * 400)
        self.assertEqual(run.ask()[3]["content"].split("\n")[0],
                         "[已裁剪 #3: 保留 400 行中的 6 行、800 字符中的 6 字符;可用 read_result(handle=3) 取回]")


def body_size(text: str) -> int:
    """Characters below the header."""
    return len(text.partition("\n")[2])
