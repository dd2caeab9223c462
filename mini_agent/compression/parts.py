"""Milestone 3: history messages in parts that a summariser can read.

Every message is in exactly one part, and one that is longer than a part stands there
with its head and tail. A list that goes on where an earlier one ended is not cut again
from its beginning. What is left out: what is asked of a part (`summariser.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..messages import Call, Message, calls_of
from ..texts import Texts

Part = tuple[int, ...]


class Parts:
    """Cuts lists of history indexes into parts; knows the last list, and each size."""

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self._sizes: dict[int, int] = {}
        self._limit = 0
        self._full: list[Part] = []    # parts of the last list behind which another begins
        self._in_full: list[int] = []  # what is in them

    def size(self, index: int) -> int:
        """The characters of a message that a summariser would read."""
        if index not in self._sizes:
            self._sizes[index] = _size(self._history[index])
        return self._sizes[index]

    def cut(self, indexes: Sequence[int], limit: int) -> list[Part]:
        """The messages in order, as many to a part as `limit` characters hold."""
        wanted = list(indexes)
        if limit != self._limit or wanted[:len(self._in_full)] != self._in_full:
            self._limit, self._full, self._in_full = limit, [], []
        part: list[int] = []
        room = limit
        for index in wanted[len(self._in_full):]:
            size = min(limit, self.size(index))
            if part and size > room:
                self._full.append(tuple(part))
                self._in_full += part
                part, room = [], limit
            part.append(index)
            room -= size
        return [*self._full, tuple(part)] if part else list(self._full)


def bounded(message: Message, limit: int, texts: Texts) -> Message:
    """A message as the summariser reads it: no longer than a part, without reasoning."""
    if "opaque" in message:
        message = {key: value for key, value in message.items() if key != "opaque"}
    if _size(message) <= limit:
        return message
    made = calls_of(message)
    calls = [_bounded_call(call, limit // 2 // len(made), texts) for call in made]
    content = _cut(message["content"], limit // 2 if calls else limit, texts)
    return {**message, "content": content, **({"tool_calls": calls} if calls else {})}


def _bounded_call(made: Call, limit: int, texts: Texts) -> Call:
    if "invalid" in made:
        return {**made, "invalid": _cut(made["invalid"], limit, texts)}
    text = json.dumps(made["arguments"], ensure_ascii=False)
    if len(text) <= limit:
        return made
    return {**made, "arguments": {"...": _cut(text, limit, texts)}}


def _cut(text: str, limit: int, texts: Texts) -> str:
    """Head and tail of a text, and between them how much is missing."""
    if len(text) <= limit:
        return text
    note = texts("summariser_cut", chars=len(text) - limit)
    side = max(0, limit - len(note) - 2) // 2
    note = texts("summariser_cut", chars=len(text) - 2 * side)
    return f"{text[:side]}\n{note}\n{text[len(text) - side:]}"


def _size(message: Message) -> int:
    return len(message["content"]) + sum(
        len(made["name"]) + len(made["invalid"] if "invalid" in made else json.dumps(
            made["arguments"], ensure_ascii=False)) for made in calls_of(message))
