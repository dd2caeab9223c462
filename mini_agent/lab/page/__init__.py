"""Milestone 6: the report page: one file, no network, readable without scripting.

`render_page` fills the template once, with the `.css` and `.js` files of this folder. The
verdict, the tables and the curves are made here, so they can be read without scripting; the
bench, where one steps through a session, gets the data as JSON (`lab/pageform.py`) and only
applies the changes in them. Texts of a session are hostile and reach the page in two safe
ways: escaped by `html.escape`, or inside the JSON with `<` escaped.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

from ..pageform import Page
from ..rows import TrialRow
from .curves import curves
from .picture import picture
from .table import notes, session_title, summary_tables, tables
from .verdict import verdict

SCRIPTS = ("fold.js", "strip.js", "bench.js", "sort.js")


def render_page(data: Page) -> str:
    """The page of a comparison (`pagedata.page_data`), the same bytes for the same data."""
    return Template(_part("page.html")).substitute(
        title=escape(data["title"]), style=_part("page.css"), verdict=verdict(data),
        command=escape(data["command"]), estimator=escape(data["estimator"]),
        means=picture(data["summary"], set(data["unsound"])) + summary_tables(data["summary"]),
        sessions=_sessions(data), notes=notes(data), data=embedded(data),
        script="\n".join(_part(name) for name in SCRIPTS))


def _sessions(data: Page) -> str:
    """Tables and curves of each session; if there are several, each is folded under its name."""
    rows: dict[str, list[TrialRow]] = {}
    for row in data["rows"]:
        rows.setdefault(row["session"], []).append(row)
    shown = {session["session"]: session for session in data["sessions"]}
    parts = []
    for name, own in rows.items():
        windows = list(dict.fromkeys(row["window"] for row in own))
        part = tables(own) + (curves(shown[name], windows) if name in shown else "")
        parts.append(part if len(rows) == 1 else f'<details class="session"><summary>'
                     f"{escape(session_title(own[0]))}</summary>\n{part}</details>")
    return "\n".join(parts)


def embedded(data: Page) -> str:
    """JSON that can stand in a script element: no `<` can end it or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
