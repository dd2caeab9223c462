"""Milestone 1: JSON files that people edit, and where in them something is wrong.

Python's decoder says at which offset a text breaks, but not in which field; and
once a text is read, nothing tells where a wrong value came from. Whoever edits a
task file by hand wants both: line, column and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .disk import read_file
from .errors import TaskFileError, UsageError
from .messages import clean_json
from .strict_json import loads, skip_blanks
from .texts import Texts
from .tools.schema import schema_faults

ONE_OBJECT = "give one object; a recorded session is replayed by compare"
Faults = Callable[[dict[str, Any]], Iterator[tuple[str, str]]]  # (path of a field, what is wrong)


def read_object(path: Path, schema: Mapping[str, Any],
                more: Faults = lambda value: iter(())) -> dict[str, Any]:
    """The object in a JSON file. It has to fit `schema`, and `more`, which looks for faults
    that a schema cannot express, must find none.

    Raises `TaskFileError` with line, column and field.
    """
    text = _text(path)
    value = _parsed(path, text)
    _refuse_twins(path, text)
    if not isinstance(value, dict):
        raise _field_error(path, text, "", "the file holds no object", ONE_OBJECT)
    problem = next(schema_faults(schema, value, Texts("en")), None) or next(more(value), None)
    if problem:
        raise _field_error(path, text, *problem)
    return value


def _text(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        what = (error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                if isinstance(error, UnicodeDecodeError) else str(error))  # a NUL in its name
        raise TaskFileError(f"the file cannot be read ({what})", place=str(path),
                            remedy="name a JSON file") from error


def _parsed(path: Path, text: str) -> Any:
    try:
        return clean_json(loads(text))
    except json.JSONDecodeError as error:
        where = next(reversed(value_offsets(text)), "")
        raise TaskFileError(
            f"broken JSON{' in ' + where if where else ''}: {error.msg}",
            place=f"{path}:{error.lineno}:{error.colno}", value=where,
            remedy=ONE_OBJECT if error.msg == "Extra data" else
            "complete or correct it at this place") from error
    except ValueError as error:
        raise TaskFileError(str(error).partition(":")[0], place=str(path),
                            remedy="nest less deeply, and give shorter numbers") from error


def _refuse_twins(path: Path, text: str) -> None:
    """Refuse a key that occurs twice: Python's decoder takes the last value, and says nothing."""
    try:
        _walk(text, skip_blanks(text, 0), "", {})
    except _Twin as twin:
        line, column = line_column(text, twin.at)
        raise TaskFileError(f"{twin} occurs twice", value=str(twin),
                            place=f"{path}:{line}:{column}", remedy="keep one of the two") from twin


class _Twin(ValueError):
    """A key, named by its path, that stands for the second time in its object."""

    def __init__(self, path: str, at: int) -> None:
        super().__init__(path)
        self.at = at


def _field_error(path: Path, text: str, where: str, what: str,
                 remedy: str = "correct this field") -> TaskFileError:
    """The error for the field `where` of a file's `text`, with line and column."""
    known = value_offsets(text)
    around = re.sub(r"(\.?[^.\[]+|\[\d+\])$", "", where)  # a missing field: where it misses
    line, column = line_column(text, known.get(where, known.get(around, 0)))
    return TaskFileError(what, value=where, place=f"{path}:{line}:{column}", remedy=remedy)


def located(path: Path, where: str, error: UsageError) -> TaskFileError:
    """An error found after reading the file, with the line and column of the field `where`; of
    a pipe, which cannot be read twice, with the field alone."""
    what = f"{where}: {error.message}"
    if not path.is_file():
        return TaskFileError(what, value=where, place=str(path), remedy=error.remedy)
    return _field_error(path, _text(path), where, what, error.remedy)


def value_offsets(text: str) -> dict[str, int]:
    """The offset of every value of a JSON text by its path, in order.

    A path is written as people do: `replies[3].content`; the whole is "". A broken
    text gives what stands before the fault: the last path is the field it is in.
    """
    found: dict[str, int] = {}
    try:
        _walk(text, skip_blanks(text, 0), "", found)
    except (ValueError, IndexError, RecursionError):
        return found  # the caller has the decoder's own error; this adds the field
    return found


def _walk(text: str, at: int, path: str, found: dict[str, int]) -> int:
    """Note the value at `at`; the offset after it is returned."""
    found[path] = at
    if text[at] not in "{[":
        return json.JSONDecoder().raw_decode(text, at)[1]
    closing = "}" if text[at] == "{" else "]"
    number, here, keys = 0, skip_blanks(text, at + 1), set[str]()
    while text[here] != closing:
        inner = f"{path}[{number}]"
        if closing == "}":
            start = here
            key, here = json.JSONDecoder().raw_decode(text, here)
            here = skip_blanks(text, skip_blanks(text, here) + 1)  # the colon
            inner = f"{path}.{key}" if path else str(key)
            if key in keys:
                raise _Twin(inner, start)
            keys.add(key)
        here = skip_blanks(text, _walk(text, here, inner, found))
        if text[here] == ",":
            here = skip_blanks(text, here + 1)
        elif text[here] != closing:
            raise ValueError("neither a comma nor an end")
        number += 1
    return here + 1


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
