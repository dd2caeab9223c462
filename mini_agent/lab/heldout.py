"""Milestone 6: the digest on sessions that its settings were not chosen on.

The settings that ship were chosen on recorded sessions; measured on the same sessions they
look better than they are. Here each session is left out once. On all *other* sessions, at
all windows together, the settings of a small grid (`variants.GRID`) are chosen that keep
the most in context (of equals the cheapest), and they are measured on the one left out.
`second_halves` replays half of each session: the same sessions, but other histories. What
is left out: the table of chances, which was counted on a set that includes these sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from ..held import mean
from .results import Result
from .rows import TrialRow
from .study import CONTEXT, FAR, Pair, Study, difference
from .summary import interval, is_counted
from .variants import GRID

SHIPPED = "digest_75_50_10"


@dataclass(frozen=True)
class HeldOut:
    """`results` of `compare.compare` over a folder of sessions, under all of `GRID`."""

    results: Sequence[Result]

    @cached_property
    def rows(self) -> dict[tuple[str, int, str], TrialRow]:
        """By session, window and settings; only of sessions that count there."""
        return {(result["session"], row["window"], row["policy"]): row
                for result in self.results for row in result["rows"]
                if row["policy"] in GRID and is_counted(result, row["window"])
                and row[CONTEXT] is not None}

    @cached_property
    def chosen(self) -> dict[str, str]:
        """By session the settings that are best on all others; {} where there are no others."""
        names = list(dict.fromkeys(session for session, _, _ in self.rows))
        return {left_out: max(GRID, key=lambda settings: self._worth(left_out, settings))
                for left_out in names if len(names) > 1}

    def _worth(self, left_out: str, settings: str) -> tuple[float, float]:
        others = [row for (session, _, policy), row in self.rows.items()
                  if session != left_out and policy == settings]
        return (fsum(row[CONTEXT] or 0.0 for row in others),
                -fsum(row["cost"] or 0.0 for row in others))

    def held_out(self, window: int) -> dict[str, TrialRow]:
        """The row of each session that counts at a window, under the settings that were
        chosen without it."""
        return {session: self.rows[session, window, settings]
                for session, settings in self.chosen.items()
                if (session, window, settings) in self.rows}

    def shipped(self, window: int) -> dict[str, TrialRow]:
        """The rows of the same sessions under the settings that ship."""
        return {session: self.rows[session, window, SHIPPED] for session in self.held_out(window)}

    def sentences(self, study: Study) -> Iterator[str]:
        """What was chosen, what came of it, and how far that is from the best known policy."""
        if not self.chosen:
            yield "Held out:"
            yield "it takes two sessions that count"
            return
        picked = Counter(self.chosen.values()).most_common()
        yield (f"Held out, settings (target, digest, cut result, in % of the window) chosen for "
               f"each session on the others, of {len(GRID)}; so many times: "
               + ", ".join(f"{name.removeprefix('digest_')} {times}" for name, times in picked)
               + ":")
        for window in study.windows:
            found, as_shipped = self.held_out(window), self.shipped(window)
            yield f"window {window}, held out: {_figures(found)}"
            yield (f"window {window}, as shipped, {SHIPPED.removeprefix('digest_')}: "
                   f"{_figures(as_shipped)}")
            best = study.best_known(window, CONTEXT)
            theirs = {pair.session: pair.theirs
                      for pair in study.pairs(window, "digest", best, CONTEXT)}
            yield (f"window {window}, held out against {best} in context: " + difference([
                Pair(session, row[CONTEXT] or 0.0, theirs[session])
                for session, row in found.items() if session in theirs]))


def _figures(found: Mapping[str, TrialRow]) -> str:
    rows = found.values()
    low, high = interval([row[CONTEXT] or 0.0 for row in rows])
    between = "" if low is None else f" [{low:.3f} {high:.3f}]"
    return (f"{mean(row[CONTEXT] for row in rows) or 0:.3f}{between} in context, "
            f"{mean(row[FAR] for row in rows) or 0:.3f} far recall, "
            f"{mean(row['cost'] for row in rows) or 0:.3f} cost")


def second_halves(study: Study) -> Iterator[str]:
    """What is said of the second halves of sessions, each as a session of its own."""
    yield "Second halves of the sessions, each as a session of its own:"
    if not study.windows:
        yield "none counts at these windows"
    for window in study.windows:
        best, near = study.best_known(window, CONTEXT), study.near(window)
        row = study.cell(window, "digest")
        yield (f"window {window}, {row['sessions']} count: digest {row[CONTEXT] or 0:.3f} in "
               f"context, {row[FAR] or 0:.3f} far recall, {study.paid(window, 'digest'):.3f} cost"
               + (f" (cheapest known within 10 points: {near[0]}, "
                  f"{study.paid(window, near[0]):.3f})"
                  if near else ""))
        yield (f"window {window}, digest against {best} in context: "
               f"{difference(study.pairs(window, 'digest', best, CONTEXT))}")
