"""Milestone 2: checks a JSON value against a schema, for tool arguments and task files.

It knows the part of JSON schema that the tools use: object, string, integer, number, boolean,
array, enum, minimum, maximum, required, additionalProperties false. All faults are reported
together, so that a model can mend them at once.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..hostile import one_line
from ..texts import Texts

TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
PLACE = {"type": "integer", "minimum": 1}  # of a line, a character, an entry: they count from 1
OBJECT = {"type": "object"}
NUMBERED = ("handle", "message")  # arguments that name a message, which a window shows as `#3`
_HANDLE = re.compile(r"#?[0-9]{1,9}")


def object_of(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {"type": "object", "properties": dict(properties), "required": list(required),
            "additionalProperties": False}


def array_of(items: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an array of such items."""
    return {"type": "array", "items": items}


def one_of(values: Sequence[str]) -> dict[str, Any]:
    """The schema of a string that is one of these."""
    return {"type": "string", "enum": list(values)}


def without_nulls(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without optional ones that are null, which means "not given"."""
    optional = set(schema.get("properties", {})) - set(schema.get("required", []))
    return {name: value for name, value in arguments.items()
            if value is not None or name not in optional}


def with_numbers(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with numbers for handles of messages: "#3" and "3" become 3."""
    numbered = [name for name in NUMBERED
                if schema.get("properties", {}).get(name, {}).get("type") == "integer"]
    return {name: _number(value) if name in numbered else value
            for name, value in arguments.items()}


def _number(value: Any) -> Any:
    """The number in a handle; anything else as it is."""
    if isinstance(value, str) and _HANDLE.fullmatch(value.strip()):
        return int(value.strip().removeprefix("#"))
    return value


def schema_faults(schema: Mapping[str, Any], value: Any, texts: Texts,
                  place: str = "") -> Iterator[tuple[str, str]]:
    """(place, what is wrong there) for each way in which `value` breaks `schema`.

    They come in the order of the schema. A place is a path such as `replies[3].content`; the
    words name it too.
    """
    wanted = schema.get("type", "")
    if wanted and not _is(wanted, value):
        yield place, texts("fault_type", place=place or "arguments", wanted=wanted,
                           found=f"{json_type(value)} {_shown(value)}".rstrip())
    elif wanted == "object":
        yield from _object_faults(schema, value, texts, place)
    elif wanted == "array":
        for index, item in enumerate(value):
            yield from schema_faults(schema.get("items", {}), item, texts, f"{place}[{index}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield place, texts("fault_enum", place=place, value=_shown(value),
                           allowed=", ".join(map(_shown, schema["enum"])))
    elif "minimum" in schema and not value >= schema["minimum"]:
        yield place, texts("fault_minimum", place=place, value=_shown(value),
                           limit=schema["minimum"])
    elif "maximum" in schema and not value <= schema["maximum"]:
        yield place, texts("fault_maximum", place=place, value=_shown(value),
                           limit=schema["maximum"])


def first_fault(schema: Mapping[str, Any], value: Any, texts: Texts) -> str:
    """The first fault of a value in words, "" if there is none."""
    return next((words for _, words in schema_faults(schema, value, texts)), "")


def _object_faults(schema: Mapping[str, Any], value: Mapping[str, Any], texts: Texts,
                   place: str) -> Iterator[tuple[str, str]]:
    """The faults of an object: missing, unknown, then those of each property."""
    properties = schema.get("properties", {})
    prefix = f"{place}." if place else ""
    for name in schema.get("required", []):
        if name not in value:
            yield prefix + name, texts("fault_missing", place=prefix + name)
    for name in value:
        if name not in properties and schema.get("additionalProperties") is False:
            close = difflib.get_close_matches(name[:100], list(properties), 1)
            yield prefix + name, texts("fault_unknown", place=prefix + one_line(name)) + (
                texts("did_you_mean", names=close[0]) if close else "")
    for name, inner in properties.items():
        if name in value:
            yield from schema_faults(inner, value[name], texts, prefix + name)


def json_type(value: Any) -> str:
    """The JSON type of a value. A bool is not an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _is(wanted: str, value: Any) -> bool:
    found = json_type(value)
    return found == wanted or (wanted == "number" and found == "integer")


def _shown(value: Any) -> str:
    """A value as an error message repeats it: short, and only a scalar."""
    if isinstance(value, str):
        return repr(one_line(value, 40))
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return "(too large)"
    return str(value) if isinstance(value, (bool, int, float)) else ""
