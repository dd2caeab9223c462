"""Milestone 3: old results that were answered give way to a placeholder.

A placeholder says which call it was, the size and hash of the result, whether the same
call had the same result before, and in the model's own words what it made of it;
`read_result` brings the whole back. It is written once and then kept, so that its
bytes stay. What is left out: long results that are still needed (`shrink.py`).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..actions import described
from ..extract import first_sentence
from ..messages import calls_of
from ..tokens import PER_MESSAGE, by_lines
from ..words import rows_of
from .scene import Scene
from .shrink import error_code, shorten, whole_results
from .view import Change, Entry, View


@dataclass(frozen=True)
class ToolResultClearing:
    """Results that the model has answered become placeholders, all but the newest `keep`.

    Failed results stay if `keep_errors` says so, and so do those of tools in
    `exempt`. Nothing is cleared unless it frees `clear_at_least` tokens at once, so
    that the prefix is broken rarely.
    """

    name: ClassVar[str] = "tool_result_clearing"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result",)
    keep: int = 3
    keep_errors: bool = False
    exempt: tuple[str, ...] = ()
    clear_at_least: int = 0

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all that may go; None if it frees too little."""
        repeats = Repeats(view, scene)
        change = shorten(self.name, view, scene, self._old(view, scene),
                         lambda entry: placeholder(entry, repeats))
        if change is None:
            return None
        freed = sum(view[at].tokens - entry.tokens for at, entry in change.inserts)
        return change if freed >= scene.budget.scaled(self.clear_at_least) else None

    def _old(self, view: View, scene: Scene) -> Iterator[int]:
        """View indexes of the results that may go and are larger than a placeholder that names
        no other call, oldest first."""
        stop = min(last_answer(view), newest_results(view, self.keep))
        way_back = scene.way_back_bare
        for at, entry in whole_results(view, scene, stop):
            spared = entry.message["name"] in self.exempt or (
                self.keep_errors and entry.message.get("error"))
            if not spared and entry.tokens > placeholder_tokens(entry, scene, way_back):
                yield at


def newest_results(view: View, count: int) -> int:
    """View index where the newest `count` results begin; the end if it is 0."""
    at = len(view)
    while count > 0 and at > 0:
        at -= 1
        count -= view[at].message["role"] == "tool"
    return at


def last_answer(view: View) -> int:
    """View index of the newest assistant message: what is before it was answered."""
    at = len(view) - 1
    while at >= 0 and view[at].message["role"] != "assistant":
        at -= 1
    return max(at, 0)


def placeholder(entry: Entry, repeats: Repeats) -> str:
    """What takes the place of a cleared result: one line."""
    count, last = repeats.before(entry.stands_for[0])
    scene = repeats.scene
    return rendered(entry, scene, scene.texts(
        "cleared_again", count=count + 1, index=last, was=scene.texts(
            "cleared_equal" if scene.history[last]["content"] == entry.message["content"]
            else "cleared_other")) if count else "")


def placeholder_tokens(entry: Entry, scene: Scene, way_back: str) -> int:
    """The tokens of the shortest placeholder for a result, or of the result itself if that is no
    longer. For an answered result only `way_back` may change them, so they are kept by it."""
    key = "cleared", entry.stands_for[0], way_back
    if key not in scene.index.kept:
        text = rendered(entry, scene)
        scene.index.kept[key] = PER_MESSAGE + by_lines(scene.estimate, text) if len(
            text) < len(entry.message["content"]) else entry.tokens
    return scene.index.kept[key]


def rendered(entry: Entry, scene: Scene, same: str = "") -> str:
    """The text of a placeholder; `same` is what it says of earlier calls that were the same."""
    index, content = entry.stands_for[0], entry.message["content"]
    sentence = first_sentence(answer_to(scene, index))
    return scene.texts(
        "cleared", index=index,
        call=described(entry.message["name"], scene.index.chronicle.grow().call_of.get(index)),
        chars=len(content), lines=len(rows_of(content)), digest=digest(content),
        code=error_code(entry.message, scene.texts), same=same,
        answer=scene.texts("cleared_answer", text=sentence) if sentence else "",
        way_back=scene.way_back(index))


def digest(text: str) -> str:
    """The first 8 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def answer_to(scene: Scene, result: int) -> str:
    """The text of the assistant message that came next after a result, "" if there is none."""
    others = scene.index.chronicle.grow().others
    at = bisect_right(others, result)
    answer = scene.history[others[at]] if at < len(others) else {}
    return str(answer["content"]) if answer.get("role") == "assistant" else ""


class Repeats:
    """Which calls of a view had been made before; calls that are equal are looked for once."""

    def __init__(self, view: View, scene: Scene) -> None:
        self.scene, self._entries = scene, view.entries
        self._results: dict[int, list[int]] = {}  # by the id of what the index has of equal calls

    @cached_property
    def _shown(self) -> set[int]:
        """The messages with calls that the view has."""
        return {entry.stands_for[0] for entry in self._entries
                if entry.stands_for and calls_of(entry.message)}

    def before(self, result: int) -> tuple[int, int]:
        """How many earlier results in the view are of calls that equal the call of this result,
        and the newest of them (-1 for none)."""
        made = self.scene.index.chronicle.grow().call_of.get(result)
        alike = self.scene.index.alike(made) if made else ()
        if len(alike) < 2:
            return 0, -1
        if id(alike) not in self._results:
            self._results[id(alike)] = [
                place.result for place in alike if place.message in self._shown]
        found = self._results[id(alike)]
        count = bisect_left(found, result)
        return count, found[count - 1] if count else -1
