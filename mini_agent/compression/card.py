"""Milestone 3: cards of what must not be forgotten, kept by code from what happened.

The state card tells how far the work is: goal, done, open, key files, unverified
assumptions, for an agent that has forgotten the rest. The card on top of a digest tells
whoever reads that where things stand: what the users said (unless the view has it anyway),
which files were read and changed, what the assistant said last, what failed last, each line
with its handle. Everything is quoted, and none grows with the session. What this module
leaves out: any memory of the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ..actions import CHANGED, READ
from ..extract import brief
from ..texts import Texts
from ..tokens import by_lines
from ..words import rows_of
from .chronicle import backwards
from .rising import common
from .scene import Scene

MAX_POINTS = 8  # of each part of the state card, the newest
MAX_OPEN = 24   # of what is open: it is the part that nobody else would remember
USERS, FILES, SAID, ERRORS = 6, 12, 3, 3  # lines of each part of a digest's card, the newest
PLACES = 4      # handles of a file, the newest
LOOKED = 200    # messages looked through for what was said and what failed last


def card_lines(scene: Scene, most: int = MAX_OPEN) -> list[str]:
    """The lines of the state card, without its title; of each part at most `most` points.

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


def digest_card(scene: Scene, covered: Sequence[int], room: int) -> list[str]:
    """The lines of a digest's card of at most `room` tokens about these messages (rising).

    While it is larger, the longest part loses its oldest line; what the user said counts
    half.
    """
    parts = {key: list(islice(found(scene, covered), most)) for key, found, most in (
        ("digest_users", _users, USERS), ("digest_earlier", _earlier, 1),
        ("digest_files", _files, FILES), ("digest_said", _said, SAID),
        ("digest_errors", _errors, ERRORS))}
    while any(parts.values()):
        lines = [line for key, part in parts.items() if part for line in (scene.texts(key), *part)]
        if by_lines(scene.estimate, "\n".join(lines)) <= room:
            return lines
        longest = max(parts, key=lambda key: len(parts[key]) / (2 if key == "digest_users" else 1))
        parts[longest].pop()
    return []


def _said_by_users(scene: Scene, covered: Sequence[int]) -> Iterator[int]:
    kept = scene.protection.verbatim
    return (index for index in reversed(common(scene.index.chronicle.users, covered))
            if index not in kept)


def _users(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    for index in _said_by_users(scene, covered):
        yield f"#{index}: {brief(scene.history[index]['content'])}"


def _earlier(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """The handles of what the user said before that, on one line."""
    handles = [f"#{index}" for index in islice(_said_by_users(scene, covered), USERS, None)]
    if handles:
        yield brief(" ".join(handles))


def _files(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """`src/app.py: changed #15 #20, read #12`, the file touched last first."""
    for path, file in reversed(scene.index.chronicle.files.items()):
        found = ((what, list(islice(backwards(places, covered), PLACES)))
                 for what, places in ((CHANGED, file.changed), (READ, file.read)))
        said = [scene.texts(f"digest_{what}", where=" ".join(
                    f"#{place.result}" for place in reversed(places)))
                for what, places in found if places]
        if said:
            yield f"{brief(path)}: {', '.join(said)}"


def _said(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    for index in covered[:-LOOKED - 1:-1]:
        message = scene.history[index]
        if message["role"] == "assistant" and message["content"].strip():
            yield f"#{index}: {brief(message['content'])}"


def _errors(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """For each failed result the line that says what was wrong."""
    for index in covered[:-LOOKED - 1:-1]:
        message = scene.history[index]
        if message["role"] == "tool" and message.get("error"):
            rows = [row for row in rows_of(message["content"]) if row.strip()] or [""]
            point = next(iter(scene.index.errors.points(rows)), 0)
            yield f"#{index} {scene.index.chronicle.labels[index]}: {brief(rows[point])}"
