"""Milestone 6: many sessions as one row per window and policy.

Shares are averaged over the steps of a session (`measures.py`), then over the sessions, each
weighing the same. A session counts at a window if it has 20 calls or more, its history is
over 1.15 windows, and its system and first user messages are under 40 % of the window: a
session that always fits, or never can, says nothing about a policy. The interval is a
bootstrap over sessions (2.5 and 97.5 %) with a fixed seed. Sums are exact (`fsum`), so that
every version of Python gives the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import fsum

from ..held import mean
from .results import Result
from .rows import MeanRow, Measure, TrialRow

MIN_CALLS, MIN_HISTORY, MAX_HEAD = 20, 1.15, .4
DRAWS, SEED = 1_000, 1


def is_counted(result: Result, window: int) -> bool:
    """Whether a session outgrows this window, and does not begin too large for it."""
    return bool(result["calls"] >= MIN_CALLS and result["tokens"] > MIN_HISTORY * window
                and result["head"] < MAX_HEAD * window)


def summarise(results: Sequence[Result]) -> list[MeanRow]:
    """One row per window and policy, in the order of the rows of the sessions."""
    cells: dict[tuple[int, str], list[TrialRow]] = {}
    for result in results:
        for row in result["rows"]:
            cell = cells.setdefault((row["window"], row["policy"]), [])
            if is_counted(result, row["window"]):
                cell.append(row)
    return [_summary(window, policy, cell) for (window, policy), cell in cells.items()]


def _summary(window: int, policy: str, rows: Sequence[TrialRow]) -> MeanRow:
    def of(key: Measure) -> float | None:
        return mean(row[key] for row in rows)

    far = [row["far_recall"] for row in rows if row["far_recall"] is not None]
    low, high = interval(far)
    worst = sorted(far)[:max(1, len(far) // 10)]
    last = next((row for row in rows if worst and row["far_recall"] == worst[0]), None)
    return {"window": window, "policy": policy, "sessions": len(rows), "far_recall": mean(far),
            "low": low, "high": high, "each": [row["far_recall"] for row in rows],
            "worst_tenth": mean(worst), "worst_session": last["session"] if last else None,
            "far_in_context": of("far_in_context"), "recall": of("recall"),
            "fresh": of("fresh"), "lines": of("lines"), "reach": of("reach"),
            "cost": of("cost"), "summary_price": of("summary_price"),
            "prefix_breaks": of("prefix_breaks"), "bill": of("bill"),
            "over_steps": sum(row["over_window_steps"] for row in rows),
            "over_share": mean(row["over_window_steps"] / row["steps"] for row in rows),
            "law_breaks": sum(row["law_breaks"] for row in rows)}


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Bootstrap interval of the mean, to 4 decimals; None, None below two values."""
    if len(values) < 2:
        return None, None
    chance: Callable[[], float] = random.Random(SEED).random
    size = len(values)
    means = sorted(fsum(values[int(chance() * size)] for _ in range(size)) / size
                   for _ in range(DRAWS))
    return (round(means[DRAWS * 25 // 1_000], 4), round(means[DRAWS * 975 // 1_000 - 1], 4))
