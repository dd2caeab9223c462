"""Milestone 6: probes. Where is a text now: in the view, in a summary, behind a handle, gone?

    verbatim   an entry that is a message, whole or shortened, has it
    summary    only an entry that replaces messages, or was attached, has it
    handle     no entry has it, but one names the handle of a message that has it
    gone       none of these
    ""         it has not been said yet
"""

from __future__ import annotations

from collections.abc import Sequence

from ..compression.view import View
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
        self._where = [index for index, message in enumerate(history) if fact in text_of(message)]

    @property
    def state(self) -> str:
        """The state at the last step; "gone" if it was never said."""
        return (self.states[-1][1] if self.states else "") or "gone"

    def __call__(self, moment: Moment) -> None:
        """Look again if the view has changed, or the fact has come in."""
        came = any(self.fact in text_of(entry.message) for entry in moment.arrived)
        if came or moment.made or moment.gone or not self.states:
            holders = {index for index in self._where if index < moment.at}
            state = state_of(self.fact, moment.view, holders)
            if not self.states or self.states[-1][1] != state:
                self.states.append((moment.step, state))
