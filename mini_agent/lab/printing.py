"""Milestone 6: what `compare` prints: for people a table and a verdict, for a script the rows
as JSON or CSV, and with `--verdict` means and verdicts too.

What is left out: the page (`page/`), and how a table is laid out (`tables.py`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TextIO

from ..columns import WIDTH, columns_of, hung, number_of, write_rows
from ..hostile import escaped
from .compare import BASELINE, Plan
from .results import Result
from .rows import AnyRow, MeanRow
from .summary import MIN_CALLS, summarise
from .tables import (
    as_csv, as_json, fact_lines, missed_lines, session_table, summary_table, with_missed)
from .verdict import Verdict, verdicts
from .verdictform import Advice


def print_results(options: argparse.Namespace, plan: Plan, results: Sequence[Result],
                  out: TextIO) -> None:
    """Print what came of a comparison, in the form that the options ask for."""
    rows: list[Mapping[str, object]] = [row for result in results for row in result["rows"]]
    if options.json and options.evidence is not None:
        rows = [row for result in results
                for row in with_missed(result, plan.policies, options.evidence)]
    if options.json:
        out.write(_report(plan, results, rows) if options.verdict else as_json(rows))
    elif options.csv:
        out.write(as_csv(rows))
    else:
        _print_tables(options, plan, results, out)


def _print_tables(options: argparse.Namespace, plan: Plan, results: Sequence[Result],
                  out: TextIO) -> None:
    """For people: a table for each session, or one of means, and the verdicts on it. Of several
    sessions those that fit whole have one line together, unless facts or a bill are asked for."""
    columns = columns_of(out, options.plain)
    write = partial(write_rows, stream=out, plain=options.plain)
    means = _means(results)
    several = len(results) > 1 and not means and not plan.facts and not plan.price
    shown = [result for result in results if not (several and _fits_whole(result))]
    if means:
        write(_lines_of_many(results, plan, means, columns))
    else:
        for number, result in enumerate(shown):
            if number > 0:
                out.write("\n")
            write(session_table(result, columns))
    for found in _verdicts(shown, means):
        out.write("\n")
        write(hung(escaped(f"{found.where}: {found.said()}"), columns or WIDTH, 0))
    if len(shown) < len(results):
        out.write("\n" * bool(shown))
        write(_lines_of_whole(list(filter(_fits_whole, results)), len(results)))
    if options.evidence is not None:
        write(missed_lines(results, options.evidence))


def _fits_whole(result: Result) -> bool:
    """Whether a session fits into every window without compression, and has no notes."""
    return not result["notes"] and not any(
        row["over_window_steps"] for row in result["rows"] if row["policy"] == BASELINE)


def _lines_of_whole(whole: Sequence[Result], of: int) -> Iterator[str]:
    """The line about the sessions that fit whole, of so many in all."""
    peak = max(row["peak_tokens"] for result in whole for row in result["rows"])
    yield (f"fit whole: {len(whole)} of {number_of(of, 'session')}, no request larger than "
           f"{number_of(peak, 'token')}")


def _means(results: Sequence[Result]) -> Sequence[MeanRow]:
    """The means over several sessions; none where no session has enough for a mean."""
    means = summarise(results) if len(results) > 1 else []
    return means if any(row["sessions"] for row in means) else []


def _verdicts(results: Sequence[Result], means: Sequence[MeanRow]) -> Iterator[Verdict]:
    rows = [row for result in results for row in result["rows"]]
    return verdicts(rows, means, {name for result in results for name in result["breaks"]})


def _report(plan: Plan, results: Sequence[Result], rows: Sequence[Mapping[str, object]]) -> str:
    """An object: the estimator, the rows, the means that are printed of them, the verdicts."""
    means = _means(results)
    parts = {"rows": as_json(rows), "means": as_json(means), "verdicts": as_json(
        [advice_of(found) for found in _verdicts(results, means)])}
    told = "".join(f',\n"{name}": {text.rstrip()}' for name, text in parts.items())
    return f'{{"estimator": {json.dumps(plan.estimator)}{told}}}\n'


def advice_of(found: Verdict) -> Advice:
    """A verdict as plain JSON."""
    take, other, worst = found.take, found.difference, found.worst
    window, session, sessions = found.where
    return {"window": window, "session": session, "sessions": sessions, "take": _name(take),
            "most": _name(found.most), "cheapest": _name(found.cheapest),
            "smallest": _name(found.smallest),
            "difference": other and {**other._asdict(), "mean": round(other.mean, 4),
                                     "may_be_chance": other.may_be_chance},
            "worst": worst and {"session": worst[0], "far_recall": worst[1]},
            "over_steps": take and (take["over_steps"] if "each" in take
                                    else take["over_window_steps"]),
            "said": found.said()}


def _name(row: AnyRow | None) -> str | None:
    return None if row is None else row["policy"]


def _lines_of_many(results: Sequence[Result], plan: Plan, means: Sequence[MeanRow],
                   columns: int | None) -> Iterator[str]:
    """The lines about many sessions."""
    yield f"{number_of(len(results), 'session')}, estimator {plan.estimator}"
    yield ("(at a window those count that outgrow it and have "
           f"{number_of(MIN_CALLS, 'call')} or more)")
    for result in results:
        if result["unreadable"]:
            yield (f"  note: {result['session']}: {number_of(result['unreadable'], 'line')} "
                   "could not be read")
    yield from summary_table(means, columns)
    yield from fact_lines(results)
