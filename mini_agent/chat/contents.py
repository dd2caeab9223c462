"""Milestone 5: what fills the window, for a person to read.

All functions take a window and return texts. Numbers are tokens as the window counts them;
if an endpoint has reported usage, the total is predicted from what it reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..columns import fitted, number_of
from ..compression.view import Entry
from ..compression.window import ContextWindow
from ..messages import calls_of
from ..meter import Meter, Prices
from .screen import Style

PARTS = {"system": "S", "tools": "T", "user": "U", "assistant": "A", "results": "R",
         "summaries": "Z"}
LARGEST = 5
LABEL = 10  # columns of a name


def _part_of(entry: Entry) -> str:
    """Which of `PARTS` an entry belongs to."""
    if entry.made:
        return "summaries"
    return "results" if entry.message["role"] == "tool" else entry.message["role"]


def sizes(window: ContextWindow) -> dict[str, int]:
    """The tokens of each of `PARTS`, in their order."""
    found = dict.fromkeys(PARTS, 0)
    found["tools"] = window.state.declared
    for entry in window.view.entries:
        found[_part_of(entry)] += entry.tokens
    return found


def share(window: ContextWindow) -> str:
    """How full the window is, in a few words."""
    if window.budget.window is None:
        return number_of(window.predicted, "token", ",")
    return f"{window.predicted * 100 // window.budget.window} % of {window.budget.window:,}"


def status(window: ContextWindow, meter: Meter, prices: Prices | None, model: str) -> list[str]:
    """The parts of the status line, the most important first."""
    parts = [share(window)]
    if prices is not None:
        parts.append(f"cost {prices.of(meter):.4f}")
    if meter.prompt:
        parts.append(f"in {meter.prompt:,} (cached {meter.cached:,}) out {meter.answer:,}")
    if meter.drift is not None:
        parts.append(f"drift {meter.drift:+,}")
    return [*parts, window.policy.name, model]


def contents(window: ContextWindow, style: Style) -> Iterator[str]:
    """The lines of /context: a bar, one line per part, the largest messages."""
    found, columns = sizes(window), style.width()
    total, limit = sum(found.values()), window.budget.window
    yield (f"window: {share(window)}; estimated by {window.state.estimate.name}: "
           f"{number_of(total, 'token', ',')}")
    if not style.plain:
        yield bar(found, limit or max(1, total), columns)
    for name, tokens in found.items():
        sign = "" if style.plain else f"{PARTS[name]} "
        yield f"{sign}{name:<{LABEL}}{tokens:>9,}  {tokens * 100 // max(1, total):>3} %"
    if limit is not None:
        sign = "" if style.plain else ". "
        yield f"{sign}{'free':<{LABEL}}{max(0, limit - window.predicted):>9,}"
    for entry in sorted(window.view.entries, key=lambda entry: -entry.tokens)[:LARGEST]:
        yield fitted(f"{entry.tokens:>7,}  {_named(entry)}", columns)


def bar(found: dict[str, int], limit: int, columns: int) -> str:
    """One line in which each letter stands for an equal part of the window, `.` for a free one.

    A part that is not empty has at least one letter.
    """
    room = max(len(found), columns - 2)
    line = "".join(PARTS[name] * max(1, tokens * room // limit)
                   for name, tokens in found.items() if tokens)
    return f"[{line[:room]:.<{room}}]"


def _named(entry: Entry) -> str:
    where = f"#{entry.stands_for[0]}" if entry.stands_for else "attached"
    if len(entry.stands_for) > 1:
        where += f"..#{entry.stands_for[-1]}"
    how = "" if entry.how == "verbatim" else f", {entry.how}"
    name = f" of {entry.message['name']}" if entry.message.get("name") else ""
    called = " ".join(call["name"] for call in calls_of(entry.message))
    start = entry.message["content"].strip().partition("\n")[0] or called
    return f"{where} {entry.message['role']}{name}{how}: {start}"
