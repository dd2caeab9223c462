"""Milestone 6: what `compare` prints: a table, or the rows as JSON or CSV.

On a terminal the table has as many columns as there is room for, the most important ones;
in a file or a pipe it has all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..columns import Table, number_of
from ..hostile import escaped
from .measures import KEYS, Missed
from .results import Result
from .rows import AnyRow, MeanRow, TrialRow

Some = TypeVar("Some", TrialRow, MeanRow)
FORMS = {"bill": ".4f", "prefix_breaks": ".1f", "summary_price": "+.2f"}  # others: 3 decimals
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would run


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """A list of rows, one a line."""
    return "[" + ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]\n"


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """A head and one line per row; compressions and facts as `name=value` with blanks.

    A text that a spreadsheet would take for a formula gets a `'` in front; control
    characters are escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(KEYS)
    for row in rows:
        writer.writerow([_flat(row[key]) for key in KEYS])
    return out.getvalue()


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        value = " ".join(f"{json.dumps(key, ensure_ascii=False) if ' ' in key else key}={item}"
                         for key, item in value.items())
    if not isinstance(value, str):
        return value
    return escaped(f"'{value}" if value.startswith(FORMULA) else value)


_HEAD = ("policy", "far", "in context", "recall", "fresh", "lines", "reach", "cost", "bill",
         "summary", "peak", "sent", "over", "breaks", "laws", "compressions")
_CELLS = (  # the keys of these columns but the last
    "policy", "far_recall", "far_in_context", "recall", "fresh", "lines", "reach", "cost", "bill",
    "summary_tokens", "peak_tokens", "sent_tokens", "over_window_steps", "prefix_breaks",
    "law_breaks")
_BY_WEIGHT = ("policy", "far", "in context", "cost", "bill", "summary", "over", "laws", "breaks",
              "peak", "reach", "recall", "fresh", "lines", "sent", "compressions")


def session_table(result: Result, columns: int | None = None) -> Iterator[str]:
    """The lines about one session: a head, a table for each window, where each fact is.

    `columns` of the terminal; without any nothing is left out.
    """
    rows = result["rows"]
    yield (f"{result['session']} ({rows[0]['format']}): {number_of(rows[0]['steps'], 'step')}, "
           f"{number_of(result['calls'], 'call')}, {number_of(result['tokens'], 'token')}")
    for note in result["notes"]:
        yield f"  note: {note}"
    table = _table(_HEAD, _BY_WEIGHT, rows, _cells, columns)
    for title in table.blocks:
        yield ""
        yield from table.lines(title)
        yield from _facts([row for row in rows if title == _title(row)])
    yield from _left_out(table)


def _title(row: AnyRow) -> str:
    return f"window {row['window']}"


def _table(head: Sequence[str], by_weight: Sequence[str], rows: Sequence[Some],
           cells: Callable[[Some], Sequence[str]], columns: int | None) -> Table:
    """One block per window; a bill only where there were prices."""
    shown = [name for name in head if name != "bill" or any(
        row["bill"] is not None for row in rows)]
    blocks: dict[str, list[Sequence[str]]] = {}
    for row in rows:
        blocks.setdefault(_title(row), []).append(
            [cell for name, cell in zip(head, cells(row), strict=True) if name in shown])
    return Table(shown, [name for name in by_weight if name in shown], blocks, columns)


def _left_out(table: Table) -> Iterator[str]:
    """Which columns a terminal has no room for, and where they are shown."""
    if table.left_out:
        yield ""
        yield f"(a file or a pipe also gets: {', '.join(table.left_out)})"


def _cells(row: TrialRow) -> tuple[str, ...]:
    done = " ".join(f"{name}={times}" for name, times in row["compressions"].items())
    return (*(figure(key, row.get(key)) for key in _CELLS), done)


def figure(key: str, value: object) -> str:
    """The value of a column as people see it, in the terminal and on the page."""
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    return f"{100 * value:.0f} %" if key == "over_share" else f"{value:{FORMS.get(key, '.3f')}}"


