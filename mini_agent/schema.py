"""Milestone 2: checking a JSON value from outside against a small JSON schema.

The part of JSON schema that tool arguments and task files need: type, properties,
required, items, enum, minimum. Unknown keys are faults. What it leaves out is
everything else of the standard. `places` says where in a text a value stands.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from json.decoder import WHITESPACE
from typing import Any

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,)}


def faults(value: Any, schema: Schema, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """(path, what is wrong) for every place where `value` is not as `schema` says."""
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield path, f"is {describe(value)}, not {' or '.join(map(_article, kinds))}"
    elif "enum" in schema and value not in schema["enum"]:
        yield path, f"is {value!r}, not one of {', '.join(map(str, schema['enum']))}"
    elif "minimum" in schema and not isinstance(value, str) and value < schema["minimum"]:
        yield path, f"is {value}, less than {schema['minimum']}"
    elif isinstance(value, dict) and "properties" in schema:
        yield from _object_faults(value, schema, path)
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], (*path, number))


def _object_faults(value: dict[str, Any], schema: Schema,
                   path: Path) -> Iterator[tuple[Path, str]]:
    known = schema["properties"]
    for key in schema.get("required", ()):
        if key not in value:
            yield (*path, key), "is missing"
    for key, item in value.items():
        if key in known:
            yield from faults(item, known[key], (*path, key))
        else:
            close = difflib.get_close_matches(key, known, n=1)
            yield (*path, key), f"is unknown ({'did you mean ' + close[0] if close else 'known: ' + ', '.join(known)})"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def describe(value: Any) -> str:
    """What a JSON value is, in words: `a list of 3`, `the string 'x'`."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "null" if value is None else json.dumps(value)


def dotted(path: Path) -> str:
    """A path as people write it: `replies[3].tool_calls[0].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def places(text: str) -> dict[Path, int]:
    """The offset of every value of a JSON text, by path, in order.

    A broken text gives what stands before the fault: the last path is the field
    that it is in.
    """
    found: dict[Path, int] = {}
    try:
        _walk(text, _skip(text, 0), (), found)
    except (ValueError, IndexError, RecursionError):
        return found  # the caller has the decoder's own error; this adds the field
    return found


def _walk(text: str, at: int, path: Path, found: dict[Path, int]) -> int:
    """Note the value at `at`; the offset behind it is returned."""
    found[path] = at
    if text[at] not in "{[":
        return json.JSONDecoder().raw_decode(text, at)[1]
    closing = "}" if text[at] == "{" else "]"
    number, here = 0, _skip(text, at + 1)
    while text[here] != closing:
        key: str | int = number
        if closing == "}":
            key, here = json.JSONDecoder().raw_decode(text, here)
            here = _skip(text, _skip(text, here) + 1)  # the colon
        here = _skip(text, _walk(text, here, (*path, key), found))
        if text[here] == ",":
            here = _skip(text, here + 1)
        elif text[here] != closing:
            raise ValueError("neither a comma nor an end")
        number += 1
    return here + 1


def _skip(text: str, at: int) -> int:
    match = WHITESPACE.match(text, at)
    return match.end() if match else at


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
