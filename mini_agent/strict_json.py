"""Milestone 1: JSON from outside, as strict as its definition.

JSON has no NaN, no Infinity and no 1e999, and nothing here needs a hundred levels: what
Python's own parser would take is refused or becomes text, so that it cannot get into a
trace. What is left out: the texts in it (`hostile.py`).
"""

from __future__ import annotations

import json
import re
from typing import Any

_BLANKS = re.compile(r"[ \t\r\n]*")
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


def skip_blanks(text: str, at: int) -> int:
    """The index of the first character from `at` on that is not white space of JSON."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """One JSON value from `start` on and the index after it; ValueError if none.

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
    value, end = decode(text, skip_blanks(text, 0))
    end = skip_blanks(text, end)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value
