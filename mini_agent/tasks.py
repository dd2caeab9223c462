"""Milestone 1: task files, the scripts of the scripted model.

A task file is a JSON object: what the system and the user say, the replies in
order, and (milestone 3) a threshold or window with a policy. It is checked whole
before anything runs; what is wrong is one line with file, line, column and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .disk import read_file
from .errors import TaskFileError
from .hostile import loads
from .messages import clean_json
from .models.scripted import INJECTIONS, SUMMARIES
from .places import line_column, places
from .texts import LANGUAGES, Texts, language_of
from .tools.schema import OBJECT, TEXT, faults, list_of, object_of, one_of

_LIMIT = {"type": "integer", "minimum": 1}
_OF_A_CHILD = ("threshold", "window", "policy", "compression", "replies", "summaries")
SCHEMA = object_of({
    "name": TEXT, "system": TEXT, "task": TEXT, "language": one_of(LANGUAGES),
    "threshold": _LIMIT, "window": _LIMIT, "policy": TEXT, "compression": OBJECT,
    "pins": list_of(object_of({
        "text": TEXT, "protect": TEXT,
        "kind": one_of(("constraint", "parameter", "error_fix", "assumption"))}, ("text",))),
    "replies": list_of(object_of({
        "content": TEXT, "stage": TEXT, "inject": one_of(INJECTIONS), "children": OBJECT,
        "tool_calls": list_of(object_of({"name": TEXT, "arguments": OBJECT}, ("name",)))})),
    "summaries": list_of(one_of(SUMMARIES))}, ("system", "task", "replies"))
CHILD_SCHEMA = object_of({name: SCHEMA["properties"][name] for name in _OF_A_CHILD}, ("replies",))


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

    @property
    def delegates(self) -> bool:
        """Whether a reply starts sub-agents."""
        return any("children" in reply for reply in self.replies)


A_LOG = "give one object; a recorded session is replayed by compare"


def load_task(path: Path) -> Task:
    """Read and check a task file. `TaskFileError` says what is wrong, and where."""
    data = read_json(path)
    if not isinstance(data["value"], dict):
        raise field_error(path, data["text"], "", "the file holds no object", A_LOG)
    problem = (next(faults(SCHEMA, data["value"], Texts("en")), None)
               or next(_reply_faults(data["value"]), None))
    if problem:
        raise field_error(path, data["text"], *problem)
    value = data["value"]
    language = value.get("language") or language_of(value["task"])
    return Task(**{**value, "language": language, "place": str(path),
                   "name": value.get("name", path.stem)})


def read_json(path: Path) -> dict[str, Any]:
    """{"text", "value"} of a JSON file; `TaskFileError` with line, column and field."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TaskFileError(f"the file cannot be read ({what})", place=str(path),
                            remedy="name a JSON file") from error
    try:
        return {"text": text, "value": clean_json(loads(text))}
    except json.JSONDecodeError as error:
        where = next(reversed(places(text)), "")
        raise TaskFileError(
            f"broken JSON{' in ' + where if where else ''}: {error.msg}",
            place=f"{path}:{error.lineno}:{error.colno}", value=where,
            remedy=A_LOG if error.msg == "Extra data" else
            "complete or correct it at this place") from error
    except ValueError as error:
        raise TaskFileError(str(error).partition(":")[0], place=str(path),
                            remedy="nest less deeply, and give shorter numbers") from error


def _reply_faults(value: dict[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """What a schema cannot say: a reply says something, one limit is enough."""
    if "threshold" in value and "window" in value:
        yield f"{place}window", "window stands beside a threshold, which is window and trigger in one"
    for number, reply in enumerate(value["replies"]):
        where = f"{place}replies[{number}]"
        if not any(reply.get(key) for key in ("content", "tool_calls", "inject")):
            yield where, f'{where} says nothing (ask for it with "inject": "empty")'
        yield from _child_faults(reply, where)


def _child_faults(reply: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """The scripts of sub-agents stand under the numbers of the calls that start them."""
    calls = reply.get("tool_calls", [])
    for key, script in reply.get("children", {}).items():
        where = f"{place}.children.{key}"
        if key not in map(str, range(len(calls))) or calls[int(key)]["name"] != "delegate":
            yield where, f"{where} is no call of delegate (they count from 0)"
        wrong = list(faults(CHILD_SCHEMA, script, Texts("en"), where))
        yield from wrong or _reply_faults(script, f"{where}.")


def field_error(path: Path, text: str, where: str, what: str,
                remedy: str = "correct this field") -> TaskFileError:
    """What is wrong with the field `where` of a file's `text`, with line and column."""
    known = places(text)
    around = re.sub(r"(\.?[^.\[]+|\[\d+\])$", "", where)  # a missing field: where it misses
    line, column = line_column(text, known.get(where, known.get(around, 0)))
    return TaskFileError(what, value=where, place=f"{path}:{line}:{column}",
                         remedy=remedy)
