"""Milestone 3: how long the JSON of a value is, without writing it.

Estimators that go by length ask this of the arguments of every call. Most arguments are
objects of strings: these are looked at together, and only what JSON escapes is counted.
What is not a string, object or whole number is written and measured.
"""

from __future__ import annotations

import json
from typing import Any

_SHORT = b'"\\\b\f\n\r\t'  # escaped with one more character, all other controls with five
_PLAIN = bytes(code for code in range(0x20, 0x100) if code not in _SHORT)
_PAIR, _BETWEEN, _QUOTES = len('"": '), len(", "), len('""')


def json_length(value: Any) -> int:
    """Characters of `json.dumps(value, ensure_ascii=False)`, of a value that came from JSON."""
    if not isinstance(value, dict) or not value:
        return len(json.dumps(value, ensure_ascii=False))
    length, said = len("{}") + len(value) * (_PAIR + _BETWEEN) - _BETWEEN, list(value)
    for item in value.values():
        if isinstance(item, str):
            said.append(item)
            length += _QUOTES
        elif type(item) is int:  # not a bool
            length += len(str(item))
        else:
            length += json_length(item)
    text = "".join(said)
    return length + len(text) + escapes(text)


def escapes(text: str) -> int:
    """The characters that JSON adds inside a string."""
    escaped = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    return len(escaped) + 4 * len(escaped.translate(None, _SHORT))
