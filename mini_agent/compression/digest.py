"""Milestone 3: one message of lines copied word for word, in place of all that is old.

`coverage_digest` makes its digest anew from the originals each time it is asked: a
header, the pins, a card for the reader (`digest_card.py`), then lines chosen by
`coverage.py`, in their old order under handles that `read_result` follows. No model is
asked, so nothing can be invented. What is left out: the newest messages, which stay as
they are, and the users' words, which stay as far as the policy says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import ClassVar

from ..messages import calls_of, groups, text_of, user
from .coverage import candidates, choose
from .digest_card import card
from .index import HistoryIndex
from .scene import Scene
from .view import Change, Entry, View

LEAST = 20     # a digest gets a window's 20th even where the tail leaves nothing
UNKNOWN = 32_000  # tokens of a window that nobody has named, where it is asked by hand
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
        goal = scene.goal or window * 3 // 4
        room = int(self.digest * window * min(1.0, goal / (scene.budget.target or goal)))
        tail = tail_start(view, scene, goal - room)
        old = [at for at in range(tail) if not stays(view[at], scene)]
        if all(view[at].how in ("summary", "attached") for at in old):
            return None  # nothing new
        before = sum(view[at].tokens for at in old)
        rest = goal - (view.tokens - before)
        limit = min(before - 1, max(window // LEAST, min(room, rest)))
        gone = set(old)
        kept = [entry for at, entry in enumerate(view.entries) if at not in gone]
        covered = sorted(index for at in old for index in view[at].stands_for)
        entry = self._entry(scene, kept, covered, limit)
        return None if entry.tokens >= before else Change(self.name, tuple(old), ((old[0], entry),))

    def _entry(self, scene: Scene, kept: Sequence[Entry], covered: Sequence[int],
               limit: int) -> Entry:
        """A digest of at most `limit` tokens, as far as pins and header allow."""
        index = scene.index.grow()
        top = self._top(scene, covered, limit)
        above = scene.estimate.message(user(top))
        room = limit - above
        held = set[int]().union(*(words_of(index, entry) for entry in kept))
        chosen = choose(index, candidates(index, covered, room), held, room,
                        value=self.value, coverage=self.coverage)
        while True:
            body = "\n".join([top, *copied(scene, chosen)])
            entry = scene.entry(user(body), covered, "summary")
            if entry.tokens <= limit or not chosen:
                return entry
            chosen = first_part(index, chosen, (limit - above) / (entry.tokens - above + 1))

    def _top(self, scene: Scene, covered: Sequence[int], limit: int) -> str:
        way_back = "tool" if "read_result" in scene.tools else "log"
        header = scene.texts("digest_header", count=len(covered), first=covered[0],
                             last=covered[-1], way_back=scene.texts(f"way_back_any_{way_back}"))
        top = scene.pins.carry("\n".join([header, *_words(scene, covered)]), covered)
        return "\n".join([top, *card(scene, covered, limit // CARD)]) if self.card else top


def stays(entry: Entry, scene: Scene) -> bool:
    """Whether an entry is protected as it stands, wherever it is."""
    return entry.how == "verbatim" and entry.covers(scene.protection.verbatim)


def _words(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """Users' words that have to stay and stood whole inside a summary of another strategy."""
    for index in sorted(scene.protection.verbatim.intersection(covered)):
        yield scene.texts("words_kept", index=index, text=scene.history[index]["content"])


def tail_start(view: View, scene: Scene, room: int) -> int:
    """View index from which on all stays: whole groups, as many as `room` tokens hold."""
    start = scene.protection.tail
    left = room - sum(entry.tokens for entry in view.entries if stays(entry, scene))
    for group in reversed(list(groups([entry.message for entry in view.entries]))):
        left -= sum(view[at].tokens for at in group if not stays(view[at], scene))
        if left < 0:
            break
        start = min(start, group.start)
    return start


def words_of(index: HistoryIndex, entry: Entry) -> Iterable[int]:
    """The numbers of the words that an entry holds."""
    if entry.how != "verbatim":
        return index.words_of(text_of(entry.message))
    message, = entry.stands_for
    return chain.from_iterable(map(index.words_in.__getitem__, index.lines[message]))


def first_part(index: HistoryIndex, chosen: list[int], share: float) -> list[int]:
    """The first of these lines that make up a share, below 1, of their cost; fewer than all."""
    total = list(accumulate(index.costs[line] for line in chosen))
    return chosen[:min(len(chosen) - 1, bisect_right(total, share * total[-1]))]


def copied(scene: Scene, chosen: Iterable[int]) -> Iterator[str]:
    """These lines under the handles of their messages, in their old order."""
    index = scene.index
    wanted = set(chosen)
    for message in sorted({index.last[number] for number in wanted}):
        yield handle(scene, message)
        yield from (index.texts[number] for number in dict.fromkeys(index.lines[message])
                    if number in wanted and index.last[number] == message)


def handle(scene: Scene, index: int) -> str:
    """`[#12 read_file src/app.py]`: what the lines under it are from. A call has a `>`."""
    message = scene.history[index]
    label = scene.index.chronicle.labels[index]
    if message["role"] == "tool":
        return f"[#{index} {label}]"
    return f"[#{index} > {label}]" if calls_of(message) else f"[#{index} {message['role']}]"
