"""Milestone 6: cost against far recall, as a picture.

One panel per window: to the right what a policy costs (with its summaries), upwards how much
of the far evidence its views still held, on the same scale in all panels. Ours are joined
by a line; a known policy is on the frontier if no other keeps more for less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor
from string import Template

from ..columns import number_of
from .labels import Label, Point, long, placed
from .study import FAR, KNOWN, OURS, Study

WIDTH, HEIGHT, LEFT, TOP, GAP = 340, 380, 48, 58, 44  # pixels of a panel, margins, between two
OURS_COLOR, KNOWN_COLOR, QUIET = "#1f6fd0", "#b3261e", "#777777"
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
    panels = [_panel(number, f"window {window}, {number_of(len(study.counted(window)), 'session')}",
                     points[window], right, bottom) for number, window in enumerate(points)]
    return _PAGE.substitute(width=LEFT + len(panels) * (WIDTH + GAP), height=TOP + HEIGHT + 40,
                            left=LEFT, panels="\n".join(panels))


def _panel(number: int, title: str, points: dict[str, tuple[float, float]], right: float,
           bottom: float) -> str:
    dots = {name: Point(cost / right * WIDTH, (1 - (far - bottom) / (1 - bottom)) * HEIGHT)
            for name, (cost, far) in points.items()}
    line = " ".join(f"{dots[name].x:.1f},{dots[name].y:.1f}" for name in OURS if name in dots)
    named: dict[Point, list[str]] = {}
    for name in sorted((name for name in dots if name in OURS or name in on_frontier(points)),
                       key=lambda name: (name not in OURS, dots[name].y)):
        named.setdefault(dots[name], []).append(name)
    return "\n".join([
        f'<g transform="translate({LEFT + number * (WIDTH + GAP)},{TOP})">',
        f'<text y="-10" font-weight="bold" fill="#222222">{escape(title)}</text>',
        f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="#444444"/>',
        *_axes(right, bottom),
        f'<polyline points="{line}" fill="none" stroke="{OURS_COLOR}" stroke-width="1.5"/>',
        *map(_label, placed([(_joined(names), dot) for dot, names in named.items()],
                            list(dots.values()), WIDTH, HEIGHT)),
        *(_dot(name, *dot, name in OURS) for name, dot in dots.items()),
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


def _joined(names: Sequence[str]) -> str:
    """The names of policies with one and the same dot."""
    return ", ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _label(label: Label) -> str:
    """A name, and a line that leads there from its dot."""
    color = OURS_COLOR if label.name.split(", ")[0] in OURS else QUIET
    return (f'<path d="M{label.dot.x:.1f} {label.dot.y:.1f}L{label.end.x:.1f} {label.end.y:.1f}" '
            f'stroke="#bbbbbb"/><text x="{label.x:.1f}" y="{label.y + 4:.1f}" '
            f'textLength="{long(label.name):.1f}" lengthAdjust="spacingAndGlyphs" fill="{color}">{escape(label.name)}</text>')


def on_frontier(points: dict[str, tuple[float, float]]) -> set[str]:
    """The known policies of which no other known one keeps more for less."""
    known = {name: point for name, point in points.items() if name in KNOWN}
    return {name for name, (cost, far) in known.items() if not any(
        other_cost <= cost and other_far >= far and (other_cost, other_far) != (cost, far)
        for other_cost, other_far in known.values())}
