"""Milestone 3: which lines to keep, so that little is lost that will be used again.

Greedy coverage per token. What a line gains is the chance that its words are used
again, but only of those words *that nothing kept so far holds*, and that the line is
quoted; divided by its tokens, the best first. Without "that nothing kept so far
holds" the same words are kept again and again.

A gain only falls while lines are chosen, so an old one is an upper bound: the heap
is lazy, and a line is weighed again only when it comes to the top. What is left out:
where the chances come from (`chances.py`), what is made of the lines (`digest.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from heapq import heapify, heappop, heappushpop

from .chances import Price, line_chance, word_price
from .index import HistoryIndex

HEADING = 10   # tokens of the handle over the first line of a message
REACH = 10     # so many times the room of what is kept are the newest lines looked at
USED = 2_000    # words; of those used last, the lines are looked at wherever they stand


class Prices(dict[int, float]):
    """What each word is worth: asked once, and nothing from when on it is held."""

    def __init__(self, price: Price, held: Iterable[int]) -> None:
        super().__init__(dict.fromkeys(held, 0.0))
        self._price = price

    def __missing__(self, word: int) -> float:
        worth = self[word] = self._price(word)
        return worth


def choose(index: HistoryIndex, candidates: Collection[int], held: Iterable[int], room: float, *,
           value: str = "chances", coverage: bool = True, heading: int = HEADING) -> list[int]:
    """Line numbers, the best first, of about `room` tokens together with their headings.

    `held` are the words that are kept anyway; without `coverage` a word counts again in
    each line that has it.
    """
    words_in, costs, last = index.words_in, index.costs, index.last
    prices = Prices(word_price(index, value), held)
    worth = prices.__getitem__
    quote = {number: line_chance(index, number) for number in candidates}
    heap = [(-(sum(map(worth, words_in[number])) + chance) / costs[number], number)
            for number, chance in quote.items()]
    heapify(heap)
    opened: set[int] = set()
    chosen: list[int] = []
    number = heappop(heap)[1] if heap else None
    while number is not None and room > 0:
        cost = costs[number] + (0 if last[number] in opened else heading)
        density = (sum(map(worth, words_in[number])) + quote[number]) / cost
        best = heappushpop(heap, (-density, number))[1]
        if best != number:
            number = best
            continue
        chosen.append(number)
        opened.add(last[number])
        room -= cost
        if coverage:
            prices.update(dict.fromkeys(words_in[number], 0.0))
        number = heappop(heap)[1] if heap else None
    return chosen


def candidates(index: HistoryIndex, covered: Iterable[int], room: float) -> set[int]:
    """The lines of these messages (rising) that are worth a look.

    All of the newest ones, and of older ones those that have a word that was used lately:
    what a choice costs does not grow with the session.
    """
    gone = covered if isinstance(covered, set) else set(covered)
    found: set[int] = set()
    left = REACH * room
    for message in sorted(gone, reverse=True):
        found.update(_newest(index, index.lines[message], message))
        left -= sum(index.costs[number] for number in index.lines[message])
        if left < 0:
            break
    for word in index.recently_used(USED):
        if index.last[index.home[word]] in gone:
            found.add(index.home[word])
    return found


def _newest(index: HistoryIndex, numbers: Iterable[int], message: int) -> Iterator[int]:
    return (number for number in numbers if index.last[number] == message)
