"""Milestone 3, second layer: `tool_result_aging`, one result made smaller in place."""

from __future__ import annotations

import unittest

from mini_agent.errors import ContextOverflowError
from mini_agent.messages import assistant, call, tool_result
from tests.support import payloads
from tests.windows import head, rounds, window

AGING = "tool_result_aging"


class AgingTest(unittest.TestCase):
    """Long results keep head, tail and a header; nothing else is touched."""

    def _aged(self, content: str, *, language: str = "zh", error: dict | None = None) -> str:
        history = [*head(), assistant("", [call("c", "t", {})]),
                   tool_result("c", "t", content, error)]
        made = window(150, AGING, language=language)
        return made.before_model_call(history, 0)[-1]["content"]

    def test_an_aged_result_is_header_head_gap_and_tail(self) -> None:
        """The published form to the letter: size, 160 characters, the gap, 120 characters."""
        content = "a" * 500 + "\n" + "b" * 499
        self.assertEqual("[工具结果已老化,保留首尾] 原 1000 字符 / 2 行\n" + "a" * 160
                         + "\n……(中段已省略,完整内容见运行日志)……\n" + "b" * 120,
                         self._aged(content))

    def test_the_error_code_stays_in_the_header(self) -> None:
        """A failed result is still known as failed after aging."""
        aged = self._aged("x" * 1000, error={"code": "COMMAND_FAILED", "message": "exit=1"})
        self.assertEqual("[工具结果已老化,保留首尾] 原 1000 字符 / 1 行 / 错误码 COMMAND_FAILED",
                         aged.splitlines()[0])

    def test_lines_are_counted_as_everywhere(self) -> None:
        """Only a newline ends one: so many can be read again by their numbers."""
        self.assertIn("1004 字符 / 3 行\n", self._aged("a\x0c\x85\u2028\r" + "b\n" * 2 + "x" * 995))

    def test_english_tasks_get_english_texts(self) -> None:
        """The language of the mark is that of the task."""
        self.assertTrue(self._aged("x" * 1000, language="en").startswith(
            "[tool result aged, head and tail kept] 1000 characters / 1 line originally\n"))

    def test_nothing_happens_under_the_trigger(self) -> None:
        """A view that fits is sent as it is, and no record is written."""
        records: list = []
        history = [*head(), *rounds(1, "x" * 1000)]
        made = window(100_000, AGING, records=records)
        self.assertEqual(history, made.before_model_call(history, 1))
        self.assertEqual([], records)

    def test_the_newest_result_is_aged_too(self) -> None:
        """One huge result right at the start cannot be waited out."""
        self.assertTrue(self._aged("x" * 5000).startswith("[工具结果已老化"))

    def test_only_tool_results_are_aged(self) -> None:
        """System, user and assistant messages keep their words, however long."""
        history = [*head("t" * 800), assistant("a" * 800), *rounds(1, "x" * 5000)]
        sent = window(700, AGING).before_model_call(history, 1)
        self.assertEqual(history[:4], sent[:4])
        self.assertNotEqual(history[4], sent[4])

    def test_pairing_and_place_are_untouched(self) -> None:
        """Role, call id and tool name of an aged message are those of the original."""
        history = [*head(), *rounds(3, "x" * 2000)]
        sent = window(600, AGING).before_model_call(history, 3)
        self.assertEqual(len(history), len(sent))
        for old, new in zip(history, sent):
            self.assertEqual({**old, "content": ""}, {**new, "content": ""})

    def test_aging_again_changes_nothing(self) -> None:
        """An aged result is never aged a second time."""
        records: list = []
        history = [*head(), *rounds(1, "x" * 2000)]
        made = window(150, AGING, records=records)
        first = made.before_model_call(history, 1)
        self.assertEqual(first, made.before_model_call(history, 2))
        self.assertEqual(1, len(payloads(records, "context_compression")))

    def test_a_result_that_would_get_dearer_stays(self) -> None:
        """Between 241 and 416 plain characters the form costs more than it saves."""
        for size, shrinks in ((241, False), (416, False), (421, True)):
            with self.subTest(size):
                history = [*head(), *rounds(1, "x" * size)]
                made = window(120, AGING, language="zh")
                try:
                    sent = made.before_model_call(history, 1)
                except ContextOverflowError:  # over the limit with nothing to gain
                    sent = made.view.messages()
                self.assertEqual(shrinks, sent[-1] != history[-1])

    def test_a_result_that_begins_with_the_mark_is_aged_like_any_other(self) -> None:
        """What is aged is known beside the text, not from it."""
        content = "[工具结果已老化,保留首尾] " + "x" * 3000
        self.assertTrue(self._aged(content).startswith("[工具结果已老化,保留首尾] 原 3015 字符"))

    def test_one_record_a_change_names_every_affected_result(self) -> None:
        """Three results that are aged at once are one record, with the right arithmetic."""
        records: list = []
        history = [*head(), *rounds(3, "x" * 2000)]
        made = window(600, AGING, records=records)
        made.before_model_call(history, 3)
        told, = payloads(records, "context_compression")
        self.assertEqual([3, 5, 7], told["affected_indexes"])
        self.assertEqual((made.view.tokens, 8, 8),
                         (told["after_tokens"], told["before_messages"], told["after_messages"]))
        self.assertEqual(["step", "strategy", "before_messages", "after_messages",
                          "before_tokens", "after_tokens", "affected_indexes", "trigger",
                          "prefix_kept", "entries"], list(told))


if __name__ == "__main__":
    unittest.main()
