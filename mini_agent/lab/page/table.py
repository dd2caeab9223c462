"""Milestone 6: the tables of the page, as HTML that needs no scripting.

There is a table for each session and window and, for several sessions, a table of the means
for each window. The best and the worst value of a column carry a sign and a word, not only a
colour. A click on a head sorts (`sort.js`); without scripting the order is that of the
policies, the baseline first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ...columns import number_of
from ..pageform import Page
from ..tables import figure
from ..verdict import BOUNDS

Row = Mapping[str, Any]  # a `TrialRow` or `MeanRow`, whose keys are those of the columns
Column = tuple[str, str, str, bool | None]  # key, head, what it says, whether more is better
COLUMNS: tuple[Column, ...] = (
    ("policy", "policy", "the name of the policy", None),
    ("far_recall", "far", "share of what is used again that the view still held", True),
    ("far_in_context", "in context", "the same, with its surroundings", True),
    ("recall", "recall", "the same, near things included", True),
    ("fresh", "fresh", "of what only tools had said", True),
    ("lines", "lines", "of whole lines", True),
    ("reach", "reach", "far, with what stands behind a handle", True),
    ("cost", "cost", "price with a cache, relative to no compression; behind + that of summaries",
     False),
    ("bill", "bill", "at the prices that were given, answers and summaries included", False),
    ("summary_tokens", "summary", "tokens: what a summariser read and wrote", False),
    ("peak_tokens", "peak", "the largest request, in tokens", False),
    ("prefix_breaks", "breaks", "of 100 steps, how many changed what had been sent before", False),
    ("over_window_steps", "over", "steps that would not have fitted: each counts 0", False),
    ("law_breaks", "laws", "changes that broke a law", False),
    ("compressions", "compressions", "by strategy", None),
    ("facts", "facts", "where each probe was at the last step", None))
_OF = {column[0]: column for column in COLUMNS}
SUMMARY_COLUMNS: tuple[Column, ...] = (  # of the means over sessions
    _OF["policy"], _OF["far_recall"],
    ("interval", "interval", "how far off the mean of far may be with so few sessions", None),
    _OF["far_in_context"],
    ("worst_tenth", "worst tenth", "far of the worst tenth of the sessions", True),
    _OF["recall"], _OF["fresh"], _OF["lines"], _OF["reach"],
    ("cost", "cost", "price with a cache, relative to no compression; best and worst with the "
     "summaries on top", False), _OF["bill"],
    ("summary_price", "summaries", "their price, on top of the cost", False),
    _OF["prefix_breaks"],
    ("over_share", "over", "share of the steps that would not have fitted", False),
    _OF["law_breaks"])


def tables(rows: Sequence[Row]) -> str:
    """The table of a session for each window; each cell also carries its value, for sorting."""
    columns = [column for column in COLUMNS if column[0] != "facts" or rows[0]["facts"]]
    columns = _with_bill(columns, rows)
    return "\n".join(_table(f"{session_title(rows[0])}, window {window}", columns, own)
                     for window, own in _by_window(rows))


def _with_bill(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The columns, without that of the bill where there were no prices."""
    return [column for column in columns if column[0] != "bill" or any(
        row.get("bill") is not None for row in rows)]


def session_title(row: Row) -> str:
    """The title of a session: its name, format and number of steps."""
    return f"{row['session']} ({row['format']}), {number_of(row['steps'], 'step')}"


def summary_tables(summary: Sequence[Row]) -> str:
    """The means over all sessions that count, a table a window; "" where none counts."""
    rows = [{**row,
             "interval": None if row["low"] is None else f"{row['low']:.3f}-{row['high']:.3f}"}
            for row in summary if row["sessions"]]
    return "\n".join(
        _table(f"window {window}, {number_of(own[0]['sessions'], 'session')}: means over those "
               "that outgrow it and have enough calls", _with_bill(SUMMARY_COLUMNS, rows), own)
        for window, own in _by_window(rows))


def _by_window(rows: Sequence[Row]) -> Iterator[tuple[int, list[Row]]]:
    for window in dict.fromkeys(row["window"] for row in rows):
        yield window, [row for row in rows if row["window"] == window]


def notes(data: Page) -> str:
    """What was left out and why, as a list."""
    said = [*data["notes"], *(f"{session['session']}: {note}" for session in data["sessions"]
                              for note in session["notes"])]
    if not said:
        return ""
    return "<ul class=\"notes\">" + "".join(f"<li>{escape(text)}</li>" for text in said) + "</ul>"


def _table(caption: str, columns: Sequence[Column], body: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col"{_right(key, body)} title="{escape(about)}">{escape(name)}</th>'
                   for key, name, about, _ in columns)
    rows = "\n".join(f"<tr>{''.join(_cells(row, columns, body))}</tr>" for row in body)
    return (f'<div class="scroll"><table class="sortable"><caption>{escape(caption)}</caption>'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>")


def _right(key: str, body: Sequence[Row]) -> str:
    """The class of the head of a column of numbers, which is aligned to the right."""
    return ' class="number"' if any(isinstance(row[key], (int, float)) for row in body) else ""


def _cells(row: Row, columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """The cells of a row; the best and the worst of these rows are marked, bounds never."""
    peers = [other for other in rows if other["policy"] not in BOUNDS]
    for key, _, _, more_is_better in columns:
        mark = "" if more_is_better is None or row not in peers else _mark(
            _rank(key, row), [_rank(key, other) for other in peers if other[key] is not None],
            more_is_better)
        value, text = row[key], _shown(key, row[key])
        if key == "cost" and "summary_tokens" in row and (row["summary_price"] or 0) >= .005:
            value, text = _rank(key, row), f"{text} {figure('summary_price', row['summary_price'])}"
        yield _cell(value, text, mark)


def _rank(key: str, row: Row) -> Any:
    """The value by which rows are compared; that of a cost includes the summaries."""
    value = row[key]
    return value if key != "cost" or value is None else round(
        value + (row["summary_price"] or 0), 4)


def _mark(value: float | None, values: Sequence[float], more_is_better: bool) -> str:
    if value is None or not values or min(values) == max(values):
        return ""
    best, worst = (max, min) if more_is_better else (min, max)
    if sum(other == value for other in values) * 2 > len(values):
        return ""  # what most share is not a distinction
    return "best" if value == best(values) else "worst" if value == worst(values) else ""


def _cell(value: Any, text: str, mark: str) -> str:
    sign = {"best": ' <span class="sign">&#9650;<span class="word">best</span></span>',
            "worst": ' <span class="sign">&#9660;<span class="word">worst</span></span>'}
    number = isinstance(value, (int, float))
    key = value if number or isinstance(value, str) else ""
    kind = " ".join(filter(None, ("number" if number or value is None else "", mark)))
    said = escape(text)
    if isinstance(value, Mapping):
        said = said.replace("_", "_<wbr>")  # so that a long name need not widen the table
    return (f'<td class="{kind}" data-key="{escape(str(key))}">{said}'
            f"{sign.get(mark, '')}</td>")


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {item}" for name, item in value.items())
    return figure(key, value)
