"""Milestone 1: the trace, which is log, audit and saved session in one.

A record is one JSON line: a message as it entered the history, or an event of
the closed list `EVENTS`; `seq` counts from 0 without gaps. The tracer hands each
record to its sinks (a file, a list, a screen) and knows nothing of what they do.
What this module leaves out: how a session is rebuilt from its records.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .columns import number_of
from .disk import check_new, lock, make_folder, read_file
from .errors import TraceError, UsageError
from .hostile import clean
from .messages import Message, clean_json
from .strict_json import loads

FORMAT = 1
OPENING = b'{"type": '  # of every trace
Record = dict[str, Any]
Sink = Callable[[Record], None]

EVENTS = (
    # the loop
    "run_start", "model_call", "tool_call", "tool_result", "interrupted", "run_end",
    # compression: the view changed, a summary was asked for, nothing came of it, still too much
    "context_compression", "model_summarize", "compression_skipped", "context_overflow",
    "pin", "stage", "settings", "undo",  # what else a view depends on
    "subagent_start", "subagent_end",
    "model_usage", "model_retry", "resume",  # a live endpoint, a session taken up again
    "host_compression", "evidence",  # the lab: what a recorded agent left out, what was needed
)


class Tracer:
    """Numbers records and hands each to every sink, in the order of the sinks.

    `held` is a context that is entered around each record, to keep interrupts out.
    """

    def __init__(self, *sinks: Sink, seq: int = 0,
                 held: AbstractContextManager[Any] = nullcontext()) -> None:
        self._sinks = sinks
        self._held = held
        self.seq = seq

    def message(self, step: int, message: Message) -> None:
        """Record a message that enters the history at `step`."""
        self._emit({"type": "message", "step": step, "message": message})

    def event(self, name: str, /, **payload: Any) -> Record:
        """Record an event of the closed list; its payload keeps the given order."""
        if name not in EVENTS:
            raise ValueError(f"no event {name!r}: the list in trace.EVENTS is closed")
        return self._emit({"type": "event", "event": name, "payload": payload})

    def _emit(self, record: Record) -> Record:
        with self._held:
            record["seq"] = self.seq
            for sink in self._sinks:
                sink(record)
            self.seq += 1
        return record


def line(record: Record) -> str:
    """A record as a line of a trace, newline included; lone surrogates become U+FFFD."""
    return clean(json.dumps(record, ensure_ascii=False)) + "\n"


class TraceFile:
    """A sink that writes each record as a line and flushes it.

    While it is open, no other process can write to the same file. `fresh`: the first
    record replaces what was there; a file that stays empty is removed again. A file
    that cannot be opened is the user's mistake (`UsageError`); one that cannot be written
    later, or that somebody else has removed or changed, ends the run (`TraceError`).
    """

    def __init__(self, path: Path, fresh: bool = True) -> None:
        self.path = path
        if fresh:
            check_new(path, OPENING, "trace")
        try:
            make_folder(path.parent, private=True)
            self._file = open(path, "a", encoding="utf-8", newline="\n", opener=_private)
        except OSError as error:
            raise UsageError(f"the trace cannot be written ({error.strerror})", place=str(path),
                             remedy="name a file in a folder that you may write to") from error
        if not lock(self._file.fileno()):
            self._file.close()
            raise UsageError("another process, or a session that was not closed, is writing this "
                             "trace", place=str(path), remedy="end it first, or name another file")
        self._fresh = fresh
        self._failed = False  # whether a write has failed, and was reported
        self._size = os.fstat(self._file.fileno()).st_size

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes; a device has none to keep."""
        if os.fstat(self._file.fileno()).st_size > size:
            self._file.truncate(size)
            self._size = size

    def __call__(self, record: Record) -> None:
        try:
            if self._fresh:
                self.cut(0)
                self._fresh = False
            if not self._failed:
                self._check_ours(record["seq"])
            self._file.write(line(record))
            self._file.flush()
            self._size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            self._failed = True
            raise TraceError(f"the trace cannot be written any more ({error.strerror})",
                             place=str(self.path), value=record["seq"],
                             remedy="free some space and resume from it") from error

    def _check_ours(self, seq: int) -> None:
        """Report a file that nobody could resume from at once, not at the session's end."""
        status = os.fstat(self._file.fileno())
        if stat.S_ISREG(status.st_mode) and not (
                status.st_size == self._size and self.path.exists()
                and os.path.samestat(status, os.stat(self.path))):
            raise TraceError("another program has removed or changed the trace",
                             place=str(self.path), value=seq,
                             remedy="begin a new session; what was said from here on is in no file")

    def close(self) -> None:
        """Close the file; every record is in it already."""
        status = os.fstat(self._file.fileno())
        if self._fresh and stat.S_ISREG(status.st_mode) and not status.st_size:
            self.path.unlink(missing_ok=True)
        try:
            self._file.close()
        except OSError as error:
            if self._failed:  # a full disk fails here again; the ending has said so
                return
            raise TraceError(f"the trace could not be closed ({error.strerror})",
                             place=str(self.path)) from error

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(TraceError):  # the error on its way out is the one to report
            self.close()


