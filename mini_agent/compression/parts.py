"""Milestone 3: history messages in parts that a summariser can read.

Every message is in exactly one part, and one that is longer than a part stands there
with its head and tail. A list that goes on where an earlier one ended is not cut again
from its beginning. What is left out: what is asked of a part (`summariser.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..messages import Call, Message, arguments_text, calls_of
from ..texts import Texts

Part = tuple[int, ...]


class Parts:
    """Cuts lists of history indexes into parts. It remembers the size of each message and, for
    each way to cut, the parts of the last list: of a list that begins with these only the
    rest is cut."""

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self._sizes: dict[int, int] = {}
        self._full: dict[tuple[str, int], tuple[list[Part], list[int]]] = {}

    def size(self, index: int) -> int:
        """The characters of a message that a summariser would read."""
        if index not in self._sizes:
            self._sizes[index] = _size(self._history[index])
        return self._sizes[index]

    def cut(self, indexes: Sequence[int], limit: int) -> list[Part]:
        """The messages in order, as many to a part as `limit` characters hold."""
        return self._cut(("chars", limit), indexes, lambda index: min(limit, self.size(index)),
                         lambda used, index: used + min(limit, self.size(index)) > limit)

    def segments(self, indexes: Sequence[int], messages: int) -> list[Part]:
        """The messages in order, at least `messages` to a part: each is of whole groups."""
        return self._cut(("messages", messages), indexes, lambda index: 1,
                         lambda used, index: used >= messages
                         and self._history[index]["role"] != "tool")

    def _cut(self, way: tuple[str, int], indexes: Sequence[int], weight: Callable[[int], int],
             is_full: Callable[[int, int], bool]) -> list[Part]:
        """Begin a new part before each message with which the part would be too full; `is_full`
        is given the weight of the part so far and that message."""
        wanted = list(indexes)
        full, inside = self._full.pop(way, ([], []))
        if wanted[:len(inside)] != inside:
            full, inside = [], []
        part: list[int] = []
        used = 0
        for index in wanted[len(inside):]:
            if part and is_full(used, index):
                full.append(tuple(part))
                inside += part
                part, used = [], 0
            part.append(index)
            used += weight(index)
        self._full[way] = full, inside
        return [*full, tuple(part)] if part else list(full)


def bounded(message: Message, limit: int, texts: Texts) -> Message:
    """A message as the summariser reads it: no longer than a part, without reasoning."""
    if "opaque" in message:
        message = {key: value for key, value in message.items() if key != "opaque"}
    if _size(message) <= limit:
        return message
    made = calls_of(message)
    calls = [_bounded_call(call, limit // 2 // len(made), texts) for call in made]
    content = _head_and_tail(message["content"], limit // 2 if calls else limit, texts)
    return {**message, "content": content, **({"tool_calls": calls} if calls else {})}


def _bounded_call(call: Call, limit: int, texts: Texts) -> Call:
    if "invalid" in call:
        return {**call, "invalid": _head_and_tail(call["invalid"], limit, texts)}
    text = arguments_text(call)
    if len(text) <= limit:
        return call
    return {**call, "arguments": {"...": _head_and_tail(text, limit, texts)}}


def _head_and_tail(text: str, limit: int, texts: Texts) -> str:
    """A text of at most `limit` characters; a longer one has a note in place of its middle."""
    if len(text) <= limit:
        return text
    note = texts("summariser_cut", chars=len(text) - limit)
    side = max(0, limit - len(note) - 2) // 2
    note = texts("summariser_cut", chars=len(text) - 2 * side)
    return f"{text[:side]}\n{note}\n{text[len(text) - side:]}"


def _size(message: Message) -> int:
    return len(message["content"]) + sum(
        len(call["name"]) + len(arguments_text(call)) for call in calls_of(message))
