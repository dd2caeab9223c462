"""Milestone 3: the texts of neighbouring segments; the older they are, the more they are merged.

The newest stay single; of the older ones a few become one, again and again. What was
merged stays merged while the session goes on, so one more costs only what is new. What is
left out: who writes the texts, and how several become one (`summarise.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import eq
from typing import NamedTuple


class Segment(NamedTuple):
    """A segment, or some neighbouring ones merged; segments are numbered from 1."""

    first: int
    last: int
    messages: int  # how many it covers
    text: str


class Segments:
    """All segments, and the mergers of the oldest: each merges the merger before it with some
    of the segments after that."""

    def __init__(self) -> None:
        self._parts: list[tuple[Sequence[int], str]] = []
        self._segments: list[Segment] = []
        self._mergers: list[Segment] = []

    def become(self, parts: Sequence[tuple[Sequence[int], str]]) -> Segments:
        """Hold these segments (history indexes, text) and no others; returns itself."""
        same = sum(takewhile(bool, map(eq, self._parts, parts)))
        self._parts = []  # until all is done: what an interrupt leaves half-done is made anew
        del self._segments[same:]
        while self._mergers and self._mergers[-1].last > same:
            self._mergers.pop()
        self._segments += (Segment(number, number, len(indexes), text)
                           for number, (indexes, text) in enumerate(parts[same:], same + 1))
        self._parts = list(parts)
        return self

    def merged(self, fan_in: int, merge: Callable[[Sequence[Segment]], Segment]) -> list[Segment]:
        """At most `fan_in` of them, and at least 2, that stand for all, in order."""
        fan_in = max(2, fan_in)
        while self._mergers and len(self._left(self._mergers[:-1])) <= fan_in:
            self._mergers.pop()  # there were more segments when it was made
        while len(left := self._left(self._mergers)) > fan_in:
            self._mergers.append(merge(left[:fan_in]))
        return left

    def _left(self, mergers: Sequence[Segment]) -> list[Segment]:
        """What stands for all segments: the last merger, which holds all before it, and the
        segments after that."""
        oldest = mergers[-1:]
        return [*oldest, *self._segments[oldest[0].last if oldest else 0:]]
