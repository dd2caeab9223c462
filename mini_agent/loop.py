"""Milestone 1: the agent loop.

A model knows only what it is sent, so the loop keeps the messages, asks, runs
the calls of the reply, appends their results and asks again. It owns every ending
and gives each its own reason. It knows a window only as an optional argument that
may send less than everything (milestone 3); without one this is the whole agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import (ContextOverflowError, EmptyReplyError, ModelError, PromptTooLongError,
                     ScriptExhaustedError, TraceError)
from .messages import Call, Message, assistant, system, tool_result, user
from .models.base import Model, Reply
from .texts import Texts
from .tools.base import ToolBox
from .trace import Tracer

DONE = "final_answer"
MAX_STEPS = 200


class Window(Protocol):
    """What the loop sees of context compression."""

    @property
    def tokens(self) -> int: ...
    @property
    def predicted(self) -> int: ...
    @property
    def messages(self) -> int: ...
    def reported(self, prompt: int, answer: int = 0) -> int: ...
    def take_in(self, history: Sequence[Message]) -> None: ...
    def before_model_call(self, history: Sequence[Message], step: int) -> list[Message]: ...
    def after_refusal(self, history: Sequence[Message], step: int,
                      error: PromptTooLongError) -> list[Message]: ...


@dataclass(frozen=True)
class Outcome:
    """How a turn ended: its reason, the final text, and what was wrong if it was."""

    reason: str
    text: str = ""
    detail: str = ""

    @property
    def done(self) -> bool:
        """Whether the model gave a final answer."""
        return self.reason == DONE


class Agent:
    """One session: a history, a model, tools, a tracer, perhaps a window.

    `history` is handed in where others look at the same list while it grows.
    """

    def __init__(self, model: Model, tools: ToolBox, tracer: Tracer, *,
                 window: Window | None = None, texts: Texts = Texts(),
                 max_steps: int = MAX_STEPS, history: list[Message] | None = None) -> None:
        self.model, self.tools, self.tracer = model, tools, tracer
        self.window, self.texts, self.max_steps = window, texts, max_steps
        self.history: list[Message] = [] if history is None else history
        self.step = 0

    def run(self, system_text: str, task: str, start: dict[str, Any]) -> Outcome:
        """One task from `run_start` to `run_end`; `start` is the payload of the first."""
        try:
            self.tracer.event("run_start", **start)
            self.say(system(system_text))
            self.say(user(task))
        except TraceError as error:
            return Outcome("trace_failed", detail=str(error))
        return self.finish(self.turn())

    def say(self, message: Message) -> None:
        """A message enters the history."""
        self.tracer.message(self.step, message)
        self.history.append(message)

    def turn(self) -> Outcome:
        """Steps until the model answers without calls, or cannot go on. Never raises."""
        try:
            return self._steps()
        except ContextOverflowError as error:
            return Outcome("overflow", detail=str(error))
        except ScriptExhaustedError as error:
            return Outcome("script_exhausted", detail=str(error))
        except ModelError as error:
            return Outcome("model_error", detail=str(error))
        except TraceError as error:
            return Outcome("trace_failed", detail=str(error))
        except KeyboardInterrupt:
            return self._interrupted()

    def _steps(self) -> Outcome:
        last = self.step + self.max_steps
        while self.step < last:
            reply = self._ask()
            self.say(assistant(reply.content, reply.tool_calls, reply.opaque))
            if not reply.tool_calls:
                return (Outcome(DONE, reply.content) if not reply.cut else
                        Outcome("answer_cut", reply.content, f"cut off: {reply.cut}"))
            for made in reply.tool_calls:
                self._run_call(made)
            self.step += 1
        return Outcome("step_limit", detail=f"no final answer after {self.max_steps} steps")

    def _ask(self) -> Reply:
        """One reply; a request that is too long is made smaller and sent once more."""
        request = (self.history if self.window is None
                   else self.window.before_model_call(self.history, self.step))
        try:
            return self._send(request)
        except PromptTooLongError as error:
            if self.window is None:
                raise
            self._report_refusal(error)
            return self._send(self.window.after_refusal(self.history, self.step, error))

    def _send(self, request: Sequence[Message]) -> Reply:
        self.tracer.event("model_call", step=self.step, messages=len(request), **self._size())
        reply = self.model.complete(request, self.tools.declarations())
        if reply.usage:
            self._report(reply.usage)
        if not reply.content.strip() and not reply.tool_calls:
            raise EmptyReplyError("the model gave neither text nor calls",
                                  place=f"step {self.step}", remedy="allow longer answers" if
                                  reply.cut == "length" else "try again")
        return reply

    def _size(self) -> dict[str, int]:
        """Tokens of what is being sent; `predicted` where usage was reported before."""
        if self.window is None:
            return {}
        tokens, predicted = self.window.tokens, self.window.predicted
        return {"tokens": tokens, **({"predicted": predicted} if predicted != tokens else {})}

    def _report(self, usage: dict[str, int]) -> None:
        """What the endpoint counted, and how far the prediction was off (`drift`)."""
        drift = {} if self.window is None or "prompt_tokens" not in usage else {
            "drift": self.window.reported(usage["prompt_tokens"],
                                          usage.get("completion_tokens", 0))}
        self.tracer.event("model_usage", step=self.step, **usage, **drift)

    def _report_refusal(self, error: PromptTooLongError) -> None:
        """A refusal that names a size has counted the request too: nobody paid for it."""
        if self.window is not None and error.tokens:
            drift = self.window.reported(error.tokens)
            self.tracer.event("model_usage", step=self.step, refused_tokens=error.tokens,
                              drift=drift)

    def _run_call(self, made: Call) -> None:
        """One call and its one result, whatever happens in between."""
        self.tracer.event("tool_call", step=self.step, id=made["id"], name=made["name"],
                          arguments=made["arguments"])
        self._answer(self.tools.run(made))

    def _answer(self, result: Message) -> None:
        error = result.get("error")
        self.tracer.event("tool_result", step=self.step, id=result["tool_call_id"],
                          ok=error is None, code=error["code"] if error else None,
                          chars=len(result["content"]))
        self.say(result)

    def _interrupted(self) -> Outcome:
        """Ctrl-C: each open call gets its result, so that the history stays whole."""
        try:
            self.tracer.event("interrupted", step=self.step)
            for made in open_calls(self.history):
                text = self.texts("interrupted")
                self._answer(tool_result(made["id"], made["name"], f"ERROR INTERRUPTED: {text}",
                                         {"code": "INTERRUPTED", "message": text}))
        except TraceError as error:
            return Outcome("trace_failed", detail=str(error))
        return Outcome("interrupted")

    def finish(self, outcome: Outcome) -> Outcome:
        """Write `run_end`. What was wrong stands in it as `detail`."""
        if outcome.reason == "trace_failed":
            return outcome
        end: dict[str, Any] = {"step": self.step, "reason": outcome.reason,
                               "final_messages": len(self.history)}
        if self.window is not None:
            self.window.take_in(self.history)
            end |= {"final_messages": self.window.messages, "final_tokens": self.window.tokens}
        try:
            self.tracer.event("run_end", **end, **({"detail": outcome.detail}
                                                   if outcome.detail else {}))
        except TraceError as error:
            return Outcome("trace_failed", detail=str(error))
        return outcome


def open_calls(history: Sequence[Message]) -> list[Call]:
    """The calls of the last assistant message that have no result yet."""
    results = 0
    for message in reversed(history):
        if message["role"] != "tool":
            return list(message.get("tool_calls", ()))[results:]
        results += 1
    return []
