"""Milestone 3: large results go to a file of the run, a preview stays.

Two bounds, both in characters, since those are at hand before anything is counted:
one for a result, one for all results of a batch, of which the largest go first.
Under a policy that freezes, only what no model has answered yet is judged: what it
was once sent stays, whole or as the same preview, and the prefix with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..errors import StrategyError
from ..words import rows_of
from .scene import Scene
from .shrink import error_code, whole_results
from .view import Change, Entry, View

NEVER_STORED = frozenset({"read_result", "recall"})  # what they return is kept already


@dataclass(frozen=True)
class ResultOffload:
    """Results over `max_chars`, and the largest of a batch over `batch_chars`, move out.

    A batch is the results of one step (`batch_scope="step"`) or all of the view
    ("view"); it is measured as it would stand, previews included. Of each that moves
    the first `preview_chars` characters stay, in whole lines.
    """

    name: ClassVar[str] = "result_offload"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result",)
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"batch_scope": ("step", "view")}
    max_chars: int = 50_000
    batch_chars: int = 200_000
    batch_scope: str = "step"
    preview_chars: int = 2_000

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all that move, None if none does. Their files are written first.

        Raises `StrategyError` where they cannot be.
        """
        movable = dict(self._movable(view, scene))
        moved: dict[int, Entry] = {}
        for batch in self._batches(view, scene):
            moved |= self._judge(view, scene, batch, movable)
        if not moved:
            return None
        if scene.store is None:
            raise StrategyError("there is nowhere to keep a result", place=self.name,
                                remedy="give the run a folder")
        for at in moved:
            scene.store.put(view[at].stands_for[0], view[at].message["content"])
        inserts = tuple(sorted(moved.items()))
        return Change(self.name, tuple(at for at, _ in inserts), inserts)

    def _movable(self, view: View, scene: Scene) -> Iterator[tuple[int, int]]:
        """(view index, characters) of each result that is longer than its preview may be."""
        shortest = scene.budget.scaled(self.preview_chars)
        for at, entry in whole_results(view, scene):
            size = len(entry.message["content"])
            if size > shortest and entry.message["name"] not in NEVER_STORED:
                yield at, size

    def _batches(self, view: View, scene: Scene) -> Iterator[range]:
        """View ranges whose results are judged together."""
        if self.batch_scope == "view":
            yield range(len(view))
            return
        at = scene.sent if scene.frozen else 0
        while at < len(view):
            start = at
            while at < len(view) and view[at].message["role"] == "tool":
                at += 1
            if at > start:
                yield range(start, at)
            at += 1

    def _judge(self, view: View, scene: Scene, batch: range,
               movable: dict[int, int]) -> dict[int, Entry]:
        """The previews of what moves: results over their bound, then the largest of the batch,
        until it is within its own."""
        limit = scene.budget.scaled(self.max_chars)
        bound = scene.budget.scaled(self.batch_chars)
        total = sum(len(view[at].message["content"]) for at in batch
                    if view[at].message["role"] == "tool")
        largest = sorted((at for at in batch if at in movable),
                         key=lambda at: (-movable[at], at))
        moved: dict[int, Entry] = {}
        for at in largest:
            if movable[at] <= limit and total <= bound:
                break
            entry = self._preview(view[at], scene)
            if entry.tokens < view[at].tokens:
                moved[at] = entry
                total += len(entry.message["content"]) - movable[at]
        return moved

    def _preview(self, old: Entry, scene: Scene) -> Entry:
        index, content = old.stands_for[0], old.message["content"]
        kept, whole = head_of(content, scene.budget.scaled(self.preview_chars))
        header = scene.texts(
            "offloaded", index=index, chars=len(content), lines=len(rows_of(content)),
            code=error_code(old.message, scene.texts), kept_chars=len(kept),
            kept=len(rows_of(kept)), cut="" if whole else scene.texts("offload_cut"),
            way_back=scene.way_back(index))
        message = {**old.message, "content": f"{header}\n{kept}"}
        return scene.entry(message, old.stands_for, "shortened")


def head_of(text: str, limit: int) -> tuple[str, bool]:
    """The beginning of a text in at most `limit` characters, and whether it is whole lines: not
    so where the first line is longer."""
    end = text.rfind("\n", 0, limit + 1)
    return (text[:end], True) if end > 0 else (text[:limit], False)
