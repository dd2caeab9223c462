"""Measures a subject against a floor, as a ratio: both take turns in one process (`bench.py`)."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

REPEATS = 5
Work = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """A measurement: `ratio` is the median of subject / floor, `low` to `high` its spread."""

    name: str
    subject: str
    floor: str
    ratio: float
    low: float
    high: float
    limit: float | None = None
    work: Work | None = None  # the subject, where a profile of it tells something

    @property
    def met(self) -> bool:
        """Whether the median is within its limit; True where there is none."""
        return self.limit is None or self.ratio <= self.limit

    def __str__(self) -> str:
        """Its line of the table; the times are in the JSON."""
        limit = "" if self.limit is None else f"{self.limit:g}"
        return (f"{self.ratio:7.3f} {self.low:7.3f} {self.high:7.3f} {limit:>5} "
                f"{'' if self.met else 'OVER':4} {self.name}")

    def as_json(self) -> dict[str, Any]:
        """All but the work."""
        return {**{key: value for key, value in vars(self).items() if key != "work"},
                "met": self.met}


def ratio(name: str, subject: Work, floor: Work, limit: float | None = None,
          repeats: int = REPEATS, clock: Callable[[], float] = time.process_time) -> Row:
    """Subject and floor in turns; the ratio of each pair."""
    pairs = [(timed(subject, clock), timed(floor, clock)) for _ in range(repeats)]
    return row_of(name, pairs, limit)


def row_of(name: str, pairs: Sequence[tuple[float, float]], limit: float | None = None) -> Row:
    """The row of some pairs of seconds."""
    ratios = [one / other for one, other in pairs]
    shown = [f"{statistics.median(side) * 1000:.2f} ms" for side in zip(*pairs)]
    return Row(name, *shown, statistics.median(ratios), min(ratios), max(ratios), limit)


def timed(work: Work, clock: Callable[[], float] = time.process_time) -> float:
    """The processor time of one call in seconds, with the garbage collector off."""
    gc.collect()
    gc.disable()
    start = clock()
    work()
    took = clock() - start
    gc.enable()
    return took
