"""Milestone 4: a limit to the tokens that a run may send in all, with all runs below it.

A window bounds each request; a run with small requests can still burn tokens without
end, and one with small children too. What is left out: any other ending (`loop.py` has
them all), and what children have sent (`subagents/delegate.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BudgetSpentError
from ..texts import Texts


@dataclass
class TokenBudget:
    """The tokens that an agent and all below it may send together, `limit` None for any
    number. What children at work have been given is `spent` until it comes back."""

    limit: int | None = None
    texts: Texts = Texts()
    spent: int = 0

    def pay(self, cost: int) -> None:
        """Count a request before it is sent. Raises `BudgetSpentError` where it costs too much."""
        if self.limit is not None and self.spent + cost > self.limit:
            raise BudgetSpentError(
                self.texts("end_budget", sent=self.spent, more=cost, limit=self.limit),
                place=self.texts("end_budget_place"), value=cost)
        self.spent += cost

    def share(self, most: int, children: int) -> int:
        """What each of some children may be given, at most `most`: an equal part of what is
        left. One more part stays with the agent, which still has to report."""
        if self.limit is None:
            return most
        return min(most, (self.limit - self.spent) // (children + 1))
