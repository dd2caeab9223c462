"""Milestone 6: one panel of a picture: what policies cost and what they keep.

The cost of a policy, summaries included, runs to the right, its far recall upwards. Colours
are CSS classes, so that a page may be dark. What is left out: which policies are shown, and
which of them are joined by a line or have a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor
from typing import NamedTuple

from .labels import Label, Point, placed, text_width

WIDTH, HEIGHT, GAP = 340, 380, 44  # pixels: a panel, and between two of them
LEFT, TOP, BOTTOM = 48, 58, 40     # pixels: margins of the picture

Points = Mapping[str, tuple[float, float]]  # by policy: (cost, far recall)


class Scale(NamedTuple):
    """The cost at the right edge of a panel, and the far recall at its lower edge."""

    right: float
    bottom: float


@dataclass(frozen=True)
class Look:
    """The policies that a line joins, in that order; those whose names are shown; those whose
    dots are hollow."""

    joined: Sequence[str]
    named: Collection[str]
    hollow: Collection[str] = ()


def scale_of(panels: Iterable[Points]) -> Scale:
    """One scale on which all these panels can be compared."""
    every = [point for points in panels for point in points.values()]
    return Scale(ceil(2 * max([1.0, *(cost for cost, _ in every)])) / 2,
                 floor(10 * min([.9, *(far for _, far in every)])) / 10)


def panel(number: int, title: str, points: Points, scale: Scale, look: Look) -> str:
    """The panel with this number, from the left, as SVG."""
    dots = {name: Point(cost / scale.right * WIDTH,
                        (1 - (far - scale.bottom) / (1 - scale.bottom)) * HEIGHT)
            for name, (cost, far) in points.items()}
    line = " ".join(f"{dots[name].x:.1f},{dots[name].y:.1f}" for name in look.joined
                    if name in dots)
    names_at: dict[Point, list[str]] = {}
    for name in sorted((name for name in dots if name in look.named),
                       key=lambda name: (name not in look.joined, dots[name].y)):
        names_at.setdefault(dots[name], []).append(name)
    return "\n".join([
        f'<g transform="translate({LEFT + number * (WIDTH + GAP)},{TOP})">',
        f'<text class="title" y="-10">{escape(title)}</text>',
        f'<path class="axis" d="M0 0V{HEIGHT}H{WIDTH}"/>',
        *_axes(scale),
        f'<polyline class="joined" points="{line}"/>',
        *(_label(label, look) for label in placed(
            [(_names_at_one_dot(names), dot) for dot, names in names_at.items()],
            list(dots.values()), WIDTH, HEIGHT)),
        *(_dot(name, dot, look) for name, dot in dots.items()),
        "</g>"])


def width_of(panels: int) -> int:
    """Pixels of a picture of that many panels."""
    return LEFT + panels * (WIDTH + GAP)


def on_frontier(points: Points) -> list[str]:
    """The policies of which no other keeps more for less, the cheapest first."""
    return sorted((name for name, (cost, far) in points.items() if not any(
        other_cost <= cost and other_far >= far and (other_cost, other_far) != (cost, far)
        for other_cost, other_far in points.values())), key=lambda name: (points[name], name))


def _axes(scale: Scale) -> Iterator[str]:
    """Numbers at each tenth of far recall and each half of the cost."""
    for tenth in range(round(10 * scale.bottom), 11):
        y = (10 - tenth) / (10 - 10 * scale.bottom) * HEIGHT
        yield (f'<text class="tick" x="-6" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}'
               f'</text><path class="grid" d="M0 {y:.1f}H{WIDTH}"/>')
    for half in range(round(2 * scale.right) + 1):
        yield (f'<text class="tick" x="{half / 2 / scale.right * WIDTH:.1f}" y="{HEIGHT + 16}" '
               f'text-anchor="middle">{half / 2:.1f}</text>')


def _dot(name: str, dot: Point, look: Look) -> str:
    kind = ("strong " if name in look.joined else "") + ("hollow " if name in look.hollow else "")
    return (f'<circle class="{kind}dot" cx="{dot.x:.1f}" cy="{dot.y:.1f}" '
            f'r="{4 if name in look.joined else 3}"><title>{escape(name)}</title></circle>')


def _names_at_one_dot(names: Sequence[str]) -> str:
    """One text for the names of policies that share a dot."""
    if len(names) < 3:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _label(label: Label, look: Look) -> str:
    """A name, and a line that leads there from its dot."""
    kind = "strong " if label.name.split(", ")[0] in look.joined else ""
    return (f'<path class="lead" d="M{label.dot.x:.1f} {label.dot.y:.1f}'
            f'L{label.end.x:.1f} {label.end.y:.1f}"/><text class="{kind}name" '
            f'textLength="{text_width(label.name):.1f}" lengthAdjust="spacingAndGlyphs" '
            f'x="{label.x:.1f}" y="{label.y + 4:.1f}">{escape(label.name)}</text>')
