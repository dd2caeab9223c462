"""Milestone 6: bounds that make a build fail when a comparison breaks one.

Bounds apply to the policies that were asked for; to the baseline only if it is one of
them. A figure that could not be measured breaks no bound, but if no session has any, that
breaks it, since nothing would be bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..columns import number_of
from ..errors import UsageError
from .rows import TrialRow

FAILURES = ("lost-fact", "law", "overflow")


@dataclass(frozen=True)
class Bounds:
    """`max_peak` is in tokens, `min_recall` a far recall from 0 to 1. `fail_on` names some of
    `FAILURES`: a fact that was said and is gone at the last step, a broken law, a step whose
    request is over the window."""

    max_peak: int | None = None
    min_recall: float | None = None
    fail_on: tuple[str, ...] = ()

    def check(self, facts: Sequence[str], evidence: bool) -> None:
        """`UsageError` for a bound that could never be broken, or never be kept."""
        if self.max_peak is not None and self.max_peak < 1:
            raise UsageError(f"every request is over {number_of(self.max_peak, 'token')}",
                             place="--max-peak", value=self.max_peak,
                             remedy="give a positive number")
        if self.min_recall is not None and not 0 <= self.min_recall <= 1:
            raise UsageError(f"{self.min_recall} is not a recall", place="--min-recall",
                             value=self.min_recall, remedy="give a share from 0 to 1")
        if self.min_recall is not None and not evidence:
            raise UsageError("without the evidence there is no recall to bound",
                             place="--min-recall", remedy="leave --no-evidence out")
        for name in self.fail_on:  # an empty one too: a build variable that was not set
            if name not in FAILURES:
                raise UsageError(f"nothing fails on {name!r}", place="--fail-on", value=name,
                                 remedy=f"known are: {', '.join(FAILURES)}")
        if "lost-fact" in self.fail_on and not facts:
            raise UsageError("there is no fact that could be lost", place="--fail-on",
                             value="lost-fact", remedy="give one with --fact")

    def broken(self, rows: Sequence[TrialRow], policies: Sequence[str]) -> Iterator[str]:
        """A sentence for each bound that a row breaks. A fact can be lost only in a session in
        which it was said. A fact, or a recall, that no session has breaks its bound as well."""
        said = {(row["session"], fact) for row in rows
                for fact, state in row["facts"].items() if state != "gone"}
        for row in rows:
            if row["policy"] in policies:
                for text in self._faults(row, said):
                    yield f"{row['session']}: {row['policy']} at {row['window']}: {text}"
        if "lost-fact" in self.fail_on:
            known = {fact for _, fact in said}
            for fact in dict.fromkeys(fact for row in rows for fact in row["facts"]):
                if fact not in known:
                    yield f"the fact {fact!r} was never said"
        if rows and self.min_recall is not None and all(
                row["far_recall"] is None for row in rows):
            yield "no session uses anything again from far back: there is no recall to bound"

    def _faults(self, row: TrialRow, said: set[tuple[str, str]]) -> Iterator[str]:
        if self.max_peak is not None and row["peak_tokens"] > self.max_peak:
            yield f"a peak of {number_of(row['peak_tokens'], 'token')} is over {self.max_peak}"
        far = row["far_recall"]
        if self.min_recall is not None and far is not None and far < self.min_recall:
            yield f"far recall {far} is under {self.min_recall}"
        if "lost-fact" in self.fail_on:
            for fact, state in row["facts"].items():
                if state == "gone" and (row["session"], fact) in said:
                    yield f"the fact {fact!r} is gone"
        if "law" in self.fail_on and row["law_breaks"]:
            yield f"a law was broken {number_of(row['law_breaks'], 'time')}"
        if "overflow" in self.fail_on and row["over_window_steps"]:
            yield f"{number_of(row['over_window_steps'], 'step')} over the window"
