"""Milestone 6: why did the model no longer know it?

Of one text: when it entered and from where, at which steps the model could see it and
in what form, which record took it away, and how it can be had now. What is left out:
finding the session and its steps (`session_steps.py`, `steps.py`), and the words (`whywords.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..actions import call_of
from ..compression.tools import part_with
from ..compression.view import View, apply, from_payload
from ..held import handles
from ..messages import Message, arguments_text, text_of
from ..trace import Record
from .facts import state_of
from .nearly import nearly_said
from .steps import TraceStep
from .whyform import Cause, Occurrence, Explanation, FirstSeen, Origin, WayBack

EACH = "read_result(handle=N)"  # in a text that stands for many: each of them can be read again


@dataclass
class Sighting:
    """Steps `first` to `last` at which the text stood in one form, or, not `sent`, as it will
    stand in the next request; `cause` is the record that made it so, None where it was a
    new message."""

    first: int
    last: int
    form: str
    at: list[int] = field(default_factory=list)
    cause: Record | None = None
    sent: bool = True


def sightings(text: str, steps: Iterable[TraceStep],
              history: Sequence[Message]) -> tuple[list[Sighting], View]:
    """The forms in which `text` was seen, step after step, "" before it was there, and the
    last view."""
    where = [index for index, message in enumerate(history) if text in text_of(message)]
    found: list[Sighting] = []
    view = View()
    for taken in steps:
        came = any(text in text_of(entry.message) for entry in taken.arrived)
        holders = {index for index in where if index < taken.history}
        view, cause, about = _folded(text, taken, view, frozenset(holders))
        if came or taken.changes or not found:
            sight = _look(text, view, holders, taken.step, cause)
            sight.sent = taken.asked
            if sight.form in ("handle", "gone"):
                sight.cause = cause or about
            if not sight.form and found and found[-1].form:
                sight.form = "gone"
            if not found or (sight.form, sight.at) != (found[-1].form, found[-1].at):
                found.append(sight)
        if taken.asked:
            found[-1].last = taken.step
    return found, view


def _folded(text: str, taken: TraceStep, view: View,
            holders: frozenset[int]) -> tuple[View, Record | None, Record | None]:
    """The view of a step, made of the one before. Of its changes the last that touched the
    text, and the last that touched a message with it (by a handle, say, whose text stands
    elsewhere)."""
    cause = about = None
    for entry in taken.arrived:
        view.append(entry)
    for record in taken.changes:
        change = from_payload(record["payload"])
        touched = (*view.at(change.affected), *(entry for _, entry in change.inserts))
        if any(text in text_of(entry.message) for entry in touched):
            cause = record
        if any(entry.covers(holders) for entry in touched):
            about = record
        view = apply(view, change)
    return view, cause, about


def _look(text: str, view: View, holders: set[int], step: int, cause: Record | None) -> Sighting:
    """How the text stands in a view: the form, and the history messages it stands for. What
    no message has said yet can be there all the same, in a summary or attached: `made`."""
    entries = [entry for entry in view.entries if text in text_of(entry.message)]
    form = state_of(text, view, holders) or ("made" if entries else "")
    hows = {entry.how for entry in entries}
    if form == "verbatim" and "verbatim" not in hows:
        form = "shortened"
    elif form == "summary" and hows == {"attached"}:
        form = "attached"
    at = sorted(index for entry in entries for index in entry.stands_for
                if index in holders and (entry.how == form or form not in hows))
    return Sighting(step, step, form, at, cause)


def explain(text: str, steps: Iterable[TraceStep], history: Sequence[Message]) -> Explanation:
    """All that `why` knows of a text, as plain JSON."""
    taken = list(steps)
    sighted, last = sightings(text, taken, history)
    found = [sight for sight in sighted if sight.form]
    holders = [index for index, message in enumerate(history) if text in text_of(message)]
    entered: list[Occurrence] = [
        {"message": index, **_origin(history, index), **_first_seen(index, taken, found),
         "part": part_with(text, history, index)}
        for index in holders]
    return {"text": text, "entered": entered,
            "nearly": [] if holders else nearly_said(text, history),
            "seen": [{"first": sight.first, "last": sight.last, "form": sight.form,
                      "messages": sight.at, "cause": _cause(sight.cause), "sent": sight.sent}
                     for sight in found],
            "host": [step.step for step in taken if step.host],
            "now": {"form": found[-1].form if found else "", **_way_back(
                holders, last)}}


def _first_seen(index: int, taken: Sequence[TraceStep], found: Sequence[Sighting]) -> FirstSeen:
    """The step whose request first had a message, None for none, and whether the text was in
    it still: a message can be cut before it is sent for the first time."""
    first = next((step.step for step in taken if step.history > index and step.asked), None)
    return {"first_seen": first, "with_text": first is not None and any(
        sight.first <= first <= sight.last and index in sight.at for sight in found)}


def _origin(history: Sequence[Message], index: int) -> Origin:
    """Role, and for a result its tool with the arguments of the call."""
    message = history[index]
    if message["role"] != "tool":
        return {"role": message["role"], "tool": "", "arguments": ""}
    call = call_of(history, index)
    return {"role": "tool", "tool": message.get("name", ""),
            "arguments": arguments_text(call) if call else ""}


def _cause(record: Record | None) -> Cause | None:
    if record is None:
        return None
    payload = record["payload"]
    return {"seq": record["seq"], "step": payload["step"], "strategy": payload["strategy"],
            "trigger": payload["trigger"], "before_tokens": payload["before_tokens"],
            "after_tokens": payload["after_tokens"]}


def _way_back(holders: Sequence[int], view: View) -> WayBack:
    """By which handles the newest view gives messages that have the text."""
    shown = {index for entry in view.entries for index in handles(entry)}
    spans = {index for entry in view.entries if EACH in entry.message["content"]
             for index in entry.stands_for if index not in shown}
    return {"handles": [index for index in holders if index in shown],
            "spans": [index for index in holders if index in spans], "log": list(holders)}
