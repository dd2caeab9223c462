"""Milestone 6: what every reader of a recorded session hands over.

A reader turns one format of log into `LogSession`s, whose messages have the form of
`messages.py`. A session holds *what the model saw*, clipped where the host (the agent that
wrote the log) had clipped it; fuller copies that some logs carry beside it (`toolUseResult`,
`raw_output`) are not read. The history is in file order: a turn that the user rewound stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from ...columns import number_of
from ...compression.pins import KINDS as PIN_KINDS
from ...messages import Message
from .document import Document, Unreadable

MISSING_RESULT = "MISSING_RESULT"
KINDS = ("summary", "clearing", "truncation", "reset")  # of a host's compression
_LEFT_OUT = {"summaries": ("text", "of a summary"), "thinking": ("block", "of thinking"),
             "subagent_records": ("record", "of a sub-agent"),
             "side_calls": ("call", "of another conversation")}


@dataclass(frozen=True, slots=True)
class HostCompression:
    """The recorded agent compressed its own context here.

    `at` is the index of the first message after it, `tokens` the size before it
    where the log says it, `kind` one of `KINDS`.
    """

    at: int
    format: str
    tokens: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Act:
    """A stage that was ended, or a pin that was set, in a run of ours when it had `at` messages.
    `payload` is that of the record."""

    at: int
    event: str
    payload: dict[str, Any]


def act_of(at: int, event: Any, payload: dict[str, Any]) -> Act | None:
    """The act that a record tells of. None for other records, for pins that come from marks in
    messages or were refused, and for payloads that no run of ours writes."""
    if event == "stage" and isinstance(payload.get("name"), str):
        return Act(at, event, payload)
    index, words = payload.get("index"), (payload.get("text"), payload.get("protect"))
    if event == "pin" and payload.get("by") in ("user", "tool") and "refused" not in payload \
            and payload.get("kind") in PIN_KINDS and type(index) is int \
            and all(isinstance(text, str) for text in words):
        return Act(at, event, payload)
    return None


@dataclass(frozen=True, slots=True)
class MendedFault:
    """Something in the log that did not fit together and was mended: its place ("message 3", an
    index in the session, or "line 12" of the file), the `note` that counts its kind, and the id
    that it is about."""

    place: str
    note: str
    what: str = ""


@dataclass(slots=True)
class LogSize:
    """The size of what the model could see, counted in the messages of the log's own format.

    Parallel results may share one message there, and arguments are counted as they are spelt
    there. Recorded summaries and second copies of a result are counted, although the history
    leaves them out; results that had to be made up are not. Reasoning, images and system
    prompts that are no message of the log count nothing.
    """

    messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    largest_tool_result_chars: int = 0
    total_chars: int = 0


@dataclass(slots=True)
class LogSession:
    """One recorded session: its messages, and what the reader mended or left out.

    `steps[i]` is the step of `messages[i]`. `injected` are the indexes of user messages that
    the host wrote, not a person. `notes` counts by name what was mended or left out, and
    `mended` tells where. `acts` are in order.
    """

    name: str
    format: str
    messages: list[Message] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    host_compressions: list[HostCompression] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    mended: list[MendedFault] = field(default_factory=list)
    injected: set[int] = field(default_factory=set)
    acts: list[Act] = field(default_factory=list)
    seen: LogSize = field(default_factory=LogSize)

    def counts(self) -> dict[str, int]:
        """The figures of the log itself, by name (see `LogSize`)."""
        return asdict(self.seen)


def left_out(notes: Mapping[str, Any]) -> str:
    """In words, what a log has that is not in the history; "" for nothing."""
    return ", ".join(f"{number_of(notes[name], noun)} {rest}"
                     for name, (noun, rest) in _LEFT_OUT.items() if type(notes.get(name)) is int)


class Reader(Protocol):
    """One format. `detects` looks at the content only and never raises."""

    name: str

    def detects(self, document: Document) -> bool:
        """Whether the document is of this format."""
        ...

    def read(self, document: Document) -> list[LogSession]:
        """All sessions of the document; one without messages is possible."""
        ...
