"""Milestone 2: bounds for what a tool returns, in characters, lines and pages.

Text is always cleaned first, then measured, then bounded. What is left out: the cleaning
(`clean_output` in `hostile.py`), and how the output of a command is bounded while it is still
being read (`process.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..texts import Texts

LIMIT = 50_000       # characters that one result may have
LIST_LIMIT = 20_000  # of a listing or of hits, which a narrower question makes shorter
HEADER_ROOM = 1_000  # of these, kept free for the line that says what was cut
LINE_LIMIT = 500     # characters of one line in a listing, among hits or in a diff


def lines_of(text: str) -> list[str]:
    """The lines with their newlines. Only "\\n" ends a line, as editors count lines."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def line_count(text: str) -> int:
    """How many lines `lines_of` finds, without making them."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def page(lines: Iterable[str], start: int, limit: int) -> tuple[list[str], int]:
    """(the lines from number `start` on, from 1, that fit in `limit` characters; the number of
    all lines). At least one line is given, however long; lines that do not fit are counted."""
    shown: list[str] = []
    size = total = 0
    for total, line in enumerate(lines, 1):
        if total >= start and size <= limit:
            size += len(line) + 1
            if size <= limit or not shown:
                shown.append(line)
    return shown, total


def first_lines(text: str, limit: int) -> tuple[str, int]:
    """(the first `limit` characters of `text` in whole lines where it has them,
    how many characters were left out)."""
    if len(text) <= limit:
        return text, 0
    end = text.rfind("\n", 0, limit) + 1 or limit
    return text[:end], len(text) - end


def part_of_line(line: str, at: int, texts: Texts) -> str:
    """A line as it is shown: of a long one the part around its character `at`, from 0."""
    if len(line) <= LINE_LIMIT:
        return line
    first = max(0, min(at - LINE_LIMIT // 4, len(line) - LINE_LIMIT))
    return line[first:first + LINE_LIMIT] + texts(
        "line_part", first=first + 1, last=first + LINE_LIMIT, total=len(line))
