"""Milestone 6: what the policies cost and keep, over all sessions, as a picture.

There is a panel for each window, without the policies that are only bounds. A line joins the
policies that are fit to ship and of which none keeps more for less; the dots of those that
are not fit are hollow.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...columns import number_of
from ..panel import BOTTOM, HEIGHT, TOP, Look, Points, Scale, on_frontier, panel, scale_of, width_of
from ..rows import MeanRow
from ..verdict import BOUNDS, fit_to_ship, paid

ALL_NAMED = 12  # policies; of more only those on the frontier have their names beside their dots
TITLE = 30      # pixels over a panel
_SAID = ("Far recall (up) against cost (right), summaries included, relative to no compression. "
         "Joined: the policies of which none keeps more for less. Hollow: not to ship, since it "
         "breaks laws or does not stay within the window.")


def picture(summary: Sequence[MeanRow], unsound: set[str]) -> str:
    """The figure for these means, "" where nothing was measured."""
    rows = [row for row in summary if row["policy"] not in BOUNDS
            and row["far_recall"] is not None and row["cost"] is not None]
    windows = list(dict.fromkeys(row["window"] for row in rows))
    if not windows:
        return ""
    points = {window: {row["policy"]: (paid(row), row["far_recall"] or 0.0) for row in rows
                       if row["window"] == window} for window in windows}
    scale = scale_of(points.values())
    panels = [_panel(number, [row for row in rows if row["window"] == window], points[window],
                     scale, unsound) for number, window in enumerate(windows)]
    return (f'<figure class="frontier"><svg viewBox="0 {TOP - TITLE} {width_of(len(windows))} '
            f'{TITLE + HEIGHT + BOTTOM}" width="{width_of(len(windows))}" role="img" '
            f'aria-label="far recall against cost">\n' + "\n".join(panels)
            + f"\n</svg><figcaption>{_SAID}</figcaption></figure>")


def _panel(number: int, rows: Sequence[MeanRow], points: Points,
           scale: Scale, unsound: set[str]) -> str:
    fit = {row["policy"] for row in fit_to_ship(rows, unsound)}
    best = on_frontier({name: point for name, point in points.items() if name in fit})
    title = f"window {rows[0]['window']}, {number_of(rows[0]['sessions'], 'session')}"
    return panel(number, title, points, scale, Look(
        best, set(points) if len(points) <= ALL_NAMED else set(best), set(points) - fit))
