"""All milestones: one hostile text, and what each way out makes of it."""

from __future__ import annotations

import random
import unittest
from html import escape

from mini_agent.hostile import (
    clean, clean_output, escaped, exposed, one_line, without_controls)
from mini_agent.lab.page import embedded
from mini_agent.models.faults import safe_words

# a lone surrogate, a colour, a bar drawn over itself, a mark of direction, a variant, markup
TEXT = "a\ud800\x1b[31m<b>\x1b[0m\tc\n10 %\r20 %\u202e\u2800\x07"
PIECES = [*TEXT, "\x1b[31m", "\x1b]0;title\x07", "\x9b", "\b", "\x00", "中\u3000", "\ufe0f",
          "\u200b"]


class HostileTextTest(unittest.TestCase):
    """`hostile.py`, row by row of its table."""

    def test_each_way_out_has_its_own_rule(self) -> None:
        """The same text, exactly as each reader gets it."""
        for function, told in (
                (clean, "a\ufffd\x1b[31m<b>\x1b[0m\tc\n10 %\r20 %\u202e\u2800\x07"),
                (clean_output, "a\ufffd<b>\tc\n20 %\u202e\u2800"),
                (one_line, "a\ufffd<b> c 10 % 20 %\u202e\u2800"),
                (without_controls, "a\ud800<b>\tc\n10 %20 %\u2800"),
                (escaped, "a\\ud800\\x1b[31m<b>\\x1b[0m\tc\\n10 %\\r20 %\\u202e\u2800\\x07"),
                (exposed, "a\\ud800\\x1b[31m<b>\\x1b[0m    c\n10 %\\r20 %\\u202e\\u2800\\x07"),
                (safe_words, "a\ufffd<b> c 10 % 20 %\u202e\u2800")):
            with self.subTest(function.__name__):
                self.assertEqual(told, function(TEXT))
        self.assertEqual("&lt;b a=&quot;1&quot;&gt;", escape('<b a="1">'))
        self.assertEqual('["\\u003c/script>\\u2028"]', embedded(["</script>\u2028"]))

    def test_plain_text_in_any_script_is_left_alone(self) -> None:
        """Nothing is escaped or lost that a reader can read."""
        for text in ("plain", "中文，全角", "\u3000段首", "é ü ß", "日本語 한국어 ру́сский", "✓ → €"):
            for function in (clean, clean_output, one_line, without_controls, escaped, exposed):
                with self.subTest(function.__name__, text=text):
                    self.assertEqual(text, function(text))

    def test_twice_is_once(self) -> None:
        """What is safe stays as it is, for any text."""
        draw = random.Random(4)
        for _ in range(2_000):
            text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(12)))
            for function in (clean, clean_output, without_controls, escaped, exposed):
                once = function(text)
                self.assertEqual(once, function(once), (function.__name__, text))
            self.assertNotIn("\x1b", without_controls(text) + clean_output(text) + escaped(text))

    def test_a_quote_is_cut_with_a_mark(self) -> None:
        """In characters; without a limit it is whole."""
        self.assertEqual("abc...", one_line("abcdef", 3))
        self.assertEqual("abc", one_line("abc", 3))
        self.assertEqual("x" * 999, one_line("x" * 999, None))

    def test_a_key_is_found_whatever_stands_inside_of_it(self) -> None:
        """An endpoint's words: an escape cannot break a key in two, a cut cannot leave half."""
        key = "sk-" + "a1B2" * 10
        self.assertNotIn("a1B2", safe_words(f"wrong key {key[:9]}\x1b[0m{key[9:]}"))
        self.assertNotIn("a1B2", safe_words("x" * 290 + " " + key))


if __name__ == "__main__":
    unittest.main()
