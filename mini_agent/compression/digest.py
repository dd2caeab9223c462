"""Milestone 3: one message of lines copied word for word, in place of all that is old.

`coverage_digest` makes its digest anew from the originals each time it is asked: a
header, the pins, a card for the reader (`digest_card.py`), then lines chosen by
`coverage.py`, in their old order under handles that `read_result` follows. No model is
asked, so nothing can be invented. What is left out: the newest messages, which stay as
they are, and the users' words, which stay as far as the policy says.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import ClassVar

from ..messages import groups, text_of, user
from .coverage import candidates, ranked_lines
from .digest_card import card
from .index import HistoryIndex, HistoryLine, rough_tokens
from .scene import Scene
from .view import Change, Entry, View

LEAST = 20     # a digest gets a window's 20th even where the tail leaves nothing
UNKNOWN = 32_000  # tokens of the window, where none is known and it is asked by hand
FULL = .97     # of its size: a digest that full is not tried again
CARE = 1.01    # factor on prices, so that what was reckoned fits
CARD = 8       # an 8th of the digest at most is for the card


@dataclass(frozen=True)
class CoverageDigest:
    """All that is older than the tail becomes one digest.

    `digest`: its size as a share of the window, at most; the tail gets what is left of
    the goal. `value` are the "chances" of words or their document "frequency"; `coverage`
    and `card` switch a part off, to see what it is worth.
    """

    name: ClassVar[str] = "coverage_digest"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result",)
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"value": ("chances", "frequency")}
    digest: float = .5
    value: str = "chances"
    coverage: bool = True
    card: bool = True

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """The digest of all that may go, None where it would not be smaller."""
        window = scene.budget.window or UNKNOWN
        goal = scene.goal or max(1, window * 3 // 4)
        room = int(self.digest * window * min(1.0, goal / (scene.budget.target or goal)))
        tail = tail_start(view, scene, goal - room)
        old = [at for at in range(tail) if not scene.protects(view[at])]
        if all(view[at].how in ("summary", "attached") for at in old):
            return None  # nothing new
        before = sum(view[at].tokens for at in old)
        rest = goal - (view.tokens - before)
        limit = min(before - 1, max(window // LEAST, min(room, rest)))
        gone = set(old)
        kept = [entry for at, entry in enumerate(view.entries) if at not in gone]
        entry = self._entry(scene, kept, [view[at] for at in old], limit)
        return None if entry.tokens >= before else Change(self.name, tuple(old), ((old[0], entry),))

    def _entry(self, scene: Scene, kept: Sequence[Entry], old: Sequence[Entry],
               limit: int) -> Entry:
        """A digest of at most `limit` tokens, as far as pins and header allow."""
        index = scene.index.grow()
        covered = sorted(chain.from_iterable(entry.stands_for for entry in old))
        top = self._top(scene, covered, limit)
        price = price_of(old)
        above = rough_tokens(top)
        held = set[int]().union(*(words_of(index, entry) for entry in kept))
        best = ranked_lines(index, candidates(index, covered, limit - price * above), held,
                            value=self.value, coverage=self.coverage)
        lines = _Lines(index.chronicle.handles, best, above)
        least, most, entry = -1, sys.maxsize, None
        while least < most:
            most = min(most, lines.pull(limit / price, least))
            taken = min(most, max(least + 1, lines.within(limit / price)))
            text = "\n".join([top, *copied(lines.best[:taken], index.chronicle.handles)])
            made = scene.entry(user(text), covered, "summary")
            if made.tokens > limit and taken:
                most = taken - 1
            else:
                least, entry = taken, made
                if made.tokens >= FULL * limit:
                    break
            price = CARE * made.tokens / lines.sizes[taken]
        assert entry is not None  # of no line at all, at the least
        return entry

    def _top(self, scene: Scene, covered: Sequence[int], limit: int) -> str:
        way_back = "tool" if "read_result" in scene.tools else "log"
        header = scene.texts("digest_header", count=len(covered), first=covered[0],
                             last=covered[-1], way_back=scene.texts(f"way_back_any_{way_back}"))
        top = scene.pins.carry("\n".join([header, *_words(scene, covered)]), covered)
        return "\n".join([top, *card(scene, covered, limit // CARD)]) if self.card else top


def _words(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """Users' words that have to stay and stood whole inside a summary of another strategy."""
    for index in sorted(scene.protection.verbatim.intersection(covered)):
        yield scene.texts("words_kept", index=index, text=scene.history[index]["content"])


def tail_start(view: View, scene: Scene, room: int) -> int:
    """View index from which on all stays: whole groups, as many as `room` tokens hold."""
    start = scene.protection.tail
    left = room - sum(entry.tokens for entry in view.entries if scene.protects(entry))
    for group in reversed(list(groups([entry.message for entry in view.entries]))):
        left -= sum(view[at].tokens for at in group if not scene.protects(view[at]))
        if left < 0:
            break
        start = min(start, group.start)
    return start


def price_of(old: Iterable[Entry]) -> float:
    """Tokens for each rough one, as in the last digest, or in these entries if there is none."""
    old = [entry for entry in old if entry.how == "summary"] or list(old)
    return CARE * sum(entry.tokens for entry in old) / sum(
        rough_tokens(text_of(entry.message)) for entry in old)


class _Lines:
    """The best lines, as far as they were asked for; `sizes`: about how large a digest is
    with none of them, with the first, the first two ..."""

    def __init__(self, handles: Sequence[str], ranked: Iterator[HistoryLine], above: float) -> None:
        self.best: list[HistoryLine] = []
        self.sizes = [above]
        self._handles, self._ranked = handles, ranked
        self._opened: set[int] = set()

    def pull(self, size: float, least: int) -> int:
        """Fetch lines until they exceed this size and number more than `least`. Returns how many
        there can be: no bound (`sys.maxsize`) unless they ran out."""
        if self.sizes[-1] > size and len(self.best) > least:
            return sys.maxsize
        opened, total = self._opened, self.sizes[-1]
        for line in self._ranked:
            if line.last not in opened:
                opened.add(line.last)
                total += rough_tokens(self._handles[line.last])
            total += line.cost
            self.best.append(line)
            self.sizes.append(total)
            if total > size and len(self.best) > least:
                return sys.maxsize
        return len(self.best)

    def within(self, size: float) -> int:
        """How many of them make a digest of at most this size."""
        return bisect_right(self.sizes, size) - 1


def words_of(index: HistoryIndex, entry: Entry) -> Iterable[int]:
    """The numbers of the words that an entry holds."""
    if entry.how != "verbatim":
        return index.words_of(text_of(entry.message))
    message, = entry.stands_for
    return index.words_in(message)


def copied(chosen: Iterable[HistoryLine], handles: Sequence[str]) -> Iterator[str]:
    """These lines under the handles of their messages, in their old order."""
    lines_of: dict[int, list[HistoryLine]] = {}
    for line in chosen:
        lines_of.setdefault(line.last, []).append(line)
    for message, lines in sorted(lines_of.items()):
        yield handles[message]
        yield from (line.text for line in sorted(lines, key=attrgetter("place")))
