"""Milestone 1: puts an agent together, for a task file and for a person alike.

`Setup` is what others give it, `Grant` what it may do. From both `AgentBuilder` makes the
model and the tools that are waited for, the store and the window that the tools look into,
and the agent. What is left out: running it, for a task (`runner.py`) or in a conversation
(`session.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .compression.inputs import DESCRIBE, describe_tool
from .compression.pin_tools import pin_tool, stage_done_tool
from .compression.pins import Pin, marked_pins
from .compression.policies import tools_of
from .compression.resources import Resources
from .compression.state import WindowState
from .compression.store import FolderStore, MemoryStore
from .compression.token_budget import TokenBudget
from .compression.tools import reading_tools
from .compression.window import ContextWindow
from .governance import Governance
from .interrupts import Interrupts
from .loop import MAX_STEPS, Agent
from .messages import Message
from .models.base import ParentModel
from .subagents.orders import ChildLimits
from .texts import Texts
from .tokens import estimator
from .tools import NAMES, standard_tools
from .tools.base import Permit, Tool, ToolBox
from .tools.guard import Guard, own_paths
from .tools.workspace import Workspace
from .trace import Sink, Tracer
from .waiting import WaitingModel, WaitingTools


@dataclass(frozen=True)
class Grant:
    """What an agent may do; a sub-agent is given a part of it.

    `tools` by name; with `shell` a command may ask for one. `writes` are the paths from the
    root that it may write, None for all; `protect` are globs that it may not. It takes at
    most `steps` and sends at most `tokens`, sub-agents included; None for any number.
    `children` limits the sub-agents that it may start, None for none; they need a folder.
    The commands of a sub-agent itself (`is_child`) end with it.
    """

    tools: Sequence[str] = NAMES
    shell: bool = False
    writes: Sequence[str] | None = None
    protect: Sequence[str] = ()
    steps: int = MAX_STEPS
    tokens: int | None = None
    children: ChildLimits | None = None
    is_child: bool = False


@dataclass(frozen=True)
class Setup:
    """What an agent runs on, and who looks on.

    `sinks` take the records, `extra` are tools after its own. `permit` is asked before a
    tool runs, `incoming` gives what a user has typed since the last time. `interrupts`, if
    they are taken over, come only where something is waited for.
    """

    workspace: Path
    model: ParentModel
    grant: Grant = Grant()
    sinks: Sequence[Sink] = ()
    extra: Sequence[Tool] = ()
    permit: Permit | None = None
    incoming: Callable[[], Iterable[str]] = tuple
    interrupts: Interrupts = field(default_factory=Interrupts)


class AgentBuilder:
    """Makes one agent and has its parts. Raises `UsageError` where its workspace is not a folder.

    `name` is that of the run, for its sub-agents. `history` is the live one. What leaves the
    window is kept in `folder`, the run's own, which no tool may write to; without one, in
    memory. `window` is None before `agent` was called, and where nothing governs.
    """

    def __init__(self, setup: Setup, texts: Texts, tracer: Tracer, name: str, *,
                 history: list[Message], folder: Path | None) -> None:
        self.setup, self.texts, self.tracer, self.name = setup, texts, tracer, name
        self.history, self.folder = history, folder
        self.workspace = Workspace(setup.workspace, texts)
        self.model = WaitingModel(setup.model, setup.interrupts)
        self.store = MemoryStore() if folder is None else FolderStore(folder)
        self.window: ContextWindow | None = None
        self.token_budget = TokenBudget(setup.grant.tokens, texts)

    def tools(self, governance: Governance | None, started: int = 0) -> WaitingTools:
        """The tools: its own, those that the texts of its policy mention, and the extra ones.

        `started` is how many sub-agents there have been so far.
        """
        grant = self.setup.grant
        guard = Guard(self._globs, self.workspace, grant.writes,
                      own_paths(self.folder, self.workspace.root))
        tools = standard_tools(self.workspace, names=grant.tools, allow_shell=grant.shell,
                               own_session=not grant.is_child, watch=guard.watched)
        own = [tool.name for tool in tools]
        tools += [*self._window_tools(governance), *self.setup.extra,
                  *self._subagent_tools(own, governance, started)]
        if governance is not None and DESCRIBE in tools_of(governance.policy):
            tools.append(describe_tool(ToolBox(tools, self.texts).declarations(), self.texts))

        def may(tool: Tool, arguments: dict[str, Any]) -> None:
            guard(tool, arguments)
            if self.setup.permit is not None:
                self.setup.permit(tool, arguments)

        box = ToolBox(tools, self.texts, permit=may, scrub=self.workspace.scrub)
        return WaitingTools(box, self.setup.interrupts)

    def agent(self, governance: Governance | None, state: WindowState | None = None,
              started: int = 0) -> Agent:
        """The agent itself: its tools, then the window that counts them, if something governs.

        `state` is as records left it, new without any; `started`: see `tools`.
        """
        tools = self.tools(governance, started)
        if governance is not None:
            state = state or WindowState(estimator(governance.estimator), self.texts)
            self.window = ContextWindow(governance.policy, governance.budget, state,
                                        Resources(self.model, self.tracer, self.store),
                                        tools.declarations())
        return Agent(self.model, tools, self.tracer, window=self.window, pay=self.token_budget.pay,
                     texts=self.texts, max_steps=self.setup.grant.steps, history=self.history,
                     incoming=self.setup.incoming)

    def _window_tools(self, governance: Governance | None) -> list[Tool]:
        """The tools over history, store and window that a policy needs."""
        if governance is None:
            return []
        policy = governance.policy
        tools = reading_tools(tools_of(policy), self.history, self.store, self.texts,
                              governance.budget.window)
        if policy.ladder:
            tools.append(pin_tool(lambda: self.window, self.history, self.texts))
        if policy.stages:
            tools.append(stage_done_tool(lambda: self.window, self.history, self.texts))
        return tools

    def _subagent_tools(self, own: Sequence[str], governance: Governance | None,
                        started: int) -> list[Tool]:
        """The tools over sub-agents, if there may be any.

        Nobody sees the commands of a sub-agent before they run, so it cannot be given
        `run_command` where a person is asked.
        """
        setup = self.setup
        if setup.grant.children is None or self.folder is None:
            return []
        from .subagents.delegate import subagent_tools  # only those with sub-agents wait for it
        from .subagents.starting import Parent

        given = [name for name in own if name != "run_command" or setup.permit is None]
        start = {"task": self.name, **({} if governance is None else governance.as_recorded())}
        parent = Parent(self.workspace, self.folder, start, given, setup.grant.writes, self._pins,
                        self.model.for_child)
        return subagent_tools(parent, self.tracer, setup.grant.children, count=started,
                              waiting=setup.interrupts.waiting, token_budget=self.token_budget)

    def _pins(self) -> Sequence[Pin]:
        """The pins that hold now; without a window, what is marked in the history."""
        return marked_pins(self.history) if self.window is None else self.window.pins.pins

    def _globs(self) -> list[str]:
        """What may not be written, each glob once."""
        own = (pin.protect for pin in self._pins() if pin.protect)
        return [*dict.fromkeys((*own, *self.setup.grant.protect))]
