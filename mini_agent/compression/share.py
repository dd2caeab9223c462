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
from .view import Change, Entry, View


@dataclass(frozen=True)
class UserShare:
    """The user messages that no protection covers any more become handles."""

    name: ClassVar[str] = "user_share"
    asks_model: ClassVar[bool] = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all of them that get cheaper, None if there is none."""
        inserts = [(at, entry) for at in self._beyond(view, scene)
                   if (entry := _handle(view[at], scene)).tokens < view[at].tokens]
        return Change(self.name, tuple(at for at, _ in inserts), tuple(inserts)) if inserts else None

    @staticmethod
    def _beyond(view: View, scene: Scene) -> Iterator[int]:
        for at, entry in enumerate(view.entries[:scene.protection.tail]):
            if entry.how == "verbatim" and entry.message["role"] == "user" \
                    and not entry.covers(scene.protection.verbatim):
                yield at


def _handle(entry: Entry, scene: Scene) -> Entry:
    index, = entry.stands_for
    text = scene.texts("user_handle", index=index, chars=len(entry.message["content"]),
                       way_back=scene.way_back(index))
    return scene.entry({**entry.message, "content": text}, entry.stands_for, "shortened")
