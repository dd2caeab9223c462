"""Milestone 1: where in a JSON text a value stands.

Python's decoder says at which offset a text breaks, but not in which field; and
once a text is read, nothing tells where a wrong value came from. Whoever edits a
task file by hand wants both: line, column and field.
"""

from __future__ import annotations

import json
from json.decoder import WHITESPACE


def places(text: str) -> dict[str, int]:
    """The offset of every value of a JSON text by its path, in order.

    A path is written as people do: `replies[3].content`; the whole is "". A broken
    text gives what stands before the fault: the last path is the field it is in.
    """
    found: dict[str, int] = {}
    try:
        _walk(text, _skip(text, 0), "", found)
    except (ValueError, IndexError, RecursionError):
        return found  # the caller has the decoder's own error; this adds the field
    return found


def _walk(text: str, at: int, path: str, found: dict[str, int]) -> int:
    """Note the value at `at`; the offset behind it is returned."""
    found[path] = at
    if text[at] not in "{[":
        return json.JSONDecoder().raw_decode(text, at)[1]
    closing = "}" if text[at] == "{" else "]"
    number, here = 0, _skip(text, at + 1)
    while text[here] != closing:
        inner = f"{path}[{number}]"
        if closing == "}":
            key, here = json.JSONDecoder().raw_decode(text, here)
            here = _skip(text, _skip(text, here) + 1)  # the colon
            inner = f"{path}.{key}" if path else str(key)
        here = _skip(text, _walk(text, here, inner, found))
        if text[here] == ",":
            here = _skip(text, here + 1)
        elif text[here] != closing:
            raise ValueError("neither a comma nor an end")
        number += 1
    return here + 1


def _skip(text: str, at: int) -> int:
    match = WHITESPACE.match(text, at)
    return match.end() if match else at


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
