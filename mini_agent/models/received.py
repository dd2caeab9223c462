"""Milestone 5: parts of an answer, checked before they enter the history.

Answers come in pieces, and not every server keeps to the protocol: arguments come as JSON
inside a string, calls twice, counts that are not numbers. Both adapters use these functions.
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

    Nothing at all means no arguments; a string is parsed, twice if need be. What is not an
    object then, or nested deeper than `MAX_DEPTH`, is kept as it came, as `invalid`.
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
    """Each call once: if a proxy repeats a part, a command must not run twice."""
    first: dict[str, Call] = {}
    for tool_call in calls:
        first.setdefault(json.dumps(tool_call, sort_keys=True), tool_call)
    return tuple(first.values())


def joined(parts: Sequence[str]) -> str:
    """Pieces of a text joined; surrogates that a cut had separated become one character."""
    text = "".join(parts)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def count(value: Any) -> int:
    """A number of tokens; 0 for anything else, or for more than one request can have."""
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0
