"""Milestone 6: which of many given words and lines a text has, reading it once.

The measure of evidence asks this of every message of a session. Words are looked up
among the pieces of the text. A line is looked up by an anchor, the one of its pairs of
neighbouring words that the fewest other lines have, so that the time grows with the
text and hardly with the number of lines. What this leaves out: what they are worth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

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


def in_context(word: str, text: str, originals: Iterable[str]) -> bool:
    """Whether `word` stands in `text` with surroundings that it has in one of `originals`.

    A line of the original that holds more than the word, or 30 characters: those
    before it, those after it, or 15 on each side. A part of a longer word is not it.
    The cost is one look through `text`, however many originals there are.
    """
    there = [at for at in _everywhere(word, text) if stands_at(word, text, at)]
    around = {stretch for at in there for stretch in _stretches(word, text, at)}
    return bool(there) and any(
        not around.isdisjoint(_stretches(word, original, at))
        or _line_stands(word, original, at, text, there)
        for original in originals for at in places(word, original)
        if stands_at(word, original, at))


def _stretches(word: str, text: str, at: int) -> Iterator[tuple[int, str]]:
    """The stretches around a word that are context enough, each with how many characters of it
    stand before the word."""
    for before in (AROUND, 0, AROUND // 2):
        start, stop = at - before, at + len(word) + AROUND - before
        if start >= 0 and stop <= len(text):
            yield before, text[start:stop]


def _line_stands(word: str, original: str, at: int, text: str, there: Sequence[int]) -> bool:
    """Whether the line of a word, if there is more on it, stands in `text` around one of the
    places `there`."""
    start = original.rfind("\n", 0, at) + 1
    line = original[start:_line_end(original, at + len(word))].strip()
    before = at - original.index(line, start)
    return len(line) > len(word) and any(
        place >= before and text.startswith(line, place - before) for place in there)


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
