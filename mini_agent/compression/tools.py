"""Milestone 3: tools over what has left the view: `read_result` and `recall`.

Both are bounded, and their first line says how much there is and what comes next.
What they return is kept already, so no strategy stores it again. What is left out:
where the texts lie (`store.py`); a handle is an index of the history.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ..actions import call_of, described
from ..errors import StrategyError, ToolError
from ..messages import Message
from ..texts import Texts
from ..tools.base import Tool
from ..tools.schema import COUNT, object_of, one_of
from ..words import rows_of
from .drop import all_said
from .store import terms_of

PAGE_CHARS = 10_000  # of one answer at most; less where the window is small
LEAST_CHARS = 400    # of one answer at least
HITS = 8             # messages that one search shows
HIT_CHARS = 300      # characters of a line that is shown of a hit


def page_chars(window: int | None) -> int:
    """How many characters an answer may have: a sixteenth of the window, at 4 a token."""
    return PAGE_CHARS if window is None else max(LEAST_CHARS, min(PAGE_CHARS, window // 4))


def reading_tools(wanted: Collection[str], history: Sequence[Message], finder: Searchable,
                  texts: Texts, window: int | None) -> list[Tool]:
    """Those of the two tools that a policy's texts speak of; `window` in tokens."""
    limit = page_chars(window)
    tools: tuple[Tool, ...] = (ReadResult(history, texts, limit),
                               RecallTool(finder, history, texts, limit))
    return [tool for tool in tools if tool.name in wanted]


@dataclass(frozen=True)
class ReadResult:
    """`read_result(handle, start, end, unit)`: a part of a message of the history, whole again.

    `history` is the live one. Lines and characters count from 1, both ends included.
    """

    history: Sequence[Message]
    texts: Texts
    limit: int = PAGE_CHARS
    name: ClassVar[str] = "read_result"

    @property
    def description(self) -> str:
        """Says that a message, or a part of it, can be read again by its handle."""
        return self.texts("tool_read_result")

    @property
    def parameters(self) -> dict[str, Any]:
        """A handle, and from where to where: in lines, or in characters."""
        number = {"type": "integer", "minimum": 1}
        return object_of({
            "handle": {**COUNT, "description": self.texts("arg_handle")},
            "start": {**number, "description": self.texts("arg_first")},
            "end": {**number, "description": self.texts("arg_last")},
            "unit": {**one_of(("lines", "chars")), "description": self.texts("arg_unit")}},
            ("handle",))

    def __call__(self, handle: int, start: int = 1, end: int | None = None,
                 unit: str = "lines") -> str:
        if handle >= len(self.history):
            raise ToolError("NO_SUCH_HANDLE", self.texts(
                "no_such_handle", handle=handle, last=len(self.history) - 1))
        text = all_said(self.history[handle])
        rows = rows_of(text) if unit == "lines" else []
        total = len(rows) if unit == "lines" else len(text)
        last = total if end is None else min(end, total)
        if last < start and total:
            raise ToolError("BAD_RANGE", self.texts(
                "no_such_part", handle=handle, start=start, end=last if end is None else end,
                total=total, unit=self.texts(f"unit_{unit}")))
        if unit == "chars":
            return self._chars(handle, text, start, last)
        return self._lines(handle, text, rows, start, last)

    def _lines(self, handle: int, text: str, rows: list[str], start: int, last: int) -> str:
        """Whole lines that fit; where the first one alone does not, its beginning by character."""
        stop, size = start - 1, 0
        while stop < last and size + len(rows[stop]) + 1 <= self.limit:
            size += len(rows[stop]) + 1
            stop += 1
        if stop < start and last >= start:
            before = sum(len(row) + 1 for row in rows[:start - 1])
            return self._chars(handle, text, before + 1, before + len(rows[start - 1]))
        head = self._head(handle, start, stop, len(rows), "lines", stop < len(rows))
        return "\n".join([head, *rows[start - 1:stop]])

    def _chars(self, handle: int, text: str, start: int, last: int) -> str:
        stop = min(last, start - 1 + self.limit)
        head = self._head(handle, start, stop, len(text), "chars", stop < len(text))
        return f"{head}\n{text[start - 1:stop]}"

    def _head(self, handle: int, start: int, stop: int, total: int, unit: str,
              more: bool) -> str:
        rest = self.texts("read_next", next=stop + 1, unit=unit) if more else self.texts("read_end")
        return self.texts("read_part", handle=handle, what=source_of(self.history, handle),
                          start=min(start, stop), stop=stop,
                          total=total, unit=self.texts(f"unit_{unit}"), rest=rest)


