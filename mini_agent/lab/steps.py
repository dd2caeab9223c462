"""Milestone 6: a session step by step: what came in, what was done, what was sent.

`why` and `show` ask the same questions of a trace, whose views are rebuilt from its records,
and of a session that is replayed under a policy. Both are given to them as `TraceStep`s.
"""

from __future__ import annotations

from collections import deque
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
    """One model call. `history` is how many messages came before it; `arrived` are the entries
    that came in since the last call, `changes` the records of changes since then; `sent` are
    the tokens of the request with its tool declarations, 0 where they were not counted. `host`:
    the recorded agent had compressed its own context since the last call. `over`: it did not
    fit, and a replay went on all the same. `asked` is False for changes at the end of a trace
    that no model call follows."""

    step: int
    history: int
    arrived: Sequence[Entry]
    changes: Sequence[Record]
    sent: int = 0
    host: bool = False
    asked: bool = True
    over: bool = False


def steps_of_trace(records: Sequence[Record], estimate: Estimator,
                   since: bool = False) -> Iterator[TraceStep]:
    """The model calls of a trace, and with `since` a last step for the changes after the last
    call, if there are any. Raises `TraceError` where a record does not fit."""
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
    """Each step with the view that was sent. The view is only valid until the next is taken."""
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
    """The model calls of a recorded session under a policy at a window. `marks`: how many
    messages it had each time its own agent compressed it. `progress` is called with the number
    of messages replayed so far."""
    taken: list[TraceStep] = []
    waiting = deque(sorted(marks))

    def note(moment: Moment) -> None:
        changes = [{**record, "seq": None} for record in moment.records  # they are in no file
                   if "entries" in record["payload"]]
        host = bool(waiting and waiting[0] <= moment.at)
        while waiting and waiting[0] <= moment.at:
            waiting.popleft()
        taken.append(TraceStep(moment.step, moment.at, moment.arrived, changes, host=host,
                               over=moment.over))

    replay(recording, [Trial(recording, policy, window, [note])], progress)
    return taken
