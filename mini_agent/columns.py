"""Text for people, in the columns that they have.

A terminal breaks a row wherever it ends, and then a table is no table any more. So a row is
broken at a blank and goes on indented, and a table leaves out the columns that weigh
least. In a file and in a pipe nothing has to fit: there `columns` is None, and all is
whole. Widths are in columns of a terminal: a Chinese character takes two.
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import TextIO

from .hostile import escaped

MOST = 1_000  # columns that are believed: COLUMNS may hold any number
WIDTH = 80   # columns of a text for people where no terminal says how many it has
FIRST = 24   # columns of the first cell of a row on a terminal; a longer one is cut
BETWEEN = 2  # blanks between two cells


def columns_of(stream: TextIO, plain: bool = False) -> int | None:
    """The columns of a terminal; None for a file or a pipe, and wherever `plain` is set."""
    return terminal_columns() if stream.isatty() and not plain else None


def terminal_columns() -> int:
    """The columns of this terminal."""
    return min(MOST, shutil.get_terminal_size((WIDTH, 24)).columns)


def width(text: str) -> int:
    """The columns that a safe text of one line takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Cf")
               else 2 if is_wide(letter) else 1 for letter in text)


def is_wide(letter: str) -> bool:
    """Whether a character takes two columns; a line may be broken before and after it."""
    return unicodedata.east_asian_width(letter) in "WF"


def unbroken(part: str) -> list[str]:
    """A part without blanks in pieces that may not be broken: each wide character is one, and
    what stands between two."""
    if part.isascii():
        return [part]
    found: list[str] = []
    for wide, letters in groupby(part, is_wide):
        found += letters if wide else ["".join(letters)]
    return found


def number_of(count: object, noun: str, form: str = "", many: str = "") -> str:
    """A count with its noun: `1 step`, `2 steps`. `form` is the format of the number, say `,`;
    `many` is the plural, where it is not just the noun with an `s`."""
    return f"{count:{form}} {noun if count == 1 else many or noun + 's'}"


def fitted(text: str, columns: int) -> str:
    """One line in at most `columns`; where it is cut, it ends in `...`."""
    text = text[:len(text) - len(text.lstrip(" "))] + " ".join(text.split())
    if _start_of(text, columns) == text:
        return text
    return _start_of(text, columns - 3).rstrip() + "..."


def name_to_fit(name: str, columns: int) -> str:
    """A name in at most `columns`; of a longer path the end, which tells it apart."""
    if "/" not in name or width(name) <= columns:
        return fitted(name, columns)
    return "..." + _start_of(name[::-1], columns - 3)[::-1]


def _start_of(text: str, columns: int) -> str:
    """The longest beginning of a line that takes at most `columns`."""
    if text.isascii():
        return text[:max(0, columns)]
    for at, letter in enumerate(text):
        columns -= width(letter)
        if columns < 0:
            return text[:at]
    return text


def hung(text: str, columns: int | None, indent: int = 4) -> Iterator[str]:
    """A row in lines of at most `columns`, all but the first after `indent` blanks.

    It is broken at blanks and beside wide characters; a word that has no room even on a
    line of its own, a path say, stays whole, so that it can be copied.
    """
    if columns is None or width(text) <= columns:
        yield text
        return
    line, taken, begun = "", 0, False
    for blank, word in re.findall(r"( *)([^ ]+)", text):
        for part in unbroken(word):
            if begun and taken + len(blank) + width(part) > columns:
                yield line
                line, taken, blank = " " * indent, indent, ""
            line += blank + part
            taken += len(blank) + width(part)
            blank, begun = "", True
    yield line


def write_rows(rows: Iterable[str], stream: TextIO, indent: int = 4, plain: bool = False) -> None:
    """Write each row as a line, without control characters. On a terminal long rows are broken
    by `hung`, unless `plain`."""
    columns = columns_of(stream, plain)
    for row in rows:
        stream.writelines(f"{line}\n" for line in hung(escaped(row), columns, indent))


@dataclass
class Table:
    """Rows of cells under a head: the first and the last from the left, the others from the right.

    A block has rows and a title, which stands in place of the first name of the head.
    `weights` has the names of the head, the most important first: where a terminal has no
    room for all columns, the last ones of these are `left_out`, in all blocks alike.
    """

    head: Sequence[str]
    weights: Sequence[str]
    blocks: Mapping[str, Sequence[Sequence[str]]]
    columns: int | None = None
    left_out: Sequence[str] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.columns is None or not self.blocks:
            return
        self.blocks = {title: [(name_to_fit(row[0], FIRST), *row[1:]) for row in rows]
                       for title, rows in self.blocks.items()}
        wide = dict(zip(self.head, map(max, zip(*map(self._widths, self.blocks)))))
        room = list(accumulate(wide[name] + BETWEEN for name in self.weights))
        fit = bisect_right(room, self.columns + BETWEEN)
        self.left_out = sorted(self.weights[fit:], key=self.head.index)

    def _widths(self, title: str) -> list[int]:
        return [max(map(width, column)) for column in zip(
            (title, *self.head[1:]), *self.blocks[title])]

    def lines(self, title: str) -> Iterator[str]:
        """The block of that title, its columns as wide as they need to be."""
        widths = self._widths(title)
        kept = [at for at, name in enumerate(self.head) if name not in self.left_out]
        for row in ((title, *self.head[1:]), *self.blocks[title]):
            cells = []
            for at in kept:
                blank = " " * (widths[at] - width(row[at]))
                cells.append(row[at] + blank if at in (0, len(row) - 1) else blank + row[at])
            yield (" " * BETWEEN).join(cells).rstrip()
