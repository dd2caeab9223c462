"""Milestone 6: probes. Where is a text now: in the view, in a summary, behind a handle, gone?
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..compression.view import Entry, View
from ..evidence import text_of
from ..messages import Message

STATES = ("verbatim", "summary", "handle", "gone")


def state_of(fact: str, view: View, history: Sequence[Message]) -> str:
    """One of `STATES`; "gone" also for a text that was never said.

    verbatim: an entry has it that is a message, whole or shortened; summary: only an
    entry has it that stands in the place of messages; handle: a message that has it
    is in the view no more, but an entry names its handle.
    """
    entries = [entry for entry in view.entries if fact in text_of(entry.message)]
    if any(entry.how in ("verbatim", "shortened") for entry in entries):
        return "verbatim"
    if entries:
        return "summary"
    holders = {index for index, message in enumerate(history) if fact in text_of(message)}
    return "handle" if any(not holders.isdisjoint(handles(entry))
                           for entry in view.entries) else "gone"


_HANDLE = re.compile(r"(?:#|handle=)(\d+)")


def handles(entry: Entry) -> set[int]:
    """The history messages whose handles an entry shows, of those it stands for."""
    if entry.how == "verbatim":
        return set()
    shown = {int(number) for number in _HANDLE.findall(entry.message["content"])}
    return shown.intersection(entry.stands_for)
