"""Milestone 6: a recorded session, played again under many policies in one pass.

The messages stay as they were recorded; before each model call the policy changes the view.
On another view the model might have acted differently, so the result says what a policy
costs and what it takes away, not how the run would have ended. A step whose view is over the
hard limit is counted and the replay goes on, though the run would have died there. Summaries
are written by the scripted model, which only quotes.

All policies go through the history together: each `Trial` has a `Walk`, `replay` hands each
step to each walk, and the walk describes it to the observers of its trial (`Moment`). What is
left out: the observers (`measures.py`, `facts.py`, `pagedata.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ..compression.index import HistoryIndex
from ..compression.laws import faults
from ..compression.pins import Pin
from ..compression.policies import Policy, budget_of
from ..compression.resources import Resources
from ..compression.state import WindowState
from ..compression.view import Change, Entry, View, first_touched, same_prefix
from ..compression.window import ContextWindow
from ..errors import ContextOverflowError
from ..messages import Message
from ..models.scripted import ScriptedModel
from ..trace import Record, Tracer
from .recording import Recording
from .sessions.base import Act


class Moment(NamedTuple):
    """One step of one trial, just before the model call.

    `at` is the history index of the first message of the call. `arrived` are the entries of
    the messages that came in since the last step; `gone` and `made` are the entries that the
    changes of this step took out of the view (arrivals included) and put in. Tokens: `sent`
    of the view, `prefix` of its leading entries that the last step sent too, `before` of all
    that the last step sent. `over`: the view is over the window. `broken` are the faults that
    the changes made against the laws.
    """

    step: int
    at: int
    view: View
    arrived: Sequence[Entry]
    gone: Sequence[Entry]
    made: Sequence[Entry]
    sent: int
    prefix: int
    before: int
    over: bool
    records: Sequence[Record]
    broken: Sequence[tuple[int, str]]


Observer = Callable[[Moment], None]

# The tools with which an agent under these policies would follow a handle. Logs do not hold
# the declarations of the recorded agent's own tools, so declarations are not counted here.
TOOLS = ({"name": "read_result"}, {"name": "recall"})


class NoStore:
    """Keeps nothing: whatever a strategy hands it is in the history anyway."""

    def put(self, index: int, text: str) -> None:
        """Nothing to keep."""

    def unknown(self, indexes: Iterable[int]) -> list[int]:
        """[]: the history has them all."""
        return []

    def remember(self, texts: Mapping[int, str]) -> None:
        """Nothing to keep."""


class Trial:
    """One policy at one window over one session; `observers` are told about each step."""

    def __init__(self, recording: Recording, policy: Policy, window: int,
                 observers: Sequence[Observer]) -> None:
        self.recording, self.policy, self.window = recording, policy, window
        self.budget = budget_of(policy, None if policy.name == "none" else window)
        self.observers = list(observers)


class Walk:
    """One trial on its way through the history, step by step; all trials share the `index` of
    the history."""

    def __init__(self, trial: Trial, index: HistoryIndex) -> None:
        self._trial = trial
        self._records: list[Record] = []
        self._broken: list[tuple[int, str]] = []
        self._gone: dict[int, Entry] = {}  # by id, as `_made`
        self._made: dict[int, Entry] = {}
        self._length = self._tokens = 0  # entries and tokens that the last step sent
        self._touched = 0                # the first of these entries that a change has touched
        texts, estimate = trial.recording.texts, trial.recording.estimate
        state, tracer = WindowState(estimate, texts), Tracer()
        if trial.observers:
            state, tracer = WindowState(estimate, texts, self._changed), Tracer(self._note)
        self._acts = deque(trial.recording.acts)
        resources = Resources(ScriptedModel([], (), texts), tracer, NoStore(), index)
        self._window = ContextWindow(trial.policy, trial.budget, state, resources, TOOLS)

    def step(self, step: int, at: int, history: Sequence[Message]) -> None:
        """Govern the view before the call at history index `at`, and tell the observers."""
        before = self._window.view
        over = False
        while self._acts and self._acts[0].at <= at:
            self._act(self._acts.popleft(), step, history)
        try:
            self._window.make_ready(history, step)
        except ContextOverflowError:
            over = True
        if self._trial.observers:
            self._tell(step, at, before, over)

    def _act(self, act: Act, step: int, history: Sequence[Message]) -> None:
        """End a stage, or set a pin, as it was done in the recorded run."""
        payload = act.payload
        self._window.take_in(history[:act.at])
        if act.event == "stage":
            self._window.stage_done(history[:act.at], payload["name"], step)
        else:
            pin = Pin(payload["index"], payload["text"], payload["kind"], payload["protect"])
            self._window.pin(pin, step, payload["by"])

    def _tell(self, step: int, at: int, before: View, over: bool) -> None:
        """Tell the observers about a step that began with the view `before`."""
        after = self._window.view
        moment = Moment(
            step=step, at=at, view=after, arrived=before.entries[self._length:],
            gone=list(self._gone.values()), made=list(self._made.values()),
            sent=after.tokens, before=self._tokens,
            prefix=self._tokens if after is before else self._prefix(before, after),
            over=over or after.tokens > self._trial.window,
            records=self._records, broken=self._broken)
        for observe in self._trial.observers:
            observe(moment)
        self._length = self._touched = len(after)
        self._tokens = after.tokens
        self._records, self._broken, self._gone, self._made = [], [], {}, {}

    def _prefix(self, before: View, after: View) -> int:
        """Tokens of the leading entries that the last step sent too: untouched since, or equal."""
        start = self._touched
        return after.tokens_before(start) + same_prefix(
            islice(before.entries, start, self._length), islice(after.entries, start, None))

    def _note(self, record: Record) -> None:
        self._records.append(record)

    def _changed(self, before: View, change: Change, after: View) -> None:
        """Note what a change does to the view, and the laws it breaks if its policy breaks any."""
        self._touched = min(self._touched, first_touched(change))
        gone = {id(entry): entry for entry in before.at(change.affected)}
        made = {id(entry): entry for _, entry in change.inserts}
        for old, new in ((self._made, gone), (self._gone, made)):
            for key in old.keys() & new.keys():  # what came and went within one step is not told
                del old[key], new[key]
        self._gone |= gone
        self._made |= made
        if self._trial.policy.breaks:
            self._broken.extend(faults(before, after, change, self._window.protection()))


def replay(recording: Recording, trials: Sequence[Trial],
           progress: Callable[[int], Any] = lambda _: None) -> None:
    """Walk once through the history, every trial with it.

    `progress` gets the history index that the walk has reached, at each step.
    """
    history: list[Message] = []
    index = HistoryIndex(history)
    walks = [Walk(trial, index) for trial in trials]
    for step, call in enumerate(recording.calls):
        history.extend(recording.messages[len(history):call.start])
        for walk in walks:
            walk.step(step, call.start, history)
        progress(call.start)
