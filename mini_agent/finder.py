"""Milestone 6: which of many given words and lines a text has, reading it once.

The measure of evidence asks this of every message of a session. Words are looked up
among the pieces of the text. A line is looked up by an anchor, the one of its pairs of
neighbouring words that the fewest other lines have, so that the time grows with the
text and hardly with the number of lines. What this leaves out: what they are worth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from .words import pieces

AROUND = 30  # characters of original surroundings
_RUN = re.compile(r"\w+")
_INSIDE_A_WORD = re.compile(r"\w\w")


class Finder:
    """Finds a fixed set of words and lines. Items have numbers: words first, then lines.

    A line has to be `is_telling`; it stands in a text where its ends cut no word.
    """

    def __init__(self, asked_words: Iterable[str], asked_lines: Iterable[str]) -> None:
        self.texts = [*asked_words]
        self.first_line = len(self.texts)
        self.texts += asked_lines
        self.numbers = {text: number for number, text in enumerate(self.texts)}
        self._anchors: dict[str, list[tuple[int, str, int]]] = {}
        pairs = {number: list(_pairs(self.texts[number]))
                 for number in range(self.first_line, len(self.texts))}
        common = Counter(pair for found in pairs.values() for _, pair in found)
        for number, found in pairs.items():
            offset, anchor = min(found, key=lambda pair: (common[pair[1]], pair[0]))
            self._anchors.setdefault(anchor, []).append((offset, self.texts[number], number))

    def __call__(self, text: str) -> tuple[int, ...]:
        """The numbers of the items in `text`, rising."""
        numbers = self.numbers
        found = {numbers[word] for word in pieces(text) if word in numbers}
        if self._anchors:
            found.update(self._lines_in(text))
        return tuple(sorted(found))

    def _lines_in(self, text: str) -> Iterator[int]:
        anchors = self._anchors
        for start, pair in _pairs(text):
            for offset, line, number in anchors.get(pair, ()):
                begin = start - offset
                if (begin >= 0 and text.startswith(line, begin) and not _cuts(text, begin)
                        and not _cuts(text, begin + len(line))):
                    yield number


def is_telling(line: str) -> bool:
    """Whether a line has two words of letters or digits, by which it can be found."""
    return next(_pairs(line), None) is not None


def _pairs(text: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of each two neighbouring words with what is between them."""
    spans = [match.span() for match in _RUN.finditer(text)]
    for (start, _), (_, end) in pairwise(spans):
        yield start, text[start:end]


def _cuts(text: str, at: int) -> bool:
    """Whether a cut before the character at `at` would go through a word."""
    return at > 0 and _INSIDE_A_WORD.match(text, at - 1) is not None


def in_context(word: str, text: str, original: str) -> bool:
    """Whether `word` stands in `text` with surroundings that it has in `original`.

    A line of the original that holds more than the word, or 30 characters: those
    before it, those behind it, or 15 on each side.
    """
    half = AROUND // 2
    for at in _places(word, original):
        end = at + len(word)
        if any(stretch in text for stretch in (
                original[at - AROUND:end] if at >= AROUND else "",
                original[at:end + AROUND] if end + AROUND <= len(original) else "",
                original[at - half:end + half] if at >= half else "") if len(
                    stretch) == len(word) + AROUND):
            return True
        line = original[original.rfind("\n", 0, at) + 1:_line_end(original, end)].strip()
        if len(line) > len(word) and line in text:
            return True
    return False


def _places(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        if not _cuts(text, at) and not _cuts(text, at + len(word)):
            yield at
        at = text.find(word, at + 1)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
