"""Milestone 4: the tool `delegate`, and the children that it starts.

The calls of one reply run side by side, a few at a time; for each a thread waits for its
child. Only the main thread makes records and results, in the order of the calls, so a trace
has the same bytes in whatever order the children end. What is left out: the child's side
(`child.py`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from ..compression.token_budget import TokenBudget
from ..compression.tools import page_chars
from ..disk import make_private
from ..errors import MiniAgentError, ToolError
from ..messages import Call
from ..tools.base import Answer, Tool, ToolBox
from ..tools.guard import Guard
from ..tools.output import first_lines
from ..trace import Tracer, trace_folder
from .endings import Ending
from .orders import NAME, ChildLimits, Order, clashes, make_order, parameters
from .processes import ChildProcess
from .starting import Child, Parent, child_environment, request_line, this_program
from .traces import child_trace, is_log, read_child_tool, record_end, sent_by_family


@dataclass
class DelegateTool:
    """The tool, and all children of one agent; `count` have been started so far.

    Their tokens are taken from the `token_budget` of the agent, and what they do not send is
    given back. `waiting` is entered while children are waited for: only there an interrupt may
    come (`interrupts.py`).
    """

    parent: Parent
    tracer: Tracer
    limits: ChildLimits = ChildLimits()
    count: int = 0
    waiting: AbstractContextManager[Any] = nullcontext()
    token_budget: TokenBudget = field(default_factory=TokenBudget)
    command: Sequence[str] = field(default_factory=this_program)
    name: ClassVar[str] = NAME

    @property
    def description(self) -> str:
        """Says that part of the task can be given to a sub-agent."""
        return self.parent.workspace.texts("tool_delegate")

    @property
    def parameters(self) -> dict[str, Any]:
        """A task and what the child has to know; the tools, paths and budget of the child."""
        return parameters(self._tools, self.limits, self.parent.workspace.texts)

    @property
    def _tools(self) -> list[str]:
        """The names of the tools that a child can be given."""
        return [*self.parent.tools, *([self.name] if self.limits.depth > 1 else [])]

    def __call__(self, **arguments: Any) -> str:
        raise NotImplementedError("calls of this tool go on together")

    def together(self, tools: ToolBox, calls: Sequence[Call], step: int, answer: Answer) -> None:
        """Run the children that these calls ask for. An interrupt ends them all."""
        orders = self._orders(tools, calls)
        chars = self.limits.chars(sum(isinstance(order, Order) for order in orders),
                                  self.parent.window)
        guard = Guard(self._globs, self.parent.workspace)
        before = guard.snapshot()
        pool = ThreadPoolExecutor(self.limits.at_once)
        plans: list[Child | ToolError] = []
        try:
            for call, order in zip(calls, orders):
                plans.append(order if isinstance(order, ToolError)
                             else self._begin(call, order, step))
            for child in _children(plans):
                child.future = pool.submit(child.run)
            for number, (call, plan) in enumerate(zip(calls, plans), 1):
                report = self._report(plan, chars, step)
                if number == len(calls):  # none is still at work
                    report = partial(guard.reporting, before, report, "children_changed")
                answer(tools.result_of(call, report))
        finally:
            self._end_all(plans, pool, step)

    def _end_all(self, plans: Sequence[Child | ToolError], pool: ThreadPoolExecutor,
                 step: int) -> None:
        """End all processes and threads, and record the end of each child."""
        for child in _children(plans):
            child.process.end()
        pool.shutdown(cancel_futures=True)
        for child in _children(plans):
            if not child.ended:  # we were interrupted
                self._end(child, Ending("killed"), step)

    def _globs(self) -> list[str]:
        return [pin.protect for pin in self.parent.pins() if pin.protect]

    def _orders(self, tools: ToolBox, calls: Sequence[Call]) -> list[Order | ToolError]:
        """The order for each call, with its share of the token budget, or why there is none."""
        found = [self._order(tools, call) for call in calls]
        texts = self.parent.workspace.texts
        for at, other, path in clashes([order if isinstance(order, Order) else None
                                        for order in found]):
            found[at] = ToolError("WRITE_CONFLICT", texts("WRITE_CONFLICT", path=path,
                                                          other=other + 1))
        for at in range(self.limits.batch, len(found)):
            found[at] = ToolError("TOO_MANY_CHILDREN", texts(
                "TOO_MANY_CHILDREN", limit=self.limits.batch, number=at + 1))
        children = sum(isinstance(order, Order) for order in found)
        return [replace(order, tokens=self.token_budget.share(order.tokens, children))
                if isinstance(order, Order) else order for order in found]

    def _order(self, tools: ToolBox, call: Call) -> Order | ToolError:
        try:
            _, arguments = tools.checked(call)
            return make_order(arguments, self._tools, self.parent.may_write, self.limits,
                              self.parent.workspace)
        except ToolError as error:
            return error

    def _begin(self, call: Call, order: Order, step: int) -> Child | ToolError:
        """A child, recorded and ready to start; or the error if its trace cannot be written."""
        trace = child_trace(self.parent.folder, self.count + 1)
        try:
            make_private(self.parent.folder)
            make_private(trace.parent)
            trace.unlink(missing_ok=True)  # left by an earlier run of the same name
            shutil.rmtree(trace_folder(trace), ignore_errors=True)
        except OSError as error:
            return ToolError("CHILD_CRASHED", self.parent.workspace.texts(
                "child_no_place", reason=error.strerror))
        self.count += 1
        self.token_budget.spent += order.tokens
        self.tracer.event(
            "subagent_start", step=step, id=call["id"], child=self.count,
            trace=trace.relative_to(self.parent.folder).as_posix(), tools=list(order.tools),
            writes=list(order.writes), pins=len(self.parent.handed_on()),
            budget={"steps": order.steps, "tokens": order.tokens, "seconds": order.seconds})
        return Child(self.count, call, order,
                     ChildProcess(self.command, child_environment(os.environ)),
                     request_line(self.parent, self.count, call, order, trace,
                                  self.limits.depth - 1), self.parent.workspace.texts)

    def _report(self, plan: Child | ToolError, chars: int, step: int) -> Callable[[], str]:
        """Wait for the child of a call; returns the function that makes the result of the call."""
        if isinstance(plan, ToolError):
            return partial(_refuse, plan)
        assert plan.future is not None
        with self.waiting:
            ending = plan.future.result()
        ending = self._end(plan, ending, step)
        return lambda: self._told_to_model(plan, ending, chars)

    def _end(self, child: Child, ending: Ending, step: int) -> Ending:
        """Record the ending, and return it with its numbers."""
        child.ended = True
        if self.token_budget.limit is not None:
            with suppress(MiniAgentError, OSError):  # what cannot be counted counts as sent
                sent = sent_by_family(child_trace(self.parent.folder, child.number))
                self.token_budget.spent -= max(0, child.order.tokens - sent)
        return record_end(self.tracer, self.parent.folder, step, child.call["id"], child.number,
                          ending)

    def _told_to_model(self, child: Child, ending: Ending, limit: int) -> str:
        """What the parent's model is told; `ToolError` for any ending but a success."""
        texts = self.parent.workspace.texts
        report, _ = first_lines(ending.text, limit)
        cut = "" if len(report) == ending.chars else texts(
            "child_cut", kept=len(report), chars=ending.chars)
        has_log = is_log(child_trace(self.parent.folder, child.number))
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


def _children(plans: Sequence[Child | ToolError]) -> Iterator[Child]:
    return (plan for plan in plans if isinstance(plan, Child))


def _refuse(error: ToolError) -> str:
    raise error


def subagent_tools(parent: Parent, tracer: Tracer, limits: ChildLimits, **more: Any) -> list[Tool]:
    """The tools of an agent that may start sub-agents; `more` are fields of `DelegateTool`."""
    tool = DelegateTool(parent, tracer, limits, **more)
    return [tool, read_child_tool(parent.folder, lambda: tool.count, parent.workspace.texts,
                                  page_chars(parent.window))]
