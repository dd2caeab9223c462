"""Milestone 3: what came of asking a rung of the ladder.

A window keeps these attempts until it has sent its request: if its process is killed in
between, whoever resumes goes on after them (`descent.py`) as if nothing had happened. What
is left out: outcomes that are not news, which no record has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .drift import Drift
from .skips import BREAKER

GAINED, VAIN, AGAIN = "gained", "vain", "again"  # what can come of asking a rung
RESUMABLE = "stage", "threshold"  # triggers of descents that go on after a killed process


class Attempt(NamedTuple):
    """A rung was asked, on which trigger, and with what `outcome`: it gained, could do nothing
    with the view, or could do nothing but may be asked again.

    `tokens` are those of the view that it was shown, if it gained. `rung` is its number in
    the ladder, None if the name of its strategy says which it was.
    """

    strategy: str
    trigger: str
    rung: int | None
    outcome: str
    tokens: int = 0
    drift: Drift = Drift()

    def number(self, names: Sequence[str], behind: int) -> int | None:
        """The number of the rung, None if it is not in a ladder of strategies with these `names`.
        An older trace does not tell it: then the next of its name from `behind` on, or the
        first, is taken."""
        named = [number for number, name in enumerate(names) if name == self.strategy]
        if self.rung in named:
            return self.rung
        return next((number for number in named if number >= behind), next(iter(named), None))


def skipped_attempts(payload: Mapping[str, Any], is_open: bool) -> tuple[Attempt, ...]:
    """The attempt that a `compression_skipped` records, after which the breaker `is_open`.

    () if trying again may help, after an interrupt or with a full disk, say. A summariser
    that failed over the hard limit is asked again until the breaker opens.
    """
    trigger, failed = payload.get("trigger", "threshold"), "failures" in payload
    if (trigger not in RESUMABLE or payload["reason"] == BREAKER
            or payload["reason"] == "failed" and not failed):
        return ()
    again = failed and not is_open and payload["tokens"] > payload["hard"]
    return (Attempt(payload["strategy"], trigger, payload.get("rung"), AGAIN if again else VAIN),)
