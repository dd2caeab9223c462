"""Milestone 3: which lines to keep, so that little is lost that will be used again.

Greedy coverage per token. What a line gains is the chance that the words in it *that
nothing kept so far holds* are used again, and that the line is quoted; divided by its
tokens, the best first. Without "that nothing kept so far holds" the same words are
kept again and again. A line that is one word by itself does not count as holding it:
a word is kept where one can see what it is.

A gain only falls while lines are chosen, so an old one is an upper bound: the heap
is lazy, and a line is weighed again only when it comes to the top. What is left out:
where the chances come from (`chances.py`), what the lines become (`digest.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import chain

from .chances import PLAIN_CHANCE, word_rarities
from .index import HistoryIndex, HistoryLine
from .rising import holds
from .units import BARE

HEADING = 10   # tokens of the handle over the first line of a message
REACH = 4      # the newest lines are looked at up to this many times the room
USED = 2_000   # words used last, whose lines are looked at wherever they are


def ranked_lines(index: HistoryIndex, lines: Collection[HistoryLine], held: Iterable[int], *,
                 value: str = "chances", coverage: bool = True, heading: int = HEADING,
                 ) -> Iterator[HistoryLine]:
    """Lines, the best first, each chosen only when asked for.

    `held` are the words that are kept anyway; without `coverage` a word counts again in
    each line that has it. A plain line that has nothing new is left out.
    """
    worths = word_rarities(index.words) if value == "frequency" else index.worths.now()
    for word in held:
        worths[word] = 0
    heap: list[tuple[float, int]] = []
    for line in lines:
        gain = line.quote
        for word in line.shows:
            gain += worths[word]
        heap.append((-gain / line.cost, line.number))
    heapify(heap)
    opened: set[int] = set()
    while heap:
        before, number = heap[0]
        line = index.numbered[number]
        gain = line.quote
        for word in line.shows:
            gain += worths[word]
        if gain == line.quote <= PLAIN_CHANCE:
            heappop(heap)
            continue
        now = -gain / (line.cost + (0 if line.last in opened else heading))
        if now != before:
            heapreplace(heap, (now, number))
            continue
        heappop(heap)
        yield line
        opened.add(line.last)
        for word in line.shows if coverage else ():
            worths[word] = 0


def filling(ranked: Iterator[HistoryLine], room: float) -> Iterator[HistoryLine]:
    """The first lines of a ranking, until they fill `room` tokens."""
    while room > 0 and (line := next(ranked, None)) is not None:
        room -= line.cost
        yield line


def candidates(index: HistoryIndex, covered: Sequence[int], room: float) -> list[HistoryLine]:
    """The lines of these messages (rising) that are worth a look.

    All telling ones of the newest messages, and of older messages those with a word that was
    used lately: the cost of a choice does not grow with the session. A line that a later
    message has is left to that message, and one that is only a word to its handle.
    """
    first, left = 0, REACH * room
    for first in reversed(range(len(covered))):
        left -= index.sizes[covered[first]]
        if left < 0:
            break
    near = list(chain.from_iterable(map(index.telling, covered[first:])))
    homes = set(map(index.home.__getitem__, index.words.recently_used(USED)))
    start, far = covered[first], covered[:first]
    return near + [line for line in homes if line.last < start and line.kind != BARE
                   and holds(far, line.last)]
