"""Milestone 3: single results made smaller where they stand.

A strategy of this room is a choice of *which* results and *how* they are
rendered; pairing is never touched, since each message keeps its place, its role
and its call id. `tool_result_aging` is the published one: any long result, the
newest included, keeps head, tail and a header with what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from ..messages import Message
from ..texts import Texts
from .scene import Scene
from .view import Change, Entry, View

Render = Callable[[Message], str]


@dataclass(frozen=True)
class ToolResultAging:
    """Long results keep head and tail under a header with size, lines and error code.

    All sizes in characters; a result of `min_chars` and fewer stays whole. Which
    results are aged already is read off their entries, never off their text, so
    a result that happens to begin with the mark is treated like any other.
    """

    name: ClassVar[str] = "tool_result_aging"
    asks_model: ClassVar[bool] = False
    head_chars: int = 160
    tail_chars: int = 120
    min_chars: int = 240

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all results that get cheaper, None if there is none."""
        long = (at for at, entry in results(view, scene)
                if len(entry.message["content"]) > self.min_chars)
        return shorten(self.name, view, scene, long, lambda message: self._render(
            message, scene.texts))

    def _render(self, message: Message, texts: Texts) -> str:
        content = message["content"]
        header = texts("aging_header", mark=texts("aging_mark"), chars=len(content),
                       lines=len(content.splitlines()))
        if message.get("error"):
            header += texts("aging_code", code=message["error"]["code"])
        return "\n".join([header, content[:self.head_chars], texts("aging_gap"),
                          content[len(content) - self.tail_chars:]])


def results(view: View, scene: Scene) -> Iterable[tuple[int, Entry]]:
    """(view index, entry) of each whole tool result that may be shortened."""
    start = scene.sent if scene.frozen else 0
    stop = len(view) if scene.protection.shorten_tail else scene.protection.tail
    for at in range(start, stop):
        entry = view[at]
        if entry.how == "verbatim" and entry.message["role"] == "tool":
            yield at, entry


def shorten(name: str, view: View, scene: Scene, which: Iterable[int],
            render: Render) -> Change | None:
    """A change that renders these results anew, each only if it gets strictly cheaper."""
    inserts = []
    for at in which:
        old = view[at]
        entry = scene.entry({**old.message, "content": render(old.message)},
                            old.stands_for, "shortened")
        if entry.tokens < old.tokens:
            inserts.append((at, entry))
    return Change(name, tuple(at for at, _ in inserts), tuple(inserts)) if inserts else None