def reading_arguments(text: str, history: Sequence[Message], handle: int) -> dict[str, Any]:
    """The arguments, besides the handle, with which the first answer of `read_result` contains
    `text`, however small the window: none where the message begins with it, else the line
    to start at, or in a long line the character. In a call `text` may stand escaped, as JSON."""
    said = all_said(history[handle])
    sought = text if text in said else json.dumps(text, ensure_ascii=False)[1:-1]
    read, at = ReadResult(history, Texts(), LEAST_CHARS), said.find(sought)
    if at < 0 or not said:
        return {}
    ways: tuple[dict[str, Any], ...] = ({}, {"start": said.count("\n", 0, at) + 1})
    for way in ways:
        if sought in read(handle, **way).partition("\n")[2]:
            return way
    return {"start": at + 1, "unit": "chars"}


class Searchable(Protocol):
    """What `recall` searches in."""

    def find(self, query: str, limit: int) -> tuple[int, dict[int, str]]:
        """(how many texts hold any term of the query, the `limit` best of them by index)."""


@dataclass(frozen=True)
class RecallTool:
    """`recall(query)`: which messages that left the view hold these words, and where."""

    finder: Searchable
    history: Sequence[Message]
    texts: Texts
    limit: int = PAGE_CHARS
    name: ClassVar[str] = "recall"

    @property
    def description(self) -> str:
        """Says that what has left the window can be searched."""
        return self.texts("tool_recall")

    @property
    def parameters(self) -> dict[str, Any]:
        """What to look for, and the hit to go on from."""
        return object_of({
            "query": {"type": "string", "description": self.texts("arg_query")},
            "start": {"type": "integer", "minimum": 1, "description": self.texts("arg_hit")}},
            ("query",))

    def __call__(self, query: str, start: int = 1) -> str:
        if not terms_of(query):
            raise ToolError("BAD_ARGUMENTS", self.texts("empty_query"))
        try:
            total, found = self.finder.find(query, start - 1 + HITS)
        except StrategyError as error:
            raise ToolError("STORE_ERROR", self.texts(
                "store_error", reason=error.__cause__ or error)) from error
        if start > max(1, total):
            raise ToolError("BAD_RANGE", self.texts("no_such_hit", start=start, total=total))
        hits: list[str] = []
        for index, text in list(found.items())[start - 1:]:
            hit = self._hit(index, text, query)
            if hits and sum(map(len, hits)) + len(hit) > self.limit:
                break
            hits.append(hit)
        stop = start - 1 + len(hits)
        rest = self.texts("recall_next", next=stop + 1) if stop < total else self.texts("read_end")
        head = self.texts("recall_head", start=min(start, stop), stop=stop, total=total, rest=rest)
        return "\n".join([head, *hits])

    def _hit(self, index: int, text: str, query: str) -> str:
        """The line with most of the terms, and where it stands."""
        rows = rows_of(text)
        terms = [*terms_of(query), *terms_of(query, 2)]
        held = [sum(term in row.lower() for term in terms) for row in rows]
        at = max(range(len(rows)), key=lambda at: (held[at], -at))
        return self.texts("recall_hit", index=index, what=source_of(self.history, index),
                          line=at + 1, lines=len(rows), text=excerpt(rows[at], terms))


def source_of(history: Sequence[Message], index: int) -> str:
    """Where a message came from: the tool and what it was called for, or who said it."""
    message = history[index]
    if message["role"] != "tool":
        return str(message["role"])
    return described(message["name"], call_of(history, index))


def excerpt(row: str, terms: Sequence[str]) -> str:
    """At most `HIT_CHARS` characters of a row, around the first term in it;
    "..." where it is cut."""
    if len(row) <= HIT_CHARS:
        return row.strip()
    places = [at for term in terms if (at := row.lower().find(term)) >= 0]
    start = max(0, min(places, default=0) - HIT_CHARS // 4)
    cut = row[start:start + HIT_CHARS]
    return ("..." if start else "") + cut.strip() + ("..." if start + HIT_CHARS < len(row) else "")
