"""Milestone 6: cost against far recall, as a picture.

A panel a window: to the right what a policy costs (with its summaries), upwards how much
of the far evidence its views still held, on the same scale in all panels. Ours are joined
by a line; a known policy is on the frontier if no other keeps more for less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Template
from xml.sax.saxutils import escape

from .study import FAR, KNOWN, OURS, Study

WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 300, 52, 58, 40  # pixels of a panel, margins, between two
OURS_COLOR, KNOWN_COLOR, QUIET = "#1f6fd0", "#b3261e", "#777777"
CLEAR = 13  # pixels between two labels
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
    right = max([1.0, *(cost for cost, _ in every)])
    bottom = min([.5, *(far for _, far in every)])
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
        *(_dot(name, *place(*point), name in OURS) for name, point in points.items()),
        *_labels([(name, *place(*points[name])) for name in points
                  if name in OURS or name in on_frontier(points)]),
        "</g>"])


def _axes(right: float, bottom: float) -> Iterator[str]:
    for part in range(5):
        y, x = HEIGHT - part * HEIGHT / 4, part * WIDTH / 4
        yield (f'<text x="-6" y="{y + 4:.1f}" text-anchor="end" fill="#444444">'
               f"{bottom + part * (1 - bottom) / 4:.2f}</text>")
        yield (f'<text x="{x:.1f}" y="{HEIGHT + 16}" text-anchor="middle" fill="#444444">'
               f"{part * right / 4:.2f}</text>")


def _dot(name: str, x: float, y: float, ours: bool) -> str:
    color = OURS_COLOR if ours else KNOWN_COLOR
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if ours else 3}" fill="{color}">'
            f"<title>{escape(name)}</title></circle>")


def _labels(named: Sequence[tuple[str, float, float]]) -> Iterator[str]:
    """A name beside each dot, moved down where it would lie on another."""
    taken: list[float] = []
    for name, x, y in sorted(named, key=lambda item: item[2]):
        at = y
        while any(abs(at - other) < CLEAR for other in taken):
            at += 1
        taken.append(at)
        left = x > WIDTH * .7
        color = OURS_COLOR if name in OURS else QUIET
        yield (f'<text x="{x - 7 if left else x + 7:.1f}" y="{at + 4:.1f}" fill="{color}" '
               f'text-anchor="{"end" if left else "start"}">{escape(name)}</text>')


def on_frontier(points: dict[str, tuple[float, float]]) -> set[str]:
    """The known policies of which no other known one keeps more for less."""
    known = {name: point for name, point in points.items() if name in KNOWN}
    return {name for name, (cost, far) in known.items() if not any(
        other_cost <= cost and other_far >= far and (other_cost, other_far) != (cost, far)
        for other_cost, other_far in known.values())}
