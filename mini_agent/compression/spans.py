"""Milestone 3: which stretch of a view a summary takes the place of.

A stretch is a range of view indexes, made of whole groups, after the protected
head and before the protected tail. The rolling summary takes a *run*, which lies
between two user messages; a full summary takes all that is *older* than the tail.
What this module leaves out: what is put there instead (`fold.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..messages import groups
from .laws import start_of_last
from .scene import Scene, Stage
from .view import View, stood_for


def runs(view: View, scene: Scene) -> Iterator[range]:
    """View ranges of whole groups between messages that have to stay, oldest first."""
    stop = scene.protection.tail
    start = 0
    for group in groups([entry.message for entry in view.entries[:stop]]):
        if divides(view, group.start, scene):
            if start < group.start:
                yield range(start, group.start)
            start = group.stop
    if start < stop:
        yield range(start, stop)


def divides(view: View, at: int, scene: Scene) -> bool:
    """Whether the entry at `at` separates two runs: it is protected, or a user's message."""
    entry = view[at]
    return entry.how == "verbatim" and (
        entry.message["role"] in ("system", "user")
        or entry.covers(scene.protection.verbatim))


def head_end(view: View, scene: Scene) -> int:
    """The view index after the protected messages that the view begins with."""
    at = 0
    while at < scene.protection.tail and scene.protects(view[at]):
        at += 1
    return at


def older(view: View, scene: Scene, keep_last: int = 0, tail_share: float = 0.0) -> range:
    """All between the head and the tail.

    The tail is the protected one, made longer to `keep_last` messages and to
    `tail_share` of the window.
    """
    stop = min(scene.protection.tail, start_of_last(view, keep_last),
               _share_start(view, int(tail_share * (scene.budget.window or 0))))
    return range(min(head_end(view, scene), stop), stop)


def _share_start(view: View, tokens: int) -> int:
    """The view index where the last whole groups of at most `tokens` begin."""
    at = len(view)
    while at > 0 and view[at - 1].tokens <= tokens:
        at -= 1
        tokens -= view[at].tokens
    while at < len(view) and view[at].message["role"] == "tool":
        at += 1
    return at


def of_stage(view: View, scene: Scene, stage: Stage) -> range:
    """The entries of a stage that still stand before the tail, as whole groups."""
    stop = scene.protection.tail
    inside = [at for at in range(stop) if view[at].stands_for
              and stage.start <= view[at].stands_for[0] < stage.stop]
    start, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
    while start < end < len(view) and view[end].message["role"] == "tool":
        end -= 1
    return range(max(start, head_end(view, scene)), end)


def covered_by(view: View, span: Sequence[int]) -> list[int]:
    """The history messages behind some entries, rising."""
    return sorted(stood_for(view.at(span)))
