"""Milestone 6: names beside the dots of a picture, so that none covers another or a dot.

No chance is involved. One after the other, each name is put as near to its dot as there is
room: to the side rather than above or below, below rather than above. A line leads to it.
What is left out: a name for which there is no room at all; it stands at its dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import dist, fsum, inf
from typing import NamedTuple

LINE = 12               # pixels from one line to the next
AWAY = 12               # pixels from a dot to its name
RADIUS = 5              # of a dot, with some air
# the part of a name left of its dot, pixels it is then moved right, the penalty in pixels
SIDES = ((0, AWAY, 0), (1, -AWAY, 8), (.5, 0, 16), (0, 5 * AWAY, 40), (1, -5 * AWAY, 50))
CROSSED = 30            # the penalty for each dot that a leading line crosses, in pixels
POINTS = 12             # of a leading line at which it is checked for dots and names
LETTER = 6.1            # width of most letters of Helvetica at 11 pixels; below, of others
OTHERS = {"i": 2.4, "j": 2.4, "l": 2.4, "f": 3.1, "t": 3.1, " ": 3.1, ",": 3.1, "r": 3.7, "c": 5.5,
          "k": 5.5, "s": 5.5, "v": 5.5, "x": 5.5, "y": 5.5, "z": 5.5, "w": 7.9, "m": 9.2}


def text_width(name: str) -> float:
    """The pixels that a name takes from left to right."""
    return fsum(OTHERS.get(letter, LETTER) for letter in name)


class Point(NamedTuple):
    """A place in the picture, in pixels."""

    x: float
    y: float


class Label(NamedTuple):
    """A name with its dot; `x` and `y` are the middle of its left edge."""

    name: str
    dot: Point
    x: float
    y: float

    @property
    def end(self) -> Point:
        """Where the line from the dot ends: at the nearest edge of the name."""
        right = self.x + text_width(self.name)
        if self.x < self.dot.x < right:
            return Point(self.dot.x, self.y + (LINE / 2 if self.y < self.dot.y else -LINE / 2))
        return Point(self.x - 2 if self.x > self.dot.x else right + 2, self.y)

    def holds(self, point: Point, around: float = 0) -> bool:
        """Whether a point is on the name, or within `around` pixels of it."""
        return (self.x - around < point.x < self.x + text_width(self.name) + around
                and abs(point.y - self.y) < LINE / 2 + around)

    def meets(self, other: Label) -> bool:
        """Whether two names lie on each other."""
        return (abs(self.y - other.y) < LINE and self.x < other.x + text_width(other.name)
                and other.x < self.x + text_width(self.name))

    def line(self) -> Iterator[Point]:
        """Some points of the line from the dot to the name."""
        for at in range(1, POINTS + 1):
            yield Point(self.dot.x + (self.end.x - self.dot.x) * at / POINTS,
                        self.dot.y + (self.end.y - self.dot.y) * at / POINTS)


def placed(named: Iterable[tuple[str, Point]], dots: Sequence[Point], width: float,
           height: float) -> list[Label]:
    """A label for each name within a panel of this size. The first names get the best places;
    `dots` are all that are drawn."""
    taken: list[Label] = []
    for name, dot in named:
        at_the_dot = Label(name, dot, dot.x + AWAY, dot.y)
        taken.append(_best(_places(name, dot, width, height), taken, dots) or at_the_dot)
    return taken


def _best(places: Sequence[tuple[float, Label]], taken: Sequence[Label],
          dots: Sequence[Point]) -> Label | None:
    """The free place with the least distance, to which the dots that its line crosses add."""
    best, least = None, inf
    for far, label in places:
        if far >= least:
            break
        if not any(_clash(label, other) for other in taken) \
                and not any(label.holds(dot, RADIUS) for dot in dots):
            far += CROSSED * sum(dist(dot, label.dot) > 2 * RADIUS and any(
                dist(dot, point) < RADIUS for point in label.line()) for dot in dots)
            if far < least:
                best, least = label, far
    return best


def _places(name: str, dot: Point, width: float, height: float) -> list[tuple[float, Label]]:
    """(distance, label) for each place in the panel where a name can stand, the nearest first."""
    size = text_width(name)
    found = []
    for down in range(-int(dot.y), int(height - dot.y) + 1):
        for part, right, worse in SIDES:
            left = dot.x - part * size + right
            if not right:
                left = min(max(left, 0), width - size)
            if 0 <= left <= width - size:
                found.append((abs(down) + worse, -down, Label(name, dot, left, dot.y + down)))
    return [(far, label) for far, _, label in sorted(found)]


def _clash(label: Label, other: Label) -> bool:
    """Whether two names, or the line of one and the other, lie on each other."""
    return (label.meets(other) or any(map(other.holds, label.line()))
            or any(map(label.holds, other.line())))
