"""Milestone 6: another agent's log as one of our traces.

The records are those that a run without a window writes: each message as it came in, a
`model_call` before each request, each tool call and its result. Where the recorded agent
compressed its own context there is a `host_compression`; the notes of the reader stand in
`run_start`.
"""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from pathlib import Path

from ..disk import check_new, write_file
from ..errors import UsageError
from ..messages import Call, Message, calls_of, model_calls
from ..trace import FORMAT, OPENING, Record, TraceFile, Tracer, line
from .sessions import HostCompression, LogSession


def records_of(session: LogSession) -> list[Record]:
    """The trace of a session, from `run_start` to `run_end`."""
    records: list[Record] = []
    tracer = Tracer(records.append)
    tracer.event("run_start", format=FORMAT, task=session.name, source=session.format,
                 **({"notes": dict(session.notes)} if session.notes else {}))
    firsts = {call.start for call in model_calls(session.messages)}
    open_calls: deque[Call] = deque()
    marks = deque(session.host_compressions)
    for at, (message, step) in enumerate(zip(session.messages, session.steps)):
        _write_marks(tracer, marks, at, step)
        if at in firsts:
            tracer.event("model_call", step=step, messages=at)
        if message["role"] == "tool" and open_calls:
            write_call(tracer, step, open_calls.popleft(), message)
        tracer.message(step, message)
        open_calls.extend(calls_of(message))
    last = session.steps[-1]
    _write_marks(tracer, marks, len(session.messages), last)
    tracer.event("run_end", step=last, reason="recorded", final_messages=len(session.messages))
    return records


def _write_marks(tracer: Tracer, marks: deque[HostCompression], at: int, step: int) -> None:
    """Write those of the marks, which are in order, that stand before message `at`."""
    while marks and marks[0].at <= at:
        mark = marks.popleft()
        tracer.event("host_compression", step=step, format=mark.format, tokens=mark.tokens,
                     kind=mark.kind)


def write_call(tracer: Tracer, step: int, call: Call, result: Message) -> None:
    """The two records that stand before a result: the call, and how it ended."""
    error = result.get("error")
    tracer.event("tool_call", step=step, id=call["id"], name=call["name"],
                 arguments=call["arguments"])
    tracer.event("tool_result", step=step, id=result["tool_call_id"], ok=error is None,
                 code=error["code"] if error else None, chars=len(result["content"]))


def write_trace(path: Path, records: list[Record], source: Path) -> None:
    """Write records as a trace, whole. Raises `UsageError` where it cannot be written, and
    where it would replace its source or a trace that a process is writing."""
    if path.exists() and path.samefile(source):
        raise UsageError("the trace would replace the log it is made of", place=str(path),
                         remedy="name another file")
    check_new(path, OPENING, "trace")
    with TraceFile(path, fresh=False) if path.exists() else nullcontext():
        try:
            write_file(path, "".join(map(line, records)), private=True)
        except OSError as error:
            raise UsageError(f"the trace cannot be written ({error.strerror})", place=str(path),
                             remedy="name a file in a folder that you may write to") from error
