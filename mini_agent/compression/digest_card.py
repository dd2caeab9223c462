"""Milestone 3: the card on top of a digest, for whoever reads it.

What the users said (as far as it does not stand in the view anyway), which files were
read and changed and where, what the assistant concluded last, what failed last. Each
line has its handle. All of it is quoted; none of it grows with the session. What is
left out: the state of the work (`card.py` keeps that for other strategies).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ..actions import CHANGED
from ..errorlines import error_points
from ..extract import clip
from ..words import rows_of
from .scene import Scene

USERS, FILES, CONCLUSIONS, ERRORS = 6, 12, 3, 3  # lines of each part, the newest
PLACES = 4     # handles of a file, the newest
LOOKED = 200   # messages that are looked through for the last conclusions and errors


def card(scene: Scene, covered: Sequence[int], room: int) -> list[str]:
    """The lines of a card of at most `room` tokens; the newest of each part come first."""
    parts = [("digest_users", list(islice(_users(scene, covered), USERS))),
             ("digest_files", list(islice(_files(scene, covered), FILES))),
             ("digest_conclusions", list(islice(_conclusions(scene, covered), CONCLUSIONS))),
             ("digest_errors", list(islice(_errors(scene, covered), ERRORS)))]
    while any(found for _, found in parts):
        lines = [line for key, found in parts if found for line in (scene.texts(key), *found)]
        if scene.estimate.text("\n".join(lines)) <= room:
            return lines
        longest = max((found for _, found in parts), key=len)
        longest.pop()
    return []


def _users(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    for index in reversed(covered):
        message = scene.history[index]
        if message["role"] == "user":
            yield f"#{index}: {clip(message['content'])}"


def _files(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """`src/app.py: changed #15 #20, read #12`, the file touched last first."""
    first, last = covered[0], covered[-1]
    for path, deeds in reversed(scene.index.files.items()):
        done = {"changed": [], "read": []}
        for index, what in reversed(deeds):
            if first <= index <= last:
                done["changed" if what == CHANGED else "read"].append(f"#{index}")
        said = [scene.texts(f"digest_{what}", where=" ".join(reversed(where[:PLACES])))
                for what, where in done.items() if where]
        if said:
            yield f"{clip(path)}: {', '.join(said)}"


def _conclusions(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    for index in covered[:-LOOKED - 1:-1]:
        message = scene.history[index]
        if message["role"] == "assistant" and message["content"].strip():
            yield f"#{index}: {clip(message['content'])}"


def _errors(scene: Scene, covered: Sequence[int]) -> Iterator[str]:
    """The line that says what was wrong, of each result that failed."""
    for index in covered[:-LOOKED - 1:-1]:
        message = scene.history[index]
        if message["role"] == "tool" and message.get("error"):
            rows = rows_of(message["content"])
            points = error_points(rows) or [0]
            yield f"#{index} {scene.index.labels[index]}: {clip(rows[points[0]] if rows else '')}"
