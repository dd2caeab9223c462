"""Milestone 3: all that a window knows, as a fold over the records of its session.

The live window decides, writes a record, and learns what it knows by folding that
record like any other reader of the trace; so `resume`, `check` and the lab end up
with the same state, byte for byte. What this module leaves out: every decision
(`window.py`, `ladder.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..errors import TraceError
from ..lint import malformed
from ..messages import Message, open_calls
from ..texts import Texts
from ..tokens import Estimator
from ..trace import Record
from .attempt import GAINED, Attempt, skipped_attempts
from .drift import Drift
from .pins import Pin, Pins
from .scene import Stage
from .skips import BREAKER, Breaker, Skips
from .view import Change, Entry, View, apply, first_touched, from_payload, inverse

Watch = Callable[[View, Change, View], None]
UNDOABLE = 20  # changes that can be taken back; an older one is not worth its memory


class WindowState:
    """The state of one session's window; `fold` is the only way to change it.

    `users` are (history index, tokens) of user messages, `systems` the indexes of system
    messages. `asked` is how many messages the history had at the last model call,
    `answered` at the last one that got a reply.
    `undoable` are (seq, inverse change) of the newest changes, the last one last.
    `resting` is the size in tokens, of the view alone, that an undo went back to.
    `declared` are the tokens of the tool declarations, `times_summarised` counts changes
    that made a summary.
    `attempts` are those since the last model call or message that gained, or that came to
    nothing with this view: if the process is killed, its successor goes on after them.
    `watch` is shown each change, with the views before and after it.
    """

    def __init__(self, estimate: Estimator, texts: Texts = Texts(),
                 watch: Watch = lambda before, change, after: None) -> None:
        self.estimate, self.texts = estimate, texts
        self._watch = watch
        self.view = View()
        self.history: list[Message] = []
        self.systems: list[int] = []
        self.users: list[tuple[int, int]] = []
        self.step = 0
        self.asked = self.answered = 0
        self.pins = Pins((), texts)
        self.marks: set[Pin] = set()  # pins seen, the refused ones too
        self.stages: tuple[Stage, ...] = ()
        self.at_boundary = False                       # a stage has ended since the last call
        self.breaker, self.skips = Breaker(), Skips()
        self.settings: dict[str, Any] = {}
        self.undoable: deque[tuple[int, Change]] = deque(maxlen=UNDOABLE)
        self.resting = 0
        self.times_summarised = 0
        self.attempts: tuple[Attempt, ...] = ()
        self.applied = False                    # whether the last proposal was applied
        self.summaries: list[dict[str, Any]] = []  # what the model wrote for applied ones
        self.declared = 0
        self.drift = Drift()

    def fold(self, record: Record, done: tuple[Change, View] | None = None) -> None:
        """Take in one record. `TraceError` with its `seq` if it does not fit.

        `done` is the change that it describes and the view after it, if whoever wrote the
        record has made them already: they are not made again.
        """
        if record["type"] == "message":
            self.enter(record["message"])
        elif done is not None:
            self._compressed(record["payload"], record["seq"], *done)
        elif handler := getattr(self, f"_on_{record['event']}", None):  # of others it knows nothing
            try:
                handler(record["payload"], record["seq"])
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise TraceError(f"the {record['event']} does not fit ({error!r})",
                                 place=f"seq {record['seq']}", value=record["seq"]) from error

    def enter(self, message: Message) -> None:
        """A message enters the history, and the view at its end."""
        self.attempts = ()
        index, role, tokens = len(self.history), message["role"], self.estimate.message(message)
        self.history.append(message)
        self.view.append(Entry(message, tokens, (index,)))
        if role == "assistant":
            self.answered = self.asked
            self.drift = self.drift.answered(tokens)
        elif role == "user":
            self.users.append((index, tokens))
        elif role == "system":
            self.systems.append(index)

    @property
    def tokens(self) -> int:
        """The estimate of all that would be sent now: the view and the declarations."""
        return self.view.tokens + self.declared

    @property
    def sent(self) -> int:
        """How many leading entries of the view stand for what a model has answered."""
        count = len(self.view)
        while count and min(self.view[count - 1].stands_for, default=-1) >= self.answered:
            count -= 1
        return count

    def call(self, step: int) -> None:
        """The view is sent."""
        self.step = step
        self.attempts = ()
        self.asked = len(self.history)
        self.at_boundary = False

    def reported(self, prompt: int, answer: int) -> None:
        """An endpoint has counted the tokens of what was sent, and of its answer."""
        self.drift = self.drift.report(self.tokens, prompt, answer, len(self.view))

    def _on_model_call(self, payload: dict[str, Any], _: int) -> None:
        if "tokens" in payload:
            self.declared = payload["tokens"] - self.view.tokens
        self.call(payload["step"])

    def _on_model_usage(self, payload: dict[str, Any], _: int) -> None:
        prompt = payload.get("refused_tokens") or payload.get("prompt_tokens")
        if prompt:
            self.reported(prompt, payload.get("completion_tokens", 0))

    def _on_context_compression(self, payload: dict[str, Any], seq: int) -> None:
        self._compressed(payload, seq, *_made_anew(self.view, payload))

    def _compressed(self, payload: dict[str, Any], seq: int, change: Change,
                    after: View) -> None:
        back = inverse(self.view, change)
        gained = Attempt(change.strategy, payload["trigger"], payload.get("rung"), GAINED,
                         self.view.tokens, self.drift)
        self._become(change, after)
        self.attempts += (gained,)
        self.undoable.append((seq, back))
        self.applied = True
        self.resting = 0
        self.times_summarised += any(entry.how == "summary" for _, entry in change.inserts)
        if "unsupported" in payload:  # a summary of the model: it works again
            self.breaker.close()

    def _on_compression_skipped(self, payload: dict[str, Any], _: int) -> None:
        self.skips.remember(payload["strategy"], payload["reason"], payload["tokens"])
        self.breaker.failures = payload.get("failures", self.breaker.failures)
        self.breaker.told |= payload["reason"] == BREAKER
        self.applied = False
        if payload.get("asked"):
            self.skips.asked()
        self.attempts += skipped_attempts(payload, self.breaker.open)

    def _on_model_summarize(self, payload: dict[str, Any], _: int) -> None:
        if self.applied:
            self.summaries.append(payload)
        else:
            self.skips.asked()

    def _on_undo(self, payload: dict[str, Any], _: int) -> None:
        if payload["seq"] != self.undoable[-1][0]:
            raise ValueError(f"the last change is seq {self.undoable[-1][0]}")
        self._become(*_made_anew(self.view, payload))
        self.undoable.pop()
        self.resting = self.view.tokens

    def _become(self, change: Change, after: View) -> None:
        self._watch(self.view, change, after)
        if first_touched(change) < self.drift.covers:
            self.drift = self.drift.changed()
        in_place = len(after) == len(self.view)
        self.view = after
        self.attempts = tuple(attempt for attempt in self.attempts if attempt.outcome == GAINED)
        self.skips.changed(change.strategy, self.drift.predict(self.tokens), in_place)

    def _on_pin(self, payload: dict[str, Any], _: int) -> None:
        pin = Pin(payload["index"], payload["text"], payload["kind"], payload["protect"])
        self.marks.add(pin)
        if not payload.get("refused") and pin not in self.pins.pins:
            self.pins = replace(self.pins, pins=(*self.pins.pins, pin))
        if "entries" in payload:  # its message was compressed already: it is put back
            self._become(*_made_anew(self.view, payload))

    def _on_stage(self, payload: dict[str, Any], _: int) -> None:
        start = self.stages[-1].stop if self.stages else 0
        stop = len(self.history) + len(open_calls(self.history))  # a stage ends with a whole group
        self.stages = (*self.stages, Stage(payload["name"], start, stop))
        self.at_boundary = True

    def _on_settings(self, payload: dict[str, Any], _: int) -> None:
        self.settings.update((key, value) for key, value in payload.items() if key != "step")
        if payload.get("breaker") == "closed":
            self.breaker.close()


def _made_anew(view: View, payload: dict[str, Any]) -> tuple[Change, View]:
    """The change that a record describes, and the view after it."""
    change = from_payload(payload)
    return change, apply(view, change)


def rebuild(records: Iterable[Record], estimate: Estimator) -> Iterator[tuple[Record, View]]:
    """Each record with the view as it is after it, from the records alone.

    The view grows in place until the next change: copy its entries to keep them.
    Raises `TraceError` with the record's `seq` if one does not fit.
    """
    state = WindowState(estimate)
    for record in records:
        for message in _messages_in(record):
            if fault := malformed(message):
                raise TraceError(f"the message does not fit ({fault})",
                                 place=f"seq {record['seq']}", value=record["seq"])
        state.fold(record)
        yield record, state.view


def _messages_in(record: Record) -> Iterator[Any]:
    """The message of a record, or those that a change puts into the view."""
    if record["type"] == "message":
        yield record["message"]
    entries = record.get("payload", {}).get("entries", ())
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield entry.get("message")
