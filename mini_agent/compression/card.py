"""Milestone 3: the state card, kept by code from what happened.

Goal, done, open, key files, unverified assumptions: what an agent that has forgotten
the rest must not forget. Everything in it is quoted; an assumption stays marked as
not verified. What this module leaves out: any memory of the model's.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..actions import CHANGED, READ
from ..extract import brief
from ..texts import Texts
from .scene import Scene

MAX_POINTS = 8  # of each part, the newest
MAX_OPEN = 24   # of what is open: it is the part that nobody else would remember


def card_lines(scene: Scene, most: int = MAX_OPEN) -> list[str]:
    """The lines of the card, without its title; of each part at most `most` points.

    Parts that are empty are left out.
    """
    texts, history = scene.texts, scene.history
    chronicle, work = scene.index.chronicle.grow(), scene.index.work.grow()
    users = [history[index] for index in (*chronicle.users[:1], *chronicle.users[1:][-1:])]
    points, files = work.points, chronicle.touched(range(len(history)))
    parts = (
        ("card_goal", [brief(message["content"]) for message in users[:1]]),
        ("card_newest", [brief(message["content"]) for message in users[1:]]),
        ("card_done", [point for point, ticked in points.items() if ticked]),
        ("card_open", [point for point, ticked in points.items() if not ticked]),
        ("card_failing", work.failed()),
        ("card_changed", [path for path, what in files.items() if what == CHANGED]),
        ("card_read", [path for path, what in files.items() if what == READ]),
        ("card_unverified", [pin.text for pin in scene.pins.pins if pin.kind == "assumption"]))
    return [line for key, found in parts if found
            for line in (texts(key), *_newest(key, found, most, texts))]


def _newest(key: str, found: Sequence[str], most: int, texts: Texts) -> list[str]:
    """The newest points of a part, under a line that says how many are left out, if any are."""
    gone = max(0, len(found) - (most if key == "card_open" else min(most, MAX_POINTS)))
    return [*([texts("lines_left_out", count=gone)] if gone else ()),
            *(f"- {_point(key, item)}" for item in found[gone:])]


def _point(key: str, item: str) -> str:
    """A point on one line; an assumption is a pin, and stands word for word."""
    return item if key == "card_unverified" else brief(item)
