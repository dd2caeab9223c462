"""Milestone 6: what a comparison comes to, in a few sentences.

Named are always both sides, what is kept and what it costs, and only policies that
stayed within the window and keep the laws: one number alone would praise the wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

Row = Mapping[str, Any]
BOUNDS = ("none", "oracle", "bag_of_words")  # they stand in the table as bounds, not as advice
MOST_SAID = 12  # sentences of a page; a table says the rest


def verdict(data: Mapping[str, Any]) -> str:
    """HTML paragraphs, one a session and window, or one a window of many sessions."""
    unsound = {run["policy"] for session in data["sessions"] for run in session["runs"]
               if run["breaks"]}.union(BOUNDS)
    said = list(_of_many(data["summary"], unsound) if data["summary"]
                else _of_one(data["rows"], unsound))
    if len(said) > MOST_SAID:
        said = [*said[:MOST_SAID], f"{len(said) - MOST_SAID} more: see the table"]
    return "\n".join(f"<p>{text}</p>" for text in said)


def _of_many(summary: Sequence[Row], unsound: set[str]) -> Iterator[str]:
    for window in dict.fromkeys(row["window"] for row in summary):
        rows = [row for row in summary if row["window"] == window and row["policy"] not in unsound
                and row["far_recall"] is not None]
        if not rows:
            yield f"Window {window}: no session is long enough for its evidence to count."
            continue
        best = max(rows, key=lambda row: (row["far_recall"], -(row["cost"] or 0)))
        many = f"{best['sessions']} session{'s' if best['sessions'] > 1 else ''}"
        spread = ("" if best["low"] is None else
                  f" (interval {best['low']:.3f} to {best['high']:.3f})")
        yield (f"Window {window}, {many}: {_named(best)} keeps the most of what is used again, "
               f"{_share(best)}{spread}{_price(best)}. {_cheapest(rows)}")


def _of_one(rows: Sequence[Row], unsound: set[str]) -> Iterator[str]:
    for key in dict.fromkeys((row["session"], row["window"]) for row in rows):
        group = [row for row in rows if (row["session"], row["window"]) == key]
        base = next((row for row in group if row["policy"] == "none"), group[0])
        where = f"{escape(key[0])}, window {key[1]}"
        if not base["over_window_steps"]:
            yield (f"{where}: the whole session fits, its largest request has "
                   f"{base['peak_tokens']} tokens.")
            continue
        yield f"{where}: {_advice(group, base, unsound)}"


def _advice(group: Sequence[Row], base: Row, unsound: set[str]) -> str:
    start = (f"without compression {base['over_window_steps']} of {base['steps']} steps would not "
             "have fitted. ")
    sound = [row for row in group if row["policy"] not in unsound
             and not row["over_window_steps"] and not row["law_breaks"]]
    if not sound:
        return start + "No policy here stays within the window and keeps the laws."
    measured = [row for row in sound if row["far_recall"] is not None]
    if not measured:
        small = min(sound, key=lambda row: row["peak_tokens"])
        return start + (f"Too little is used again to measure what is lost; {_named(small)} has "
                        f"the smallest peak, {small['peak_tokens']} tokens.")
    best = max(measured, key=lambda row: (row["far_recall"], -(row["cost"] or 0)))
    return start + (f"{_named(best)} keeps the most of what is used again, "
                    f"{_share(best)}{_price(best)}. {_cheapest(measured)}")


def _cheapest(rows: Sequence[Row]) -> str:
    priced = [row for row in rows if row["cost"] is not None]
    if not priced:
        return ""
    low = min(priced, key=lambda row: row["cost"])
    return f"The cheapest is {_named(low)}: {low['cost']:.2f}, with {_share(low)}."


def _price(row: Row) -> str:
    return "" if row["cost"] is None else f", at a cost of {row['cost']:.2f}"


def _named(row: Row) -> str:
    return f"<strong>{escape(row['policy'])}</strong>"


def _share(row: Row) -> str:
    inside = "" if row["far_in_context"] is None else f", {row['far_in_context']:.3f} in context"
    return f"far recall {row['far_recall']:.3f}{inside}"
