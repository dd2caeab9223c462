"""Milestone 3: one setting of a policy or a strategy, checked and set.

Both are frozen dataclasses, whose fields are their settings: a field's default says of
what kind a value has to be. What is left out: where settings come from (`policies.py`).
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import UsageError
from ..texts import Texts
from ..tools.schema import TEXT, array_of, one_of, schema_faults
from .attach import check_kinds
from .budget import FULL_WINDOW, MOST, tokens_at

AMOUNTS = ("trigger", "target")  # of two kinds, which `tokens_at` knows
BOUNDS = {"minimum": 0, "maximum": MOST}
LIMITS = {"integer": BOUNDS, "number": {"minimum": 0, "maximum": 1}}
_KINDS = {"bool": "boolean", "int": "integer", "float": "number", "str": "string"}  # in JSON


def has_setting(target: Any, key: str) -> bool:
    """Whether a policy or strategy has a setting of this name."""
    return any(field.name == key for field in dataclasses.fields(target))


def with_setting(target: Any, key: str, value: Any, place: str,
                 schema: Mapping[str, Any] | None = None) -> Any:
    """`target` with one field set. `UsageError` for a value that it may not have, by `schema`
    or else by the field's default."""
    if not has_setting(target, key):
        raise UsageError(f"unknown setting {key!r}", place=f"{place}.{key}", value=value,
                         remedy=nearest(key, (one.name for one in dataclasses.fields(target))))
    remedy = f"the default is {json.dumps(getattr(target, key), ensure_ascii=False)}"
    wanted = _schema(target, key) if schema is None else schema
    for _, wrong in schema_faults(wanted, value, Texts(), key):
        raise UsageError(wrong, place=f"{place}.{key}", value=value, remedy=remedy)
    many = isinstance(getattr(target, key), tuple)  # JSON has lists for them
    try:
        if key in AMOUNTS and value is not None:
            tokens_at(value, FULL_WINDOW)
        elif key == "attach":
            check_kinds(value)
        return dataclasses.replace(target, **{key: tuple(value) if many else value})
    except UsageError as error:
        raise UsageError(error.message, place=f"{place}.{key}", value=value,
                         remedy=error.remedy) from None


def _schema(target: Any, key: str) -> dict[str, Any]:
    """What a value has to be: of the kind of the default, one of the `CHOICES` if there are
    any, and a number not negative; what is no whole number is a share."""
    default = getattr(target, key)
    if isinstance(default, tuple):
        return array_of(TEXT)
    if allowed := getattr(target, "CHOICES", {}).get(key):
        return one_of(allowed)
    kind = _KINDS[type(default).__name__]
    return {"type": kind, **LIMITS.get(kind, {})}


def nearest(name: str, names: Iterable[str]) -> str:
    """A remedy that names what is close to `name`, else all there is."""
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else (
        f"known are: {', '.join(known) or 'none'}")
