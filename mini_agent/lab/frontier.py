"""Milestone 6: cost against far recall, as a picture.

A panel a window: to the right what a policy costs (with its summaries), upwards how much
of the far evidence its views still held, on the same scale in all panels. Ours are joined
by a line; a known policy is on the frontier if no other keeps more for less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor
from string import Template
from xml.sax.saxutils import escape

from .study import FAR, KNOWN, OURS, Study

WIDTH, HEIGHT, LEFT, TOP, GAP = 340, 380, 48, 58, 44  # pixels of a panel, margins, between two
OURS_COLOR, KNOWN_COLOR, QUIET = "#1f6fd0", "#b3261e", "#777777"
CLEAR, APART = 12, 110  # pixels between two labels, down and across
_PAGE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" font-family="sans-serif" \
font-size="11">
<title>Cost and far recall of context policies</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="$left" y="20" font-size="14" font-weight="bold" fill="#222222">Far recall (up) \
against cost (right), relative to no compression, summaries paid in full</text>
$panels
</svg>
""")


def frontier_svg(study: Study) -> str:
    """The picture of all windows at which sessions count; the same bytes for the same study."""
    names = (*KNOWN, *OURS)
    points = {window: {name: (study.paid(window, name), study.cell(window, name)[FAR])
                       for name in names if study.cell(window, name)[FAR] is not None}
              for window in study.windows}
    every = [point for found in points.values() for point in found.values()]
    right = ceil(2 * max([1.0, *(cost for cost, _ in every)])) / 2
    bottom = floor(10 * min([.9, *(far for _, far in every)])) / 10
    panels = [_panel(number, f"window {window}, {len(study.counted(window))} sessions",
                     points[window], right, bottom) for number, window in enumerate(points)]
    return _PAGE.substitute(width=LEFT + len(panels) * (WIDTH + GAP), height=TOP + HEIGHT + 40,
                            left=LEFT, panels="\n".join(panels))


def _panel(number: int, title: str, points: dict[str, tuple[float, float]], right: float,
           bottom: float) -> str:
    def place(cost: float, far: float) -> tuple[float, float]:
        return cost / right * WIDTH, (1 - (far - bottom) / (1 - bottom)) * HEIGHT

    ours = [place(*points[name]) for name in OURS if name in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in ours)
    return "\n".join([
        f'<g transform="translate({LEFT + number * (WIDTH + GAP)},{TOP})">',
        f'<text y="-10" font-weight="bold" fill="#222222">{escape(title)}</text>',
        f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="#444444"/>',
        *_axes(right, bottom),
        f'<polyline points="{line}" fill="none" stroke="{OURS_COLOR}" stroke-width="1.5"/>',
        *_labels([(name, *place(*points[name])) for name in points
                  if name in OURS or name in on_frontier(points)]),
        *(_dot(name, *place(*point), name in OURS) for name, point in points.items()),
        "</g>"])


def _axes(right: float, bottom: float) -> Iterator[str]:
    """Numbers at each tenth of far recall and each half of the cost."""
    for tenth in range(round(10 * bottom), 11):
        y = (10 - tenth) / (10 - 10 * bottom) * HEIGHT
        yield (f'<text x="-6" y="{y + 4:.1f}" text-anchor="end" fill="#444444">'
               f'{tenth / 10:.1f}</text><path d="M0 {y:.1f}H{WIDTH}" stroke="#eeeeee"/>')
    for half in range(round(2 * right) + 1):
        yield (f'<text x="{half / 2 / right * WIDTH:.1f}" y="{HEIGHT + 16}" '
               f'text-anchor="middle" fill="#444444">{half / 2:.1f}</text>')


def _dot(name: str, x: float, y: float, ours: bool) -> str:
    color = OURS_COLOR if ours else KNOWN_COLOR
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if ours else 3}" fill="{color}">'
            f"<title>{escape(name)}</title></circle>")


def _labels(named: Sequence[tuple[str, float, float]]) -> Iterator[str]:
    """A name right of its dot, moved down where it would lie on another; a line leads there."""
    taken: list[tuple[float, float]] = []
    for name, x, y in sorted(named, key=lambda item: (item[2], -item[1])):
        left, at = x + 12, y
        while any(abs(at - other) < CLEAR and abs(left - where) < APART for where, other in taken):
            at += 1
        taken.append((left, at))
        yield (f'<path d="M{x:.1f} {y:.1f}L{left - 2:.1f} {at:.1f}" stroke="#bbbbbb"/>'
               f'<text x="{left:.1f}" y="{at + 4:.1f}" '
               f'fill="{OURS_COLOR if name in OURS else QUIET}">{escape(name)}</text>')


def on_frontier(points: dict[str, tuple[float, float]]) -> set[str]:
    """The known policies of which no other known one keeps more for less."""
    known = {name: point for name, point in points.items() if name in KNOWN}
    return {name for name, (cost, far) in known.items() if not any(
        other_cost <= cost and other_far >= far and (other_cost, other_far) != (cost, far)
        for other_cost, other_far in known.values())}
