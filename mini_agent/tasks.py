"""Milestone 1: task files, the scripts of the scripted model.

A task file is a JSON object: what the system and the user say, the replies in
order, and (milestone 3) a threshold or window with a policy. It is checked whole
before anything runs; what is wrong is one line with file, line, column and field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .compression.budget import MOST
from .compression.pins import KINDS
from .errors import UsageError
from .json_files import located, read_object
from .messages import Message
from .models.scripted import (
    INJECTIONS, OF_A_CALL, SUMMARIES, ScriptedModel, replies_left)
from .texts import LANGUAGES, Texts, language_of
from .tools.schema import OBJECT, TEXT, array_of, object_of, one_of, schema_faults

_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST}
_OF_A_CHILD = ("threshold", "window", "policy", "compression", "replies", "summaries")
SCHEMA = object_of({
    "name": TEXT, "system": TEXT, "task": TEXT, "language": one_of(LANGUAGES),
    "threshold": _LIMIT, "window": _LIMIT, "policy": TEXT, "compression": OBJECT,
    "pins": array_of(object_of({"text": TEXT, "protect": TEXT, "kind": one_of(KINDS)}, ("text",))),
    "replies": array_of(object_of({
        "content": TEXT, "stage": TEXT, "inject": one_of(INJECTIONS), "children": OBJECT,
        "tool_calls": array_of(object_of({"name": TEXT, "arguments": OBJECT}, ("name",)))})),
    "summaries": array_of(one_of(SUMMARIES))}, ("system", "task", "replies"))
CHILD_SCHEMA = object_of({name: SCHEMA["properties"][name] for name in _OF_A_CHILD}, ("replies",))


@dataclass(frozen=True)
class Task:
    """A task, checked. `threshold` and `window` are in tokens, None if not given. `place` is
    what errors about it name, its `file` if it has one."""

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
    file: Path | None = None

    @property
    def delegates(self) -> bool:
        """Whether a reply starts sub-agents."""
        return any("children" in reply for reply in self.replies)

    @property
    def has_stages(self) -> bool:
        """Whether a reply ends a stage of the work."""
        return any("stage" in reply for reply in self.replies) or any(
            call["name"] == "stage_done"
            for reply in self.replies for call in reply.get("tool_calls", ()))

    def model(self, history: Iterable[Message] = (), step: int = 0) -> ScriptedModel:
        """A scripted model for a session that is at `step`. It gives all replies, or only the
        rest where `history` ends with the first ones."""
        return ScriptedModel(replies_left(self.replies, history), self.summaries,
                             Texts(self.language), step)


def load_task(path: Path) -> Task:
    """Read and check a task file. `TaskFileError` says what is wrong, and where."""
    value = read_object(path, SCHEMA, _reply_faults)
    language = value.get("language") or language_of(value["task"])
    return Task(**{**value, "language": language, "place": str(path), "file": path,
                   "name": value.get("name", path.stem)})


@contextmanager
def located_in(task: Task) -> Iterator[None]:
    """What is found wrong with a field of a task only after `load_task` (a `UsageError` about
    `FILE: FIELD`) gets its line and column too."""
    try:
        yield
    except UsageError as error:
        where = error.place.removeprefix(f"{task.place}: ")
        if task.file is None or where == error.place:
            raise
        raise located(task.file, where.replace(": ", "."), error) from None


def _reply_faults(value: dict[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """What a schema cannot say: people and replies say something, one limit is enough."""
    if not value.get("task", "a script has none").strip():
        yield "task", "task says nothing"
    if "threshold" in value and "window" in value:
        yield (f"{place}window",
               "window stands beside a threshold, which is window and trigger in one")
    for number, reply in enumerate(value["replies"]):
        where = f"{place}replies[{number}]"
        if not any(reply.get(key) for key in ("content", "tool_calls", "inject")):
            yield where, f'{where} says nothing (ask for it with "inject": "empty")'
        if reply.get("inject") in OF_A_CALL and not reply.get("tool_calls"):
            yield (f"{where}.inject",
                   f"{where}.inject: {reply['inject']} is a fault of calls, and there are none")
        yield from _child_faults(reply, where)


def _child_faults(reply: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """The scripts of sub-agents stand under the numbers of the calls that start them."""
    calls = reply.get("tool_calls", [])
    for key, script in reply.get("children", {}).items():
        where = f"{place}.children.{key}"
        if key not in map(str, range(len(calls))) or calls[int(key)]["name"] != "delegate":
            yield where, f"{where} is not a call of delegate (they count from 0)"
        wrong = list(schema_faults(CHILD_SCHEMA, script, Texts("en"), where))
        yield from wrong or _reply_faults(script, f"{where}.")
