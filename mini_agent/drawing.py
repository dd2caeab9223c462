"""Milestone 3: curves, in the terminal and as a picture.

Plain functions from numbers to text. In the terminal the height is logarithmic,
so that a curve held at 1,200 and one that climbs to 18,000 can be read side by
side; the picture is linear and shows how far they part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from string import Template

ROWS, COLUMN = 12, 4  # lines of a terminal chart, characters a step


@dataclass(frozen=True)
class Curve:
    """A named row of values, one a step; None where the run had ended."""

    name: str
    values: Sequence[int | None]
    color: str = "#888888"


@dataclass(frozen=True)
class Mark:
    """Something that happened at a step, drawn above the curves."""

    name: str
    steps: Sequence[int]
    color: str = "#888888"


@dataclass(frozen=True)
class Glyphs:
    """The characters of a terminal chart, and its colours (ANSI codes, "" for none)."""

    curves: str
    line: str
    marks: str
    axis: str
    colors: tuple[str, ...] = ("", "")


UNICODE = Glyphs("●○", "─", "▼★", "│")
ASCII = Glyphs("*o", "-", "vS", "|")


def glyphs(encoding: str | None, color: bool) -> Glyphs:
    """Unicode where the terminal can show it, otherwise plain ASCII."""
    plain = UNICODE if _can_show("●─▼★│", encoding) else ASCII
    return replace(plain, colors=("\x1b[34m", "\x1b[90m")) if color else plain


def _can_show(signs: str, encoding: str | None) -> bool:
    """Whether a stream of this encoding has these characters."""
    try:
        signs.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def terminal_chart(curves: Sequence[Curve], threshold: int, marks: Sequence[Mark],
                   style: Glyphs) -> str:
    """The first curve in front of the others, the threshold as a line, marks on top."""
    values = [value for curve in curves for value in curve.values if value]
    low, high = math.log(min([*values, threshold])), math.log(max([*values, threshold, 2]))
    steps = max(len(curve.values) for curve in curves)

    def row_of(value: int) -> int:
        share = (math.log(value) - low) / (high - low) if high > low else 0.0
        return ROWS - 1 - round(share * (ROWS - 1))

    canvas = [[" "] * (steps * COLUMN) for _ in range(ROWS)]
    canvas[row_of(threshold)] = [style.line] * (steps * COLUMN)
    labelled = (max(values, default=1), min(values, default=1), threshold)
    labels = {row_of(value): value for value in labelled}
    for number, curve in reversed(list(enumerate(curves))):
        dot = _dot(number, style)
        for step, value in enumerate(curve.values):
            if value:
                canvas[row_of(value)][step * COLUMN + 1] = dot
    lines = [f"{labels.get(number, ''):>7} {style.axis}{''.join(row)}".rstrip()
             for number, row in enumerate(canvas)]
    lines.append(" " * 8 + style.axis + "".join(f" {step:<{COLUMN - 1}}" for step in range(steps)))
    return "\n".join([*_mark_lines(marks, steps, style), *lines, _legend(curves, marks, style)])


def _dot(number: int, style: Glyphs) -> str:
    """A point of the first curve, or of one of the others, in its colour."""
    glyph, color = style.curves[min(number, 1)], style.colors[min(number, 1)]
    return f"{color}{glyph}\x1b[0m" if color else glyph


def _mark_lines(marks: Sequence[Mark], steps: int, style: Glyphs) -> list[str]:
    return ["".join([" " * 8, style.axis, *(
        f" {style.marks[number % 2]:<{COLUMN - 1}}" if step in mark.steps else " " * COLUMN
        for step in range(steps))]).rstrip() for number, mark in enumerate(marks)]


def _legend(curves: Sequence[Curve], marks: Sequence[Mark], style: Glyphs) -> str:
    parts = [f"{style.curves[min(number, 1)]} {curve.name}" for number, curve in enumerate(curves)]
    parts.append(f"{style.line} threshold")
    parts += [f"{style.marks[number % 2]} {mark.name}" for number, mark in enumerate(marks)]
    margin = " " * 9
    return f"{margin}{'  '.join(parts)}\n{margin}tokens a step, log scale"


def bars(values: Sequence[int], top: int, encoding: str | None) -> list[str]:
    """One character for each value, its height the share of `top`; a blank for 0."""
    blocks = "▁▂▃▄▅▆▇█" if _can_show("▁▂▃▄▅▆▇█", encoding) else ".:-=+*#@"
    return [blocks[min(len(blocks) - 1, value * len(blocks) // max(1, top))] if value else " "
            for value in values]


WIDTH, HEIGHT, LEFT, TOP = 460, 260, 60, 46  # pixels of a panel's plot, and its margins
_PAGE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width 390" font-family="sans-serif" \
font-size="12">
<title>$title</title>
<rect width="100%" height="100%" fill="#ffffff"/>
$panels
</svg>
""")
_PANEL = Template("""\
<g transform="translate($x,$y)">
<text x="0" y="-22" font-size="14" font-weight="bold" fill="#222222">$title</text>
<path d="M0 0V${height}H$width" fill="none" stroke="#444444"/>
$body
</g>""")


