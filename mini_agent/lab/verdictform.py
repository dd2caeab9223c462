"""Milestone 6: the scope of a verdict, the difference it rests on, and its form as JSON.

What is left out: how it is found, and its sentences (`verdict.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

from ..columns import number_of

FEW = 5  # sessions: their mean is said to be one of a few


class Scope(NamedTuple):
    """What a verdict is about: a session at a window in tokens, or all the `sessions` that
    count there."""

    window: int
    session: str = ""
    sessions: int = 1

    def __str__(self) -> str:
        if self.session:
            return f"{self.session}, window {self.window}"
        only = "only " if self.sessions < FEW else ""
        count = f", {only}{number_of(self.sessions, 'session')}" if self.sessions else ""
        return f"Window {self.window}{count}"


class Difference(NamedTuple):
    """How much more far recall one policy keeps than another, session by session: the mean and
    its interval; in how many of the `sessions` it is `higher` and `lower`."""

    policy: str
    mean: float
    low: float
    high: float
    higher: int
    lower: int
    sessions: int

    @property
    def may_be_chance(self) -> bool:
        """Whether the interval includes no difference at all."""
        return self.low <= 0 <= self.high


class Advice(TypedDict):
    """A verdict for a script: policies by their names, None where it does not name one."""

    window: int                         # tokens
    session: str                        # "" for all the sessions that count at the window
    sessions: int                       # how many those are
    take: str | None                    # the policy to take
    most: str | None                    # the one that keeps the most
    cheapest: str | None
    smallest: str | None                # only where nothing is measured: of the smallest peak
    difference: dict[str, Any] | None   # the fields of `Difference`, and `may_be_chance`
    worst: dict[str, Any] | None        # session and far_recall of the policy to take
    over_steps: int | None              # of the policy to take: those that did not fit
    said: str                           # the sentences, as they are printed
