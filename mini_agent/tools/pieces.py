"""Milestone 2: a text file in pieces, so that of a large one only a piece is in memory.

A piece is some whole lines: what is cleaned, counted or searched line by line needs no
more than that. What this module leaves out: a line of 50 MB, which is a piece by itself, and
what is shown of all this (`files.py`, `search.py`).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

from ..hostile import clean_output
from .output import line_count, lines_of
from .workspace import MAX_BYTES, Workspace

PIECE = 1 << 16  # characters, and what is left of the last line
START = 8_192    # characters by which text is told from something else
CHUNK = 1 << 20  # bytes


def text_pieces(workspace: Workspace, path: str) -> Iterator[str]:
    """The text of a file as the model sees it: UTF-8, lines ending in "\\n", cleaned.

    BINARY_FILE before the first piece; a few bad bytes become U+FFFD. FILE_TOO_LARGE for a
    file that grows to that while it is read. Else raises as `Workspace.opened` does.
    """
    with workspace.opened(path) as file:
        refuse_binary(workspace, path, file)
        with io.TextIOWrapper(file, "utf-8-sig", "replace") as text:  # "\r\n", "\r" are "\n" here
            while piece := text.read(PIECE):
                yield clean_output(piece + text.readline(MAX_BYTES))
                if (size := file.tell()) > MAX_BYTES:
                    raise workspace.error("FILE_TOO_LARGE", path, size=size, limit=MAX_BYTES)


def refuse_binary(workspace: Workspace, path: str, file: BinaryIO) -> None:
    """BINARY_FILE where a tenth of its start is not UTF-8 or it has a NUL."""
    start = file.read(4 * START + 6).decode("utf-8-sig", "replace")[:START]
    file.seek(0)
    chunks = islice(iter(lambda: file.read(CHUNK), b""), MAX_BYTES // CHUNK + 1)
    if any(b"\0" in chunk for chunk in chunks) or start.count("\ufffd") * 10 > len(start):
        raise workspace.error("BINARY_FILE", path, size=file.seek(0, io.SEEK_END))
    file.seek(0)


class Passage(NamedTuple):
    """A part of a text, and what there is in all: lines and characters of the whole text,
    and the `width` of the part's first line in characters."""

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
