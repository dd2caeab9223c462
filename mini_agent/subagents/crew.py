"""Milestone 4: the tool `delegate`, and the children that it starts.

The calls of one reply go on side by side, a few at a time; each is held by a thread
that does nothing but wait for its child. Records and results are made by the main
thread alone, in the order of the calls, so a trace has the same bytes in whatever
order the children end. What is left out: the child's side (`child.py`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..compression.pins import Pin
from ..errors import MiniAgentError, ToolError
from ..messages import Call
from ..tools.base import Answer, ToolBox
from ..tools.guard import Guard
from ..tools.output import clip
from ..tools.workspace import Workspace
from ..trace import Tracer, make_private, read_trace, trace_folder
from .endings import Ending, heard, numbers_of
from .orders import NAME, Limits, Order, clashes, make_order, parameters
from .processes import ChildProcess
from .trails import child_trace


_MARK = re.compile(r"</?pin\b[^>]*>")  # around the text that is pinned, not part of it


@dataclass(frozen=True)
class Home:
    """What children have from their parent: where and in what language they work, the
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


@dataclass
class Child:
    """One child: its number in the run, from 1; the call that asked for it; its process."""

    number: int
    call: Call
    order: Order
    process: ChildProcess
    request: bytes
    future: Future[Ending] | None = None
    told: bool = False

    def run(self) -> Ending:
        """Let it work to its end; in a thread of its own."""
        try:
            said = self.process.converse(self.request, self.order.seconds)
        except (OSError, RuntimeError) as error:  # no processes or threads left
            return Ending("crashed", detail=f"it could not be started ({error})")
        return heard(said, self.order.seconds)


def this_program() -> list[str]:
    """The command that starts a child with this interpreter and this checkout."""
    return [sys.executable, "-S", "-m", "mini_agent", "child", "--attached"]


def child_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The parent's variables, with this package where the child's interpreter looks first."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    rest = [inherited["PYTHONPATH"]] if inherited.get("PYTHONPATH") else []
    return {**inherited, "PYTHONPATH": os.pathsep.join([root, *rest])}


