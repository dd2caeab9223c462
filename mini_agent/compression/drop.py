"""Milestone 3: groups taken out of the view, the oldest first.

Four ways to slide a window, from the naive one (message by message from the top,
which loses the task and tears calls from their results) to the one that leaves
handles; and `recall`, which gives what it takes out to a store that can be asked.
What is left out: any word on what stood there, which is what summaries add.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from operator import attrgetter, sub
from typing import ClassVar

from ..errors import StrategyError
from ..messages import Message, calls_of, groups, user
from .offload import NEVER_STORED
from .scene import Scene
from .view import Change, Entry, View, dropped_by

_MESSAGE = attrgetter("message")
VARIANTS = ("naive", "keep_head", "whole_rounds", "snip_middle")
LONG = 100  # messages that one note stands for before there may be a second one behind it
Note = Callable[[Sequence[int], Scene], str]


@dataclass(frozen=True)
class SlidingWindow:
    """Drops the oldest until the view fits.

    `naive`: message by message, whatever it is (breaks laws 1 and 4); `keep_head`:
    the same behind what is protected (breaks law 1); `whole_rounds`: whole groups,
    under a note that says how many rounds are gone; `snip_middle`: whole groups
    under a note with their handles, the first `keep_first` only if all others went.
    """

    name: ClassVar[str] = "sliding_window"
    asks_model: ClassVar[bool] = False
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"variant": VARIANTS}
    variant: str = "whole_rounds"
    keep_first: int = 1

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that its notes name where the agent has them."""
        return ("read_result",) if self.variant == "snip_middle" else ()

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """As little as brings the view down to the goal, None where nothing may go."""
        if self.variant == "naive":
            return drop(self.name, view, scene, range(len(view) - 1))
        if self.variant == "keep_head":
            return drop(self.name, view, scene, (
                at for at in range(scene.protection.tail) if may_go(view[at], scene)
                and not scene.pins.within(view[at].stands_for)))
        if self.variant == "whole_rounds":
            return put_away(self.name, view, scene, free_groups(view, scene), dropped_note)
        free = free_groups(view, scene)
        first = list(islice(free, self.keep_first))
        return put_away(self.name, view, scene, chain(free, first), middle_note)


@dataclass(frozen=True)
class Recall:
    """The oldest groups go to the store, under a note that says how they are found again."""

    name: ClassVar[str] = "recall"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result", "recall")

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """As little as brings the view down to the goal; it is in the store before it is gone.

        Raises `StrategyError` where there is no store, or it cannot be written.
        """
        change = put_away(self.name, view, scene, free_groups(view, scene), store_note)
        if change is None:
            return None
        if scene.shelf is None:
            raise StrategyError("there is no store", place=self.name,
                                remedy="give the run a folder")
        gone = (index for at in change.affected for index in view[at].stands_for)
        scene.shelf.remember({index: told(scene.history[index])
                              for index in scene.shelf.unknown(gone)
                              if scene.history[index].get("name") not in NEVER_STORED})
        return change


def may_go(entry: Entry, scene: Scene) -> bool:
    """Whether an entry may leave: it is no attachment, and stands for nothing protected."""
    return bool(entry.stands_for) and not entry.covers(scene.protection.verbatim)


def free_groups(view: View, scene: Scene) -> Iterator[range]:
    """View ranges of the whole groups before the tail that may leave, oldest first."""
    free = islice(view.entries, scene.protection.tail)
    for group in groups(map(_MESSAGE, free)):
        if all([may_go(entry, scene) for entry in view.entries[group.start:group.stop]]):
            yield group


def drop(name: str, view: View, scene: Scene, candidates: Iterable[int]) -> Change | None:
    """A change that takes out single entries until the goal is met, without a trace in the view."""
    gone: list[int] = []
    left = view.tokens
    for at in candidates:
        if left <= scene.goal:
            break
        gone.append(at)
        left -= view[at].tokens
    change = Change(name, tuple(gone), ())
    return Change(name, change.affected, (), {"dropped": list(dropped_by(view, change))}
                  ) if gone else None


