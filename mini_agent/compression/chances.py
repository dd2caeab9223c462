"""Milestone 3: how likely it is that a word or a line will be used again.

`CHANCES` is what the digest goes by. Its numbers were counted on 50 recorded coding
sessions of ten agents: of all identifiers in a history, the share that the assistant
wrote into a call within the next 80 messages, by what could be known of them before;
those of paths and lines on some of these. Nothing is trained, and little depends on
any single number: halved or doubled, each moves far recall by less than half a point.
`document frequency` is the plain variant: the fewer messages have a word, the more it
is worth.

A word in more than a fifth of the messages (and more than six) is worth nothing, as in
the measure: nobody has to look it up. Worths are whole numbers, and `SURE` is certainty:
sums of fractions differ in their last digits from one Python to the next, and digests
would differ in their lines. What is left out: how lines are chosen (`coverage.py`).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from .units import BARE, DEFINITION, FAULT, IMPORT, PLAIN
from .vocabulary import Vocabulary

SURE = 10**9        # what a chance of 1 is worth
RARE, SHARE = 6, 5  # worth something in at most 6, or a fifth, of the messages


@dataclass(frozen=True)
class Chances:
    """Chances of use within the next 80 messages, and factors on them.

    `used`: for a word, by how many of the assistant's messages have it (0, 1, 2, more).
    `seen`: for one the assistant never wrote, by how many lines have it (0 to 5 and
    more). `path`: factor for a word with a slash that was used, or seen in more than one
    line: files that were touched are touched again, and a path is mostly all that its
    call needs. `young`, `old`: (messages since the newest that has it, factor).
    `line`: that a line is quoted whole, by its kind; `quoted`: factor for a line
    that the assistant has written before.
    """

    used: tuple[float, ...] = (.0, .041, .084, .163)
    seen: tuple[float, ...] = (.0, .012, .030, .030, .030, .065)
    path: float = 3.0
    young: tuple[int, float] = (25, 1.85)
    old: tuple[int, float] = (150, .5)
    line: tuple[tuple[int, float], ...] = (
        (PLAIN, .008), (DEFINITION, .034), (IMPORT, .079), (FAULT, .020), (BARE, .0))
    quoted: float = 2.0


CHANCES = Chances()


def worth(chance: float) -> int:
    """A chance as a whole number."""
    return round(SURE * chance)


# That a line is quoted whole, by its kind: before and after the assistant has written it.
QUOTES = {kind: (worth(chance), worth(chance * CHANCES.quoted)) for kind, chance in CHANCES.line}
PLAIN_CHANCE = QUOTES[PLAIN][False]


def rare(others: int) -> float:
    """How many messages may have a word that is still worth something; `others` are those
    that are not the assistant's."""
    return max(RARE, others / SHARE)


def word_rarities(words: Vocabulary) -> list[int]:
    """The plain variant: the logarithm of how many times rarer than the limit a word is."""
    limit = rare(words.others)
    by_count = {count: worth(math.log(limit / count + 1)) if 0 < count <= limit else 0
                for count in set(words.read)}
    return list(map(by_count.__getitem__, words.read))


class Worths:
    """What each word of a history is worth, of `SURE`.

    A worth changes only when a message has the word, or when the newest
    one that has it reaches another age; so no compression has to weigh
    all words again.
    """

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        (self._young, young), (self._old, old) = CHANCES.young, CHANCES.old
        self._by_use, self._by_sight = (  # by count; of a word, of a path
            [[tuple(worth(chance * age * path) for age in (young, 1.0, old))
              for path in (1.0, CHANCES.path)] for chance in chances]
            for chances in (CHANCES.used, CHANCES.seen))
        self._by_age: list[tuple[int, ...]] = []  # of each word, while it is young, neither, old
        self._worths: list[int] = []              # of each word at its age now
        self._common: set[int] = set()            # words that were too common once
        self._lately = deque[tuple[int, ...]](maxlen=self._old)  # words of the newest messages

    def grow(self, message: int, words: tuple[int, ...]) -> None:
        """Take in the newest message, whose words have been counted."""
        limit = rare(self._words.others)
        new = len(self._words) - len(self._worths)
        self._worths += [0] * new
        self._by_age += [()] * new
        for word in words:
            self._by_age[word] = self._weighed(word)
            self._worths[word] = self._by_age[word][0]
            if self._words.read[word] > limit:
                self._common.add(word)
        for age, back in ((1, self._young), (2, self._old - 1)):
            for word in self._lately[-back] if back <= message else ():
                if self._words.newest[word] == message - back:
                    self._worths[word] = self._by_age[word][age]
        self._lately.append(words)

    def _weighed(self, word: int) -> tuple[int, ...]:
        words = self._words
        if not words.read[word]:
            return 0, 0, 0
        used, seen = words.used[word], words.seen[word]
        by_count = self._by_use if used else self._by_sight
        is_path = "/" in words.names[word] and (used > 0 or seen > 1)
        return by_count[min(used or seen, len(by_count) - 1)][is_path]

    def now(self) -> list[int]:
        """By word, as a fresh list for the caller; a word too common now is worth 0."""
        worths, limit = self._worths[:], rare(self._words.others)
        for word in self._common:
            if self._words.read[word] > limit:
                worths[word] = 0
        return worths
