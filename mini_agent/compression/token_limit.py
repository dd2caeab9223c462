"""Milestone 4: a limit to the tokens that a run may send in all, with all runs below it.

A window bounds each request; a run with small requests can still burn tokens without
end, and one with small children too. What is left out: any other ending (`loop.py` has
them all), and what children have sent (`subagents/crew.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BudgetSpentError, PromptTooLongError
from ..messages import Message
from ..texts import Texts
from .window import ContextWindow


@dataclass
class Purse:
    """The tokens that an agent and all below it may send together, `limit` None for any
    number. What children at work have been given is `spent` until it comes back."""

    limit: int | None = None
    spent: int = 0

    def share(self, most: int, children: int) -> int:
        """What each of some children may be given, at most `most`: an equal part of what is
        left. One more part stays with the agent, which still has to report."""
        if self.limit is None:
            return most
        return min(most, (self.limit - self.spent) // (children + 1))


class TokenLimit:
    """A window that sends no more than is in a purse, as it counts tokens."""

    def __init__(self, window: ContextWindow, purse: Purse, texts: Texts) -> None:
        self._window, self._purse, self._texts = window, purse, texts

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
        cost, purse = self._window.predicted, self._purse
        if purse.limit is not None and purse.spent + cost > purse.limit:
            raise BudgetSpentError(
                self._texts("end_budget", sent=purse.spent, more=cost, limit=purse.limit),
                place=self._texts("end_budget_place"), value=cost)
        purse.spent += cost
        return request