def _facts(rows: Sequence[TrialRow], never_said: bool = True) -> Iterator[str]:
    """One line per fact: its state at the last step under each policy. Without `never_said` a
    fact that is gone under all of them, also under `none`, is left out."""
    for fact in rows[0]["facts"]:
        states: dict[str, list[str]] = {}
        for row in rows:
            states.setdefault(row["facts"][fact], []).append(row["policy"])
        if not never_said and list(states) == ["gone"]:
            continue
        places = "; ".join(f"{state or 'not said yet'} under {', '.join(names)}"
                           for state, names in states.items())
        yield f"  fact {fact!r}: {places}"


def fact_lines(results: Sequence[Result]) -> Iterator[str]:
    """For many sessions: where each fact is, for the sessions in which it was said."""
    for result in results:
        for window in dict.fromkeys(row["window"] for row in result["rows"]):
            rows = [row for row in result["rows"] if row["window"] == window]
            found = list(_facts(rows, never_said=False))
            if found:
                yield from ("", f"{result['session']}, window {window}", *found)


_SUMMARY_HEAD = ("policy", "sessions", "far", "interval", "in context", "worst tenth", "recall",
                 "fresh", "lines", "reach", "cost", "bill", "summaries", "breaks", "over", "laws")
_SUMMARY_CELLS = (  # the keys of these columns but the interval
    "policy", "sessions", "far_recall", "far_in_context", "worst_tenth", "recall", "fresh",
    "lines", "reach", "cost", "bill", "summary_price", "prefix_breaks", "over_share", "law_breaks")
_SUMMARY_BY_WEIGHT = (
    "policy", "far", "in context", "cost", "bill", "summaries", "over", "laws", "breaks",
    "interval", "sessions", "worst tenth", "reach", "recall", "fresh", "lines")


def summary_table(summary: Sequence[MeanRow], columns: int | None = None) -> Iterator[str]:
    """One table per window, over all sessions that count there, none where no session does;
    `columns` of the terminal."""
    counted = [row for row in summary if row["sessions"]]
    table = _table(_SUMMARY_HEAD, _SUMMARY_BY_WEIGHT, counted, _summary_cells, columns)
    for title in table.blocks:
        yield ""
        yield from table.lines(title)
    yield from _left_out(table)


def _summary_cells(row: MeanRow) -> tuple[str, ...]:
    between = "-" if row["low"] is None else f"{row['low']:.3f}-{row['high']:.3f}"
    told = [figure(key, row.get(key)) for key in _SUMMARY_CELLS]
    return (*told[:3], between, *told[3:])


def missed_lines(results: Sequence[Result], limit: int) -> Iterator[str]:
    """What was missing at which step, the largest first, `limit` a policy and window."""
    for result in results:
        for (policy, window), found in _missed(result).items():
            yield ""
            missing = number_of(len(found), "item")
            yield (f"{result['session']}: {policy} at {window}: missing: {missing}"
                   + (f", the {limit} largest:" if len(found) > limit else ":"))
            for step, text, last_seen, reach in found[:limit]:
                handle = ", behind a handle" * reach
                yield (f"  step {step}, last seen in #{last_seen}{handle}: "
                       f"{json.dumps(text, ensure_ascii=False)}")


def _missed(result: Result) -> dict[tuple[str, int], list[Sequence[Any]]]:
    """What each policy and window missed, the largest first."""
    cells: dict[tuple[str, int], list[Sequence[Any]]] = {}
    for policy, window, *missed in result["missed"]:
        cells.setdefault((policy, window), []).append(missed)
    for found in cells.values():
        found.sort(key=lambda item: (-len(item[1]), item[0], item[1]))
    return cells


def with_missed(result: Result, policies: Sequence[str], limit: int
                ) -> Iterator[Mapping[str, object]]:
    """The rows of a session; for the policies that were asked for, with what they missed."""
    cells = _missed(result)
    for row in result["rows"]:
        if row["policy"] not in policies:
            yield row
            continue
        found = cells.get((row["policy"], row["window"]), [])[:limit]
        yield {**row, "missed": [dict(zip(Missed._fields, item)) for item in found]}
