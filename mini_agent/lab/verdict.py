"""Milestone 6: which policy to take, and why.

Only policies that stayed within the window and kept the laws are advised. Of those that keep
nearly the most, both in far recall and in far recall in context, the cheapest is advised:
summaries are paid in full, and with prices the bill decides. What it keeps and what it costs
are always told together, since either number alone would mislead. Over many sessions the
difference to another policy is taken session by session, with its interval. What is left
out: how it looks; the page and the terminal have the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from ..columns import number_of
from .extremes import EXTREMES
from .rows import AnyRow, MeanRow, Measure, TrialRow
from .summary import interval
from .variants import VARIANTS
from .verdictform import Difference, Scope

BOUNDS = ("none", *EXTREMES)  # they stand in the table as bounds, not as advice
NEARLY = .02       # of either recall: a policy this close to the best keeps nearly the most
NO_STEP = .005     # of the steps of many sessions: the table shows less as 0 %
UNMEASURED = "What is lost was not measured: nothing is used again, or --no-evidence was given."
TOO_LITTLE = "Too little is used again to measure what is lost."


@dataclass(frozen=True)
class Verdict:
    """What to do in one place: a session and a window, or a window and all its sessions.

    `so` is a sentence about the session without compression. Rows: the policy to `take`, the
    one that keeps the `most`, the `cheapest`, and `next`, which keeps the most besides the one
    to take. If no recall was measured there is only the one with the `smallest` peak; if there
    is nothing to take, `instead` says why.
    """

    where: Scope
    so: str = ""
    take: AnyRow | None = None
    most: AnyRow | None = None
    cheapest: AnyRow | None = None
    smallest: TrialRow | None = None
    instead: str = ""
    next: AnyRow | None = None

    def said(self, named: Callable[[str], str] = str) -> str:
        """The sentences after `where`; `named` renders the name of a policy."""
        return " ".join(filter(None, (self.so, *self._advice(named), self.instead)))

    def _advice(self, named: Callable[[str], str]) -> Iterator[str]:
        take, most, cheapest, small = self.take, self.most, self.cheapest, self.smallest
        if small is not None:
            yield (f"{UNMEASURED if small['recall'] is None else TOO_LITTLE} "
                   f"{named(small['policy'])} has the smallest peak, "
                   f"{number_of(small['peak_tokens'], 'token')}.")
        if take is not None:
            nearly = "" if take is most else "nearly "
            yield (f"Take {named(take['policy'])}: it keeps {nearly}the most of what is used "
                   f"again, {_numbers(take)}.")
            yield from self._session_by_session(take, named)
        if most is not None and most is not take:
            yield f"Most is kept by {named(most['policy'])}: {_numbers(most)}."
        if cheapest is not None and cheapest is not take:
            yield f"The cheapest is {named(cheapest['policy'])}: {_numbers(cheapest)}."

    def _session_by_session(self, take: AnyRow, named: Callable[[str], str]) -> Iterator[str]:
        """Of many sessions: how sure it is that one keeps more than the other,
        and where it keeps the least."""
        if "each" not in take:
            return
        if (found := self.difference) is not None:
            chance = ", which may be chance" if found.may_be_chance else ""
            yield (f"Session by session its far recall differs from that of "
                   f"{named(found.policy)} by {found.mean:+.3f} ({found.low:+.3f} to "
                   f"{found.high:+.3f}), higher in {found.higher} of {found.sessions} and lower "
                   f"in {found.lower}{chance}.")
        if over := take["over_steps"]:
            yield (f"In {number_of(over, 'step')} of all it did not fit: there a session would "
                   "have ended.")
        if self.worst is not None:
            session, least = self.worst
            yield f"It keeps the least in {named(session)}, {least:.3f}."

    @property
    def difference(self) -> Difference | None:
        """Of many sessions: how much more the one to take keeps than `next`."""
        if self.take is None or self.next is None or (
                "each" not in self.take or "each" not in self.next):
            return None
        gains = [ours - theirs for ours, theirs in zip(self.take["each"], self.next["each"])
                 if ours is not None and theirs is not None]
        low, high = interval(gains)
        if low is None or high is None:
            return None
        return Difference(self.next["policy"], fsum(gains) / len(gains), low, high,
                          sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains),
                          len(gains))

    @property
    def worst(self) -> tuple[str, float] | None:
        """Of many sessions: the one in which the policy to take keeps the least, and how much."""
        if self.take is None or "each" not in self.take or len(self.take["each"]) < 2 \
                or self.take["worst_session"] is None:
            return None
        return self.take["worst_session"], min(
            far for far in self.take["each"] if far is not None)


def verdicts(rows: Sequence[TrialRow], summary: Sequence[MeanRow],
             unsound: set[str]) -> Iterator[Verdict]:
    """One per session and window of `rows`, or, for many sessions, per window of `summary`.

    `unsound` are the policies that break laws by their own account.
    """
    if summary:
        for window in dict.fromkeys(row["window"] for row in summary):
            yield _of_many(window, [row for row in summary if row["window"] == window], unsound)
        return
    for key in dict.fromkeys((row["session"], row["window"]) for row in rows):
        yield _of_one(Scope(key[1], key[0]),
                      [row for row in rows if (row["session"], row["window"]) == key], unsound)


def fit_to_ship(rows: Sequence[MeanRow], unsound: set[str]) -> list[MeanRow]:
    """Of the rows of a `summary` those that may be advised: no bound, within the window, lawful."""
    out = _unadvisable(unsound)
    return [row for row in rows if row["policy"] not in out and not row["law_breaks"]
            and (row["over_share"] or 0) < NO_STEP]


def _of_many(window: int, rows: Sequence[MeanRow], unsound: set[str]) -> Verdict:
    count = rows[0]["sessions"]
    where = Scope(window, sessions=count)
    if not count:
        return Verdict(where, instead="no session is long enough for its evidence to count; "
                                      "try a smaller window.")
    if not any(row["far_recall"] is not None for row in rows):
        return Verdict(where, instead=(
            UNMEASURED if all(row["recall"] is None for row in rows) else TOO_LITTLE))
    return _advised(where, "", fit_to_ship(rows, unsound),
                    [row for row in rows if row["policy"] not in BOUNDS])


def _unadvisable(unsound: set[str]) -> set[str]:
    """The policies that are never advised, whatever their rows say."""
    return unsound.union(BOUNDS, VARIANTS)


def _of_one(where: Scope, rows: Sequence[TrialRow], unsound: set[str]) -> Verdict:
    base = next((row for row in rows if row["policy"] == "none"), rows[0])
    if not base["over_window_steps"]:
        return Verdict(where, "the whole session fits, its largest request has "
                              f"{number_of(base['peak_tokens'], 'token')}.")
    so = (f"without compression {base['over_window_steps']} of {number_of(base['steps'], 'step')} "
          "would not have fitted.")
    out = _unadvisable(unsound)
    sound = [row for row in rows if row["policy"] not in out and not row["law_breaks"]
             and not row["over_window_steps"]]
    if sound and all(row["far_recall"] is None for row in sound):
        return Verdict(where, so, smallest=min(sound, key=lambda row: row["peak_tokens"]))
    return _advised(where, so, sound)


def _advised(where: Scope, so: str, sound: Sequence[AnyRow],
             beside: Sequence[AnyRow] = ()) -> Verdict:
    """What to take of the policies that may be advised. It is compared with the best other one of
    these or, if there is no other, of `beside`."""
    if not sound:
        return Verdict(where, so,
                       instead="No policy here stays within the window and keeps the laws.")
    measured = [row for row in sound if row["far_recall"] is not None]
    most = max(measured, key=lambda row: (_held(row), -_price(row)))
    if not _held(most):
        return Verdict(where, so, instead="No policy here keeps anything of what is used again "
                                          "from far back; try a larger window.")
    close = [row for row in measured if _lost(most, row, "far_recall") <= NEARLY
             and _lost(most, row, "far_in_context") <= NEARLY]
    take = min(close, key=_cheap)
    others = [row for row in measured if row is not take] or [
        row for row in beside if row is not take and row["far_recall"] is not None]
    return Verdict(where, so, take, most, min(measured, key=_cheap),
                   next=max(others, key=_held, default=None))


def _held(row: AnyRow) -> float:
    """Far recall and that in context together, so that words without their context count half."""
    return float(round((row["far_recall"] or 0) + (row["far_in_context"] or 0), 4))


def _lost(most: AnyRow, row: AnyRow, key: Measure) -> float:
    return round((most[key] or 0) - (row[key] or 0), 4)


def paid(row: AnyRow) -> float:
    """The price of all requests and summaries; infinite where it is not known."""
    return float("inf") if row["cost"] is None else row["cost"] + (row["summary_price"] or 0)


def _price(row: AnyRow) -> float:
    """The bill, where there are prices, else what is paid relative to no compression."""
    return paid(row) if row["bill"] is None else row["bill"]


def _cheap(row: AnyRow) -> tuple[float, float]:
    return _price(row), -_held(row)


def _numbers(row: AnyRow) -> str:
    """What it keeps, with the interval of many sessions, and what it costs."""
    between = ""
    if "low" in row and row["low"] is not None:
        between = f" ({row['low']:.3f} to {row['high']:.3f})"
    inside = "" if row["far_in_context"] is None else f", {row['far_in_context']:.3f} in context"
    price = "" if row["cost"] is None else f", at a cost of {paid(row):.2f}"
    if price and (row["summary_price"] or 0) >= .005:  # the table has them in another column
        price += f" ({row['summary_price']:.2f} of it for summaries)"
    if row["bill"] is not None:
        price = f", at a bill of {row['bill']:.4f}" + " a session" * ("each" in row)
    return f"far recall {row['far_recall']:.3f}{between}{inside}{price}"
