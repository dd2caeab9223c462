"""Milestone 5: the trace is the session.

A session with a person is begun, or taken up again from its records. Both put together
the same parts; what they know at any moment is a fold over the records: the window's
state (`compression/state.py`) and the `Meter`. Whoever resumes sends the request that
the last whole record determines. Workspace, model and limits are options of the one who
resumes, and stand in no record. What is left out: the person (`chat/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .audit import Line, audit
from .compression.policies import Policy
from .compression.state import WindowState
from .compression.store import RunShelf
from .compression.window import ContextWindow
from .errors import TraceError, UsageError
from .governance import Governance, governed_by, recorded, with_room
from .hindsight import own_evidence
from .interrupts import Interrupts
from .loop import MAX_STEPS, Agent, Outcome
from .messages import Message, open_calls, system
from .meter import Meter
from .models.base import ParentModel
from .runner import make_tools
from .subagents.endings import Ending
from .subagents.orders import Limits
from .subagents.trails import counted, record_end
from .texts import Texts, language_of, session_language
from .tokens import estimator
from .tools import NAMES, READERS, standard_tools
from .tools.base import Permit, Tool, ToolBox
from .tools.workspace import Workspace
from .trace import FORMAT, Record, Sink, TraceFile, Tracer, read_trace, trace_folder
from .waiting import WaitingModel, WaitingTools



@dataclass(frozen=True)
class Setup:
    """What a session runs on, and who looks on.

    `incoming` gives what the user has typed since it was asked last, `permit` is asked
    before a tool runs. `read_only`: tools that write or run something are left out. With
    `limits` the model may start sub-agents.
    """

    workspace: Path
    model: ParentModel
    interrupts: Interrupts = field(default_factory=Interrupts)
    permit: Permit | None = None
    incoming: Callable[[], Iterable[str]] = tuple
    sinks: tuple[Sink, ...] = ()
    extra: tuple[Tool, ...] = ()
    read_only: bool = False
    limits: Limits | None = None
    max_steps: int = MAX_STEPS


class Session:
    """An agent with a window, whose records are kept. See `begin` and `resume`."""

    def __init__(self, setup: Setup, file: TraceFile, governance: Governance, texts: Texts,
                 meter: Meter, state: WindowState, fresh: bool) -> None:
        self.texts, self.meter, self.path = texts, meter, file.path
        self.model = WaitingModel(setup.model, setup.interrupts)
        self.tracer = Tracer(file, meter, *setup.sinks, seq=meter.records,
                             whole=setup.interrupts.held)
        self._said: list[str] = []
        self._setup, self._shelf = setup, RunShelf(trace_folder(file.path), fresh)
        history = [*state.history]
        tools = self._tools(governance, history)
        self.window = ContextWindow(governance.policy, governance.budget, state.estimate,
                                    self.model, self.tracer, texts, tools.declarations(),
                                    shelf=self._shelf, state=state)
        self.agent = Agent(self.model, WaitingTools(tools, setup.interrupts), self.tracer,
                           window=self.window, texts=texts, max_steps=setup.max_steps,
                           history=history, incoming=self._incoming)
        self.agent.step = meter.answered + 1

    def _tools(self, governance: Governance, history: list[Message]) -> ToolBox:
        """All tools of the session, those that the texts of its policy speak of among them."""
        setup = self._setup
        workspace = Workspace(setup.workspace, self.texts)
        standard = standard_tools(workspace, names=READERS if setup.read_only else NAMES,
                                  allow_shell=True)
        extra = [*setup.extra, *self._crew(workspace, governance, standard)]
        return make_tools(workspace, standard, extra, history, governance, self._shelf,
                          lambda: self.window, folder=trace_folder(self.path),
                          permit=setup.permit)

    def _crew(self, workspace: Workspace, governance: Governance,
              tools: Sequence[Tool]) -> list[Tool]:
        """The tools over sub-agents, if there may be any.

        Nobody sees the commands of a sub-agent before they run, so it cannot be given
        `run_command` where a person is asked.
        """
        setup = self._setup
        if setup.limits is None:
            return []
        from .subagents.crew import crew_tools  # only who has sub-agents waits for it
        from .subagents.starting import Home

        names = [tool.name for tool in tools if tool.name != "run_command" or setup.permit is None]
        start = {"task": self.path.stem, "policy": governance.settings,
                 "estimator": governance.estimator}
        home = Home(workspace, trace_folder(self.path), start, names, None,
                    lambda: self.window.pins.pins, self.model.for_child)
        return crew_tools(home, self.tracer, setup.limits, count=self.meter.children,
                          waiting=setup.interrupts.waiting)

    @property
    def due(self) -> bool:
        """Whether it is the model's turn to speak."""
        return self.agent.history[-1]["role"] in ("user", "tool")

    @property
    def step(self) -> int:
        """The step that comes next."""
        return max(self.agent.step, self.meter.answered + 1)

    def turn(self, *said: str) -> Outcome:
        """What the user says, and all steps that follow; how they ended."""
        self.agent.step = self.step
        self._said += said
        return self.agent.turn()

    def _incoming(self) -> list[str]:
        said, self._said = self._said, []
        return [*said, *self._setup.incoming()]

    def use(self, policy: Policy, window: int | None) -> None:
        """Govern by another policy, or for another window in tokens, from now on.

        The tools are those that the new policy needs: what it puts away can be had back.
        """
        policy = with_room(policy, window)
        governance = governed_by(policy, window, self.window.state.estimate.name)
        tools = self._tools(governance, self.agent.history)
        self.window.use(policy, governance.budget, self.step, tools.declarations(),
                        policy=governance.settings)
        self.agent.tools = WaitingTools(tools, self._setup.interrupts)

    def use_model(self, model: ParentModel, name: str) -> None:
        """Ask another model from now on."""
        self.window.note(self.step, model=name)
        self.model.model = model

    def finish(self, outcome: Outcome) -> Outcome:
        """The session ends here, with what its last turn came to.

        Where something was compressed, it is recorded what that has cost in evidence.
        """
        try:
            self._look_back()
        except TraceError as error:
            outcome = Outcome(error.reason, detail=str(error))
        return self.agent.finish(outcome)

    def _look_back(self) -> None:
        records = read_trace(self.path).records
        if any(record.get("event") == "context_compression" for record in records):
            state = WindowState(self.window.state.estimate, self.texts)
            self.tracer.event("evidence", **own_evidence(records, state))


