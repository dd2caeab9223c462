"""Milestone 1: JSON from outside, as strict as its definition.

JSON has no NaN, no Infinity and no 1e999, and nothing here needs a hundred levels: what
Python's own parser would take is refused or becomes text, so that it cannot get into a
trace. What is left out: the texts in it (`hostile.py`).
"""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 100  # levels of nesting; Python's own limit differs by version


def _finite(text: str) -> float | str:
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=str)


def too_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether objects and lists are nested more than `levels` deep."""
    level: list[Any] = [[value]]
    for _ in range(levels + 1):
        level = [child for item in level for child in (
            item.values() if isinstance(item, dict) else item) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """One JSON value from `start` on and the index behind it; ValueError if none.

    Numbers that JSON does not know become their own text.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if text.count("[", start, end) + text.count("{", start, end) > DEEPEST and too_deep(value):
        raise ValueError("nested too deep")
    return value, end


def loads(text: str) -> Any:
    """The one JSON value of a text. Raises what `json.loads` does, and ValueError for one
    that is nested too deep or has a number of thousands of digits."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = decode(text, start)
    if rest := text[end:].lstrip(" \t\r\n"):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    return value
