"""Milestone 4: what a child is started with: what its parent hands on, one line of request,
a process. Nothing of that is a part of the parent's history. What this module leaves out:
when children start, and what becomes of them (`delegate.py`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compression.pins import Pin
from ..messages import Call
from ..texts import Texts
from ..tools.workspace import Workspace
from .endings import Ending, ending_from
from .orders import Order
from .processes import ChildProcess

_MARK = re.compile(r"</?pin\b[^>]*>")  # around the text that is pinned, not part of it


@dataclass(frozen=True)
class Parent:
    """What children have of their parent: where and in what language they work, the
    `folder` of its run and how that began (`start`: its policy and window), what it can
    give (`tools`, `may_write`), its pins, and their model by the id of their call."""

    workspace: Workspace
    folder: Path
    start: Mapping[str, Any]
    tools: Sequence[str]
    may_write: Sequence[str] | None
    pins: Callable[[], Sequence[Pin]]
    model: Callable[[str], Mapping[str, Any]]

    @property
    def window(self) -> int | None:
        """The parent's window in tokens, None without a limit."""
        size: int | None = self.start.get("policy", {}).get("window")
        return size

    def handed_on(self) -> list[Pin]:
        """The pins that hold for children too: constraints, and what protects a path."""
        return [pin for pin in self.pins() if pin.kind == "constraint" or pin.protect]


@dataclass
class Child:
    """One child: its number in the run, from 1; the call that asked for it; its process."""

    number: int
    call: Call
    order: Order
    process: ChildProcess
    request: bytes
    texts: Texts
    future: Future[Ending] | None = None
    ended: bool = False

    def run(self) -> Ending:
        """Let it work to its end; in a thread of its own."""
        try:
            output = self.process.converse(self.request, self.order.seconds)
        except (OSError, RuntimeError) as error:  # no processes or threads left
            return Ending("crashed", detail=self.texts("child_not_started", reason=error))
        return ending_from(output, self.order.seconds, self.texts)


def this_program() -> list[str]:
    """The command that starts a child with this interpreter and this checkout."""
    return [sys.executable, "-S", "-m", "mini_agent", "child", "--attached"]


def child_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The parent's variables, with this package where the child's interpreter looks first."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    rest = [inherited["PYTHONPATH"]] if inherited.get("PYTHONPATH") else []
    return {**inherited, "PYTHONPATH": os.pathsep.join([root, *rest])}


def request_line(parent: Parent, number: int, call: Call, order: Order, trace: Path,
                 depth: int) -> bytes:
    """The one line that a child is told; `child.SCHEMA` has its fields."""
    texts = parent.workspace.texts
    request = {
        "name": f"{parent.start['task']}/{number}", "language": texts.language,
        "system": texts("child_system"), "task": order.brief(texts),
        "pins": [{"text": _MARK.sub("", pin.text), "kind": pin.kind, "protect": pin.protect}
                 for pin in parent.handed_on()],
        "workspace": str(parent.workspace.root), "trace": str(trace.absolute()),
        "tools": list(order.tools), "writes": list(order.writes), "steps": order.steps,
        "tokens": order.tokens, "depth": depth, "start": dict(parent.start),
        "model": dict(parent.model(call["id"]))}
    return json.dumps(request).encode("ascii")
