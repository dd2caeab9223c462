"""Milestone 4: what a child is given: a brief, tools, paths and a budget, but no history.

An order is made from the arguments of `delegate` and checked against what the parent itself
has: no tool that it lacks, no path that it may not write, no more budget than it can give. A
child has only the tools that it was given; it is not merely told to leave others alone. What
is left out: running the child (`delegate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ..errors import ToolError
from ..hostile import one_line
from ..texts import Texts
from ..tools import READERS
from ..tools.guard import WRITERS, covers
from ..tools.schema import object_of
from ..tools.workspace import Workspace

NAME = "delegate"


@dataclass(frozen=True)
class ChildLimits:
    """What children may take. `depth`: generations of children below this agent; `at_once`:
    children that run at the same time; `batch`: children of one reply. `steps`, `tokens` (of
    all requests together) and `seconds` are the most that one child can be given, and also what
    it gets by default; its own children use the same tokens. At most `report_chars` characters
    of a report enter the parent's window, and `batch_chars` of all reports of a reply."""

    depth: int = 1
    at_once: int = 4
    batch: int = 16
    steps: int = 50
    tokens: int = 1_000_000
    seconds: float = 600.0
    report_chars: int = 4_000
    batch_chars: int = 16_000

    def within(self, steps: int, tokens: int) -> ChildLimits:
        """These limits for the children of a child, none of which gets more than the child."""
        return replace(self, steps=min(self.steps, steps), tokens=min(self.tokens, tokens))

    def chars(self, children: int, window: int | None) -> int:
        """The characters of each report if `children` report together: in all at most a quarter of
        the window, if a character were a token."""
        room = self.batch_chars if window is None else min(self.batch_chars, window // 4)
        return max(1, min(self.report_chars, room // max(1, children)))


@dataclass(frozen=True)
class Order:
    """What one child is to do. `writes` are paths from the workspace's root."""

    task: str
    context: str
    tools: tuple[str, ...]
    writes: tuple[str, ...]
    steps: int
    tokens: int
    seconds: float

    def brief(self, texts: Texts) -> str:
        """The user message of the child, which is everything that it is told."""
        parts = [self.task]
        if self.context:
            parts.append(texts("child_context", context=self.context))
        if self.writes:
            parts.append(texts("child_writes", paths=", ".join(self.writes)))
        return "\n\n".join(parts)


def parameters(tools: Sequence[str], limits: ChildLimits, texts: Texts) -> dict[str, Any]:
    """The schema of `delegate` for an agent that can give these tools."""
    def listed(name: str, items: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": items, "description": texts(f"arg_child_{name}")}

    most = {"steps": ("integer", limits.steps), "tokens": ("integer", limits.tokens),
            "seconds": ("number", limits.seconds)}
    budget = object_of({name: {"type": kind, "minimum": 1, "maximum": limit}
                               for name, (kind, limit) in most.items()})
    return object_of({
        "task": {"type": "string", "description": texts("arg_child_task")},
        "context": {"type": "string", "description": texts("arg_child_context")},
        "tools": listed("tools", {"type": "string", "enum": list(tools)}),
        "writes": listed("writes", {"type": "string"}),
        "budget": {**budget, "description": texts("arg_child_budget")}}, ("task",))


def make_order(arguments: Mapping[str, Any], given: Sequence[str], may_write: Sequence[str] | None,
               limits: ChildLimits, workspace: Workspace) -> Order:
    """The order that the checked arguments of a call ask for.

    `given` are the tools that can be given, `may_write` the paths that the parent itself
    was given (None: all). BAD_ARGUMENTS, OUTSIDE_WORKSPACE, WRITE_NOT_GIVEN.
    """
    texts = workspace.texts
    writes = tuple(dict.fromkeys(workspace.relative(path) for path in arguments.get("writes", ())))
    for path in writes:
        if may_write is not None and not any(covers(own, path) for own in may_write):
            raise ToolError("WRITE_NOT_GIVEN", texts("WRITE_NOT_GIVEN", path=one_line(path)))
    usual = [name for name in (*READERS, *(WRITERS if writes else ())) if name in given]
    tools = tuple(dict.fromkeys(arguments.get("tools", usual)))
    idle = [name for name in tools if name in WRITERS]
    if not arguments["task"].strip():
        raise ToolError("BAD_ARGUMENTS", texts("child_no_task"))
    if bool(idle) != bool(writes):
        raise ToolError("BAD_ARGUMENTS", texts(
            "child_idle_paths" if writes else "child_idle_tools", tools=", ".join(idle or WRITERS)))
    budget = arguments.get("budget", {})
    return Order(arguments["task"], arguments.get("context", ""), tools, writes,
                 budget.get("steps", limits.steps), budget.get("tokens", limits.tokens),
                 budget.get("seconds", limits.seconds))


def clashes(orders: Sequence[Order | None]) -> Iterator[tuple[int, int, str]]:
    """(position, position of another, path) for any two orders that would write the same path."""
    for (one, first), (two, second) in combinations(enumerate(orders), 2):
        if first is None or second is None:
            continue
        shared = sorted(path if covers(other, path) else other
                        for path in first.writes for other in second.writes
                        if covers(path, other) or covers(other, path))
        if shared:
            yield one, two, shared[0]
            yield two, one, shared[0]
