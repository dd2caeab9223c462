"""Milestone 6: a file of JSON, read once, parsed line by line as it is asked for.

A document is one JSON value, or lines of JSON values. A line may be wrong without stopping the
rest: two objects on it, garbage after them, a cut end, bytes that are not UTF-8 (U+FFFD takes
their place), nesting beyond `strict_json.DEEPEST`, a number with thousands of digits. NaN,
Infinity and 1e999 are not JSON and become their own text, so that they cannot get into a
trace. The values of a line are not kept once they were handed out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from ...disk import read_file
from ...errors import UsageError
from ...hostile import clean
from ...strict_json import decode, loads, skip_blanks

HEAD_VALUES = 200      # how many values are looked at to find the format
HEAD_LINES = 1_000     # and how many lines, to see whether it is prose
LOG_SHARE = 10         # in a log one byte in so many is JSON, between what else was printed
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_REPLACED = "\ufffd".encode()
_NUMBERS = b"0123456789- \t"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line (or item of a list, both from 1) that could not be read, and why."""

    line: int
    what: str


def _parse_line(text: str) -> tuple[list[Any], str]:
    """All values of a line, and what stopped the reading ("" if nothing did)."""
    values: list[Any] = []
    text = text.rstrip("\r\n")
    at = skip_blanks(text, 0)
    while at < len(text):
        try:
            value, at = decode(text, at)
        except json.JSONDecodeError as error:
            return values, f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
        except ValueError as error:
            return values, str(error).partition(":")[0]
        values.append(value)
        at = skip_blanks(text, at)
    return values, ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


class Document:
    """The bytes of a file and its JSON values; `open` refuses what cannot be one."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = self.place = name
        self.unreadable: list[Unreadable] = []
        self.bad_lines: list[int] = []  # numbers of lines with bytes that are not UTF-8
        self._wrong = ""
        self._data = data.removeprefix(_BOM)

    @classmethod
    def open(cls, path: str | Path) -> Document:
        """Read the file once; UsageError for a folder, an empty or a binary file."""
        place = str(path)
        try:
            data = read_file(path)
        except IsADirectoryError:
            raise UsageError("is a folder", place=place, value=place,
                             remedy="give the files in it") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot be read: {reason}", place=place, value=place,
                             remedy="give a recorded session") from None
        document = cls(clean(Path(path).name), data)
        document.place = clean(place)
        if not document._data.strip():
            raise UsageError("the file is empty", place=place, value=0,
                             remedy="give a recorded session")
        if document.value is None and (document._is_prose() or not any(
                isinstance(value, (dict, list)) for value in document.head)):
            packed = " (gunzip unpacks it)" if data.startswith(_GZIP) else ""
            raise UsageError(document._foreign(), place=place,
                             remedy=f"give a recorded session in JSON or JSON lines{packed}")
        return document

    def _is_prose(self) -> bool:
        """Whether few lines, and short ones, begin like an object or a list (behind a number, as
        `cat -n` writes it): a text that quotes some JSON."""
        lines = [raw.strip().lstrip(_NUMBERS) for raw in islice(self._lines(), HEAD_LINES)]
        like_json = [line for line in lines if line[:1] in (b"{", b"[")]
        return sum(map(len, like_json)) * LOG_SHARE < sum(map(len, lines))

    def _foreign(self) -> str:
        """What is said of a file that has no JSON in it."""
        start = self._data[:8192]
        if b"\0" in start:
            return "this is a binary file"
        if _text(start).count("\ufffd") * 10 > len(start):
            return "this is not UTF-8 text"
        return f"no JSON: {self._wrong or 'no object in it'}"

    def _lines(self) -> Iterator[bytes]:
        start = 0
        while start < len(self._data):
            end = self._data.find(b"\n", start) + 1 or len(self._data)
            yield self._data[start:end]
            start = end

    @cached_property
    def value(self) -> Any:
        """The JSON value of the whole file; None if it consists of lines."""
        filled = list(islice((raw for raw in self._lines() if raw.strip()), 2))
        values, self._wrong = _parse_line(_text(filled[0]))
        if not self._wrong and len(filled) + len(values) > 2:
            return None
        text = _text(self._data)
        try:
            value = values[0] if not self._wrong else loads(text)
            self.bad_lines = [number for number, raw in enumerate(self._lines(), start=1)
                              if _is_bad(raw)] if _is_bad(self._data) else []
            self._data = b""
            return value
        except json.JSONDecodeError as error:
            what = error.msg.removesuffix(" at")
            self._wrong = f"{what} in line {error.lineno}, column {error.colno}"
        except ValueError as error:
            self._wrong = str(error).partition(":")[0]
        return None

    @cached_property
    def head(self) -> list[Any]:
        """The first values of the file, parsed to find out what it is."""
        if self.value is not None:
            return self.value[:HEAD_VALUES] if isinstance(self.value, list) else [self.value]
        values = (value for raw in self._lines() for value in _parse_line(_text(raw))[0])
        return list(islice(values, HEAD_VALUES))

    def records(self) -> Iterator[tuple[int, Any]]:
        """(line, value) of every value of the file; the items where it is one list.

        Lines that cannot be read are put into `unreadable`, anew on each call.
        """
        self.unreadable.clear()
        if self.value is not None:
            values = self.value if isinstance(self.value, list) else [self.value]
            yield from enumerate(values, start=1)
            return
        self.bad_lines.clear()
        for number, raw in enumerate(self._lines(), start=1):
            text = _text(raw)
            if _is_bad(raw):
                self.bad_lines.append(number)
            values, wrong = _parse_line(text)
            for value in values:
                yield number, value
            if wrong:
                self.skip(number, wrong if raw.endswith(b"\n") else f"cut off: {wrong}")

    def objects(self) -> Iterator[dict[str, Any]]:
        """The records that are JSON objects; others count as unreadable."""
        for number, value in self.records():
            if isinstance(value, dict):
                yield value
            else:
                self.skip(number, f"no object but {type_in_words(value)}")

    def skip(self, line: int, what: str) -> None:
        """Note that a reader cannot use a record, and why."""
        self.unreadable.append(Unreadable(line, what))


def _is_bad(raw: bytes) -> bool:
    """Whether there are bytes that are not UTF-8."""
    return not raw.isascii() and _text(raw).count("\ufffd") > raw.count(_REPLACED)


def type_in_words(value: Any) -> str:
    """What JSON calls a value: "a list", "a string", ..."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false",
             type(None): "null"}
    return names.get(type(value), "a number")
