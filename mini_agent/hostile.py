"""Milestone 1: JSON and text from outside, made harmless where they come in or go out.

JSON has no NaN, no Infinity and no 1e999, and nothing here needs a hundred levels: what
Python's own parser would take is refused or becomes text, so that it cannot get into a
trace. What goes to a terminal is shown, never obeyed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

DEEPEST = 100  # levels of nesting; Python's own limit differs by version


def _finite(text: str) -> float | str:
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=str)


def too_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether objects and lists stand in one another more than so many levels deep."""
    level: list[Any] = [[value]]
    for _ in range(levels + 1):
        level = [child for item in level for child in (
            item.values() if isinstance(item, dict) else item) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """One JSON value from `start` on and the index behind it; ValueError if none.

    Numbers that JSON has not become their own text.
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


def printable(text: str) -> str:
    """Text without control characters: each stands as its escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else
                   char.encode("unicode_escape").decode("ascii") for char in text)


def open_streams() -> None:
    """Make the standard streams usable. A closed one reads as empty, or writes nowhere; bytes
    that are no text come in as U+FFFD, and what a stream cannot encode goes out escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # its number is free: no file of ours may get it
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"),
                           (sys.stderr, "backslashreplace")):
        if reconfigure := getattr(stream, "reconfigure", None):  # a test may have put a StringIO
            reconfigure(errors=errors)
