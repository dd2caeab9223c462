"""Milestone 1: messages, and which of them belong together.

A message is a plain dict in the chat-completions form, its keys in this order:
`role`, `tool_call_id`, `name`, `content`, `tool_calls`, `error`, `opaque`; a key
that does not apply is absent. The *history* is the list of all messages of a session,
in order; nothing is ever taken out of it. What this module leaves out: how many tokens
a message has (`tokens.py`), and what of the history is sent (`compression/`).
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .hostile import clean
from .strict_json import DEEPEST, too_deep

Message = dict[str, Any]
Call = dict[str, Any]

ROLES = ("system", "user", "assistant", "tool")
MAX_DEPTH = DEEPEST - 10  # levels in arguments: in a trace, a record is wrapped around them


def clean_json(value: Any) -> Any:
    """`clean` for every string of a JSON value, keys included. A number that JSON does not
    have (NaN, Infinity) becomes its name, as it would on its way through a trace."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item) for item in value]
    return value


def is_clean(value: Any) -> bool:
    """Whether a JSON value comes back from a trace unchanged, as signed reasoning must."""
    return not too_deep(value, MAX_DEPTH) and bool(clean_json(value) == value)


def system(content: str) -> Message:
    """A system message."""
    return {"role": "system", "content": clean(content)}


def user(content: str) -> Message:
    """A user message."""
    return {"role": "user", "content": clean(content)}


def assistant(content: str | None, tool_calls: Sequence[Call] = (),
              opaque: Mapping[str, Any] | None = None) -> Message:
    """An assistant message; `opaque` is a provider's reasoning, never edited."""
    message: Message = {"role": "assistant", "content": clean(content)}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    if opaque:
        message["opaque"] = dict(opaque)
    return message


def call(call_id: str, name: str, arguments: Any) -> Call:
    """A tool call. Arguments that are not an object become {} and `invalid`: RAW; so do those
    nested deeper than `MAX_DEPTH`: nobody could read a trace with them."""
    made: Call = {"id": clean(call_id), "name": clean(name), "arguments": {}}
    if too_deep(arguments, MAX_DEPTH):
        made["invalid"] = "{...} nested too deep"
    elif isinstance(arguments, Mapping):
        made["arguments"] = clean_json(arguments)
    else:
        made["invalid"] = clean(arguments if isinstance(arguments, str) else repr(arguments))
    return made


def arguments_text(tool_call: Mapping[str, Any]) -> str:
    """The arguments of a call as they are shown: JSON, or the raw text if it was not JSON."""
    if "invalid" in tool_call:
        return str(tool_call["invalid"])
    return json.dumps(tool_call["arguments"], ensure_ascii=False)


def tool_result(call_id: str, name: str, content: str | None,
                error: Mapping[str, str] | None = None) -> Message:
    """The one result of a call; `error` is {"code", "message"} when it failed."""
    message: Message = {"role": "tool", "tool_call_id": clean(call_id),
                        "name": clean(name), "content": clean(content)}
    if error:
        message["error"] = {"code": clean(error["code"]), "message": clean(error["message"])}
    return message


def calls_of(message: Mapping[str, Any]) -> list[Call]:
    """The calls of a message, [] where it has none."""
    return message.get("tool_calls") or []


def groups(messages: Iterable[Mapping[str, Any]]) -> Iterator[range]:
    """Index ranges of the smallest pieces that may move alone, in order.

    A group is one message, or an assistant message with calls and all results
    after it. They are matched by position, since ids may repeat in a session.
    """
    start, at, open_ = 0, -1, False
    for at, message in enumerate(messages):
        if not (open_ and message["role"] == "tool"):
            if at:
                yield range(start, at)
            start, open_ = at, bool(message.get("tool_calls"))
    if at >= 0:
        yield range(start, at + 1)


def result_positions(message: Mapping[str, Any],
                     results: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """For each call of `message` the position in `results` of its result.

    Results may come in any order. Where an id occurs twice, the first result
    answers the first call. None: this call has no result.
    """
    waiting: dict[str, deque[int]] = {}
    for position, result in enumerate(results):
        waiting.setdefault(result.get("tool_call_id", ""), deque()).append(position)
    return [waiting[tool_call["id"]].popleft() if waiting.get(tool_call["id"]) else None
            for tool_call in calls_of(message)]


def pairing_faults(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """(index, what is wrong) for each call without result and the reverse."""
    for group in groups(messages):
        first = messages[group.start]
        calls = calls_of(first)
        if not calls:
            if first["role"] == "tool":
                yield group.start, f"result {first.get('tool_call_id', '')!r} without its call"
        elif not (len(group) == 2 and len(calls) == 1  # the common case, seen at a glance
                  and messages[group.start + 1].get("tool_call_id", "") == calls[0]["id"]):
            yield from _group_faults(messages, group)


def _group_faults(messages: Sequence[Mapping[str, Any]],
                  group: range) -> Iterator[tuple[int, str]]:
    first = messages[group.start]
    found = result_positions(first, messages[group.start + 1:group.stop])
    for tool_call, position in zip(calls_of(first), found):
        if position is None:
            yield group.start, f"call {tool_call['id']!r} without its result"
    for position in sorted(set(range(len(group) - 1)).difference(found)):
        yield group.start + 1 + position, "result without its call"


def text_of(message: Mapping[str, Any]) -> str:
    """What a message says: its content and the strings of its call arguments."""
    parts = [message["content"], *said_in_calls(message)]
    return "\n".join(parts) if len(parts) > 1 else parts[0]


def said_in_calls(message: Mapping[str, Any]) -> Iterator[str]:
    """Every string in the arguments of a message's calls, in order."""
    for tool_call in calls_of(message):
        yield from _strings(tool_call["arguments"])
        if "invalid" in tool_call:
            yield tool_call["invalid"]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def model_calls(history: Sequence[Mapping[str, Any]]) -> Iterator[range]:
    """The history indexes of each step's assistant messages, in order."""
    start = -1
    for at, message in enumerate(history):
        if message["role"] == "assistant":
            start = at if start < 0 else start
        elif start >= 0:
            yield range(start, at)
            start = -1
    if start >= 0:
        yield range(start, len(history))


def open_calls(history: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The calls of the last assistant message that have no result yet."""
    results = 0
    for message in reversed(history):
        if message["role"] != "tool":
            return list(calls_of(message))[results:]
        results += 1
    return []