def begin(setup: Setup, file: TraceFile, governance: Governance, said: str) -> Session:
    """A new session in the language of what was `said` first, which is not in it yet.

    Raises `UsageError` where the workspace is no folder, `TraceError` where nothing
    can be written.
    """
    texts = Texts(language_of(said))
    state = WindowState(estimator(governance.estimator), texts)
    session = Session(setup, file, governance, texts, Meter(), state, fresh=True)
    session.tracer.event("run_start", format=FORMAT, task="chat", policy=governance.settings,
                         estimator=governance.estimator)
    session.agent.say(system(texts("live_system")))
    return session


def resume(setup: Setup, file: TraceFile) -> Session:
    """The session of a trace, as its last whole record left it.

    `file` is open, and so ours alone; a broken last line is cut off. A call that had
    begun gets a result that says so, and is not run again. Raises `UsageError` for a trace
    that holds no session, `TraceError` with its line for one whose records are not true.
    """
    trace = read_trace(file.path)
    meter, state, governance = fold(trace.records, str(file.path))
    file.cut(trace.size)
    session = Session(setup, file, governance, state.pins.texts, meter, state, fresh=False)
    session.tracer.event("resume", step=session.agent.step)
    if not session.agent.history:  # it was killed before it had begun to speak
        session.agent.say(system(session.texts("live_system")))
    for child in [*meter.at_work.values()]:  # they ended with the program
        ending = counted(Ending("killed"), trace_folder(file.path), child["child"])
        record_end(session.tracer, child["step"], child["id"], child["child"], ending)
    if open_calls(session.agent.history):
        session.agent.step = meter.answered
        session.agent.close_calls("cut_off")
        session.agent.step += 1
    return session


def fold(records: Sequence[Record], place: str) -> tuple[Meter, WindowState, Governance]:
    """What the records of a session come to. Raises as `resume` does."""
    start = records[0].get("payload", {}) if records else {}
    if start.get("format") != FORMAT:
        raise UsageError(f"this is no session of format {FORMAT}", place=place,
                         remedy="name a trace that a session has written")
    lines = [Line(*pair) for pair in enumerate(records, 1)]
    for line, kind, fault in audit(lines, goes_on=True):
        if kind != "transcript":
            raise TraceError(f"the records are not true: {fault} ({kind})", value=line,
                             place=f"{place}:{line}", remedy="the lines before it can be resumed "
                             "from a copy")
    governance = recorded(start, f"{place}:1")
    language = session_language(record["message"] for record in records
                                if record["type"] == "message")
    meter = Meter()
    state = WindowState(estimator(governance.estimator), Texts(language))
    for record in records:
        state.fold(record)
        meter(record)
    if "policy" in state.settings:
        governance = recorded({**start, "policy": state.settings["policy"]}, place)
    return meter, state, governance
