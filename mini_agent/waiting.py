"""Milestone 5: a model and tools as one waits for them, so that Ctrl-C can end the wait.

Between two waits an interrupt is kept (`interrupts.py`): a result that has come enters
trace and history whole, or not at all. What is left out: what the loop does about it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from .interrupts import Interrupts
from .messages import Call, Message
from .models.base import ParentModel, Reply
from .tools.base import Answer, ToolBox

AT_ONCE = ("pin", "stage_done", "delegate")  # tools that write records themselves


class WaitingModel:
    """Implements `Model`. Which model it asks may change within a session."""

    def __init__(self, model: ParentModel, interrupts: Interrupts) -> None:
        self.model = model
        self._interrupts = interrupts

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        """The reply of the model."""
        with self._interrupts.waiting:
            return self.model.complete(messages, tools)

    def for_child(self, call_id: str) -> dict[str, Any]:
        """The model of the sub-agent that this call starts."""
        return self.model.for_child(call_id)

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """The summary of the model."""
        with self._interrupts.waiting:
            return self.model.summarize(messages, form)


class WaitingTools:
    """What the loop needs of a `ToolBox`.

    `at_once` names tools that are not waited for: they write records themselves, and
    nothing may fall between a record and what it tells of.
    """

    def __init__(self, tools: ToolBox, interrupts: Interrupts,
                 at_once: Collection[str] = ()) -> None:
        self._tools, self._interrupts, self._at_once = tools, interrupts, at_once
        self.declarations, self.batches, self.failure = (
            tools.declarations, tools.batches, tools.failure)

    def run_batch(self, batch: Sequence[Call], step: int, answer: Answer) -> None:
        """Give `answer` the one result of each call of a batch, in order."""
        def whole(result: Message) -> None:
            with self._interrupts.held:
                answer(result)

        if batch[0]["name"] in self._at_once:
            self._tools.run_batch(batch, step, answer)
            return
        with self._interrupts.waiting:
            self._tools.run_batch(batch, step, whole)
