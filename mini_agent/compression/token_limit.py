"""Milestone 4: a limit to the tokens that a run may send in all.

A window bounds each request; a run with small requests can still burn tokens without
end. What is left out: any other ending (`loop.py` has them all).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import BudgetSpentError, PromptTooLongError
from ..messages import Message
from ..texts import Texts
from .window import ContextWindow


class TokenLimit:
    """A window that sends at most `limit` tokens in all, as it counts them."""

    def __init__(self, window: ContextWindow, limit: int, texts: Texts) -> None:
        self._window, self._limit, self._sent, self._texts = window, limit, 0, texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._window, name)  # in all else it behaves as that window

    def before_model_call(self, history: Sequence[Message], step: int) -> list[Message]:
        """The messages to send at `step`. Raises `BudgetSpentError` where they cost too much."""
        return self._paid(self._window.before_model_call(history, step))

    def after_refusal(self, history: Sequence[Message], step: int,
                      error: PromptTooLongError) -> list[Message]:
        """A smaller request after a refusal, which has cost nothing."""
        return self._paid(self._window.after_refusal(history, step, error))

    def _paid(self, request: list[Message]) -> list[Message]:
        cost = self._window.predicted
        if self._sent + cost > self._limit:
            raise BudgetSpentError(
                self._texts("end_budget", sent=self._sent, more=cost, limit=self._limit),
                place=self._texts("end_budget_place"), value=cost)
        self._sent += cost
        return request
