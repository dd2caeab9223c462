"""Milestone 3: how likely it is that a word or a line will be used again.

`CHANCES` is the table that the digest goes by. Its numbers were counted on 50
recorded coding sessions of ten agents: of all identifiers in a message, the share
that the assistant wrote into a call within the next 80 messages, by what could be
known of them before. Nothing is trained: `DOCUMENT_FREQUENCY` is the plain variant,
where a word is worth the more the fewer messages have it, and costs half a point.

What stands in more than a fifth of the messages (and more than six) nobody has to
look up: it is worth nothing, as in the measure. What is left out: how a line gets
chosen (`coverage.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .index import HistoryIndex
from .units import DEFINITION, FAULT, IMPORT, PLAIN

CHANCES = {
    # An identifier, by the number of assistant messages that have it ...
    "used": (0.0, .041, .084, .163),          # never (see `unused`), once, twice, more often
    # ... and one that the assistant never wrote, by the number of other messages.
    "unused": (0.0, .012, .030, .065),        # none, one, two, more
    # A path that the assistant has used, times that: files that were touched are
    # touched again.
    "path": 3.0,
    # Its age: messages since the newest that has it.
    "young": (25, 1.85),                      # up to this age times that
    "old": (150, .5),                         # from this age on times that
    # A line, by its kind: that it is quoted as a whole.
    "line": {PLAIN: .008, DEFINITION: .034, IMPORT: .079, FAULT: .02},
    # The same for a line that the assistant has written before.
    "quoted": 2.0,
}
RARE, SHARE = 6, 5  # worth something in at most 6, or a fifth, of the messages

Price = Callable[[int], float]


def word_price(index: HistoryIndex, kind: str = "chances") -> Price:
    """A function from the number of a word to what it is worth now."""
    names, path = index.names, CHANCES["path"]
    used, read, newest, now = index.used, index.read, index.newest, len(index)
    limit = max(RARE, index.others / SHARE)
    if kind == "frequency":
        return lambda word: math.log(limit / read[word] + 1) if 0 < read[word] <= limit else 0.0
    by_use, by_sight = CHANCES["used"], CHANCES["unused"]
    (young, more), (old, less) = CHANCES["young"], CHANCES["old"]

    def price(word: int) -> float:
        if not 0 < read[word] <= limit:
            return 0.0
        chance = by_use[min(used[word], 3)] if used[word] else by_sight[min(read[word], 3)]
        if used[word] and "/" in names[word]:
            chance *= path
        age = now - newest[word]
        return chance * (more if age <= young else less if age >= old else 1.0)

    return price


def line_chance(index: HistoryIndex, number: int) -> float:
    """How likely it is that a line is quoted as a whole."""
    chance = CHANCES["line"][index.kinds[number]]
    return chance * CHANCES["quoted"] if index.quoted[number] else chance
