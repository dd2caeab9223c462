"""Milestone 1: asking the model once, and recording what was sent and counted.

Without a window the whole history is sent and this is a few lines. With one
(milestone 3) the window decides what is sent, and a request that the endpoint
refuses for its length is made smaller and sent once more; with a live endpoint
(milestone 5) what it counted is compared with what was predicted. What is left out:
how a request is made smaller (`compression/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import EmptyReplyError, PromptTooLongError
from .messages import Message
from .models.base import Model, Reply
from .texts import Texts
from .trace import Tracer


class Window(Protocol):
    """What the loop sees of context compression."""

    @property
    def tokens(self) -> int:
        """Tokens of all that would be sent now, as estimated."""

    @property
    def predicted(self) -> int:
        """`tokens` as the endpoint would count them, by what it has reported so far."""

    @property
    def messages(self) -> int:
        """How many messages would be sent now."""

    def reported(self, prompt: int, answer: int = 0) -> int:
        """Take in what the endpoint counted for the last request. Returns by how many tokens
        that exceeds the prediction."""

    def take_in(self, history: Sequence[Message]) -> None:
        """Take in what has been added to the history."""

    def declared(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """These tool declarations as they are sent."""

    def stage_done(self, history: Sequence[Message], name: str, step: int) -> None:
        """A stage of the work has ended."""

    def before_model_call(self, history: Sequence[Message], step: int) -> list[Message]:
        """The messages to send at `step`. Raises `ContextOverflowError`."""

    def after_refusal(self, history: Sequence[Message], step: int,
                      error: PromptTooLongError) -> list[Message]:
        """A smaller request, once. Raises `error` where nothing can be made smaller."""


Pay = Callable[[int], None]  # is told a request's tokens before it is sent; may raise


def unlimited(_: int) -> None:
    """Accept any request: the default, where no budget of tokens is kept."""


class Asking:
    """Asks a model and records each request. With a `window`, that decides what is sent, and
    `pay` is told the tokens of each request before; it can end the run with a `ModelError`."""

    def __init__(self, model: Model, tracer: Tracer, window: Window | None = None,
                 texts: Texts = Texts(), pay: Pay = unlimited) -> None:
        self.model, self.tracer, self.window, self.texts = model, tracer, window, texts
        self.pay = pay

    def ask(self, history: Sequence[Message], step: int,
            tools: Sequence[dict[str, Any]]) -> Reply:
        """One reply, with text or calls. Raises `ModelError` or `ContextOverflowError`."""
        if self.window is None:
            return self._send(history, step, tools)
        request = self.window.before_model_call(history, step)
        try:
            return self._send(request, step, tools)
        except PromptTooLongError as error:
            return self._send(self.window.after_refusal(history, step, error), step, tools)

    def _send(self, request: Sequence[Message], step: int,
              tools: Sequence[dict[str, Any]]) -> Reply:
        if self.window is not None:
            self.pay(self.window.predicted)
        self.note_call(len(request), step)
        sent = tools if self.window is None else self.window.declared(tools)
        try:
            reply = self.model.complete(request, sent)
        except PromptTooLongError as error:
            self.note_refusal(error, step)
            raise
        if reply.usage:
            self.note_usage(reply.usage, step)
        if not reply.content.strip() and not reply.tool_calls:
            remedy = "end_longer" if reply.cut == "length" else "end_again"
            raise EmptyReplyError(self.texts("end_empty"), remedy=self.texts(remedy),
                                  place=self.texts("end_at_step", step=step))
        return reply

    def note_stage(self, reply: Reply, history: Sequence[Message], step: int) -> None:
        """Tell the window of the stage that a reply ends. The reply has to be in the history
        by then, so that its calls belong to that stage."""
        if reply.stage and self.window is not None:
            self.window.stage_done(history, reply.stage, step)

    def note_call(self, messages: int, step: int) -> None:
        """Record how many messages are sent, and how many tokens; `predicted` too, where the
        usage reported so far makes it differ."""
        size = {}
        if self.window is not None:
            tokens, predicted = self.window.tokens, self.window.predicted
            size = {"tokens": tokens, **({"predicted": predicted} if predicted != tokens else {})}
        self.tracer.event("model_call", step=step, messages=messages, **size)

    def final_size(self, history: Sequence[Message]) -> dict[str, int]:
        """What would be sent next, for `run_end`."""
        if self.window is None:
            return {"final_messages": len(history)}
        self.window.take_in(history)
        return {"final_messages": self.window.messages, "final_tokens": self.window.tokens}

    def note_usage(self, usage: dict[str, int], step: int) -> None:
        """Record what the endpoint counted, and how far off the prediction was (`drift`)."""
        drift = {}
        if self.window is not None and "prompt_tokens" in usage:
            drift["drift"] = self.window.reported(usage["prompt_tokens"],
                                                  usage.get("completion_tokens", 0))
        self.tracer.event("model_usage", step=step, **usage, **drift)

    def note_refusal(self, error: PromptTooLongError, step: int) -> None:
        """Record the size of a refused request, if the refusal names it. It is not paid for."""
        if self.window is not None and error.tokens:
            self.tracer.event("model_usage", step=step, refused_tokens=error.tokens,
                              drift=self.window.reported(error.tokens))
