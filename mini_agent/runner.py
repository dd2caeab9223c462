"""Milestone 1: from a task file to a finished run.

The one place where the parts are put together: model, tools, tracer and, where
the task names a threshold, a window. The command line and the drivers in
`scripts/` differ only in what they hand in and what they print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .compression.inputs import DESCRIBE, DescribeTool
from .compression.marks import marked, marked_globs, marked_pins
from .compression.pin_tools import PinTool, StageDoneTool
from .compression.pinning import too_large
from .compression.pins import Pin, Pins
from .compression.policies import tools_of
from .compression.store import MemoryShelf, RunShelf
from .compression.token_limit import TokenLimit
from .compression.tools import Finder, reading_tools
from .compression.window import ContextWindow
from .errors import UsageError
from .governance import Governance
from .interrupts import Interrupts
from .loop import MAX_STEPS, Agent, Outcome
from .messages import Message
from .models.base import ParentModel
from .models.scripted import ScriptedModel
from .subagents.orders import Limits
from .tasks import Task
from .texts import Texts
from .tokens import estimator
from .tools import NAMES, standard_tools
from .tools.base import Permit, Tool, ToolBox
from .tools.guard import Grant, Guard, own_paths
from .tools.workspace import Workspace
from .trace import FORMAT, Sink, Tracer
from .waiting import WaitingModel, WaitingTools


def run_task(task: Task, workspace: Path, sinks: Sequence[Sink], *,
             governance: Governance | None = None, extra_tools: Sequence[Tool] = (),
             max_steps: int = MAX_STEPS, folder: Path | None = None,
             model: ParentModel | None = None, limits: Limits | None = None,
             grant: Grant | None = None, max_tokens: int | None = None,
             interrupts: Interrupts | None = None) -> Outcome:
    """Run a task in `workspace` from `run_start` to `run_end`.

    `folder` is the run's own, for what leaves the window; without one it is kept in
    memory. `model` is another than the task's script; with `limits` and a folder it may
    start sub-agents; `grant` and `max_tokens` (of all requests) are what a sub-agent
    itself was given. `interrupts`, if they are taken over, come only where something is
    waited for. Raises `UsageError` where the workspace is no folder.
    """
    texts = Texts(task.language)
    place = Workspace(workspace, texts)
    history: list[Message] = []
    shelf = MemoryShelf() if folder is None else RunShelf(folder)
    window: ContextWindow | None = None
    kept = interrupts or Interrupts()
    tracer = Tracer(*sinks, whole=kept.held)
    start: dict[str, Any] = {"format": FORMAT, "task": task.name}
    if governance is not None:
        start |= {"policy": governance.settings, "estimator": governance.estimator}
    model = WaitingModel(model or ScriptedModel(task.replies, task.summaries, texts), kept)
    given = grant or Grant(NAMES)
    standard = standard_tools(place, names=given.tools, own_session=grant is None)
    if limits is not None and folder is not None:
        from .subagents.crew import crew_tools  # only who has sub-agents waits for it
        from .subagents.starting import Home

        names = [tool.name for tool in standard]
        home = Home(place, folder, start, names, given.writes, lambda: (
            marked_pins(history) if window is None else window.pins.pins), model.for_child)
        extra_tools = [*extra_tools, *crew_tools(home, tracer, limits, waiting=kept.waiting)]
    tools = make_tools(place, standard, extra_tools, history, governance, shelf, lambda: window,
                       grant=given, folder=folder)
    if governance is not None:
        window = ContextWindow(governance.policy, governance.budget,
                               estimator(governance.estimator), model, tracer, texts,
                               tools.declarations(), shelf=shelf)
    bounded = window if window is None or max_tokens is None else (
        TokenLimit(window, max_tokens, texts))
    agent = Agent(model, WaitingTools(tools, kept), tracer, window=bounded, texts=texts,
                  max_steps=max_steps, history=history)
    return agent.run(task.system, "\n".join([task.task, *_marks(task, governance)]), start)


def _marks(task: Task, governance: Governance | None) -> Iterator[str]:
    """The pins of a task file as marks, which stand under the task. `UsageError` for too many."""
    set_so_far = Pins((), Texts(task.language))
    for number, pin in enumerate(task.pins):
        mark = marked(**pin)
        made = Pin(1, **pin)
        if governance is not None and (problem := too_large(
                made, set_so_far, estimator(governance.estimator), governance.budget.window)):
            raise UsageError(f"there is no room for this pin: {problem}", value=made.text,
                             place=f"{task.place}: pins[{number}]",
                             remedy="pin less, or give a larger window")
        set_so_far = replace(set_so_far, pins=(*set_so_far.pins, made))
        yield mark


def make_tools(workspace: Workspace, standard: Sequence[Tool], extra: Sequence[Tool],
               history: Sequence[Message], governance: Governance | None, shelf: Finder,
               window: Callable[[], ContextWindow | None], *, folder: Path | None,
               permit: Permit | None = None, grant: Grant = Grant(NAMES)) -> ToolBox:
    """The tools of a session: the `standard` ones, those of its policy, and `extra`.

    `history` is the live one. `window` gives the session's, which is made after its
    tools, since it counts them. What pins protect is protected without one as well.
    `permit` is asked behind the guard of what is pinned. A sub-agent may write what
    `grant` gives it. `folder` is the run's own, which no tool may write to.
    """
    texts = workspace.texts

    def globs() -> list[str]:
        governed = window()
        own = marked_globs(history) if governed is None else governed.pins.globs()
        return [*own, *grant.protect]

    guard = Guard(globs, workspace, grant.writes, own_paths(folder, workspace.root))
    tools = [guard.watched(tool) if tool.name == "run_command" else tool for tool in standard]
    if governance is not None:
        tools += reading_tools(tools_of(governance.policy), history, shelf, texts,
                               governance.budget.window)
        if governance.policy.ladder:
            tools.append(PinTool(window, history, texts))
        if governance.policy.stages:
            tools.append(StageDoneTool(window, history, texts))
    tools += extra
    if governance is not None and DESCRIBE in tools_of(governance.policy):
        tools.append(DescribeTool(ToolBox(tools, texts).declarations(), texts))

    def may(tool: Tool, arguments: dict[str, Any]) -> None:
        guard(tool, arguments)
        if permit is not None:
            permit(tool, arguments)

    return ToolBox(tools, texts, permit=may, scrub=workspace.scrub)
