"""Milestone 2: finds and replaces one place in a text, and makes the diff.

Everything works on the file's own text with its own line endings, so that all bytes outside
the replaced place stay. What is left out: files (`files.py`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import islice

from ..hostile import one_line
from .output import LINE_LIMIT, lines_of

CONTEXT = 3          # unchanged lines around a change in a diff
MAX_PLACES = 100     # of more places of the same text than this only the first are found
CLOSEST = 3          # similar lines that are named if the text itself is not there
MAX_COMPARED = 2_000  # lines among which a similar one is looked for
_NEWLINE = "(?:\r\n|(?<!\r)\n|\r(?!\n))"  # any line ending, but never half of a "\r\n"
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def occurrences(text: str, old: str) -> list[tuple[int, int]]:
    """(start, end) of each place where `old` stands, overlapping ones too.

    A newline of `old` matches "\\n", "\\r\\n" and "\\r": a model does not see the difference.
    """
    pattern = re.compile(_NEWLINE.join(map(re.escape, _unix(old).split("\n"))))
    found: list[tuple[int, int]] = []
    match = pattern.search(text)
    while match and len(found) < MAX_PLACES:
        found.append(match.span())
        match = pattern.search(text, match.start() + 1)
    return found


def replaced(text: str, place: tuple[int, int], new: str) -> str:
    """`text` with `new` at `place`, with the line ending most used there."""
    start, end = place
    sample = text[start:end] if "\n" in text[start:end] else text
    crlf = sample.count("\r\n")
    endings = {"\n": sample.count("\n") - crlf, "\r\n": crlf, "\r": sample.count("\r") - crlf}
    ending = max(endings, key=endings.__getitem__)
    return text[:start] + _unix(new).replace("\n", ending) + text[end:]


def line_number(text: str, offset: int) -> int:
    """The line, from 1, that holds the character at `offset`."""
    crs, crlfs = (text.count(end, 0, offset) for end in ("\r", "\r\n"))
    return text.count("\n", 0, offset) + crs - crlfs + 1


def closest(text: str, old: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines most like the first line of `old` that is not blank.

    These are lines that differ only in white space, the usual mistake; or else similar ones.
    """
    text = as_seen(text)
    wanted = next((line.strip() for line in _unix(old).split("\n") if line.strip()), "")
    same = re.finditer(rf"^[^\S\n]*{re.escape(wanted)}[^\S\n]*$", text, re.MULTILINE)
    near = [(line_number(text, match.start()), match[0])
            for match in islice(same, CLOSEST if wanted and wanted in text else 0)]
    if not near:
        lines = text.split("\n", MAX_COMPARED)[:MAX_COMPARED]
        starts = [line.strip()[:100] for line in lines]
        matches = difflib.get_close_matches(wanted[:100], sorted({*starts} - {""}), CLOSEST)
        near = sorted((starts.index(match) + 1, lines[starts.index(match)]) for match in matches)
    for number, line in near:
        yield number, one_line(line, LINE_LIMIT)


def unified_diff(before: str, after: str, path: str) -> str:
    """The unified diff of a text in which one stretch was changed."""
    # Only the neighbourhood of the change is compared: the rest is equal, and
    # comparing a whole file can take very long.
    before, after = as_seen(before), as_seen(after)
    start, rest = _unchanged_ends(before, after)
    old, new = (_diff_lines(text[start:len(text) - rest]) for text in (before, after))
    same = min(len(old), len(new))
    head = next((i for i in range(same) if old[i] != new[i]), same)
    tail = next((i for i in range(same - head) if old[-1 - i] != new[-1 - i]), same - head)
    first = max(0, head - CONTEXT)
    end = max(0, tail - CONTEXT)
    lines = before.count("\n", 0, start) + first
    found = difflib.unified_diff(old[first:len(old) - end], new[first:len(new) - end],
                                 f"a/{path}", f"b/{path}", n=CONTEXT, lineterm="")
    return "\n".join(_HUNK.sub(lambda match: _moved(match, lines), line, count=1)
                     if line.startswith("@@") else line for line in found)


def changed_at(before: str, after: str) -> int:
    """The position, from 0, of the first difference of two texts within its line."""
    before, after = as_seen(before), as_seen(after)
    at = _common_prefix(before, after)
    return at - (before.rfind("\n", 0, at) + 1)


def _unchanged_ends(before: str, after: str) -> tuple[int, int]:
    """How many characters at the start and at the end of two texts need no comparison: they are
    equal, and more than `CONTEXT` lines away from the lines that differ."""
    head = _common_prefix(before, after)
    start = head
    for _ in range(CONTEXT + 1):
        start = before.rfind("\n", 0, start) if start > 0 else -1
    rest = min(len(before), len(after)) - head
    end = len(before) - _common_prefix(before[:~rest:-1], after[:~rest:-1])
    for _ in range(CONTEXT + 1):
        end = before.find("\n", end) + 1 or len(before)
    return start + 1, len(before) - end


def _common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _moved(match: re.Match[str], lines: int) -> str:
    """The header of a hunk with its line numbers moved by `lines`."""
    old, new = int(match[1]) + lines, int(match[3]) + lines
    return f"@@ -{old}{match[2] or ''} +{new}{match[4] or ''} @@"


def _diff_lines(text: str) -> list[str]:
    """The lines without their ends; the last one says where it has no newline."""
    return [line[:-1] if line.endswith("\n") else f"{line}\n\\ No newline at end of file"
            for line in lines_of(text)]


def as_seen(text: str) -> str:
    """A file's text with the line endings that a model sees."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unix(text: str) -> str:
    """A text from the model with "\\n" for "\\r\\n"; a "\\r" alone is kept."""
    return text.replace("\r\n", "\n")