@dataclass
class Crew:
    """The tool, and all children of one agent. `count` have been started so far."""

    home: Home
    tracer: Tracer
    limits: Limits = Limits()
    count: int = 0
    command: Sequence[str] = field(default_factory=this_program)
    name: str = NAME

    @property
    def description(self) -> str:
        return self.home.workspace.texts("tool_delegate")

    @property
    def parameters(self) -> dict[str, Any]:
        return parameters(self._tools, self.limits, self.home.workspace.texts)

    @property
    def _tools(self) -> list[str]:
        """The names of the tools that a child can be given."""
        return [*self.home.tools, *([self.name] if self.limits.depth > 1 else [])]

    def __call__(self, **arguments: Any) -> str:
        raise ToolError("NOT_ALONE", "the loop runs this tool by `together`")

    def together(self, tools: ToolBox, calls: Sequence[Call], step: int, answer: Answer) -> None:
        """Run the children that these calls ask for; an interrupt ends them all."""
        plans = [self._begin(call, plan, step) if isinstance(plan, Order) else plan
                 for call, plan in zip(calls, self._orders(tools, calls))]
        children = [plan for plan in plans if isinstance(plan, Child)]
        chars = self.limits.chars(len(children), self.home.window)
        guard = Guard(self._globs, self.home.workspace, self.home.workspace.texts)
        before = guard.snapshot()
        pool = ThreadPoolExecutor(self.limits.at_once)
        try:
            for child in children:
                child.future = pool.submit(child.run)
            for call, plan in zip(calls[:-1], plans):
                answer(tools.answer(call, self._work(plan, chars, step)))
            last = self._work(plans[-1], chars, step)  # behind it none is at work any more
            answer(tools.answer(calls[-1], lambda: guard.reporting(
                before, last, "children_changed")))
        finally:
            for child in children:
                child.process.end()
            pool.shutdown(cancel_futures=True)
            for child in children:
                if not child.told:
                    self._end(child, Ending("killed"), step)

    def _globs(self) -> list[str]:
        return [pin.protect for pin in self.home.pins() if pin.protect]

    def _orders(self, tools: ToolBox, calls: Sequence[Call]) -> list[Order | ToolError]:
        """For each call its order, or why there is none."""
        found = [self._order(tools, call) for call in calls]
        texts = self.home.workspace.texts
        for at, other, path in clashes([plan if isinstance(plan, Order) else None
                                        for plan in found]):
            found[at] = ToolError("WRITE_CONFLICT", texts("WRITE_CONFLICT", path=path,
                                                          other=other + 1))
        for at in range(self.limits.batch, len(found)):
            found[at] = ToolError("TOO_MANY_CHILDREN", texts(
                "TOO_MANY_CHILDREN", limit=self.limits.batch, number=at + 1))
        return found

    def _order(self, tools: ToolBox, call: Call) -> Order | ToolError:
        try:
            _, arguments = tools.checked(call)
            return make_order(arguments, self._tools, self.home.may_write, self.limits,
                              self.home.workspace)
        except ToolError as error:
            return error

    def _begin(self, call: Call, order: Order, step: int) -> Child:
        """A child that is about to start, and its record."""
        self.count += 1
        trace = child_trace(self.home.folder, self.count)
        make_private(self.home.folder)
        make_private(trace.parent)
        trace.unlink(missing_ok=True)  # of an earlier run of the same name
        shutil.rmtree(trace_folder(trace), ignore_errors=True)
        pins = [pin for pin in self.home.pins() if pin.kind == "constraint" or pin.protect]
        self.tracer.event(
            "subagent_start", step=step, id=call["id"], child=self.count,
            trace=trace.relative_to(self.home.folder).as_posix(), tools=list(order.tools),
            writes=list(order.writes), pins=len(pins),
            budget={"steps": order.steps, "tokens": order.tokens, "seconds": order.seconds})
        return Child(self.count, call, order,
                     ChildProcess(self.command, child_environment(os.environ)),
                     self._request(call, order, trace, pins))

    def _request(self, call: Call, order: Order, trace: Path, pins: Sequence[Pin]) -> bytes:
        """The one line that the child is told (`child.SCHEMA`)."""
        home, texts = self.home, self.home.workspace.texts
        request = {
            "name": f"{home.start['task']}/{self.count}", "language": texts.language,
            "system": texts("child_system"), "task": order.brief(texts),
            "pins": [{"text": _MARK.sub("", pin.text), "kind": pin.kind, "protect": pin.protect}
                     for pin in pins],
            "workspace": str(home.workspace.root), "trace": str(trace.absolute()),
            "tools": list(order.tools), "writes": list(order.writes), "steps": order.steps,
            "tokens": order.tokens, "depth": self.limits.depth - 1,
            "start": dict(home.start), "model": dict(home.model(call["id"]))}
        return json.dumps(request).encode("ascii")

    def _work(self, plan: Child | ToolError, chars: int, step: int) -> Callable[[], str]:
        """What makes the result of a call, once its child has ended."""
        def refuse() -> str:
            raise plan

        if isinstance(plan, ToolError):
            return refuse
        assert plan.future is not None
        ending = self._end(plan, plan.future.result(), step)
        return lambda: self._told(plan, ending, chars)

    def _end(self, child: Child, ending: Ending, step: int) -> Ending:
        """The ending with its numbers, and its record."""
        child.told = True
        if not ending.numbers.steps:  # it could not say, but its trace may
            with suppress(MiniAgentError):
                records = read_trace(child_trace(self.home.folder, child.number)).records
                ending = replace(ending, numbers=numbers_of(records))
        numbers = ending.numbers
        self.tracer.event(
            "subagent_end", step=step, id=child.call["id"], child=child.number,
            status=ending.status, steps=numbers.steps, peak_tokens=numbers.peak_tokens,
            sent_tokens=numbers.sent_tokens, chars=ending.chars,
            **({"detail": ending.detail} if ending.detail else {}))
        return ending

    def _told(self, child: Child, ending: Ending, limit: int) -> str:
        """What the parent's model is told; `ToolError` for all but a success."""
        texts = self.home.workspace.texts
        report, _ = clip(ending.text, limit)
        cut = "" if len(report) == ending.chars else texts(
            "child_cut", kept=len(report), chars=ending.chars)
        has_log = child_trace(self.home.folder, child.number).exists()
        said = {"number": child.number, "status": texts(f"child_{ending.status}"),
                "steps": ending.numbers.steps, "peak": ending.numbers.peak_tokens,
                "sent": ending.numbers.sent_tokens,
                "log": texts("child_log" if has_log else "child_no_log", number=child.number)}
        head = texts("child_report", **said, cut=cut)
        if ending.status == "finished":
            return f"{head}\n{report}"
        detail = f" ({ending.detail})" if ending.detail else ""
        raise ToolError(f"CHILD_{ending.status.upper()}", texts(
            "child_failed", **said, detail=detail), f"{head}\n{report}" if report else "")
