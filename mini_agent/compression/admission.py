"""Milestone 3: a large result is cut once, on arrival, and never again.

A result over a share of the window is cut before the model has seen it: by choosing
lines, the first and last two and then the most telling, in their order, each gap with
its size, under a header that says how much is missing and how to read the whole.
What the model has seen stays as it was, so no prefix breaks; only where nothing else
helps, `last_resort` cuts seen ones too. What is left out: all that is old (`digest.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..texts import Texts
from ..tokens import by_lines
from ..words import rows_of
from .coverage import filling, ranked_lines
from .index import HistoryIndex, HistoryLine
from .scene import Scene
from .shrink import error_code, shorten, unfrozen
from .units import unit_spans
from .view import Change, Entry, View

ENDS = 2    # pieces that stay in any case, at the beginning and at the end
FIT = .97   # of the room is filled, since costs of lines are rough
LEAST = 80  # tokens of a cut result: its header, and something under it
ASKED = ("read_result", "recall")  # tools whose answer was asked for in this size


@dataclass(frozen=True)
class Admission:
    """Results over `share` of the window are cut to `keep` of that, by choosing lines.

    `choice` is "lines", by what they cover, or "ends", inwards from both ends. As
    `last_resort` it is asked in need, and cuts the largest results of the view to one
    size, whatever was sent, so that the view fits its hard limit.
    """

    name: ClassVar[str] = "admission"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result",)
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"choice": ("lines", "ends")}
    share: float = .1
    keep: float = .6
    choice: str = "lines"
    last_resort: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all results that are too large, None if there is none."""
        free = unfrozen(view, scene)
        if self.last_resort:
            found = [at for at in free if view[at].message["role"] == "tool"]
            size = limit = common_size([view[at].tokens for at in found],
                                       view.tokens - allowed(view, scene))
        else:
            found = [at for at in range(max(free.start, scene.sent), free.stop)
                     if _is_new(view[at])]
            limit = int(self.share * (scene.budget.window or view.tokens))
            size = int(self.keep * limit)
        large = [at for at in found if view[at].tokens > max(LEAST, limit)]
        return shorten(self.name, view, scene, large, lambda entry: self._render(
            entry, scene, max(LEAST, size)))

    def _render(self, entry: Entry, scene: Scene, limit: int) -> str:
        index, = entry.stands_for
        content = scene.history[index]["content"]
        pieces = Pieces(content, scene.index.grow().lines[index], scene.index)
        best = pieces.by_ends() if self.choice == "ends" else pieces.by_value(FIT * limit)
        while True:
            body, kept, chars = pieces.render(best, scene.texts)
            header = scene.texts("admitted", index=index, kept=kept, lines=pieces.rows,
                                 kept_chars=chars, chars=len(content),
                                 code=error_code(entry.message, scene.texts),
                                 way_back=scene.way_back(index))
            text = f"{header}\n{body}"
            tokens = by_lines(scene.estimate, text)
            if tokens <= limit or not best:
                return text
            del best[int(len(best) * FIT * limit / tokens):]


def _is_new(entry: Entry) -> bool:
    return (entry.message["role"] == "tool" and entry.how == "verbatim"
            and entry.message["name"] not in ASKED)


def allowed(view: View, scene: Scene) -> int:
    """Tokens that the view may have in the end: the goal, and what lies between the target and
    the hard limit of the budget."""
    budget = scene.budget
    if not scene.goal:
        return view.tokens  # asked by hand, without a window: nothing presses
    return scene.goal + budget.hard - budget.target


def common_size(sizes: Sequence[int], excess: int) -> int:
    """The size to which the largest have to be cut so that `excess` tokens go.

    Without excess it is the largest size: nothing has to be cut.
    """
    rising = sorted(sizes)
    level = rising[-1] if rising else 0
    for count, below in enumerate(reversed([0, *rising[:-1]]), 1):
        if excess <= 0:
            break
        freed = min(excess, (level - below) * count)
        level -= -(-freed // count)
        excess -= freed
    return level


class Pieces:
    """A result, taken apart into the units that can be kept; a piece is the number of one."""

    def __init__(self, content: str, lines: Sequence[HistoryLine], index: HistoryIndex) -> None:
        self._content, self._lines, self._index = content, lines, index
        self._spans = list(unit_spans(content))
        self.rows = len(rows_of(content))

    def by_ends(self) -> list[int]:
        """All pieces, from both ends inwards."""
        count = len(self._spans)
        return list(dict.fromkeys(at for pair in zip(range(count), reversed(range(count)))
                                  for at in pair))

    def by_value(self, room: float) -> list[int]:
        """The ends, then the pieces that cover most for their size, the best first."""
        places: dict[HistoryLine, int] = {}
        for at, line in enumerate(self._lines):
            places.setdefault(line, at)
        count = len(self._spans)
        ends = [*range(min(ENDS, count)), *range(max(0, count - ENDS), count)]
        chosen = filling(ranked_lines(self._index, places, (), heading=0), room)
        return list(dict.fromkeys([*ends, *(places[line] for line in chosen)]))

    def render(self, best: Iterable[int], texts: Texts) -> tuple[str, int, int]:
        """The text of these pieces with a mark in each gap, and how many rows and characters of
        the result are in it."""
        content, out = self._content, list[str]()
        rows = chars = end = 0
        for start, stop in self._ranges(best, texts):
            out += [self._mark(end, start, texts), content[start:stop]]
            rows += len(rows_of(content[start:stop])) - (
                0 < end and "\n" not in content[end:start])
            chars += stop - start
            end = stop
        return "".join([*out, self._mark(end, len(content), texts)]), min(rows, self.rows), chars

    def _ranges(self, best: Iterable[int], texts: Texts) -> list[tuple[int, int]]:
        """Where each kept range of the text begins and ends: a gap that is not longer than its
        mark is kept too."""
        found: list[tuple[int, int]] = []
        end, length = 0, len(self._content)
        kept = [self._spans[at] for at in sorted(best)]
        for start, stop in (*kept, (length, length)):  # after the last one is a gap as well
            mark = self._mark(end, start, texts)
            if not mark or start - end <= len(mark):
                start = found.pop()[0] if found else end
            found.append((start, stop))
            end = stop
        return [(start, stop) for start, stop in found if start < stop]

    def _mark(self, start: int, stop: int, texts: Texts) -> str:
        """The mark for a gap: how many lines are left out, or how many characters where the gap
        begins or ends inside a line."""
        gap = self._content[start:stop]
        if not gap.strip():
            return ""
        begins, ends = start == 0, stop == len(self._content)
        before, behind = "" if begins else "\n", "" if ends else "\n"
        rows = gap.split("\n")  # whole ones, if those at the ends are only line breaks
        if begins:
            rows.insert(0, "")
        if ends and not gap.endswith("\n"):
            rows.append("")
        if len(rows) > 2 and not rows[0].strip() and not rows[-1].strip():
            return f"{before}{texts('clip_gap', count=len(rows) - 2)}{behind}{rows[-1]}"
        return f"{before}{texts('admitted_gap', count=len(gap))}{behind}"