def put_away(name: str, view: View, scene: Scene, free: Iterator[range],
             note: Note) -> Change | None:
    """A change that takes out groups, in this order, until the goal is met.

    A note stands in place of each stretch; an earlier note is a group like any other,
    and its messages stand behind the next.
    """
    gone, need, group = list[int](), view.tokens - scene.goal, next(free, None)
    while True:
        while group is not None and need > 0:
            gone.extend(group)
            need -= sum([view[at].tokens for at in group])
            group = next(free, None)
        stretches = list(_stretches(view, sorted(gone)))
        affected = tuple(at for stretch in stretches for at in stretch)
        inserts = tuple(_notes(view, scene, stretches, note))
        left = view.tokens - sum([view[at].tokens for at in affected]) + sum(
            [entry.tokens for _, entry in inserts])
        need = left - scene.goal
        if need <= 0 or group is None:
            return Change(name, affected, inserts) if left < view.tokens else None


def _stretches(view: View, places: Sequence[int]) -> Iterator[list[int]]:
    """Places without a gap between them. An earlier note in front stays where nothing new is
    beside it, or where it is long and stands for more than what is new: then no message is
    moved into another note more than a few times, however long the session."""
    for _, run in groupby(enumerate(places), _offset):
        stretch = [at for _, at in run]
        sizes = [len(view[at].stands_for) for at in stretch]
        first = 0
        while first < len(stretch) and view[stretch[first]].how == "summary" and (
                first + 1 == len(stretch) or sizes[first] > max(LONG, sum(sizes[first + 1:]))):
            first += 1
        if first < len(stretch):
            yield stretch[first:]


def _notes(view: View, scene: Scene, stretches: Sequence[list[int]],
           note: Note) -> Iterator[tuple[int, Entry]]:
    """(index in the view after the change, note) for each stretch."""
    taken = 0
    for number, stretch in enumerate(stretches):
        covered = sorted(index for at in stretch for index in view[at].stands_for)
        entry = scene.entry(user(note(covered, scene)), covered, "summary")
        yield stretch[0] - taken + number, entry
        taken += len(stretch)


def _offset(numbered: tuple[int, int]) -> int:
    """The same for all members of a stretch without a gap."""
    return numbered[1] - numbered[0]


def dropped_note(indexes: Sequence[int], scene: Scene) -> str:
    """How many rounds are gone, and where the run log has them."""
    rounds = [scene.history[index]["role"] for index in indexes].count("assistant")
    return scene.texts("rounds_dropped", rounds=rounds, count=len(indexes),
                       spans=spans(indexes, ""))


def middle_note(indexes: Sequence[int], scene: Scene) -> str:
    """The handles of what was left out, and how it is had again."""
    return scene.texts("middle_left_out", count=len(indexes), spans=spans(indexes),
                       way_back=_way_back(scene))


def store_note(indexes: Sequence[int], scene: Scene) -> str:
    """The handles of what went to the store, and how it is found again."""
    search = scene.texts("store_search") if "recall" in scene.tools else ""
    return scene.texts("to_the_store", count=len(indexes), spans=spans(indexes), search=search,
                       way_back=_way_back(scene))


def _way_back(scene: Scene) -> str:
    return scene.texts("way_back_any_tool" if "read_result" in scene.tools else "way_back_any_log")


def spans(indexes: Sequence[int], mark: str = "#") -> str:
    """Rising indexes as handles, runs of them as one: `#2-#5, #9`."""
    jumps = (at for at, by in enumerate(map(sub, indexes[1:], indexes), 1) if by > 1)
    runs = [(indexes[start], indexes[stop - 1]) for start, stop in pairwise(
        [0, *jumps, len(indexes)])] if indexes else []
    return ", ".join(f"{mark}{first}" if first == last else f"{mark}{first}-{mark}{last}"
                     for first, last in runs)


def told(message: Message) -> str:
    """All that a message says: its text, and of each call the tool and its arguments."""
    calls = (f"{made['name']} {made.get('invalid') or json.dumps(made['arguments'], ensure_ascii=False)}"
             for made in calls_of(message))
    return "\n".join(part for part in [message["content"], *calls] if part)
