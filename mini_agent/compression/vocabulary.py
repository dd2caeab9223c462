"""Milestone 3: the words of a history as numbers, and what is known of each.

A word gets the next number when it first comes up; for each fact about words there is a
list by their numbers, which only grows. What is left out: in which lines they stand
(`index.py`), what they are worth (`chances.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..words import pieces


class Vocabulary:
    """The words of a history.

    By word: `names`, `used` (how many messages of the assistant have it), `read` (how many
    others, and `seen` in how many lines of these), `newest` (the newest message that has
    it). `others`: how many messages are not the assistant's.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.used: list[int] = []
        self.read: list[int] = []
        self.seen: list[int] = []
        self.newest: list[int] = []
        self.others = 0
        self._numbers: dict[str, int] = {}
        self._recently: dict[int, None] = {}  # words that the assistant used, the newest last

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of these words; one that is new gets the next."""
        numbers, found = self._numbers, list(names)
        for name in found:
            if name not in numbers:
                numbers[name] = len(self.names)
                self.names.append(name)
        return tuple(map(numbers.__getitem__, found))

    def known(self, text: str) -> Iterator[int]:
        """The numbers of the words in a text of any size that have one."""
        numbers = self._numbers
        return (numbers[piece] for piece in pieces(text) if piece in numbers)

    def recently_used(self, count: int) -> Iterator[int]:
        """The words that the assistant has used, the newest first, at most `count`."""
        return islice(reversed(self._recently), count)

    def count(self, message: int, mine: bool, words: Iterable[int],
              of_lines: Iterable[int]) -> None:
        """Count the newest message, the assistant's if `mine`: its words, each once, and once
        for each line that has them."""
        for facts in (self.used, self.read, self.seen, self.newest):
            facts.extend([0] * (len(self.names) - len(facts)))
        self.others += not mine
        counts = self.used if mine else self.read
        for word in words:
            counts[word] += 1
            self.newest[word] = message
        if not mine:
            for word in of_lines:
                self.seen[word] += 1
            return
        for word in words:
            self._recently.pop(word, None)
            self._recently[word] = None
