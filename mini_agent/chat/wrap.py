"""Milestone 5: breaks lines between words, also in a text that comes in pieces.

A terminal breaks a line in the middle of a word. Here lines are broken at blanks, and beside
wide (Chinese, Japanese) characters, which have no blanks between them. Code is not broken, so
that it can be copied: lines that begin with a blank, rows of a table, text between fences.
"""

from __future__ import annotations

import re

from ..columns import is_wide, unbroken, width

FENCE = "```"
_PART = re.compile("\n|[ \t]+|[^ \t\n]+")


class Wrap:
    """Wraps text that is fed in pieces. A word is held back until its end has come."""

    def __init__(self) -> None:
        self._held: list[str] = []  # pieces of a word that may go on
        self._start = ""     # the first three characters of the line
        self._width = 0      # the columns of what stands on the line so far
        self._blank = ""     # blanks that are written only if a word follows on this line
        self._fenced = False

    def feed(self, text: str, columns: int) -> str:
        """The text that can be written now, with line breaks."""
        end = len(text)  # the end of the last whole word
        while end and not (text[end - 1] in " \t\n" or is_wide(text[end - 1])):
            end -= 1
        if not end:
            self._held.append(text)
            return ""
        whole, self._held = "".join(self._held) + text[:end], [text[end:]]
        return "".join(self._part(part, columns) for part in _PART.findall(whole))

    def end(self, columns: int) -> str:
        """The text that was held back; the next text begins a new line."""
        text, self._held = "".join(self._held), []
        shown = "".join(self._part(part, columns) for part in _PART.findall(text))
        self.new_line()
        self._fenced = False
        return shown

    def new_line(self) -> None:
        """Note that the next character begins a line."""
        self._start = self._blank = ""
        self._width = 0

    def _part(self, part: str, columns: int) -> str:
        if part == "\n":
            self._fenced ^= self._start == FENCE
            self.new_line()
            return part
        if part.isspace():
            if self._start and not self._is_code():
                self._blank += part
                return ""
            return self._put(part)
        return "".join(self._word(word, columns) for word in unbroken(part))

    def _word(self, word: str, columns: int) -> str:
        blank, self._blank = self._blank, ""
        if self._start and not self._is_code() and (
                self._width + width(blank) + width(word) > columns):
            self.new_line()
            return "\n" + self._put(word)
        return self._put(blank + word)

    def _put(self, text: str) -> str:
        """The text, noted as written on the current line."""
        self._start = (self._start + text[:len(FENCE)])[:len(FENCE)]
        self._width += width(text)
        return text

    def _is_code(self) -> bool:
        return self._fenced or self._start[:1] in (" ", "\t", "|")


def wrapped(text: str, columns: int) -> str:
    """A whole text, wrapped."""
    wrap = Wrap()
    return wrap.feed(text, columns) + wrap.end(columns)
