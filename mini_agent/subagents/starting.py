"""Milestone 4: what a child is started with: the settings and pins of its parent, a request of
one line, a process. The parent's history is not part of it. What is left out: when children
start, and how they are waited for (`delegate.py`).
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
    """What children get from their parent: the workspace (with its language), the `folder` of the
    parent's run and its `start` (policy and window), the tools and paths that it can give
    (`tools`, `may_write`), its pins, and their model by the id of their call."""

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
        """Run the child to its end; called in a thread of its own."""
        try:
            output = self.process.converse(self.request, self.order.seconds)
        except (OSError, RuntimeError) as error:  # no processes or threads left
            return Ending("crashed", detail=self.texts("child_not_started", reason=error))
        return ending_from(output, self.order.seconds, self.texts)


def this_program() -> list[str]:
    """The command that starts a child with this interpreter and this checkout."""
    return [sys.executable, "-S", "-m", "mini_agent", "child", "--attached"]


def child_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The parent's variables, with this package first on the child's PYTHONPATH."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    rest = [inherited["PYTHONPATH"]] if inherited.get("PYTHONPATH") else []
    return {**inherited, "PYTHONPATH": os.pathsep.join([root, *rest])}


def request_line(parent: Parent, number: int, call: Call, order: Order, trace: Path,
                 depth: int) -> bytes:
    """The one line that a child is sent; `child.SCHEMA` has its fields."""
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
