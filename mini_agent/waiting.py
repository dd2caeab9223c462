"""Milestone 5: a model and tools wrapped so that Ctrl-C can end the wait for them.

Between two waits an interrupt is kept (`interrupts.py`): a result that has come enters
trace and history whole, or not at all. What is left out: what the loop does about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .interrupts import Interrupts
from .messages import Call, Message
from .models.base import ParentModel, Reply
from .tools.base import Answer, ToolBox

# Tools that write records themselves. No interrupt may fall between a record and what it
# tells of, so they are not waited for (`delegate` waits for its children by itself).
RECORDERS = ("pin", "stage_done", "delegate")


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
    """Implements `Tools`: a `ToolBox` whose calls an interrupt may end, but for `RECORDERS`."""

    def __init__(self, tools: ToolBox, interrupts: Interrupts) -> None:
        self._tools, self._interrupts = tools, interrupts
        self.declarations, self.batches, self.failure = (
            tools.declarations, tools.batches, tools.failure)

    def run_batch(self, batch: Sequence[Call], step: int, answer: Answer) -> None:
        """Give `answer` the one result of each call of a batch, in order."""
        def uninterrupted(result: Message) -> None:
            with self._interrupts.held:
                answer(result)

        if batch[0]["name"] in RECORDERS:
            self._tools.run_batch(batch, step, answer)
            return
        with self._interrupts.waiting:
            self._tools.run_batch(batch, step, uninterrupted)
