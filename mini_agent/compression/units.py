"""Milestone 3: a text in the units that a digest copies: lines that say something.

A unit is a line, stripped; a piece of a line that is very long; or a few short lines
as they stand in the text, where each alone would say little: a path in a list, say.
What is left out: what a unit is worth (`chances.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errorlines import STATED, error_weight
from ..finder import AROUND
from ..words import WORD

PLAIN, DEFINITION, IMPORT, FAULT, BARE = range(5)  # kinds of units; BARE is a word alone
MIN_CHARS = 3      # of a line that can say anything
MIN_ALONE = 24     # of a line that says something without the next one
MAX_JOINED = 120   # of lines that take in one more
MAX_CHARS = 300    # of a unit; a longer line is cut after a blank

_IMPORT = re.compile(r"import\b|from\s+\S+\s+import\b|#include\b|require\b|use\s+\S+(?:::|;)"
                     r"|(?:using|package)\s+[\w.]+;?\s*$")
_DEFINITION = re.compile(
    r"(?:(?:export|default|public|private|protected|static|async|abstract|pub(?:\(\w+\))?)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|const|let|var)\s+\w")
_NUMBERED = re.compile(r"\d+(?:[:|\u2192]\s?|\t)\s*")  # as many tools number what they print
_CUT = re.compile(r"\S.{0,%d}(?!\S)|\S.{0,%d}" % (MAX_CHARS - 1, MAX_CHARS - 1))
HANDLE = re.compile(r"\[#(\d{1,9})")  # looks like a mark of the harness: never copied


def units(text: str) -> list[str]:
    """The units of a text, in order, as they stand in it."""
    return [text[start:end] for start, end in unit_spans(text)]


def unit_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the units of a text begin and end, in order.

    What is too short to say anything, or poses as a handle of the harness, has none.
    """
    first = last = end = 0  # of a unit that may still take in the next line; of a row
    for row in text.split("\n"):
        start, end = end, end + len(row) + 1
        line = row.strip()
        if not line:
            continue
        start += row.find(line)
        size = last - first
        if len(line) <= MAX_CHARS and _is_copied(line):
            if size and size < MAX_JOINED and (size < MIN_ALONE or " " not in line
                                               or " " not in text[first:last]):
                last = start + len(line)
                continue
            if size:
                yield first, last
            first, last = start, start + len(line)
            continue
        if size:
            yield first, last
        first = last = 0
        for piece in _CUT.finditer(line) if len(line) > MAX_CHARS else ():
            if _is_copied(found := piece.group().rstrip()):
                yield start + piece.start(), start + piece.start() + len(found)
    if last:
        yield first, last


def telling(unit: str) -> str:
    """A unit without those of its lines that are one word and stand by themselves.

    With fewer than `AROUND` characters of the unit before and after it nobody could see
    what such a word was: a path, the first of a call's arguments, say.
    """
    if "\n" not in unit:
        return unit
    told, start = list[str](), 0
    for line in unit.split("\n"):
        around = max(start, len(unit) - start - len(line))
        if around >= AROUND or not WORD.fullmatch(line.strip()):
            told.append(line)
        start += len(line) + 1
    return "\n".join(told)


def _is_copied(line: str) -> bool:
    return len(line) >= MIN_CHARS and not (line[0] == "[" and HANDLE.match(line))


def kind_of(unit: str, failed: bool = False) -> int:
    """What a unit of code or output is, as far as it can be seen from it alone."""
    if failed and error_weight(unit) == STATED:
        return FAULT
    if len(unit.split(None, 1)) < 2:
        return BARE
    numbered = _NUMBERED.match(unit)
    at = numbered.end() if numbered else 0
    if _IMPORT.match(unit, at):
        return IMPORT
    return DEFINITION if _DEFINITION.match(unit, at) else PLAIN
