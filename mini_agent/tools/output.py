"""Milestone 2: what a tool returns is cleaned first, then measured, then bounded.

Text from files and commands is hostile: terminal escapes, progress bars drawn
over themselves, NULs, one line of 100 MB. What this module leaves out: how a
command's output is bounded while it is still being read (`process.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..messages import clean

LIMIT = 50_000       # characters that one result may have
HEADER_ROOM = 1_000  # of these, kept free for the line that says what was cut
LINE_LIMIT = 500     # characters of one line in a listing or among hits
SHOWN_LIMIT = 200    # characters of an argument that are repeated in a message

# Every escape is removed, a broken one too: up to the end of its line at most,
# so that an escape without an end cannot hide the rest of the output.
ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"                       # colours, cursor
    "|\x1b[\\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links
    "|\x1b[ -/]*[0-~]?")
_OVERSTRIKE = re.compile("[^\n]\b")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAK = re.compile("[\r\n\t\u2028\u2029]+")


def clean_output(text: str | None) -> str:
    """Text as a reader of a terminal would have seen it; cleaning twice is cleaning once.

    Escapes and control characters are removed (tab and newline stay), and of a
    line drawn over itself with carriage returns the last state is kept.
    """
    text = clean(text)
    if "\x1b" in text or "\x9b" in text:
        text = ESCAPE.sub("", text)
    if "\b" in text:
        text = _OVERSTRIKE.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _last_state(line: str) -> str:
    """What is left on the screen of a line with carriage returns."""
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""


def one_line(text: str, limit: int = SHOWN_LIMIT) -> str:
    """`text` cleaned, without line breaks, at most `limit` characters and a mark."""
    text = clean_output(_BREAK.sub(" ", text))
    return text if len(text) <= limit else text[:limit] + "..."


def lines_of(text: str) -> list[str]:
    """The lines with their newline. Only "\\n" ends one, as in every editor's count."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def page(lines: Iterable[str], start: int, limit: int) -> tuple[list[str], int]:
    """(the lines from number `start`, from 1, that fit in `limit` characters, how many
    lines there are in all). One is always given; the others are only counted."""
    shown: list[str] = []
    size = total = 0
    for total, line in enumerate(lines, 1):
        if total >= start and size <= limit:
            size += len(line) + 1
            if size <= limit or not shown:
                shown.append(line)
    return shown, total


def clip(text: str, limit: int) -> tuple[str, int]:
    """(the first `limit` characters of `text` in whole lines where it has them,
    how many characters were left out)."""
    if len(text) <= limit:
        return text, 0
    end = text.rfind("\n", 0, limit) + 1 or limit
    return text[:end], len(text) - end
