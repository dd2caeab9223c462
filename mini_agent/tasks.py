"""Milestone 1: task files, the scripts of the scripted model.

A task file is a JSON object: what the system and the user say, the replies in
order, and (milestone 3) a threshold or window with a policy. It is checked whole
before anything runs; what is wrong is one line with file, line, column and field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import TaskFileError
from .models.scripted import INJECTIONS, SUMMARIES
from .schema import Path as FieldPath
from .schema import Schema, dotted, faults, line_column, places
from .texts import LANGUAGES, language_of

_TEXT: Schema = {"type": "string"}
_CALL: Schema = {"type": "object", "required": ["name"], "properties": {
    "name": _TEXT, "arguments": {"type": "object"}}}
_REPLY: Schema = {"type": "object", "properties": {
    "content": _TEXT, "stage": _TEXT, "inject": {"type": "string", "enum": INJECTIONS},
    "tool_calls": {"type": "array", "items": _CALL}, "children": {"type": "object"}}}
_PIN: Schema = {"type": "object", "required": ["text"], "properties": {
    "text": _TEXT, "protect": _TEXT, "kind": {"type": "string", "enum": (
        "constraint", "parameter", "error_fix", "assumption")}}}
SCHEMA: Schema = {"type": "object", "required": ["system", "task", "replies"], "properties": {
    "name": _TEXT, "system": _TEXT, "task": _TEXT,
    "threshold": {"type": "integer", "minimum": 1}, "window": {"type": "integer", "minimum": 1},
    "policy": _TEXT, "compression": {"type": "object"},
    "language": {"type": "string", "enum": LANGUAGES},
    "pins": {"type": "array", "items": _PIN},
    "replies": {"type": "array", "items": _REPLY},
    "summaries": {"type": "array", "items": {"type": "string", "enum": SUMMARIES}}}}


@dataclass(frozen=True)
class Task:
    """A task file, checked. `threshold` and `window` are in tokens, None if not given."""

    name: str
    system: str
    task: str
    replies: list[dict[str, Any]]
    threshold: int | None = None
    window: int | None = None
    policy: str = ""
    compression: dict[str, Any] = field(default_factory=dict)
    pins: list[dict[str, str]] = field(default_factory=list)
    language: str = ""
    summaries: list[str] = field(default_factory=list)
    place: str = ""


def load_task(path: Path) -> Task:
    """Read and check a task file. `TaskFileError` says what is wrong, and where."""
    data = read_json(path)
    problem = next(iter([*faults(data["value"], SCHEMA), *_reply_faults(data["value"])]), None)
    if problem:
        raise _error(path, data["text"], *problem)
    value = data["value"]
    language = value.get("language") or language_of(value["task"])
    return Task(**{**value, "language": language, "place": str(path),
                   "name": value.get("name", path.stem)})


def read_json(path: Path) -> dict[str, Any]:
    """{"text", "value"} of a JSON file; `TaskFileError` with line, column and field."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TaskFileError(f"the file cannot be read ({what})", place=str(path),
                            remedy="name a JSON file") from error
    try:
        return {"text": text, "value": json.loads(text)}
    except RecursionError as error:
        raise TaskFileError("nested too deep", place=str(path),
                            remedy="a task file needs six levels") from error
    except json.JSONDecodeError as error:
        where = dotted(next(reversed(places(text)), ()))
        raise TaskFileError(
            f"broken JSON{' in ' + where if where else ''}: {error.msg}",
            place=f"{path}:{error.lineno}:{error.colno}", value=where,
            remedy="complete or correct it at this place") from error


def _reply_faults(value: Any) -> list[tuple[FieldPath, str]]:
    """What a schema cannot say: a reply says something, one limit is enough."""
    if not isinstance(value, dict):
        return []
    wrong: list[tuple[FieldPath, str]] = []
    if "threshold" in value and "window" in value:
        wrong.append((("window",), "stands beside a threshold, which is window and trigger in one"))
    for number, reply in enumerate(value.get("replies") or ()):
        if isinstance(reply, dict) and not any(
                reply.get(key) for key in ("content", "tool_calls", "inject")):
            wrong.append((("replies", number), 'says nothing (ask for it with "inject": "empty")'))
    return wrong


def _error(path: Path, text: str, where: FieldPath, what: str) -> TaskFileError:
    known = places(text)
    at = known.get(where, known.get(where[:-1], 0))  # a missing field: the object it misses in
    line, column = line_column(text, at)
    return TaskFileError(f"{dotted(where) or 'the file'} {what}", value=dotted(where),
                         place=f"{path}:{line}:{column}", remedy="correct this field")
