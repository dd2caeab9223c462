"""Milestone 6: probes. Where is a text now: in the view, in a summary, behind a handle, gone?

    verbatim   an entry that is a message, whole or shortened, has it
    summary    only an entry that replaces messages, or was attached, has it
    handle     no entry has it, but one names the handle of a message that has it
    gone       none of these
    ""         it has not been said yet
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from ..compression.view import Entry, View
from ..held import handles
from ..messages import Message, text_of
from .replay import Moment


def state_of(fact: str, view: View, holders: set[int]) -> str:
    """Where a fact is in a view; `holders` are the history messages that have it."""
    if not holders:
        return ""
    hows = {entry.how for entry in view.entries if fact in text_of(entry.message)}
    return state_from_hows(hows, view, holders)


def state_from_hows(hows: set[str], view: View, holders: set[int]) -> str:
    """The same, from the `how` of each entry that has the fact."""
    if not holders:
        return ""
    if hows & {"verbatim", "shortened"}:
        return "verbatim"
    if hows:
        return "summary"
    return "handle" if any(not holders.isdisjoint(handles(entry))
                           for entry in view.entries) else "gone"


class Probe:
    """Observes one trial and follows one fact: `states` are [first step, state] runs."""

    def __init__(self, fact: str, history: Sequence[Message]) -> None:
        self.fact = fact
        self.states: list[tuple[int, str]] = []
        self._where = deque(index for index, message in enumerate(history)
                            if fact in text_of(message))
        self._holders: set[int] = set()       # the messages so far that have it
        self._hows: Counter[str] = Counter()  # of the entries of the view that have it

    @property
    def state(self) -> str:
        """The state at the last step; "gone" if it was never said."""
        return (self.states[-1][1] if self.states else "") or "gone"

    def __call__(self, moment: Moment) -> None:
        """Look again if the view has changed, or the fact has come in."""
        came = self._having(moment.arrived)
        self._hows += came
        if came or moment.made or moment.gone or not self.states:
            while self._where and self._where[0] < moment.at:
                self._holders.add(self._where.popleft())
            self._hows += self._having(moment.made)
            self._hows -= self._having(moment.gone)
            state = state_from_hows(set(self._hows), moment.view, self._holders)
            if not self.states or self.states[-1][1] != state:
                self.states.append((moment.step, state))

    def _having(self, entries: Iterable[Entry]) -> Counter[str]:
        """How those of the entries that have the fact do so."""
        return Counter(entry.how for entry in entries if self.fact in text_of(entry.message))
