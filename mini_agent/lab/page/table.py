"""Milestone 6: the table of the page, as HTML that needs no scripting.

In each session and window the best and the worst of a column carry a sign and a
word, not only a colour. A click on a head sorts (`sort.js`); without scripting the
order is that of the policies, the baseline first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ...columns import number_of
from ..verdict import BOUNDS

Row = Mapping[str, Any]
# key, head, what it says, whether more is better (None: neither)
COLUMNS: tuple[tuple[str, str, str, bool | None], ...] = (
    ("policy", "policy", "the name of the policy", None),
    ("window", "window", "tokens that fit", None),
    ("far_recall", "far recall", "share of what is used again that the view still held", True),
    ("far_in_context", "in context", "the same, with its surroundings", True),
    ("recall", "recall", "the same, near things included", True),
    ("fresh", "fresh", "of what only tools had said", True),
    ("lines", "lines", "of whole lines", True),
    ("cost", "cost", "price with a cache, relative to no compression", False),
    ("summary_tokens", "summary tokens", "what a summariser read and wrote", False),
    ("peak_tokens", "peak", "the largest request, in tokens", False),
    ("prefix_breaks", "prefix breaks", "of 100 steps, how many changed what had been sent before", False),
    ("over_window_steps", "over", "steps that would not have fitted: each counts 0", False),
    ("law_breaks", "law breaks", "changes that broke a law", False),
    ("compressions", "changes", "by strategy", None),
    ("facts", "facts", "where each probe was at the last step", None))
# the means of all sessions: key, whether more is better
SUMMARY_COLUMNS: tuple[tuple[str, bool | None], ...] = (
    ("policy", None), ("window", None), ("sessions", None), ("far_recall", True), ("low", None),
    ("high", None), ("far_in_context", True), ("recall", True), ("fresh", True), ("lines", True),
    ("worst_tenth", True), ("cost", False), ("summary_price", False), ("prefix_breaks", False))
SUMMARY_SAID = {
    "sessions": "how many outgrow the window and have enough calls",
    "low": "where the interval of far recall begins", "high": "where it ends",
    "worst_tenth": "far recall of the worst tenth of the sessions",
    "summary_price": "of summaries, in the unit of cost: on top of it"}


def table(rows: Sequence[Row]) -> str:
    """One table per session; every cell has its value for sorting beside its text."""
    parts = []
    for session in dict.fromkeys(row["session"] for row in rows):
        own = [row for row in rows if row["session"] == session]
        columns = [column for column in COLUMNS if column[0] != "facts" or own[0]["facts"]]
        told = f"{own[0]['session']} ({own[0]['format']}), {number_of(own[0]['steps'], 'step')}"
        parts.append(_table(told, [(key, head, about) for key, head, about, _ in columns],
                            _body(own, [(key, better) for key, _, _, better in columns])))
    return "\n".join(parts)


def summary_table(rows: Sequence[Row]) -> str:
    """The means over all sessions, where there are several."""
    if not rows:
        return ""
    said = {key: about for key, _, about, _ in COLUMNS} | SUMMARY_SAID
    heads = [(key, key.replace("_", " "), said[key]) for key, _ in SUMMARY_COLUMNS]
    return _table("means over the sessions that count at a window", heads,
                  _body(rows, SUMMARY_COLUMNS))


def notes(data: Mapping[str, Any]) -> str:
    """What was left out and why, as a list."""
    said = [*data["notes"], *(f"{session['session']}: {note}" for session in data["sessions"]
                              for note in session["notes"])]
    if not said:
        return ""
    return "<ul class=\"notes\">" + "".join(f"<li>{escape(text)}</li>" for text in said) + "</ul>"


def _table(caption: str, heads: Sequence[tuple[str, str, str]],
           body: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col" title="{escape(about)}">{escape(name)}</th>'
                   for _, name, about in heads)
    rows = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    return (f'<div class="scroll"><table class="sortable"><caption>{escape(caption)}</caption>'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>")


def _body(rows: Sequence[Row], columns: Sequence[tuple[str, bool | None]]) -> list[list[str]]:
    """The cells of all rows; the best and worst are those of the rows of one window."""
    return [list(_cells(row, columns, rows)) for row in rows]


def _cells(row: Row, columns: Sequence[tuple[str, bool | None]],
           rows: Sequence[Row]) -> Iterator[str]:
    peers = [other for other in rows if other["window"] == row["window"]
             and other["policy"] not in BOUNDS]
    for key, more_is_better in columns:
        mark = "" if more_is_better is None or row not in peers else _mark(
            row[key], [other[key] for other in peers if other[key] is not None], more_is_better)
        yield _cell(row[key], _shown(row[key]), mark)


def _mark(value: float | None, values: Sequence[float], more_is_better: bool) -> str:
    if value is None or not values or min(values) == max(values):
        return ""
    best, worst = (max, min) if more_is_better else (min, max)
    if sum(other == value for other in values) * 2 > len(values):
        return ""  # what most share is no distinction
    return "best" if value == best(values) else "worst" if value == worst(values) else ""


def _cell(value: Any, text: str, mark: str) -> str:
    sign = {"best": ' <span class="sign">&#9650;<span class="word">best</span></span>',
            "worst": ' <span class="sign">&#9660;<span class="word">worst</span></span>'}
    number = isinstance(value, (int, float))
    key = value if number or isinstance(value, str) else ""
    kind = " ".join(filter(None, ("number" if number or value is None else "", mark)))
    return (f'<td class="{kind}" data-key="{escape(str(key))}">{escape(text)}'
            f"{sign.get(mark, '')}</td>")


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {item}" for name, item in value.items())
    return str(value)
