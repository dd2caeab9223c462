"""Milestone 4: the way from a parent's trace into those of its children.

A child's trace lies in the folder of its parent's run and is called by its number:
`m4-trace.d/children/2.jsonl`. People write it `m4-trace.jsonl#2`, and `#2#1` for a child
of that child. The model has `read_child`. What is left out: reading a trace
(`trace.py`), and what the lab does with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compression.tools import PAGE_CHARS, ReadResult
from ..errors import MiniAgentError, ToolError
from ..texts import Texts
from ..tools.schema import arguments_schema
from ..trace import read_trace


def child_trace(folder: Path, number: int) -> Path:
    """Where the trace of a child lies; `folder` is that of its parent's run."""
    return folder / "children" / f"{number}.jsonl"


@dataclass(frozen=True)
class ReadChild:
    """`read_child(child, message, start, end, unit)`: a part of a message of a child's log."""

    folder: Path
    started: Callable[[], int]
    texts: Texts
    limit: int = PAGE_CHARS
    name: str = "read_child"

    @property
    def description(self) -> str:
        return self.texts("tool_read_child")

    @property
    def parameters(self) -> dict[str, Any]:
        inherited = ReadResult((), self.texts).parameters["properties"]
        return arguments_schema({
            "child": {"type": "integer", "minimum": 1, "description": self.texts("arg_child")},
            "message": {"type": "integer", "minimum": 0,
                        "description": self.texts("arg_child_message")},
            **{name: inherited[name] for name in ("start", "end", "unit")}}, ("child",))

    def __call__(self, child: int, message: int | None = None, **part: Any) -> str:
        if child > self.started():
            raise self._missing(child)
        try:
            history = read_trace(child_trace(self.folder, child)).messages()
        except MiniAgentError as error:
            raise self._missing(child) from error
        if not history:
            raise self._missing(child)
        last = len(history) - 1
        return ReadResult(history, self.texts, self.limit)(
            last if message is None else message, **part)

    def _missing(self, child: int) -> ToolError:
        return ToolError("NO_SUCH_CHILD", self.texts("NO_SUCH_CHILD", child=child))
