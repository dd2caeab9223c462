"""Milestone 3: groups taken out of the view, the oldest first.

Four ways to slide a window, from the naive one (message by message from the top,
which loses the task and tears calls from their results) to the one that leaves
handles; and `recall`, which puts what it takes out into a store that can be asked.
What is left out: any word on what was there, which is what summaries add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import attrgetter
from typing import ClassVar

from ..errors import StrategyError
from ..messages import Message, arguments_text, calls_of, groups, user
from ..trace import Record
from .offload import NEVER_STORED
from .rising import stretches
from .scene import Scene
from .spans import covered_by
from .view import Change, Entry, View, dropped_by, tokens_behind

_MESSAGE = attrgetter("message")
VARIANTS = ("naive", "keep_head", "whole_rounds", "snip_middle")
LONG = 100  # messages that one note stands for before a second may follow it
WriteNote = Callable[[Sequence[int], Scene], str]


@dataclass(frozen=True)
class SlidingWindow:
    """Drops the oldest until the view fits.

    `naive`: message by message, whatever it is (breaks laws 1 and 4); `keep_head`:
    the same after what is protected (breaks law 1); `whole_rounds`: whole groups,
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
        """A change that takes out just enough to meet the goal; None if nothing may go."""
        if self.variant == "naive":
            return drop(self.name, view, scene, range(len(view) - 1))
        if self.variant == "keep_head":
            return drop(self.name, view, scene, _unprotected(view, scene))
        if self.variant == "whole_rounds":
            return put_away(self.name, view, scene, free_groups(view, scene), dropped_note)
        free = free_groups(view, scene)
        first = list(islice(free, self.keep_first))
        return put_away(self.name, view, scene, chain(free, first), middle_note)


@dataclass(frozen=True)
class Recall:
    """The oldest groups go to the store, under a note that says how to find them."""

    name: ClassVar[str] = "recall"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result", "recall")

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """A change that takes out just enough to meet the goal, stored before it goes.

        Raises `StrategyError` if there is no store, or it cannot be written.
        """
        change = put_away(self.name, view, scene, free_groups(view, scene), store_note)
        if change is None:
            return None
        if scene.store is None:
            raise StrategyError("there is no store", place=self.name,
                                remedy="give the run a folder")
        gone = chain.from_iterable(entry.stands_for for _, entry in change.inserts)
        scene.store.remember(_for_store(scene.store.unknown(gone), scene.history))
        return change


def stored(records: Iterable[Record], history: Sequence[Message]) -> dict[int, str]:
    """What has gone to the store, as the records of a session say, by history index."""
    return _for_store((index for record in records
                       if record.get("event") == "context_compression"
                       and record["payload"]["strategy"] == Recall.name
                       for entry in record["payload"]["entries"] for index in entry["stands_for"]),
                      history)


def _for_store(indexes: Iterable[int], history: Sequence[Message]) -> dict[int, str]:
    there = range(len(history))
    return {index: all_said(history[index]) for index in indexes
            if index in there and history[index].get("name") not in NEVER_STORED}


def _unprotected(view: View, scene: Scene) -> Iterator[int]:
    """View indexes before the tail of what is neither protected nor pinned, oldest first."""
    for at, entry in enumerate(view.entries[:scene.protection.tail]):
        if entry.stands_for and not entry.covers(scene.protection.verbatim) \
                and not scene.pins.within(entry.stands_for):
            yield at


def free_groups(view: View, scene: Scene) -> Iterator[range]:
    """View ranges of the whole groups before the tail that may leave, oldest first."""
    entries, verbatim = view.entries, scene.protection.verbatim
    for group in groups(map(_MESSAGE, islice(entries, scene.protection.tail))):
        for at in group:
            entry = entries[at]
            if not entry.stands_for or entry.covers(verbatim):  # attached, or protected
                break
        else:
            yield group


