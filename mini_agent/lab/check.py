"""Milestone 6: the linter of transcripts, and of our own traces.

A trace of ours is audited (`audit.py`), and so are the traces of its sub-agents, against
what the parent's trace says of them. The reader of another agent's log mends what does not
fit together; here its repairs are reported, and the faults of the messages that it made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..audit import Line, audit
from ..columns import number_of
from ..disk import read_file, real_path
from ..errors import TraceError, UsageError
from ..lint import Finding, lint_message, lint_pairing
from ..subagents.endings import CUT_OFF, numbers_of
from ..subagents.traces import child_trace, events_in, find_trace
from ..trace import is_record, parse_record, read_trace, trace_folder
from .sessions import LogSession, open_sessions

# The repairs of a reader that point to a fault in the log: name of the note, message.
MENDED = {
    "missing_results": "the call{id} has no result",
    "orphan_results": "a result without its call{id}",
    "doubled_results": "a second result of the call{id}",
    "early_results": "the result of the call{id} stands before it",
    "late_results": "the result of an earlier call came only after it",
    "stray_results": "a result of no step, of the call{id}",
    "held_back": "it stands between a call and its result",
    "calls_not_requested": "a call{id} that no message made",
    "late_systems": "a system message that is not the first",
    "empty_messages": "a message without text and calls stood before it",
    "duplicates": "a record{id} occurs twice",
    "lines_with_bad_bytes": "bytes that are no UTF-8",
}


class FileFinding(NamedTuple):
    """One fault in a file: at a line (from 1), or in a message of a session (from 0)."""

    file: str
    line: int | None
    message: int | None
    kind: str
    text: str

    def __str__(self) -> str:
        at = f":{self.line}" if self.message is None else f": message {self.message}"
        return f"{self.file}{at}: {self.kind}: {self.text}"


def check_file(path: str) -> Iterator[str]:
    """A line for each finding: place, kind, what. Raises `UsageError` for no session."""
    return map(str, findings(path))


def findings_of(paths: Iterable[str], unread: list[str]) -> Iterator[FileFinding]:
    """All that is wrong in each file. A file that cannot be read does not stop the others: why
    it could not is added to `unread`."""
    for path in paths:
        try:
            yield from findings(path)
        except UsageError as error:
            unread.append(str(error))


def findings(path: str, goes_on: bool = False,
             seen: set[str] | None = None) -> Iterator[FileFinding]:
    """All that is wrong in a file. Raises `UsageError` for no session.

    With `goes_on` a trace need not have an end. `seen` are the files checked so far, since
    links in a stranger's folder may lead round in a circle.
    """
    path = str(find_trace(path))
    seen = set() if seen is None else seen
    seen.add(real_path(path))
    try:
        raw = read_file(path)
    except OSError as error:
        raise UsageError(f"the file cannot be read ({error.strerror})", place=path,
                         remedy="name a trace or a recorded session") from error
    found = _check_trace(raw, goes_on) if is_record(raw.partition(b"\n")[0]) else None
    if found is None:
        for session in open_sessions(path):
            yield from _check_session(path, session)
        return
    for finding in found:
        yield FileFinding(path, finding.line, None, finding.kind, finding.text)
    yield from _check_children(Path(path), raw, seen)


def _check_children(path: Path, raw: bytes, seen: set[str]) -> Iterator[FileFinding]:
    """The traces of sub-agents, against what their parent says of how they ended."""
    for number, told in events_in(raw, "subagent_end"):
        child = told.get("child")
        if type(child) is not int:
            continue  # `audit` has told of it
        log = child_trace(trace_folder(path), child)
        cut_off = told.get("status") in CUT_OFF
        here = partial(FileFinding, str(path), number, None, "trace")
        if real_path(log) in seen:
            yield here(f"the log of sub-agent {child} is that of another")
        elif log.is_file():
            yield from findings(str(log), cut_off, seen)
            for key, value in _numbers(log).items():
                if told.get(key) != value:
                    yield here(f"{key} is {told.get(key)}, in the log of sub-agent {child} "
                               f"it is {value}")
        elif not cut_off:
            yield here(f"the log of sub-agent {child} is missing")


def _numbers(log: Path) -> dict[str, int]:
    """The numbers of a run; {} where its trace is broken, which was reported already."""
    try:
        return asdict(numbers_of(read_trace(log).records))
    except TraceError:
        return {}


def _check_trace(raw: bytes, goes_on: bool) -> Iterator[Finding]:
    lines: list[Line] = []
    *whole, rest = raw.split(b"\n")
    for number, text in enumerate(whole, 1):
        try:
            lines.append(Line(number, parse_record(text)))
        except ValueError as error:
            yield Finding(number, "trace", f"not a record: {error}")
    if rest:
        yield Finding(len(whole) + 1, "trace",
                      f"the last line is cut off after {number_of(len(rest), 'byte')}")
    yield from audit(lines, goes_on)


def _check_session(path: str, session: LogSession) -> Iterator[FileFinding]:
    name = f"{path}{session.name.removeprefix(Path(path).name)}"
    for lost in session.unreadable:
        yield FileFinding(path, lost.line, None, "transcript", lost.what)
    for fault in session.mended:
        about = f" {fault.what!r}" if fault.what else ""
        unit, number = fault.place.split()
        made = partial(FileFinding, kind="transcript", text=MENDED[fault.note].format(id=about))
        yield (made(path, int(number), None) if unit == "line" else
               made(name, None, int(number)))
    ids: set[str] = set()
    for at, message in enumerate(session.messages):
        for kind, text in lint_message(message, ids, first=at == 0):
            yield FileFinding(name, None, at, kind, text)
    for finding in lint_pairing(list(enumerate(session.messages))):
        yield FileFinding(name, None, finding.line, finding.kind, finding.text)
