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

from .words import pieces, stands_at

AROUND = 30  # characters of original surroundings
_PAIR = re.compile(r"\b(?=(\w++[^\w\n]++\w++))\w++")  # two neighbouring words of a line
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
        self._words = {text: self.numbers[text] for text in self.texts[:self.first_line]}
        self._anchors: dict[str, list[str]] = {}
        pairs = {line: _PAIR.findall(line) for line in self.texts[self.first_line:]}
        common = Counter(pair for found in pairs.values() for pair in found)
        for line, found in pairs.items():
            self._anchors.setdefault(min(found, key=lambda pair: common[pair]), []).append(line)

    def __call__(self, text: str) -> tuple[int, ...]:
        """The numbers of the items in `text`, rising."""
        found = {self._words[word] for word in self._words.keys() & pieces(text)}
        if self._anchors:
            for pair in self._anchors.keys() & set(_PAIR.findall(text)):
                found.update(self.numbers[line] for line in self._anchors[pair]
                             if next(places(line, text), None) is not None)
        return tuple(sorted(found))


def is_telling(line: str) -> bool:
    """Whether a line has two words of letters or digits, by which it can be found."""
    return _PAIR.search(line) is not None


def _cuts(text: str, at: int) -> bool:
    """Whether a cut before the character at `at` would go through a word."""
    return at > 0 and _INSIDE_A_WORD.match(text, at - 1) is not None


def in_context(word: str, text: str, original: str) -> bool:
    """Whether `word` stands in `text` with surroundings that it has in `original`.

    A line of the original that holds more than the word, or 30 characters: those
    before it, those behind it, or 15 on each side. A part of a longer word is not it.
    """
    return any(stands_at(word, text, there + at - start)
               for at in places(word, original) if stands_at(word, original, at)
               for start, stretch in _surroundings(word, original, at)
               for there in _everywhere(stretch, text))


def _surroundings(word: str, original: str, at: int) -> Iterator[tuple[int, str]]:
    """(where it begins, text) of each stretch that is context enough for the word at `at`."""
    end, half = at + len(word), AROUND // 2
    for start, stop in ((at - AROUND, end), (at, end + AROUND), (at - half, end + half)):
        if start >= 0 and stop <= len(original):
            yield start, original[start:stop]
    start, stop = original.rfind("\n", 0, at) + 1, _line_end(original, end)
    line = original[start:stop].strip()
    if len(line) > len(word):
        yield original.index(line, start), line


def _everywhere(part: str, text: str) -> Iterator[int]:
    """Each place where a part begins in a text."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def places(word: str, text: str) -> Iterator[int]:
    """Where a word or line begins in a text, with no word cut at its ends."""
    return (at for at in _everywhere(word, text)
            if not _cuts(text, at) and not _cuts(text, at + len(word)))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
