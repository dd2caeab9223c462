"""Milestone 3: how likely it is that a word or a line will be used again.

`CHANCES` is what the digest goes by. Its numbers were counted on 50 recorded coding
sessions of ten agents: of all identifiers in a history, the share that the assistant
wrote into a call within the next 80 messages, by what could be known of them before;
those of paths and lines on a part of these. Nothing is trained, and little depends on
any single number: halved or doubled, each moves far recall by less than half a point.
`document frequency` is the plain variant: a word is worth the more the fewer messages
have it.

What stands in more than a fifth of the messages (and more than six) nobody has to look
up: it is worth nothing, as in the measure. What comes out are whole numbers, of which `SURE`
are a certainty: a sum of fractions ends in other digits from one Python to the next, and
a digest in other lines. What is left out: how lines get chosen (`coverage.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from .index import HistoryIndex
from .units import BARE, DEFINITION, FAULT, IMPORT, PLAIN

SURE = 10**9        # what a chance of 1 is worth
RARE, SHARE = 6, 5  # worth something in at most 6, or a fifth, of the messages


@dataclass(frozen=True)
class Chances:
    """Chances of use within the next 80 messages, and factors on them.

    `used`: of a word by how many messages of the assistant have it (0, 1, 2, more).
    `seen`: of one that the assistant never wrote, by how many lines have it (0 to 5 and
    more). `path`: factor for a word with a slash that was used, or seen in more than one
    line: files that were touched are touched again, and a path is mostly all that its
    call needs. `young`, `old`: (messages since the newest that has it, factor).
    `line`: that a line is quoted as a whole, by its kind; `quoted`: factor for a line
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


def word_chances(index: HistoryIndex, words: Collection[int], table: Chances = CHANCES,
                 ) -> dict[int, int]:
    """What each of these words is worth now, of `SURE`."""
    used, seen, read, newest, names = (index.used, index.seen, index.read, index.newest,
                                       index.names)
    limit = max(RARE, index.others / SHARE)
    young, old = len(index) - table.young[0], len(index) - table.old[0]
    by_use, by_sight = (  # by count, by age (old, neither, young), of a word and of a path
        [[(worth(chance * age), worth(chance * age * table.path))
          for age in (table.old[1], 1.0, table.young[1])] for chance in chances]
        for chances in (table.used, table.seen))
    often, plain = len(table.used) - 1, len(table.seen) - 1
    return {word: 0 if not 0 < read[word] <= limit else
            (by_use[used[word] if used[word] < often else often] if used[word]
             else by_sight[seen[word] if seen[word] < plain else plain])
            [(newest[word] > old) + (newest[word] >= young)]
            ["/" in names[word] and (used[word] > 0 or seen[word] > 1)]
            for word in words}


def word_rarities(index: HistoryIndex, words: Collection[int]) -> dict[int, int]:
    """The plain variant: the logarithm of how many times rarer than the limit a word is."""
    limit = max(RARE, index.others / SHARE)
    return {word: worth(math.log(limit / index.read[word] + 1)) if 0 < index.read[word] <= limit
            else 0 for word in words}


def line_chances(index: HistoryIndex, lines: Collection[int], table: Chances = CHANCES,
                 ) -> dict[int, int]:
    """How likely it is that each of these lines is quoted as a whole, of `SURE`."""
    kinds, quoted = index.kinds, index.quoted
    chance = {kind: (worth(plain), worth(plain * table.quoted)) for kind, plain in table.line}
    return {line: chance[kinds[line]][quoted[line] > 0] for line in lines}
