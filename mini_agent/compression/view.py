"""Milestone 3: the view, and the one function that changes it.

A view is what is sent in place of the history: a list of entries; an entry is a
message, its tokens, the history messages that it stands for, and how it does so. Live,
on resume, in `check` and in the lab, only `apply` makes one view into another, so every
view of a run can be rebuilt from its trace alone (`state.py`). What is left out: which
changes are allowed (`laws.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter, lt
from typing import Any, NamedTuple

from ..columns import number_of
from ..messages import Message
from .rising import holds, stretches

HOW = ("verbatim", "shortened", "summary", "attached")
_TOKENS, _STANDS_FOR = attrgetter("tokens"), attrgetter("stands_for")


class Entry(NamedTuple):
    """One message of a view. `stands_for` are indexes in the history, rising."""

    message: Message
    tokens: int
    stands_for: tuple[int, ...]
    how: str = "verbatim"

    @property
    def made(self) -> bool:
        """Whether no message of the history is in its place: a summary, or what was attached."""
        return self.how in ("summary", "attached")

    def covers(self, indexes: frozenset[int]) -> bool:
        """Whether it stands for one of these history messages; looked up on the shorter side."""
        mine = self.stands_for
        if len(mine) == 1:
            return mine[0] in indexes
        if len(mine) < 8 * len(indexes):
            return not indexes.isdisjoint(mine)
        return any(holds(mine, index) for index in indexes)


@dataclass(frozen=True)
class Change:
    """What a strategy proposes: entries to take out, entries to put in.

    `affected` are indexes in the view before the change, rising; `inserts` are
    (index in the view after the change, entry), rising. `facts` go into the
    record after the fixed keys (such as `unsupported`, for a summary).
    """

    strategy: str
    affected: tuple[int, ...]
    inserts: tuple[tuple[int, Entry], ...]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def dropped(self) -> tuple[int, ...]:
        """History indexes that no entry stands for any more."""
        return tuple(self.facts.get("dropped", ()))


def tokens_of(entries: Iterable[Entry]) -> int:
    """The tokens of all these."""
    return sum(map(_TOKENS, entries))


def stood_for(entries: Iterable[Entry]) -> list[int]:
    """The history indexes that all these stand for, entry by entry."""
    return list(chain.from_iterable(map(_STANDS_FOR, entries)))


class View:
    """Entries in order, with the sum of their tokens kept as they change."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = list(entries)
        self.tokens = tokens_of(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    def at(self, places: Sequence[int]) -> list[Entry]:
        """The entries at these rising indexes."""
        if places and places[-1] - places[0] == len(places) - 1:  # one stretch: the usual case
            return self.entries[places[0]:places[-1] + 1]
        return list(map(self.entries.__getitem__, places))

    def append(self, entry: Entry) -> None:
        """A new message comes in, at the end and verbatim."""
        self.entries.append(entry)
        self.tokens += entry.tokens

    def messages(self) -> list[Message]:
        """What is sent."""
        return [entry.message for entry in self.entries]

    def tokens_before(self, index: int) -> int:
        """Tokens of the entries before `index`, added up on the shorter side of it."""
        if index <= len(self) // 2:
            return tokens_of(self.entries[:index])
        return self.tokens - tokens_of(self.entries[index:])


def apply(view: View, change: Change) -> View:
    """The view without the affected entries, each new one inserted at its place.

    ValueError where the change does not fit: it changes nothing, or an index is missing or
    not rising.
    """
    _check_fit(view, change)
    kept = _without(view.entries, change.affected)
    after, taken = View(), 0  # not summed again: only what changes is counted
    for at, entry in change.inserts:
        start, taken = taken, taken + at - len(after)
        after.entries += kept[start:taken]
        after.entries.append(entry)
    after.entries += kept[taken:]
    after.tokens = tokens_behind(view, change)
    return after


def tokens_behind(view: View, change: Change) -> int:
    """The tokens of the view that a change would leave."""
    return (view.tokens - tokens_of(view.at(change.affected))
            + sum([entry.tokens for _, entry in change.inserts]))


def _without(entries: list[Entry], affected: Sequence[int]) -> list[Entry]:
    kept, end = list[Entry](), 0
    for run in stretches(affected):
        kept += entries[end:run.start]
        end = run.stop
    return kept + entries[end:]


def _check_fit(view: View, change: Change) -> None:
    if not change.affected and not change.inserts:
        raise ValueError("it changes nothing")
    size = len(view) - len(change.affected) + len(change.inserts)
    for what, places, end in (("affected", change.affected, len(view)),
                              ("inserted", [at for at, _ in change.inserts], size)):
        if places and not (0 <= places[0] and places[-1] < end
                           and all(map(lt, places, islice(places, 1, None)))):
            held = number_of(len(view), "entry", many="entries")
            raise ValueError(f"{what} at {list(places)} of a view of {held}")


def inverse(view: View, change: Change) -> Change:
    """The change that leads back to `view`, even if entries were appended since."""
    return Change("undo", tuple(at for at, _ in change.inserts),
                  tuple(zip(change.affected, view.at(change.affected))))


def dropped_by(view: View, change: Change) -> tuple[int, ...]:
    """History indexes that leave the view with `change`: no entry stands for them any more."""
    before = set(stood_for(view.at(change.affected)))
    return tuple(sorted(before.difference(*(entry.stands_for for _, entry in change.inserts))))


def prefix_kept(view: View, change: Change) -> int:
    """Tokens of the whole entries before the first one that `change` touches."""
    return view.tokens_before(first_touched(change))


def same_prefix(before: Iterable[Entry], after: Iterable[Entry]) -> int:
    """Tokens of the leading entries that two views have in common."""
    tokens = 0
    for old, new in zip(before, after):
        if old is not new and old != new:
            break
        tokens += old.tokens
    return tokens


def first_touched(change: Change) -> int:
    """The view index from which on `change` makes a difference."""
    return min([*change.affected[:1], *[at for at, _ in change.inserts[:1]]])


def untouched_behind(before: View, after: View, change: Change) -> int:
    """How many entries at the end are in both views, after all that `change` touches."""
    last = change.affected[-1] if change.affected else -1
    made = change.inserts[-1][0] if change.inserts else -1
    return min(len(before) - 1 - last, len(after) - 1 - made)


_FIXED = ("step", "strategy", "before_messages", "after_messages", "before_tokens",
          "after_tokens", "affected_indexes", "trigger", "prefix_kept", "entries", "rung")


def to_payload(step: int, trigger: str, before: View, after: View, change: Change,
               ) -> dict[str, Any]:
    """The payload of a `context_compression` record; the order of keys is fixed."""
    return {
        "step": step, "strategy": change.strategy,
        "before_messages": len(before), "after_messages": len(after),
        "before_tokens": before.tokens, "after_tokens": after.tokens,
        "affected_indexes": list(change.affected), "trigger": trigger,
        "prefix_kept": prefix_kept(before, change),
        "entries": [{"at": at, "message": entry.message, "tokens": entry.tokens,
                     "stands_for": list(entry.stands_for), "how": entry.how}
                    for at, entry in change.inserts],
        **change.facts,
    }


def manual_payload(step: int, view: View, change: Change) -> dict[str, Any]:
    """The payload of a change that somebody asked for, which need not be a gain."""
    return to_payload(step, "manual", view, apply(view, change), change)


def from_payload(payload: dict[str, Any]) -> Change:
    """The change that a record describes. KeyError or TypeError if it describes none."""
    inserts = tuple((item["at"], Entry(item["message"], item["tokens"],
                                       tuple(item["stands_for"]), item["how"]))
                    for item in payload["entries"])
    facts = {key: value for key, value in payload.items() if key not in _FIXED}
    return Change(payload["strategy"], tuple(payload["affected_indexes"]), inserts, facts)
