"""Milestone 3: what came to nothing is said once, and not tried for ever.

No gain is an outcome with its numbers, but a record of it at every step would
drown the trace, and a model asked in vain at every step would burn money.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_FAILURES = 3   # in a row; then automatic summaries stop until somebody closes the breaker
NEWS_GROWTH = 1.05  # a skip is news again when the view has grown by 5 %


@dataclass
class Skips:
    """Which (strategy, reason) was recorded at how many tokens since the last change."""

    seen: dict[tuple[str, str], int] = field(default_factory=dict)

    def is_news(self, name: str, reason: str, tokens: int) -> bool:
        """Whether to record it."""
        last = self.seen.get((name, reason))
        return last is None or tokens >= last * NEWS_GROWTH

    def holds(self, name: str, tokens: int) -> bool:
        """Whether this strategy came to nothing lately, at about this size."""
        return any(tokens < last * NEWS_GROWTH
                   for (who, _), last in self.seen.items() if who == name)

    def remember(self, name: str, reason: str, tokens: int) -> None:
        """It was recorded, at a request of `tokens`."""
        self.seen[name, reason] = tokens

    def clear(self) -> None:
        """A change was applied: everything is open again."""
        self.seen.clear()


@dataclass
class Breaker:
    """Open after three failures of the summariser in a row: automatic summaries stop."""

    failures: int = 0

    @property
    def open(self) -> bool:
        """Whether automatic summaries are stopped."""
        return self.failures >= MAX_FAILURES

    def close(self) -> None:
        """Close it, after a success or by hand."""
        self.failures = 0
