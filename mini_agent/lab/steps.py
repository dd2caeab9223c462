"""Milestone 6: a finished trace, step by step: what came in, what was done, what was sent.

The same questions (`why`, `show`) are asked of a trace, whose views are rebuilt from
its records, and of a session that is replayed under a policy; both come as `TraceStep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compression.policies import Policy
from ..compression.state import rebuild
from ..compression.view import Entry, View, apply, from_payload
from ..errors import TraceError
from ..texts import Texts
from ..tokens import Estimator
from ..tools.schema import COUNT, TEXT, array_of, first_fault
from ..trace import Record
from .recording import Recording
from .replay import Moment, Trial, replay

_ENTRY = {"type": "object", "properties": {
    "at": COUNT, "tokens": COUNT, "how": TEXT, "stands_for": array_of(COUNT)}}
_NUMBERS = {name: COUNT for name in ("before_tokens", "after_tokens", "tokens")}
_CHANGE = {"type": "object", "properties": {
    "strategy": TEXT, "trigger": TEXT, "entries": array_of(_ENTRY), **_NUMBERS}}
PAYLOADS: Mapping[str, Mapping[str, Any]] = {  # event: the schema of what is read of its payload
    "model_call": {"type": "object", "properties": {"step": COUNT, **_NUMBERS},
                   "required": ["step"]},
    "context_compression": {**_CHANGE, "required": [
        "step", "strategy", "trigger", "before_tokens", "after_tokens", "entries"]},
    "undo": _CHANGE, "pin": _CHANGE}


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One model call: its step, `history` messages said before it, the entries that
    `arrived` since the last call, the records of the changes since then, and the tokens
    `sent`, tool declarations too (0 where nobody has counted them). `host`: another agent,
    whose log this is, had compressed its own context since then. `asked` is False of what
    was done since the last call, which no request has had yet."""

    step: int
    history: int
    arrived: Sequence[Entry]
    changes: Sequence[Record]
    sent: int = 0
    host: bool = False
    asked: bool = True


def steps_of_trace(records: Sequence[Record], estimate: Estimator,
                   since: bool = False) -> Iterator[TraceStep]:
    """The model calls of a trace, and after them, if asked for, the changes `since` the last
    one, where there are any. Raises `TraceError` where a record does not fit."""
    arrived: list[Entry] = []
    changes: list[Record] = []
    size, host, step = 0, False, -1
    for record, view in rebuild(records, estimate):
        event, seq = record.get("event", ""), record["seq"]
        if wrong := first_fault(PAYLOADS.get(event, {}), record.get("payload"), Texts()):
            raise TraceError(f"the {event} does not fit ({wrong})", place=f"seq {seq}", value=seq)
        if record["type"] == "message":
            arrived.append(view[-1])
            size += 1
        elif "entries" in record["payload"]:  # a compression, an undo, a pin put back
            changes.append(record)
        elif record["event"] == "model_call":
            call = record["payload"]
            step = call["step"]
            yield TraceStep(step, size, arrived, changes, call.get("tokens") or 0, host)
            arrived, changes, host = [], [], False
        elif record["event"] == "host_compression":
            host = True
    if since and changes:
        yield TraceStep(step + 1, size, arrived, changes, asked=False)


def views(steps: Iterable[TraceStep]) -> Iterator[tuple[TraceStep, View]]:
    """Each step with the view that was sent; it changes as the next one is asked for."""
    view = View()
    for taken in steps:
        for entry in taken.arrived:
            view.append(entry)
        for record in taken.changes:
            view = apply(view, from_payload(record["payload"]))
        yield taken, view


def steps_of_replay(recording: Recording, policy: Policy, window: int,
                    marks: Iterable[int] = (), progress: Callable[[int], Any] = lambda _: None,
                    ) -> list[TraceStep]:
    """The model calls of a recorded session under a policy at a window; `marks` are how many
    messages it had each time its own agent compressed it, `progress` hears how many of its
    messages are replayed."""
    taken: list[TraceStep] = []
    waiting = sorted(marks)

    def note(moment: Moment) -> None:
        changes = [record for record in moment.records if "entries" in record["payload"]]
        come = [at for at in waiting if at <= moment.at]
        del waiting[:len(come)]
        taken.append(TraceStep(moment.step, moment.at, moment.arrived, changes, host=bool(come)))

    replay(recording, [Trial(recording, policy, window, [note])], progress)
    return taken
