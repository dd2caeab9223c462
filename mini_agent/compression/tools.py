"""Milestone 3: tools over what has left the view: `read_result` and `recall`.

Both are bounded, and their first line says how much there is and what comes next.
What they return is kept already, so no strategy stores it again. What is left out:
where the texts lie (`store.py`); a handle is an index of the history.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from ..actions import call_of, described
from ..errors import StrategyError, ToolError
from ..messages import Message
from ..texts import Texts
from ..tools.base import FunctionTool, Tool
from ..tools.schema import COUNT, PLACE, TEXT, object_of, one_of
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
    tools = (read_result_tool(history, texts, limit), recall_tool(finder, history, texts, limit))
    return [tool for tool in tools if tool.name in wanted]


def read_result_tool(history: Sequence[Message], texts: Texts,
                     limit: int = PAGE_CHARS) -> FunctionTool:
    """`read_result(handle, start, end, unit)`: a part of a message of the history, whole again.

    `history` is the live one. Lines and characters count from 1, both ends included.
    """
    def read_result(handle: int, start: int = 1, end: int | None = None,
                    unit: str = "lines") -> str:
        if handle >= len(history):
            raise ToolError("NO_SUCH_HANDLE", texts(
                "no_such_handle", handle=handle, last=len(history) - 1))
        text = all_said(history[handle])
        rows = rows_of(text) if unit == "lines" else []
        total = len(rows) if unit == "lines" else len(text)
        last = total if end is None else min(end, total)
        if last < start and total:
            raise ToolError("BAD_RANGE", texts(
                "no_such_part", handle=handle, start=start, end=last if end is None else end,
                total=total, unit=texts(f"unit_{unit}")))
        part = (_lines(text, rows, start, last, limit) if unit == "lines" else
                _chars(text, start, last, limit))
        rest = texts("read_next", next=part.stop + 1, unit=part.unit) if part.stop < part.total \
            else texts("read_end")
        head = texts("read_part", handle=handle, what=source_of(history, handle),
                     start=min(part.start, part.stop), stop=part.stop, total=part.total,
                     unit=texts(f"unit_{part.unit}"), rest=rest)
        return f"{head}\n{part.text}" if total else head

    return FunctionTool("read_result", texts("tool_read_result"), object_of({
        "handle": {**COUNT, "description": texts("arg_handle")},
        "start": {**PLACE, "description": texts("arg_first")},
        "end": {**PLACE, "description": texts("arg_last")},
        "unit": {**one_of(("lines", "chars")), "description": texts("arg_unit")}},
        ("handle",)), read_result)


class Part(NamedTuple):
    """What one answer gives of a text: the lines or characters (`unit`) from `start` to `stop`,
    of `total`, both ends included."""

    start: int
    stop: int
    total: int
    unit: str
    text: str


def _lines(text: str, rows: Sequence[str], start: int, last: int, limit: int) -> Part:
    """Whole lines that fit; where the first one alone does not, its beginning by character."""
    stop, size = start - 1, 0
    while stop < last and size + len(rows[stop]) + 1 <= limit:
        size += len(rows[stop]) + 1
        stop += 1
    if stop < start and last >= start:
        before = sum(len(row) + 1 for row in rows[:start - 1])
        return _chars(text, before + 1, before + len(rows[start - 1]), limit)
    return Part(start, stop, len(rows), "lines", "\n".join(rows[start - 1:stop]))


def _chars(text: str, start: int, last: int, limit: int) -> Part:
    stop = min(last, start - 1 + limit)
    return Part(start, stop, len(text), "chars", text[start - 1:stop])


def reading_arguments(text: str, message: Message) -> dict[str, Any]:
    """The arguments, besides the handle, with which the first answer of `read_result` contains
    `text`, however small the window: none where the message begins with it, else the line
    to start at, or in a long line the character. In a call `text` may stand escaped, as JSON."""
    said = all_said(message)
    sought = text if text in said else json.dumps(text, ensure_ascii=False)[1:-1]
    at, rows = said.find(sought), rows_of(said)
    if at < 0 or not said:
        return {}
    for start in (1, said.count("\n", 0, at) + 1):
        if sought in _lines(said, rows, start, len(rows), LEAST_CHARS).text:
            return {"start": start} if start > 1 else {}
    return {"start": at + 1, "unit": "chars"}


class Searchable(Protocol):
    """What `recall` searches in."""

    def find(self, query: str, limit: int) -> tuple[int, dict[int, str]]:
        """(how many texts hold any term of the query, the `limit` best of them by index)."""


def recall_tool(finder: Searchable, history: Sequence[Message], texts: Texts,
                limit: int = PAGE_CHARS) -> FunctionTool:
    """`recall(query)`: which messages that left the view hold these words, and where."""
    def recall(query: str, start: int = 1) -> str:
        if not terms_of(query):
            raise ToolError("BAD_ARGUMENTS", texts("empty_query"))
        try:
            total, found = finder.find(query, start - 1 + HITS)
        except StrategyError as error:
            raise ToolError("STORE_ERROR", texts(
                "store_error", reason=error.__cause__ or error)) from error
        if start > max(1, total):
            raise ToolError("BAD_RANGE", texts("no_such_hit", start=start, total=total))
        hits: list[str] = []
        for index, text in list(found.items())[start - 1:]:
            hit = shown(index, text, query)
            if hits and sum(map(len, hits)) + len(hit) > limit:
                break
            hits.append(hit)
        stop = start - 1 + len(hits)
        rest = texts("recall_next", next=stop + 1) if stop < total else texts("read_end")
        head = texts("recall_head", start=min(start, stop), stop=stop, total=total, rest=rest)
        return "\n".join([head, *hits])

    def shown(index: int, text: str, query: str) -> str:
        """The line with most of the terms, and where it stands."""
        rows = rows_of(text)
        terms = [*terms_of(query), *terms_of(query, 2)]
        held = [sum(term in row.lower() for term in terms) for row in rows]
        at = max(range(len(rows)), key=lambda at: (held[at], -at))
        return texts("recall_hit", index=index, what=source_of(history, index),
                     line=at + 1, lines=len(rows), text=excerpt(rows[at], terms))

    return FunctionTool("recall", texts("tool_recall"), object_of({
        "query": {**TEXT, "description": texts("arg_query")},
        "start": {**PLACE, "description": texts("arg_hit")}}, ("query",)), recall)


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
