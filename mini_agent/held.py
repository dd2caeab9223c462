"""Milestone 6: what a view holds of the evidence of a step, and the shares that follow.

The shares are those that `evidence.py` defines. What an unchanged message holds is known
already; any other entry is read once, when it comes into the view. The lab measures other
policies by it, and a live run at its end its own views (`own_evidence`). What is left out:
what a step needed (`evidence.py`), means over sessions (`lab/measures.py`, `lab/summary.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import Any, NamedTuple

from .compression.rising import between
from .compression.state import WindowState
from .compression.view import Entry, View
from .evidence import Evidence, Step
from .finder import in_context
from .messages import text_of
from .trace import Record

_HANDLE = re.compile(r"(?:#|handle=)(\d{1,9})(?!\d)(?:-#(\d{1,9})(?!\d))?")  # or a span


class Shares(NamedTuple):
    """The shares of one step, 0 to 1; None where the step has no such items."""

    recall: float | None
    far: float | None
    far_in_context: float | None
    fresh: float | None
    lines: float | None
    reach: float | None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there, to 4 decimals; None if none is."""
    found = [value for value in values if value is not None]
    return round(fsum(found) / len(found), 4) if found else None


def handles(entry: Entry) -> set[int]:
    """The history messages whose handles an entry shows, of those it stands for."""
    if entry.how == "verbatim":
        return set()
    found = _HANDLE.findall(entry.message["content"])
    return {index for first, last in found
            for index in between(entry.stands_for, int(first), max(int(first), int(last or 0)))}


class HeldEvidence:
    """What a view holds of the evidence, updated as entries enter and leave it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._verbatim: Counter[int] = Counter()        # how many verbatim entries hold an item
        self._others: dict[int, dict[int, Entry]] = {}  # other entries that do, by their id
        self._read: dict[int, tuple[Entry, tuple[int, ...]]] = {}  # what each of them holds
        self._context: dict[tuple[int, int], bool] = {}
        self._shown: Counter[int] = Counter()           # handles of history messages

    def enter(self, entry: Entry) -> None:
        """An entry comes into the view. One that is not verbatim is read here, once."""
        if entry.how == "verbatim":
            for index in entry.stands_for:
                for number in self._evidence.holds[index]:  # few: `update` would cost more
                    self._verbatim[number] += 1
            return
        found = self._evidence.find(text_of(entry.message))
        self._read[id(entry)] = entry, found
        self._shown.update(handles(entry))
        for number in found:
            self._others.setdefault(number, {})[id(entry)] = entry

    def leave(self, entry: Entry) -> None:
        """An entry that came in with `enter` leaves the view."""
        if entry.how == "verbatim":
            for index in entry.stands_for:
                for number in self._evidence.holds[index]:
                    self._verbatim[number] -= 1
            return
        self._shown.subtract(handles(entry))
        for number in self._read.pop(id(entry))[1]:
            del self._others[number][id(entry)]
            self._context.pop((id(entry), number), None)

    def has(self, number: int) -> bool:
        """Whether the view holds an item."""
        return self._verbatim[number] > 0 or bool(self._others.get(number))

    def has_in_context(self, number: int) -> bool:
        """Whether it stands in an entry as it stood in the history."""
        if self._verbatim[number] > 0:
            return True
        return any(self._as_it_stood(entry, number)
                   for entry in self._others.get(number, {}).values())

    def can_be_had(self, number: int) -> bool:
        """Whether the view holds an item, or shows the handle of a message that does."""
        return self.has(number) or any(
            self._shown[index] > 0 for index in self._evidence.where[number])

    def _as_it_stood(self, entry: Entry, number: int) -> bool:
        if self._evidence.is_line(number):
            return True
        key = id(entry), number
        if key not in self._context:
            word, text = self._evidence.text(number), text_of(entry.message)
            self._context[key] = in_context(word, text, (
                text_of(self._evidence.history[index])
                for index in reversed(self._evidence.where[number])))
        return self._context[key]

    def missing(self, step: Step) -> list[int]:
        """The items of a step that the view does not hold."""
        return [number for number in step.items if not self.has(number)]

    def shares(self, step: Step, over: bool = False) -> Shares:
        """The shares of a step; `over`: its view is over the window, so all are 0."""
        def share(numbers: Sequence[int], holds: Callable[[int], bool]) -> float | None:
            if not numbers:
                return None
            return 0.0 if over else sum(map(holds, numbers)) / len(numbers)

        return Shares(recall=share(step.items, self.has), far=share(step.far, self.has),
                      far_in_context=share(step.far, self.has_in_context),
                      fresh=share(step.fresh, self.has), lines=share(step.lines, self.has),
                      reach=share(step.far, self.can_be_had))


def own_evidence(records: Sequence[Record], state: WindowState) -> dict[str, Any]:
    """The payload of `evidence`: what the views of a run had forgotten of what its model used
    later. `state` is a fresh one, into which the records are folded.

    `measured` are the steps that used something seen more than 8 messages before; the
    shares are 0 to 1 with 4 decimals, None where nothing was measured.
    """
    evidence = Evidence([record["message"] for record in records if record["type"] == "message"])
    held, found = HeldEvidence(evidence), list[Shares]()
    coming = iter(evidence.steps)
    step = next(coming, None)
    for record in records:
        if record["type"] == "message" and step and len(state.history) == step.at:
            found.append(held.shares(step))
            step = next(coming, None)
        before, size = state.view, len(state.view)
        state.fold(record)
        _follow(held, before, size, state.view)
    far = [shares.far for shares in found]
    return {"step": state.step, "measured": len(far) - far.count(None), "far_recall": mean(far),
            "far_in_context": mean(shares.far_in_context for shares in found),
            "recall": mean(shares.recall for shares in found)}


def _follow(held: HeldEvidence, before: View, size: int, after: View) -> None:
    """Bring `held` from a view that had `size` entries to the next: the same one, which grows
    in place, or another if there was a change."""
    if after is before:
        for entry in after.entries[size:]:
            held.enter(entry)
        return
    old, new = ({id(entry): entry for entry in view.entries} for view in (before, after))
    for key in old.keys() - new.keys():
        held.leave(old[key])
    for key in new.keys() - old.keys():
        held.enter(new[key])
