"""Milestone 6: what a comparison over many sessions says of the digest.

The table of all policies (`summary.py`) has means whose intervals are wide, since sessions
differ; here policies are compared with each other session by session. `best_known` is, for
each measure and window, the policy with the highest mean of all that are not ours. What a
part of the digest is worth is the paired difference to a variant without it, also where
that is negative. Cost here is all that is paid: `cost` and the price of the summaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Final, NamedTuple

from ..columns import number_of
from ..compression.policies import policy_names
from .extremes import EXTREMES
from .results import Result
from .rows import MeanRow, Measure
from .summary import interval, is_counted, summarise
from .variants import VARIANTS

OURS = ("digest_full", "digest", "digest_lean", "digest_minimal")
KNOWN = tuple(name for name in policy_names() if name not in (*OURS, "none"))
POLICIES = (*KNOWN, *OURS, *VARIANTS, *EXTREMES)
FAR: Final = "far_recall"
CONTEXT: Final = "far_in_context"
KEPT: tuple[Measure, ...] = (FAR, CONTEXT)
WITHIN = .10  # of far recall: policies this close to the digest keep nearly as much

# The far recall that a prototype of the digest measured, by window and policy, and over how many
# recorded coding sessions of ten agents, not all of which are available here. The figures are no
# goals: other sessions, another reader of them and another way to count tokens give others.
PROTOTYPED: Mapping[int, int] = {16_000: 39, 32_000: 33, 64_000: 21}
PROTOTYPE: Mapping[int, Mapping[str, float]] = {
    16_000: {"published": .656, "naive": .753, "keep_head": .765, "whole_rounds": .760,
             "clear_keep_3": .760, "clear_keep_10": .767, "digest_full": .924, "digest": .911,
             "digest_lean": .889, "digest_minimal": .847, "oracle": .994},
    32_000: {"published": .793, "naive": .895, "keep_head": .899, "whole_rounds": .896,
             "clear_keep_3": .841, "clear_keep_10": .877, "digest_full": .969, "digest": .955,
             "digest_lean": .944, "digest_minimal": .916, "oracle": .998},
    64_000: {"published": .898, "naive": .950, "keep_head": .960, "whole_rounds": .959,
             "clear_keep_3": .906, "clear_keep_10": .930, "digest_full": .987, "digest": .981,
             "digest_lean": .977, "digest_minimal": .954, "oracle": .999},
}


class Pair(NamedTuple):
    """One session under two policies: the values of one measure, 0 to 1."""

    session: str
    ours: float
    theirs: float


@dataclass(frozen=True)
class Study:
    """The results of `compare.compare` over a folder of sessions.

    `known` are the policies that the digest is compared with. The results hold all of
    `POLICIES`, or at least `known`, `digest` and the variants asked for.
    """

    results: Sequence[Result]
    known: tuple[str, ...] = KNOWN

    @cached_property
    def summary(self) -> list[MeanRow]:
        """The table: one row per window and policy."""
        return summarise(self.results)

    @property
    def windows(self) -> list[int]:
        """The windows of the table at which a session counts."""
        return list(dict.fromkeys(row["window"] for row in self.summary if row["sessions"]))

    def counted(self, window: int) -> list[Result]:
        """The results of the sessions that count at a window."""
        return [result for result in self.results if is_counted(result, window)]

    def cell(self, window: int, policy: str) -> MeanRow:
        """The row of the table for a window and policy."""
        return next(row for row in self.summary
                    if (row["window"], row["policy"]) == (window, policy))

    def best_known(self, window: int, measure: Measure) -> str:
        """The known policy with the highest mean of a measure; the first of equals."""
        return max(self.known, key=lambda name: self.cell(window, name)[measure] or 0)

    def paid(self, window: int, policy: str) -> float:
        """What a policy costs in all, relative to no compression."""
        row = self.cell(window, policy)
        return (row["cost"] or 0) + (row["summary_price"] or 0)

    def near(self, window: int) -> list[str]:
        """The known policies with nearly the far recall of the digest, the cheapest first."""
        least = (self.cell(window, "digest")[FAR] or 0) - WITHIN
        return sorted((name for name in self.known if (self.cell(window, name)[FAR] or 0) >= least),
                      key=lambda name: self.paid(window, name))

    def pairs(self, window: int, ours: str, theirs: str, measure: Measure) -> list[Pair]:
        """The sessions that count at a window, in their order."""
        found = []
        for result in self.counted(window):
            values = {row["policy"]: row[measure] for row in result["rows"]
                      if row["window"] == window}
            one, other = values[ours], values[theirs]
            if one is not None and other is not None:
                found.append(Pair(result["session"], one, other))
        return found

    def sentences(self) -> Iterator[str]:
        """What the table does not say itself, a sentence at a time."""
        for window in self.windows:
            yield f"Window {window}, {number_of(len(self.counted(window)), 'session')} counted:"
            for measure in KEPT:
                best = self.best_known(window, measure)
                yield (f"digest against {best}, the known policy with the most "
                       f"{measure.replace('_', ' ')}: "
                       f"{difference(self.pairs(window, 'digest', best, measure))}")
            yield self._cost(window)
            for name, (about, _) in VARIANTS.items():
                yield f"{name} ({about}): {self._worth(window, name)}"
            if window in PROTOTYPE:
                sessions = number_of(PROTOTYPED[window], "session")
                yield (f"far recall that a prototype measured on {sessions}: "
                       f"{'; '.join(self.distances(window))}")

    def _cost(self, window: int) -> str:
        """What the digest costs, and the cheapest known policy that keeps nearly as much."""
        near, points = self.near(window), f"{100 * WITHIN:.0f} points"
        costs = f"digest costs {self.paid(window, 'digest'):.3f}"
        if not near:
            return f"{costs}; no known policy is within {points} of its far recall"
        return (f"{costs}; the cheapest known policy within {points} of its far recall is "
                f"{near[0]}, {self.paid(window, near[0]):.3f}")

    def _worth(self, window: int, variant: str) -> str:
        """What a variant keeps and costs more or less than the digest, on the same sessions."""
        context = _mean(self.pairs(window, variant, "digest", CONTEXT))
        cost = self.paid(window, variant) - self.paid(window, "digest")
        return (f"{difference(self.pairs(window, variant, 'digest', FAR))} in far recall, "
                f"{context:+.3f} in context, {cost:+.3f} in cost")

    def distances(self, window: int) -> Iterator[str]:
        """How far a mean is from the prototype's, with the interval of these sessions."""
        for name, figure in PROTOTYPE.get(window, {}).items():
            values = [row[FAR] for result in self.counted(window) for row in result["rows"]
                      if (row["window"], row["policy"]) == (window, name)
                      and row[FAR] is not None]
            if values:
                pairs = [Pair("", value, figure) for value in values]
                yield f"{name} {figure:.3f}, here {_mean(pairs):+.3f}{_in_brackets(pairs)}"


def difference(pairs: Sequence[Pair]) -> str:
    """The mean difference with its interval, and how many sessions are better and worse."""
    better = sum(pair.ours > pair.theirs for pair in pairs)
    worse = sum(pair.ours < pair.theirs for pair in pairs)
    return (f"{_mean(pairs):+.3f}{_in_brackets(pairs)}, {number_of(better, 'session')} better, "
            f"{worse} worse, {len(pairs) - better - worse} equal")


def _in_brackets(pairs: Sequence[Pair]) -> str:
    """The interval of the mean difference, "" where there is none."""
    low, high = interval([pair.ours - pair.theirs for pair in pairs])
    return "" if low is None else f" [{low:+.3f} {high:+.3f}]"


def _mean(pairs: Sequence[Pair]) -> float:
    return fsum(pair.ours - pair.theirs for pair in pairs) / len(pairs) if pairs else 0.0
