"""Milestone 2: reads a text file in pieces, so that only a piece of a large file is in memory.

A piece consists of whole lines, so it can be cleaned, counted or searched line by line. A very
long line is a piece by itself. What is left out: what is shown of the file (`files.py`,
`search.py`).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

from ..hostile import clean_output
from .output import line_count, lines_of
from .workspace import MAX_BYTES, Workspace

PIECE = 1 << 16  # characters of a piece, plus the rest of its last line
START = 8_192    # characters that are checked for being text
CHUNK = 1 << 20  # bytes that are searched for a NUL at once


def text_pieces(workspace: Workspace, path: str) -> Iterator[str]:
    """The text of a file as the model sees it: UTF-8, lines ending in "\\n", cleaned.

    A few bad bytes become U+FFFD. Raises BINARY_FILE before the first piece, FILE_TOO_LARGE for a
    file that grows too large while it is read, and what `Workspace.opened` raises.
    """
    with workspace.opened(path) as file:
        refuse_binary(workspace, path, file)
        with io.TextIOWrapper(file, "utf-8-sig", "replace") as text:  # "\r\n", "\r" are "\n" here
            while piece := text.read(PIECE):
                yield clean_output(piece + text.readline(MAX_BYTES))
                if (size := file.tell()) > MAX_BYTES:
                    raise workspace.error("FILE_TOO_LARGE", path, size=size, limit=MAX_BYTES)


def refuse_binary(workspace: Workspace, path: str, file: BinaryIO) -> None:
    """Raise BINARY_FILE if over a tenth of the start of a file is not UTF-8, or it has a NUL."""
    start = file.read(4 * START + 6).decode("utf-8-sig", "replace")[:START]
    file.seek(0)
    chunks = islice(iter(lambda: file.read(CHUNK), b""), MAX_BYTES // CHUNK + 1)
    if any(b"\0" in chunk for chunk in chunks) or start.count("\ufffd") * 10 > len(start):
        raise workspace.error("BINARY_FILE", path, size=file.seek(0, io.SEEK_END))
    file.seek(0)


class Passage(NamedTuple):
    """A part of a text; the number of lines and characters of the whole text; and the `width` of
    the part's first line in characters."""

    text: str
    lines: int
    chars: int
    width: int


def passage(text: Iterable[str], first: int, last: int | None, char: int, most: int) -> Passage:
    """Of a text in pieces, at most `most` characters from character `char` of the line `first`
    to the end of the line `last`; all three count from 1, None is the last line of all."""
    found: list[str] = []
    room, lines, chars, width = char - 1 + most, 0, 0, 0
    for piece in text:
        below, lines = lines, lines + line_count(piece)
        chars += len(piece)
        if room > 0 and lines >= first and (last is None or below < last):
            here = lines_of(piece)
            if below < first:
                width = len(here[first - 1 - below])
            end = None if last is None else last - below
            found.append("".join(here[max(0, first - 1 - below):end])[:room])
            room -= len(found[-1])
    return Passage("".join(found)[char - 1:], lines, chars, width)
