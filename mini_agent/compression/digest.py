"""Milestone 3: one message of lines copied word for word, in place of all that is old.

`coverage_digest` makes its digest anew from the originals each time it is asked: a
header, the pins, a card for the reader (`card.py`), then lines chosen by
`coverage.py`, in their old order under handles that `read_result` follows. No model is
asked, so nothing can be invented. What is left out: the newest messages, which stay as
they are, and the users' words, which stay as far as the policy says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

from ..messages import groups, text_of, user
from ..tokens import PER_MESSAGE, Estimator, weight_by_lines
from .admission import allowed
from .card import digest_card
from .coverage import candidates, ranked_lines
from .index import HistoryIndex, HistoryLine
from .scene import Scene
from .spans import covered_by
from .view import Change, Entry, View

LEAST = 20     # a digest gets a 20th of a window even if the tail leaves nothing
UNKNOWN = 32_000  # tokens of the window, where none is known and it is asked by hand
CARD = 8       # the card gets at most an 8th of the digest


@dataclass(frozen=True)
class CoverageDigest:
    """All that is older than the tail becomes one digest.

    `digest`: its largest size as a share of the window; the tail gets what is left of the
    goal. `value` is the "chances" of words or their document "frequency"; `coverage` and
    `card` switch a part off, to see what it is worth.
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
        """The digest of all that may go; None if it would not be smaller."""
        window = scene.budget.window or UNKNOWN
        goal = scene.goal or max(1, window * 3 // 4)
        room = int(self.digest * window * min(1.0, goal / (scene.budget.target or goal)))
        tail = tail_start(view, scene, goal - room)
        old = [at for at in range(tail) if not scene.protects(view[at])]
        before = sum(view[at].tokens for at in old)
        others = view.tokens - before
        most, limit = before - 1, max(window // LEAST, min(room, goal - others))
        if all(view[at].made for at in old):  # nothing new: it only gives way, if that is enough
            most = allowed(view, scene) - others
            if not 0 < most < before:
                return None
        gone = set(old)
        kept = [entry for at, entry in enumerate(view.entries) if at not in gone]
        covered = covered_by(view, old)
        entry = self._entry(scene, kept, covered, min(most, limit))
        return None if entry.tokens > most else Change(self.name, tuple(old), ((old[0], entry),))

    def _entry(self, scene: Scene, kept: Sequence[Entry], covered: Sequence[int],
               limit: int) -> Entry:
        """A digest of at most `limit` tokens, as far as pins and header allow."""
        index, estimate = scene.index.grow(), scene.estimate
        top = self._top(scene, covered, limit)
        bare = scene.entry(user(top), covered, "summary")
        held = set[int]().union(*(words_of(index, entry) for entry in kept))
        ranked = ranked_lines(index, candidates(index, covered, limit - bare.tokens), held,
                              value=self.value, coverage=self.coverage)
        lines, tokens = filled(index, ranked, estimate, top, limit)
        if not lines:
            return bare
        text = "\n".join([top, *copied(lines, index.chronicle.handles)])
        return Entry(user(text), tokens, tuple(covered), "summary")

    def _top(self, scene: Scene, covered: Sequence[int], limit: int) -> str:
        way_back = "tool" if "read_result" in scene.tools else "log"
        header = scene.texts("digest_header", count=len(covered), first=covered[0],
                             last=covered[-1], way_back=scene.texts(f"way_back_any_{way_back}"))
        top = scene.pins.carry("\n".join([header, *_words(scene, covered)]), covered)
        return "\n".join([top, *digest_card(scene, covered, limit // CARD)]) if self.card else top


def _words(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """Users' words that have to stay and were whole in another strategy's summary."""
    for index in sorted(scene.protection.verbatim.intersection(covered)):
        yield scene.texts("words_kept", index=index, text=scene.history[index]["content"])


def tail_start(view: View, scene: Scene, room: int) -> int:
    """View index from which all stays: as many whole groups as `room` tokens hold."""
    start = scene.protection.tail
    left = room - sum(entry.tokens for entry in view.entries if scene.protects(entry))
    for group in reversed(list(groups([entry.message for entry in view.entries]))):
        left -= sum(view[at].tokens for at in group if not scene.protects(view[at]))
        if left < 0:
            break
        start = min(start, group.start)
    return start


def filled(index: HistoryIndex, ranked: Iterable[HistoryLine], estimate: Estimator, top: str,
           limit: int) -> tuple[list[HistoryLine], int]:
    """The best lines, as many as fit a message of `limit` tokens below this text and under
    their handles, and the tokens of it all. (`top` is weighed with the break after it: it
    may end in a carriage return; lines and handles do not.)"""
    handles, weigh, line_break = index.chronicle.handles, estimate.weigh, estimate.weigh("\n")
    lines, opened = list[HistoryLine](), set[int]()
    weight = weight_by_lines(estimate, f"{top}\n") - line_break
    room = (limit - PER_MESSAGE) * estimate.parts
    for line in ranked:
        more = weight + weigh(line.text) + line_break
        if line.last not in opened:
            more += weigh(handles[line.last]) + line_break
        if more > room:
            break
        lines.append(line)
        opened.add(line.last)
        weight = more
    return lines, PER_MESSAGE + -(-weight // estimate.parts)


def words_of(index: HistoryIndex, entry: Entry) -> Iterable[int]:
    """The numbers of the words that an entry holds."""
    if entry.how != "verbatim":
        return index.words.known(text_of(entry.message))
    message, = entry.stands_for
    return index.words_in[message]


def copied(chosen: Iterable[HistoryLine], handles: Sequence[str]) -> Iterator[str]:
    """These lines under the handles of their messages, in their old order."""
    lines_of: dict[int, list[HistoryLine]] = {}
    for line in chosen:
        lines_of.setdefault(line.last, []).append(line)
    for message, lines in sorted(lines_of.items()):
        yield handles[message]
        yield from (line.text for line in sorted(lines, key=attrgetter("place")))
