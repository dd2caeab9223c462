"""Milestone 6: the report page: one file, no network, readable without scripting.

`render_page` fills the template once, with real `.css` and `.js` files of this folder.
The verdict, the table and the curves are made here and stand in the page as text
and picture; the bench gets the data as JSON and only folds the changes that Python
made (`lab/pagedata.py` has their form). Texts of a session reach the page in two
ways, both closed: escaped by `html.escape`, or inside the JSON with `<` escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from .curves import curves
from .table import notes, summary_table, table
from .verdict import verdict

Data = dict[str, Any]
SCRIPTS = ("fold.js", "strip.js", "bench.js", "sort.js")


def render_page(data: Data) -> str:
    """The page of a comparison (`pagedata.page_data`), the same bytes for the same data."""
    return Template(_part("page.html")).substitute(
        title=escape(data["title"]), style=_part("page.css"), verdict=verdict(data),
        command=escape(data["command"]), estimator=escape(data["estimator"]),
        summary=summary_table(data["summary"]), table=table(data["rows"]),
        notes=notes(data), curves="\n".join(
            curves(session, asked_windows(data["rows"], session["session"]))
            for session in data["sessions"]),
        data=embedded(data), script="\n".join(_part(name) for name in SCRIPTS))


def asked_windows(rows: Sequence[Mapping[str, Any]], session: str) -> list[int]:
    """The windows that were asked for; a session may hold more, for the slider."""
    return list(dict.fromkeys(row["window"] for row in rows if row["session"] == session))


def embedded(data: Data) -> str:
    """JSON that can stand in a script element: no `<` can end it or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
