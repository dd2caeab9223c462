"""Milestone 5: what a model has said, as it may enter the history.

Answers come in pieces, and not every server keeps to the form: arguments inside a
string, calls sent twice, counts that are not numbers. Both adapters take them in here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..messages import MAX_DEPTH, Call, call
from ..strict_json import too_deep

MOST_TOKENS = 10**12  # that are believed of one request


def received_call(call_id: str, name: str, raw: Any) -> Call:
    """A call with the arguments `raw`.

    Nothing at all means no arguments; an object inside a string is taken out. What is
    no object then, or nested more than `MAX_DEPTH`, stays as it came, marked `invalid`.
    """
    if raw is None or isinstance(raw, str) and raw.strip() in ("", "null"):
        return call(call_id, name, {})
    value = raw
    for _ in range(2):
        if isinstance(value, str):
            value = _parsed(value)
    taken = isinstance(value, Mapping) and not too_deep(value, MAX_DEPTH)
    return call(call_id, name, value if taken else raw)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def without_doubles(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The calls, each once: a proxy that repeats a part would run a command twice."""
    first: dict[str, Call] = {}
    for tool_call in calls:
        first.setdefault(json.dumps(tool_call, sort_keys=True), tool_call)
    return tuple(first.values())


def joined(parts: Sequence[str]) -> str:
    """Text that came in pieces; a character that a cut went through is whole again."""
    text = "".join(parts)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def count(value: Any) -> int:
    """A number of tokens; anything else, or more than anybody can have sent, is 0."""
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0
