"""Milestone 6: the pieces of a log in file order, as a reader finds them.

A reader calls one method for each piece, in file order; `join.finish` makes a session of the
pieces. At the same time the size of the log in its own format is counted (`LogSize`): a reader
calls `message()` for each message of the log, and each piece adds its text, calls and results
unless it is added with `counted=False`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...data_uris import without_data
from ...hostile import clean
from ...messages import Call, call, is_clean
from .base import LogSize
from .fields import Flat, arguments_of, dumped

OWN = "trace"  # the format of our traces, whose texts are already as the model saw them
Error = dict[str, str]


class RawCall(NamedTuple):
    """A call as the log has it: `raw` is an object, or the string that spells one."""

    call_id: str
    name: str
    raw: Any


@dataclass(slots=True)
class Piece:
    """A message or a part of one; where the host compressed, `role` is "mark".

    Assistant pieces with the same key belong to one message, unless the key is "".
    """

    role: str
    text: str = ""
    key: str = ""
    calls: list[Call] = field(default_factory=list)
    opaque: dict[str, Any] = field(default_factory=dict)
    call_id: str = ""
    name: str = ""
    error: Error | None = None
    injected: bool = False
    step: int | None = None
    tokens: int | None = None
    faults: list[tuple[str, str]] = field(default_factory=list)  # (note, id) of each repair


def failed(message: str = "", code: str = "TOOL_FAILED") -> Error:
    """The error of a result that the host had marked as failed."""
    return {"code": code, "message": message or "the host marked this result as failed"}


def exit_error(status: int | None) -> Error | None:
    """The error of a command that ended with `status`; None for 0 and unknown."""
    return failed(f"exit status {status}", "EXIT_STATUS") if status else None


class Log:
    """Collects the pieces, the notes and the counts of one session."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.pieces: list[Piece] = []
        self.notes: Counter[str] = Counter()
        self.counts = LogSize()
        self.step: int | None = None  # set by formats that record it
        self._keep = True

    @contextmanager
    def aside(self, note: str) -> Iterator[None]:
        """What is added in this block is counted but stays out of the history."""
        before, self._keep = self._keep, False
        self.notes[note] += 1
        try:
            yield
        finally:
            self._keep = before

    def fault(self, piece: Piece, note: str, what: str = "") -> None:
        """Note that something in the log is mended at this piece."""
        self.notes[note] += 1
        piece.faults.append((note, what))

    def message(self, number: int = 1) -> None:
        """Count a message of the log."""
        self.counts.messages += number

    def count(self, *, calls: int = 0, results: int = 0, chars: int = 0) -> None:
        """Count what has no piece of its own, or another size in the log than its piece."""
        self.counts.tool_calls += calls
        self.counts.tool_results += results
        self.counts.total_chars += chars
        if results:
            self.counts.largest_tool_result_chars = max(
                self.counts.largest_tool_result_chars, chars)

    def system(self, text: str | Flat, *, counted: bool = True) -> None:
        """Add a system or developer message."""
        self._add(Piece("system", self._text(text, counted)))

    def user(self, text: str | Flat, *, injected: bool = False, counted: bool = True) -> None:
        """Add a user message; `injected` if the host wrote it."""
        self._add(Piece("user", self._text(text, counted), injected=injected))

    def assistant(self, text: str | Flat = "", calls: Sequence[RawCall] = (), *, key: str = "",
                  opaque: tuple[str, Mapping[str, Any]] | None = None,
                  counted: bool = True, fault: tuple[str, str] | None = None) -> None:
        """Add a piece of an assistant message; `opaque` is (provider, signed reasoning)."""
        piece = Piece("assistant", self._text(text, counted), key)
        for raw_call in calls:
            arguments = arguments_of(raw_call.raw)
            piece.calls.append(call(raw_call.call_id, raw_call.name, arguments))
            if counted:
                spelt = raw_call.raw if isinstance(raw_call.raw, str) else dumped(arguments)
                self.count(calls=1, chars=len(spelt))
        if opaque:
            self.seal(piece, opaque[0], [opaque[1]])
        if fault:
            self.fault(piece, *fault)
        self._add(piece)

    def seal(self, piece: Piece, provider: str, blocks: Any) -> None:
        """Give signed reasoning to a piece, byte for byte; drop it if it is not clean text."""
        if is_clean(blocks):
            piece.opaque[clean(provider)] = blocks
        else:
            self.notes["reasoning_dropped"] += 1

    def result(self, call_id: str, text: str | Flat, *, name: str = "",
               error: Error | None = None, counted: bool = True,
               fault: tuple[str, str] | None = None) -> None:
        """Add the result of a call; of two for one call the last counts."""
        made = self._text(text, False)
        if counted:
            self.count(results=1, chars=text.chars if isinstance(text, Flat) else len(text))
        piece = Piece("tool", made, call_id=call_id, name=name, error=error)
        if fault:
            self.fault(piece, *fault)
        self._add(piece)

    def compression(self, kind: str, tokens: int | None = None) -> None:
        """Add a mark: the host compressed its context here."""
        self._add(Piece("mark", kind, tokens=tokens))

    @property
    def empty(self) -> bool:
        """Whether there is no message yet."""
        return all(piece.role == "mark" for piece in self.pieces)

    def _text(self, text: str | Flat, counted: bool) -> str:
        if isinstance(text, str):
            text = Flat(text, len(text))
        self.notes["images"] += text.images
        self.notes["other_parts"] += text.others
        if counted:
            self.count(chars=text.chars)
        return text.text if self.format == OWN else without_data(text.text)

    def _add(self, piece: Piece) -> None:
        piece.step = self.step
        if self._keep:
            self.pieces.append(piece)
