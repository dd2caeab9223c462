"""Milestone 3: users' words beyond their share of the window, behind handles.

The first and the newest user message stay word for word always, the others newest
first up to `user_share` of the window. What is beyond is replaced by a line that
says what was there, how large it was and how to read it again; the record names
each. It is the last rung under every ladder, even where a policy freezes what has been
sent: in a smaller window users' words may fill less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from .scene import Scene
from .shrink import shorten
from .view import Change, Entry, View


@dataclass(frozen=True)
class UserShare:
    """The user messages that no protection covers any more become handles."""

    name: ClassVar[str] = "user_share"
    asks_model: ClassVar[bool] = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all of them that get cheaper, None if there is none."""
        return shorten(self.name, view, scene, _beyond(view, scene),
                       lambda entry: _handle(entry, scene))


def _beyond(view: View, scene: Scene) -> Iterator[int]:
    """The view indexes of users' messages that are beyond the share."""
    for at, entry in enumerate(view.entries[:scene.protection.tail]):
        if entry.how == "verbatim" and entry.message["role"] == "user" \
                and not entry.covers(scene.protection.verbatim):
            yield at


def _handle(entry: Entry, scene: Scene) -> str:
    index, = entry.stands_for
    return scene.texts("user_handle", index=index, chars=len(entry.message["content"]),
                       way_back=scene.way_back(index))
