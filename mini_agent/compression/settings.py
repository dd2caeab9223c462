"""Milestone 3: one setting of a policy or a strategy, checked and set.

Both are frozen dataclasses, whose fields are their settings: a field's default says of
what kind a value has to be. What is left out: where settings come from (`policies.py`).
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any

from ..errors import UsageError
from .budget import MOST


def has_setting(target: Any, key: str) -> bool:
    """Whether a policy or strategy has a setting of this name."""
    return any(field.name == key for field in dataclasses.fields(target))


def with_setting(target: Any, key: str, value: Any, place: str) -> Any:
    """`target` with one field set. `UsageError` for a value that it may not have."""
    types = {field.name: str(field.type) for field in dataclasses.fields(target)}
    if key not in types:
        raise UsageError(f"unknown setting {key!r}", place=f"{place}.{key}", value=value,
                         remedy=nearest(key, types))
    if fault := _value_fault(target, key, value, types[key]):
        what, remedy = fault
        raise UsageError(f"{value!r} {what}", place=f"{place}.{key}", value=value, remedy=remedy)
    many = isinstance(getattr(target, key), tuple)  # JSON has lists for them
    return dataclasses.replace(target, **{key: tuple(value) if many else value})


def _value_fault(target: Any, key: str, value: Any, declared: str) -> tuple[str, str] | None:
    """(what is wrong with a value, the remedy): it has to be of the kind of the default, one
    of the `CHOICES` if there are any, and a number not negative."""
    default = getattr(target, key)
    remedy = f"the default is {default!r}"
    if isinstance(default, tuple) and isinstance(value, list):
        kind = declared.removeprefix("tuple[").removesuffix(", ...]")
        fits = all(type(item).__name__ == kind for item in value)
        return None if fits else (f"is no list of {kind}", f"the default is {list(default)!r}")
    allowed = getattr(target, "CHOICES", {}).get(key)
    if allowed and value not in allowed:
        return "is not known", f"known are: {', '.join(map(str, allowed))}"
    of_one_kind = getattr(type(target), key, None) is not None  # None: the default may be of any
    int_for_float = isinstance(default, float) and type(value) is int
    if of_one_kind and type(value) is not type(default) and not int_for_float:
        return f"is no {type(default).__name__}", remedy
    if isinstance(value, (int, float)) and not 0 <= value <= MOST:
        return f"is {'negative' if value < 0 else 'too large'}", remedy
    return None


def nearest(name: str, names: Iterable[str]) -> str:
    """A remedy that names what is close to `name`, else all there is."""
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else (
        f"known are: {', '.join(known) or 'none'}")