def _private(path: str, flags: int) -> int:
    """A new file is its owner's alone: what is said in a session may be secret."""
    return os.open(path, flags, 0o600)


@dataclass
class Trace:
    """The records of a trace file, and what was wrong with its last line.

    `size`: how many bytes of the file are whole records.
    """

    records: list[Record] = field(default_factory=list)
    warning: str = ""
    size: int = 0

    def events(self, *names: str) -> Iterator[dict[str, Any]]:
        """The payloads of the events with one of these names, in order."""
        for record in self.records:
            if record.get("event") in names:
                yield record["payload"]

    def messages(self) -> list[Message]:
        """The history: every message in the order in which it entered."""
        return [record["message"] for record in self.records if record["type"] == "message"]


def read_trace(path: Path) -> Trace:
    """Read a trace; a broken last line (a killed run) is cut off with a warning.

    Raises `UsageError` where there is no such file, and `TraceError` with the
    line number for a broken line elsewhere.
    """
    try:
        raw = read_file(path)
    except OSError as error:
        raise UsageError(f"the trace cannot be read ({error.strerror})", place=str(path),
                         remedy="name a .jsonl file that a run has written") from error
    trace = Trace()
    lines = raw.split(b"\n")
    whole = len(lines) - 1  # what follows the last newline is not a whole line
    for number, text in enumerate(lines[:whole], 1):
        try:
            trace.records.append(parse_record(text))
            trace.size += len(text) + 1
        except ValueError as error:
            if number < whole or lines[whole]:
                raise TraceError(f"not a record: {error}", place=f"{path}:{number}",
                                 remedy="the lines before it can still be read") from error
            trace.warning = f"{path}:{number}: the last line is broken and was left out"
    if lines[whole]:
        trace.warning = (f"{path}:{whole + 1}: the last line is cut off after "
                         f"{number_of(len(lines[whole]), 'byte')} and was left out")
    return trace


def parse_record(text: bytes | str) -> Record:
    """One record from its line; ValueError says what is wrong with it."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    record = loads(text)
    if "\\ud" in text or "\\uD" in text:  # perhaps a lone surrogate
        record = clean_json(record)
    if not isinstance(record, dict) or not isinstance(record.get("seq"), int):
        raise ValueError("not an object with a seq")
    kind, name = record.get("type"), record.get("event")
    if kind == "message" and isinstance(record.get("message"), dict):
        return record
    if kind == "event" and name in EVENTS and isinstance(record.get("payload"), dict):
        return record
    raise ValueError(f"type {kind!r}, event {name!r}")


def is_record(text: bytes) -> bool:
    """Whether a line is a record of ours."""
    try:
        parse_record(text)
    except ValueError:
        return False
    return True


def trace_folder(trace: Path) -> Path:
    """The run's own folder: the trace's path without `.jsonl`, plus `.d`."""
    return trace.with_name(trace.name.removesuffix(".jsonl") + ".d")