@dataclass(frozen=True)
class Panel:
    """One plot of a picture; `threshold` None draws no line."""

    title: str
    curves: Sequence[Curve]
    marks: Sequence[Mark] = ()
    threshold: int | None = None


def svg(title: str, panels: Sequence[Panel]) -> str:
    """A picture of panels side by side, linear from 0, without a network."""
    drawn = (_panel(panel, LEFT + number * (WIDTH + 90)) for number, panel in enumerate(panels))
    return _PAGE.substitute(width=len(panels) * (WIDTH + 90), title=escape(title),
                            panels="\n".join(drawn))


def _panel(panel: Panel, x: int) -> str:
    values = [value for curve in panel.curves for value in curve.values if value is not None]
    top = max([*values, panel.threshold or 0, 1])
    steps = max(len(curve.values) for curve in panel.curves)

    def place(step: int, value: int) -> tuple[str, str]:
        return f"{step * WIDTH / max(1, steps - 1):.1f}", f"{HEIGHT - value * HEIGHT / top:.1f}"

    body = [f'<text x="-6" y="{HEIGHT - part * HEIGHT / 4 + 4:.1f}" text-anchor="end" '
            f'fill="#444444">{round(top * part / 4)}</text>' for part in range(5)]
    body += [f'<text x="{place(step, 0)[0]}" y="{HEIGHT + 18}" text-anchor="middle" '
             f'fill="#444444">{step}</text>' for step in range(steps)]
    if panel.threshold is not None:
        y = place(0, panel.threshold)[1]
        body.append(f'<path d="M0 {y}H{WIDTH}" stroke="#cc0000" stroke-dasharray="6 4"/>')
    for curve in panel.curves:
        points = [place(step, value) for step, value in enumerate(curve.values)
                  if value is not None]
        body.append(f'<polyline fill="none" stroke="{curve.color}" stroke-width="2" points="'
                    + " ".join(f"{px},{py}" for px, py in points) + '"/>')
    for number, mark in enumerate(panel.marks):
        body += [f'<text x="{place(step, 0)[0]}" y="{-4 - 12 * number}" text-anchor="middle" '
                 f'fill="{mark.color}">{"▼★"[number % 2]}</text>' for step in mark.steps]
    body += _svg_legend(panel)
    return _PANEL.substitute(x=x, y=TOP + 10, title=escape(panel.title), width=WIDTH,
                             height=HEIGHT, body="\n".join(body))


def _svg_legend(panel: Panel) -> list[str]:
    parts = [("—", curve.color, curve.name) for curve in panel.curves]
    if panel.threshold is not None:
        parts.append(("- -", "#cc0000", f"threshold {panel.threshold}"))
    parts += [("▼★"[number % 2], mark.color, mark.name) for number, mark in enumerate(panel.marks)]
    row = len(parts) if len(parts) < 6 else -(-len(parts) // 2)  # more do not fit side by side
    return [f'<text x="{number % row * 115}" y="{HEIGHT + 44 + number // row * 16}" '
            f'fill="{color}">{sign} {escape(name)}</text>'
            for number, (sign, color, name) in enumerate(parts)]
