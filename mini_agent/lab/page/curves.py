"""Milestone 6: the curves of the page: what each policy sent, step by step.

There is one picture for each session and window, made here so that it can be seen without
scripting. All policies are drawn on one scale. In a long session each stretch of steps is
drawn as its highest value, so that no peak is lost. Under the plot each policy has a row
with a tick for each of its changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..pageform import PageRun, PageSession

WIDTH, HEIGHT, LEFT, ROW = 860, 240, 70, 14  # pixels: plot, left margin, a row of ticks
POINTS = 300  # of a curve, at most
HUES = 12     # colours that can be told apart; then the dashes change


def curves(session: PageSession, windows: Sequence[int]) -> str:
    """A figure for each of these windows that the page still has."""
    baseline = [run for run in session["runs"] if run["policy"] == "none"][:1]
    governed = [run for run in session["runs"] if run["policy"] != "none"]
    return "\n".join(_figure(session["session"], window, baseline + runs) for window in windows
                     if (runs := [run for run in governed if run["window"] == window])
                     or not governed)


def _figure(name: str, window: int, runs: Sequence[PageRun]) -> str:
    steps = max((len(run["tokens"]) for run in runs), default=0)
    top = max([window * 2, *(max(run["tokens"], default=0) for run in runs
                             if run["policy"] != "none"), 1])
    soft = next((run["soft"] for run in runs if run["soft"] is not None), None)
    height = HEIGHT + 30 + ROW * len(runs)
    body = [*_axes(steps, top), *_limit(window, top, "window"),
            *(_limit(soft, top, "trigger") if soft not in (None, window) else [])]
    for number, run in enumerate(runs):
        body.append(_curve(number, run, steps, top))
        body += _ticks(number, run, steps)
    return (f'<figure class="curves"><figcaption>{escape(name)}: tokens sent a step, window '
            f"{window}. A curve that leaves the picture is over twice the window.</figcaption>"
            f'<svg viewBox="0 0 {LEFT + WIDTH + 150} {height + 20}" role="img" '
            f'aria-label="tokens sent a step under each policy">\n' + "\n".join(body)
            + "\n</svg></figure>")


def _axes(steps: int, top: int) -> list[str]:
    lines = [f'<path class="axis" d="M{LEFT} 10V{HEIGHT + 10}H{LEFT + WIDTH}"/>']
    for tokens in range(0, top + 1, _stride(top)):
        lines.append(f'<text class="tick" x="{LEFT - 6}" y="{_y(tokens, top) + 4:.0f}" '
                     f'text-anchor="end">{tokens}</text>')
    for step in range(0, steps, _stride(steps)):
        lines.append(f'<text class="tick" x="{_x(step, steps):.0f}" y="{HEIGHT + 24}" '
                     f'text-anchor="middle">{step}</text>')
    return lines


def _stride(length: int) -> int:
    """A round number that goes at most six times into a length."""
    power: int = 10 ** len(str(length))
    return next(stride for part in (100, 50, 20, 10, 5, 2)
                if (stride := max(1, power // part)) * 6 >= length)


def _limit(tokens: int, top: int, word: str) -> list[str]:
    y = _y(tokens, top)
    return [f'<path class="limit" d="M{LEFT} {y:.1f}H{LEFT + WIDTH}"/>',
            f'<text class="limit-word" x="{LEFT + WIDTH + 6}" y="{y + 4:.1f}">'
            f'{word} {tokens}</text>']


def _curve(number: int, run: PageRun, steps: int, top: int) -> str:
    points = " ".join(f"{_x(step, steps):.1f},{_y(value, top):.1f}"
                      for step, value in _thinned(run["tokens"]))
    return (f'<polyline class="curve hue{number % HUES}" data-policy="{escape(run["policy"])}" '
            f'stroke-dasharray="{"" if number < HUES else "5 3"}" points="{points}">'
            f'<title>{escape(run["policy"])}</title></polyline>')


def _ticks(number: int, run: PageRun, steps: int) -> list[str]:
    y = HEIGHT + 34 + ROW * number
    path = "".join(f"M{_x(step, steps):.1f} {y}v{ROW - 5}"
                   for step in sorted({change["step"] for change in run["changes"]}))
    return [f'<text class="hue{number % HUES} row" x="{LEFT + WIDTH + 6}" y="{y + 9}">'
            f'{escape(run["policy"])}</text>',
            f'<path class="mark hue{number % HUES}" d="{path}"/>' if path else ""]


def _thinned(values: Sequence[int]) -> list[tuple[int, int]]:
    """(step, value) of the highest value in each of at most `POINTS` stretches."""
    stretch = max(1, -(-len(values) // POINTS))
    picked = []
    for start in range(0, len(values), stretch):
        step = max(range(start, min(start + stretch, len(values))), key=values.__getitem__)
        picked.append((step, values[step]))
    return picked


def _x(step: int, steps: int) -> float:
    return LEFT + step * WIDTH / max(1, steps - 1)


def _y(tokens: int, top: int) -> float:
    return max(0.0, HEIGHT + 10 - tokens * HEIGHT / top)
