"""Milestone 3: the laws of compression, and the check that every change goes through.

    1 pairing         no result without its call, no call without its results
    2 conservation    each message is in the view, behind one entry, or recorded as dropped
    3 strict gain     a change makes the view smaller, with all that it attaches
    4 protection      system, first and newest user message, and pins stay word for word
    5 determinism     the same history and policy give the same bytes
    6 stable prefix   what was sent changes only by a recorded change
    7 rebuild         every view can be rebuilt from the records alone
    8 all or nothing  a change that fails half-way leaves everything as it was
    9 honesty         what stands in a view never claims more than is true

The first four show in a single change, and `check` refuses a change that breaks one: it
looks at what the change touches and at the view that would result. A refusal is the fault
of a strategy, not of the session. What is left out: the other laws, which tests enforce.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..columns import number_of
from ..errors import LawError
from ..messages import Message, calls_of, pairing_faults
from .pins import Pins
from .view import Change, Entry, View, first_touched, stood_for, untouched_behind

PAIRING, CONSERVATION, GAIN, PROTECTION = 1, 2, 3, 4
NAMES = {PAIRING: "pairing", CONSERVATION: "conservation", GAIN: "strict gain",
         PROTECTION: "protection", 5: "determinism", 6: "stable prefix", 7: "rebuild",
         8: "all or nothing", 9: "honesty"}


def named(law: int) -> str:
    """A law as it is shown to people: `law 1 (pairing)`."""
    return f"law {law} ({NAMES[law]})"


@dataclass(frozen=True)
class Protection:
    """What no strategy may touch: history indexes, and a tail of the view.

    `verbatim` are messages that stay as they are. `tail` is the view index from
    which on nothing is dropped or summarised; results there may be shortened if
    `shorten_tail` says so (the published policy does it). `pins` are carried word
    for word by whatever takes the place of their message. `history` has the words
    of messages that are behind a summary already.
    """

    verbatim: frozenset[int] = frozenset()
    tail: int = 0
    shorten_tail: bool = True
    pins: Pins = Pins()
    history: Sequence[Message] = ()


def start_of_last(view: View, keep: int) -> int:
    """View index where the last `keep` messages begin, moved back to a whole group."""
    start = max(0, len(view) - keep)
    while 0 < start < len(view) and view[start].message["role"] == "tool":
        start -= 1
    return start


def protected_users(users: Sequence[tuple[int, int]], budget: int) -> set[int]:
    """History indexes of the user messages that stay verbatim.

    `users` are (index, tokens) in order; the first and the newest always stay,
    the others newest first while they fit into `budget` tokens together.
    """
    if not users:
        return set()
    kept = {users[0][0], users[-1][0]}
    for index, tokens in reversed(users[1:-1]):
        budget -= tokens
        if budget < 0:
            break
        kept.add(index)
    return kept


def check(before: View, after: View, change: Change, protection: Protection,
          breaks: Sequence[int] = ()) -> None:
    """Raise `LawError` with the first law that `change` breaks, if any.

    `breaks` are the numbers of laws that a policy breaks on purpose.
    """
    for law, fault in faults(before, after, change, protection, breaks):
        raise LawError(law, fault, place=change.strategy)


def faults(before: View, after: View, change: Change, protection: Protection,
           breaks: Sequence[int] = ()) -> Iterator[tuple[int, str]]:
    """(law, what is wrong) for each law that `change` breaks."""
    case = _Case(before, after, change, protection)
    for law, judge in ((GAIN, _gain), (CONSERVATION, _conservation),
                       (PROTECTION, _protection), (PAIRING, _pairing)):
        if law not in breaks and (fault := judge(case)):
            yield law, fault


class _Case:
    """A change to be judged. `taken` are the history messages behind the entries that it takes
    out, in the order of the view; `had` is the set of these."""

    def __init__(self, before: View, after: View, change: Change, protection: Protection) -> None:
        self.before, self.after, self.change = before, after, change
        self.protection = protection
        self.taken = stood_for(before.at(change.affected))
        self.had = set(self.taken)

    def standing(self, index: int) -> Entry | None:
        """The inserted entry that stands for a history message, None if there is none."""
        return next((entry for _, entry in self.change.inserts if index in entry.stands_for), None)


def _gain(case: _Case) -> str:
    before, after = case.before.tokens, case.after.tokens
    if after < before:
        return ""
    return f"{number_of(before, 'token')} became {after}: a change has to make the view smaller"


def _conservation(case: _Case) -> str:
    change, had = case.change, case.had
    claimed = stood_for(entry for _, entry in change.inserts)
    if not all(_is_as_called(entry, case.protection.history) for _, entry in change.inserts):
        return "an entry is called verbatim and is not"
    if case.taken == claimed and len(had) == len(claimed) and not change.dropped:
        return ""  # the common case: each message is behind one entry, in the same order
    if len(set(claimed)) < len(claimed):
        return "a history message would stand behind two entries"
    if not had.issuperset(claimed):
        return f"an entry names messages that were not affected: {sorted(set(claimed) - had)[:5]}"
    dropped = set(change.dropped)
    if not had.difference(claimed).issuperset(dropped):
        return f"messages {sorted(dropped - had.difference(claimed))[:5]} are not dropped by it"
    lost = had.difference(claimed, dropped)
    return f"messages {sorted(lost)[:5]} would be lost without a word" if lost else ""


def _is_as_called(entry: Entry, history: Sequence[Message]) -> bool:
    """Whether an entry, if it is called verbatim, is one message of the history, unchanged."""
    return entry.how != "verbatim" or (
        len(entry.stands_for) == 1 and entry.message == history[entry.stands_for[0]])


def _protection(case: _Case) -> str:
    affected, protection = case.change.affected, case.protection
    for index in sorted(protection.verbatim & case.had):
        if not _still_said(protection.history[index], case.standing(index)):
            return f"message {index} has to stay verbatim"
    for at in affected[bisect_left(affected, protection.tail):]:
        if not _shortened_only(case.before[at], case):
            return f"entry {at} belongs to the protected tail"
    return _pin_fault(case)


def _pin_fault(case: _Case) -> str:
    """The fault of losing a pin: the entry that stands for its message has to say it; that
    another one happens to is not enough."""
    pins = case.protection.pins
    for pin in pins.within(case.taken) if pins.pins else ():
        entry = case.standing(pin.index)
        if entry is None or not (entry.message == case.protection.history[pin.index]
                                 or pins.stands_in(pin, entry.message["content"])):
            return f"the pin {pin.text[:40]!r} of message {pin.index} would be lost"
    return ""


def _still_said(said: Message, standing: Entry | None) -> bool:
    """Whether the words are still there: as they were, or whole inside a summary."""
    if standing is None:
        return False
    if standing.message == said:
        return True
    return standing.how == "summary" and said["content"] in standing.message["content"]


def _shortened_only(entry: Entry, case: _Case) -> bool:
    """Whether an entry of the tail stays an entry of its own, at most shortened, if it may be.

    What an earlier change has attached stands for no message, so it may go.
    """
    if not entry.stands_for:
        return True
    if not case.protection.shorten_tail or entry.message["role"] != "tool":
        return False
    found = case.standing(entry.stands_for[0])
    return found is not None and found.stands_for == entry.stands_for


def _pairing(case: _Case) -> str:
    if _same_shape(case.before, case.change):
        return ""
    near = _near(case.before, case.after, case.change)
    fault = next(pairing_faults([entry.message for entry in case.after.at(near)]), None)
    return f"message {near[fault[0]]} of the view: {fault[1]}" if fault else ""


def _near(before: View, after: View, change: Change) -> range:
    """The view indexes where a change may have torn calls from results: what it has put in and
    the neighbours of that, as whole groups."""
    start, stop = first_touched(change) - 1, len(after) - untouched_behind(before, after, change)
    while start > 0 and after[start].message["role"] == "tool":
        start -= 1
    while stop < len(after) and after[stop].message["role"] == "tool":
        stop += 1
    return range(max(0, start), stop)


def _same_shape(before: View, change: Change) -> bool:
    """Whether each affected entry is replaced in place by one that pairs alike."""
    return len(change.affected) == len(change.inserts) and all(
        at == place and _pairs(before[at].message) == _pairs(entry.message)
        for at, (place, entry) in zip(change.affected, change.inserts))


def _pairs(message: Mapping[str, Any]) -> tuple[Any, ...]:
    return (message["role"], message.get("tool_call_id"),
            tuple(call["id"] for call in calls_of(message)))
