"""Milestone 3: what in a text is worth naming: identifiers, lines, error lines.

One definition for all who ask: the check of summaries (`compression/verify.py`),
the clipping that keeps the point of an output, and later the digest and the
measure of evidence. What it leaves out: any judgement of what a word is worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:~?/|\.{1,2}/)?[A-Za-z0-9_][A-Za-z0-9_./\-]*[A-Za-z0-9_]"
                   r"|[\u3400-\u9fff]{4,}")
_TELLING = re.compile(r"[_./]|[0-9]|[a-z0-9][A-Z]|[\u3400-\u9fff]")
_NUMBER = re.compile(r"[0-9][0-9.,]*")
_QUOTED = re.compile(r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"|「([^」\n]{2,200})」|“([^”\n]{2,200})”")

MIN_WORD, MAX_WORD, MAX_HAN = 3, 200, 24
MIN_LINE, MAX_LINE = 12, 400


def words(text: str) -> Iterator[str]:
    """Paths, identifiers, long numbers and runs of four and more CJK characters.

    3 to 200 characters; numbers only from 4 digits on; a word of plain letters
    counts only with `_ . /`, a digit or an inner capital; CJK is cut at 24. The
    rule is that of the evidence measure, so that all parts mean the same.
    """
    for match in _WORD.finditer(text):
        word = match.group().rstrip(".")
        if not MIN_WORD <= len(word) <= MAX_WORD or not _TELLING.search(word):
            continue
        if word.isdigit() and len(word) < 4:
            continue
        yield word[:MAX_HAN] if word[0] >= "\u3400" else word


def lines(text: str) -> Iterator[str]:
    """Stripped lines of 12 to 400 characters that have a blank in them."""
    for line in text.splitlines():
        line = line.strip()
        if MIN_LINE <= len(line) <= MAX_LINE and " " in line:
            yield line


def numbers(text: str) -> Iterator[str]:
    """Every number of two and more digits, as it is written."""
    for match in _NUMBER.finditer(text):
        number = match.group().rstrip(".,")
        if len(number) > 1:
            yield number


def quoted(text: str) -> Iterator[str]:
    """Every string of 2 to 200 characters that stands in quotes or backticks."""
    for match in _QUOTED.finditer(text):
        yield next(part for part in match.groups() if part is not None)