def drop(name: str, view: View, scene: Scene, candidates: Iterable[int]) -> Change | None:
    """A change that takes out single entries until the goal is met; the view does not say
    so."""
    gone: list[int] = []
    left = view.tokens
    for at in candidates:
        if left <= scene.goal:
            break
        gone.append(at)
        left -= view[at].tokens
    if not gone:
        return None
    change = Change(name, tuple(gone), ())
    return replace(change, facts={"dropped": list(dropped_by(view, change))})


def put_away(name: str, view: View, scene: Scene, free: Iterator[range],
             note: WriteNote) -> Change | None:
    """A change that takes out groups, in this order, until the goal is met.

    A note takes the place of each stretch; an earlier note is a group like any other,
    and its messages move behind the next.
    """
    gone, left, change = list[int](), view.tokens, None
    while left > scene.goal and (more := _enough(view, free, left - scene.goal)):
        gone += more
        moved = list(_moved(view, sorted(gone)))
        change = Change(name, tuple(chain.from_iterable(moved)),
                        tuple(_notes(view, scene, moved, note)))
        left = tokens_behind(view, change)
    return change if left < view.tokens else None


def _enough(view: View, free: Iterable[range], need: int) -> list[int]:
    """The next of these groups that make `need` tokens. An earlier note counts for nothing:
    another takes its place."""
    taken, entries = list[int](), view.entries
    for group in free:
        taken += group
        for at in group:
            if entries[at].how != "summary":
                need -= entries[at].tokens
        if need <= 0:
            break
    return taken


def _moved(view: View, places: Sequence[int]) -> Iterator[range]:
    """Places without a gap between them. An earlier note in front stays if nothing new is
    beside it, or if it is long and stands for more than is new: so no message moves into
    another note more than a few times, however long the session."""
    for stretch in stretches(places):
        behind = sum([len(entry.stands_for) for entry in view.at(stretch)])
        for at in stretch:
            size = len(view[at].stands_for)
            behind -= size
            is_note = view[at].how == "summary"
            if not (is_note and (behind == 0 or size > max(LONG, behind))):
                yield range(at, stretch.stop)
                break


def _notes(view: View, scene: Scene, moved: Sequence[range],
           note: WriteNote) -> Iterator[tuple[int, Entry]]:
    """(index in the view after the change, note) for each stretch."""
    taken = 0
    for number, stretch in enumerate(moved):
        covered = covered_by(view, stretch)
        entry = scene.entry(user(note(covered, scene)), covered, "summary")
        yield stretch[0] - taken + number, entry
        taken += len(stretch)


def dropped_note(indexes: Sequence[int], scene: Scene) -> str:
    """How many rounds are gone, and where the run log has them."""
    rounds = [scene.history[index]["role"] for index in indexes].count("assistant")
    return scene.texts("rounds_dropped", rounds=rounds, count=len(indexes),
                       spans=handle_ranges(indexes, ""))


def middle_note(indexes: Sequence[int], scene: Scene) -> str:
    """The handles of what was left out, and how to read it again."""
    return scene.texts("middle_left_out", count=len(indexes), spans=handle_ranges(indexes),
                       way_back=_way_back(scene))


def store_note(indexes: Sequence[int], scene: Scene) -> str:
    """The handles of what went to the store, and how to find it again."""
    search = scene.texts("store_search") if "recall" in scene.tools else ""
    return scene.texts("to_the_store", count=len(indexes), spans=handle_ranges(indexes),
                       search=search, way_back=_way_back(scene))


def _way_back(scene: Scene) -> str:
    return scene.texts("way_back_any_tool" if "read_result" in scene.tools else "way_back_any_log")


def handle_ranges(indexes: Sequence[int], mark: str = "#") -> str:
    """Rising indexes as handles, runs of them as one: `#2-#5, #9`."""
    return ", ".join(f"{mark}{run[0]}" if len(run) == 1 else f"{mark}{run[0]}-{mark}{run[-1]}"
                     for run in stretches(indexes))


def all_said(message: Message) -> str:
    """All that a message says: its text, and the tool and arguments of each call."""
    calls = (f"{call['name']} {arguments_text(call)}" for call in calls_of(message))
    return "\n".join(part for part in [message["content"], *calls] if part)
