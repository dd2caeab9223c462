"""Milestone 5: the trace is the session.

A session with a person is begun, or resumed from its records. Both stand on the
same parts (`assembly.py`); what they know at any moment is a fold over the records: the window's
state (`compression/state.py`) and the `Meter`. A resumed session sends the request that
the last whole record determines. Workspace, model and limits are options of whoever
resumes, and are in no record. What is left out: the person (`chat/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .assembly import AgentBuilder, Setup
from .audit import Line, audit
from .compression.drop import stored
from .compression.policies import Policy
from .compression.state import WindowState
from .errors import TraceError, UsageError
from .governance import Governance, governed_by, recorded_governance, with_room
from .held import own_evidence
from .loop import Outcome
from .messages import open_calls, system
from .meter import Meter
from .models.base import ParentModel
from .subagents.endings import Ending
from .subagents.traces import record_end
from .texts import Texts, language_of, recorded_language
from .tokens import estimator
from .trace import FORMAT, Record, TraceFile, Tracer, read_trace, trace_folder


class Session:
    """An agent with a window, whose records are kept. See `begin` and `resume`."""

    def __init__(self, setup: Setup, file: TraceFile, governance: Governance, texts: Texts,
                 meter: Meter, state: WindowState) -> None:
        self.texts, self.meter, self.path = texts, meter, file.path
        self._said: list[str] = []
        self._typed = setup.incoming
        self.tracer = Tracer(file, meter, *setup.sinks, seq=meter.records,
                             held=setup.interrupts.held)
        self._builder = AgentBuilder(
            replace(setup, incoming=self._incoming), texts, self.tracer, file.path.stem,
            history=[*state.history], folder=trace_folder(file.path))
        self.model = self._builder.model
        self.agent = self._builder.agent(governance, state, meter.children)
        assert self._builder.window is not None  # something governs
        self.window = self._builder.window
        self.agent.step = max(meter.reached, meter.answered + 1)

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

    def restore(self, records: Sequence[Record]) -> None:
        """Put into the store what it had according to these records, whatever is in its file."""
        self._builder.store.restore(stored(records, self._builder.history))

    def _incoming(self) -> list[str]:
        said, self._said = self._said, []
        return [*said, *self._typed()]

    def use(self, policy: Policy, window: int | None) -> None:
        """From now on govern by another policy, or for another window in tokens.

        The tools are those that the new policy needs, so that what it puts away can be read.
        """
        policy = with_room(policy, window)
        governance = governed_by(policy, window, self.window.state.estimate.name)
        tools = self._builder.tools(governance, self.meter.children)
        self.window.use(policy, governance.budget, self.step, tools.declarations(),
                        policy=governance.settings)
        self.agent.tools = tools

    def use_model(self, model: ParentModel, name: str) -> None:
        """Ask another model from now on."""
        self.window.note(self.step, model=name)
        self.model.model = model

    def finish(self, outcome: Outcome) -> Outcome:
        """The session ends here, with what its last turn came to.

        If anything was compressed, what that cost in evidence is recorded.
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
    """A new session, in the language of what was `said` first; that is not in it yet.

    Raises `UsageError` where the workspace is not a folder, `TraceError` where nothing
    can be written.
    """
    texts = Texts(language_of(said))
    state = WindowState(estimator(governance.estimator), texts)
    session = Session(setup, file, governance, texts, Meter(), state)
    session.tracer.event("run_start", format=FORMAT, task="chat", **governance.as_recorded())
    session.agent.say(system(texts("live_system")))
    return session


def resume(setup: Setup, file: TraceFile) -> Session:
    """The session of a trace, as its last whole record left it.

    `file` is open, and so ours alone; a broken last line is cut off. A call that had
    begun gets a result that says so, and is not run again. Raises `UsageError` for a trace
    that holds no session, `TraceError` with its line for one that contradicts itself.
    """
    trace = read_trace(file.path)
    meter, state, governance = fold(trace.records, str(file.path))
    file.cut(trace.size)
    session = Session(setup, file, governance, state.pins.texts, meter, state)
    session.restore(trace.records)
    session.tracer.event("resume", step=session.agent.step)
    if not session.agent.history:  # it was killed before anything was said
        session.agent.say(system(session.texts("live_system")))
    for child in [*meter.at_work.values()]:  # they ended with the program
        record_end(session.tracer, trace_folder(file.path), child["step"], child["id"],
                   child["child"], Ending("killed"))
    if open_calls(session.agent.history):
        session.agent.step = meter.answered
        session.agent.close_calls("cut_off")
        session.agent.step += 1
    return session


def fold(records: Sequence[Record], place: str) -> tuple[Meter, WindowState, Governance]:
    """What the records of a session add up to: what it used, the state of its window, and what
    governs it. Raises what `resume` does."""
    start = records[0].get("payload", {}) if records else {}
    if start.get("format") != FORMAT:
        raise UsageError(f"this is not a session of format {FORMAT}", place=place,
                         remedy="name a trace that a session has written")
    lines = [Line(*pair) for pair in enumerate(records, 1)]
    for line, kind, fault in audit(lines, goes_on=True):
        if kind != "transcript":
            raise TraceError(f"the trace contradicts itself: {fault} ({kind})", value=line,
                             place=f"{place}:{line}", remedy="the lines before it can be resumed "
                             "from a copy")
    governance = recorded_governance(start, f"{place}:1")
    meter = Meter()
    state = WindowState(estimator(governance.estimator), Texts(recorded_language(records)))
    for record in records:
        state.fold(record)
        meter(record)
    if "policy" in state.settings:
        governance = recorded_governance({**start, "policy": state.settings["policy"]}, place)
    return meter, state, governance
