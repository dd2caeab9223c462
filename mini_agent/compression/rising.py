"""Milestone 3: rising lists of history indexes: their stretches, and what two have in common.

What a change covers is such a list, nearly without gaps; no set is made of it at each
step, since that would cost as much as is there, not as much as is asked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import sub


def stretches(rising: Sequence[int]) -> list[range]:
    """The numbers as stretches without a gap, in order."""
    if rising and rising[-1] - rising[0] == len(rising) - 1:
        return [range(rising[0], rising[-1] + 1)]  # one: the usual case
    jumps = (at for at, by in enumerate(map(sub, rising[1:], rising), 1) if by > 1)
    return [range(rising[start], rising[stop - 1] + 1)
            for start, stop in pairwise([0, *jumps, len(rising)])] if rising else []


def holds(rising: Sequence[int], index: int) -> bool:
    """Whether a rising sequence has this number."""
    at = bisect_left(rising, index)
    return at < len(rising) and rising[at] == index


def between(rising: Sequence[int], first: int, last: int) -> Sequence[int]:
    """The numbers of a rising sequence from `first` to `last`, both included."""
    return rising[bisect_left(rising, first):bisect_right(rising, last)]


def common(some: Sequence[int], rising: Sequence[int]) -> list[int]:
    """The numbers that two rising sequences have in common; `rising` is the longer one."""
    return [index for index in _within(some, rising) if holds(rising, index)]


def meet(some: Sequence[int], rising: Sequence[int]) -> bool:
    """Whether two rising sequences have a number in common."""
    return any(holds(rising, index) for index in _within(some, rising))


def _within(some: Sequence[int], rising: Sequence[int]) -> Sequence[int]:
    if not some or not rising:
        return ()
    return between(some, rising[0], rising[-1])
