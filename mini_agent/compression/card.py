"""Milestone 3: the state card, kept by code from what happened.

Goal, done, open, key files, unverified assumptions: what an agent that has forgotten
the rest must not forget. Everything in it is quoted; an assumption stays marked as
not verified. What this module leaves out: any memory of the model's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..actions import CHANGED, READ, deeds
from ..extract import boxes, clip
from ..messages import Call, Message, answered, calls_of, groups
from .scene import Scene

MAX_POINTS = 8  # of each part, the newest


def card_lines(scene: Scene) -> list[str]:
    """The lines of the card, without its title. Parts that are empty are left out."""
    texts, history = scene.texts, scene.history
    users = [message for message in history if message["role"] == "user"]
    points = boxes(history)
    files = _files(history)
    parts = (
        ("card_goal", [clip(message["content"]) for message in users[:1]]),
        ("card_newest", [clip(message["content"]) for message in users[1:][-1:]]),
        ("card_done", [point for point, ticked in points.items() if ticked]),
        ("card_open", [*(point for point, ticked in points.items() if not ticked),
                       *(texts("card_failing", call=call) for call in _failing(history))]),
        ("card_changed", [path for path, what in files.items() if what == CHANGED]),
        ("card_read", [path for path, what in files.items() if what == READ]),
        ("card_unverified", [pin.text for pin in scene.pins.pins if pin.kind == "assumption"]))
    return [line for key, found in parts if found
            for line in (texts(key), *(f"- {_point(key, item)}" for item in found[-MAX_POINTS:]))]


def _point(key: str, item: str) -> str:
    """A point on one line; an assumption is a pin, and stands word for word."""
    return item if key == "card_unverified" else clip(item)


def _files(history: Sequence[Message]) -> dict[str, str]:
    """What was done to each file, the one that was touched last at the end."""
    files: dict[str, str] = {}
    for deed in deeds(history):
        before = files.pop(deed.path, READ)
        files[deed.path] = CHANGED if CHANGED in (before, deed.what) else READ
    return files


def _failing(history: Sequence[Message]) -> Iterator[str]:
    """Calls whose newest result is an error, in order."""
    last: dict[str, bool] = {}
    for made, result in _results(history):
        said = f"{made['name']} {json.dumps(made['arguments'], ensure_ascii=False)}"
        last.pop(said, None)
        last[said] = bool(result.get("error"))
    return (said for said, failed in last.items() if failed)


def _results(history: Sequence[Message]) -> Iterator[tuple[Call, Message]]:
    for group in groups(history):
        message = history[group.start]
        results = history[group.start + 1:group.stop]
        for made, position in zip(calls_of(message), answered(message, results)
                                  if calls_of(message) else ()):
            if position is not None:
                yield made, results[position]
