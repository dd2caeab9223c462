"""Milestone 3: what came to nothing is said once, and not retried for ever.

No gain is an outcome with its numbers, but a record of it at every step would
drown the trace, and a model asked in vain at every step would burn money.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_FAILURES = 3   # in a row; then automatic summaries stop until somebody closes the breaker
BREAKER = "breaker_open"  # the reason of the record that says so
NEWS_GROWTH = 1.05  # a skip is news again when the view has grown by 5 %


@dataclass
class Skips:
    """What came to nothing, at how many tokens of the request.

    `seen` are the (strategy, reason) recorded since the last change, `last` the newest.
    `vain` are the strategies for which a model was asked in vain, whatever cheap ones
    have done since.
    """

    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    last: tuple[str, int] = ("", 0)
    vain: dict[str, int] = field(default_factory=dict)

    def is_news(self, name: str, reason: str, tokens: int) -> bool:
        """Whether to record it."""
        last = self.seen.get((name, reason))
        return last is None or tokens >= last * NEWS_GROWTH

    def was_in_vain(self, name: str, tokens: int) -> bool:
        """Whether this strategy lately came to nothing with a request of about this size."""
        sizes = [last for (who, _), last in self.seen.items() if who == name]
        return any(tokens < last * NEWS_GROWTH for last in (*sizes, self.vain.get(name, 0)))

    def remember(self, name: str, reason: str, tokens: int) -> None:
        """An outcome of this strategy was recorded, with a request of `tokens`."""
        self.seen[name, reason] = tokens
        self.last = name, tokens

    def asked(self) -> None:
        """A model was asked for the outcome that was recorded last."""
        name, tokens = self.last
        self.vain[name] = tokens

    def changed(self, name: str, tokens: int, in_place: bool) -> None:
        """A change of this strategy has brought the request to `tokens`.

        Strategies that ask no model may be tried again at once. One that asked a model in vain
        waits until the request is 5 % larger than when it was asked; if the change did more
        than shorten entries (not `in_place`), until it is 5 % larger than now.
        """
        self.seen.clear()
        self.vain.pop(name, None)
        if not in_place:
            self.vain = {who: min(size, tokens) for who, size in self.vain.items()}


@dataclass
class Breaker:
    """Open after three failures of the summariser in a row: automatic summaries stop. `told`:
    a record says so."""

    failures: int = 0
    told: bool = False

    @property
    def open(self) -> bool:
        """Whether automatic summaries are stopped."""
        return self.failures >= MAX_FAILURES

    def close(self) -> None:
        """Close it, after a success or by hand."""
        self.failures, self.told = 0, False
