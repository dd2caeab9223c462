"""Milestone 1: the agent loop.

A model knows only what it is sent, so the loop keeps the messages, asks, runs the calls,
appends their results and asks again: one request with the calls that it led to is a
*step*, counted from 0. The loop owns every ending and gives each its own reason.
What is left out: asking, where a window may send less than everything (`asking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .asking import Asking, Pay, Window, unlimited
from .errors import ContextOverflowError, ModelError, ToolError, TraceError
from .messages import Call, Message, assistant, open_calls, system, user
from .models.base import Model
from .texts import Texts
from .tools.base import Tools
from .trace import Tracer

ANSWERED, MAX_STEPS = "final_answer", 200


@dataclass(frozen=True)
class Outcome:
    """How a turn ended: its reason, the final text, and what went wrong, if anything did."""

    reason: str
    text: str = ""
    detail: str = ""

    @property
    def done(self) -> bool:
        """Whether the model has answered."""
        return self.reason == ANSWERED


class Agent:
    """One session. Others may read its `history`; `incoming()` gives what the user has typed."""

    def __init__(self, model: Model, tools: Tools, tracer: Tracer, *,
                 window: Window | None = None, pay: Pay = unlimited, texts: Texts = Texts(),
                 max_steps: int = MAX_STEPS, history: list[Message] | None = None,
                 incoming: Callable[[], Iterable[str]] = tuple) -> None:
        self.tools, self.tracer, self.texts, self.max_steps = tools, tracer, texts, max_steps
        self.asking = Asking(model, tracer, window, texts, pay)
        self.history = [] if history is None else history
        self.step, self.incoming = 0, incoming

    def run(self, system_text: str, task: str, start: dict[str, Any]) -> Outcome:
        """One task from `run_start` to `run_end`; `start` is the payload of the first."""
        def whole() -> Outcome:
            self.tracer.event("run_start", **start)
            self.say(system(system_text), user(task))
            return self._steps()
        return self.finish(self._ending_of(whole))

    def say(self, *messages: Message) -> None:
        """Messages enter the history."""
        for message in messages:
            self.tracer.message(self.step, message)
            self.history.append(message)

    def turn(self) -> Outcome:
        """Steps until the model answers without calls, or cannot go on."""
        return self._ending_of(self._steps)

    def _steps(self) -> Outcome:
        last = self.step + self.max_steps
        while self.step < last:
            self.say(*map(user, self.incoming()))
            reply = self.asking.ask(self.history, self.step, self.tools.declarations())
            self.say(assistant(reply.content, reply.tool_calls, reply.opaque))
            self.asking.note_stage(reply, self.history, self.step)
            if not reply.tool_calls:
                return Outcome("answer_cut" if reply.cut else ANSWERED, reply.content, reply.cut)
            for batch in self.tools.batches(reply.tool_calls):
                self._run_batch(batch)
            self.step += 1
        return Outcome("step_limit", detail=self.texts("end_steps", steps=self.max_steps))

    def _run_batch(self, batch: Sequence[Call]) -> None:
        """Each call and its one result, whatever happens; a batch is usually one call."""
        for call in batch:
            self.tracer.event("tool_call", step=self.step, id=call["id"], name=call["name"],
                              arguments=call["arguments"])
        self.tools.run_batch(batch, self.step, self._answer)

    def _answer(self, result: Message) -> None:
        code = result.get("error", {}).get("code")
        self.tracer.event("tool_result", step=self.step, id=result["tool_call_id"],
                          ok=code is None, code=code, chars=len(result["content"]))
        self.say(result)

    def _ending_of(self, go: Callable[[], Outcome]) -> Outcome:
        """Every ending in one place: what `go` returns, or why it could not go on."""
        try:
            return go()
        except KeyboardInterrupt:
            return self._ending_of(self.close_calls)
        except (ContextOverflowError, ModelError, TraceError) as error:
            return Outcome(error.reason, detail=str(error))

    def close_calls(self, why: str = "interrupted") -> Outcome:
        """Ctrl-C: each open call gets its result, so that the history stays whole."""
        self.tracer.event("interrupted", step=self.step)
        for call in open_calls(self.history):
            self._answer(self.tools.failure(call, ToolError("INTERRUPTED", self.texts(why))))
        return Outcome("interrupted")

    def finish(self, outcome: Outcome) -> Outcome:
        """Write `run_end`; its `detail` says what went wrong."""
        def end() -> Outcome:
            detail = {"detail": outcome.detail} if outcome.detail else {}
            self.tracer.event("run_end", step=self.step, reason=outcome.reason,
                              **self.asking.final_size(self.history), **detail)
            return outcome
        return outcome if outcome.reason == "trace_failed" else self._ending_of(end)
