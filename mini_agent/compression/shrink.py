"""Milestone 3: single messages made smaller in place.

A strategy of this module is a choice of *which* messages and *how* they are
rendered; pairing is never touched, since each message keeps its place, its role
and its call id. `tool_result_aging` is the published one: any long result, the
newest included, keeps its head, its tail and a header that says what it was. Its
neighbour `tool_result_clipping` goes by lines, and can keep those that say what is wrong.
`user_share` is for users' words. What is left out: placeholders (`clear.py`) and files
(`offload.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from ..messages import Message, calls_of
from ..texts import Texts
from ..words import rows_of
from .scene import Scene
from .view import Change, Entry, View

Render = Callable[[Entry], str]  # the shorter text of an entry
MIN_BODY = 240  # characters that a clipped result may have in any case, besides its header


@dataclass(frozen=True)
class ToolResultAging:
    """Long results keep head and tail under a header with size, lines and error code.

    All sizes are in characters; a result of `min_chars` or fewer stays whole. Which
    results are aged already is read from their entries, never from their text, so
    a result that happens to begin with the mark is treated like any other.
    """

    name: ClassVar[str] = "tool_result_aging"
    asks_model: ClassVar[bool] = False
    head_chars: int = 160
    tail_chars: int = 120
    min_chars: int = 240

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all results that get cheaper, None if there is none."""
        long = (at for at, entry in whole_results(view, scene)
                if len(entry.message["content"]) > self.min_chars)
        return shorten(self.name, view, scene, long, lambda entry: self._render(
            entry.message, scene.texts))

    def _render(self, message: Message, texts: Texts) -> str:
        content = message["content"]
        header = texts("aging_header", mark=texts("aging_mark"), chars=len(content),
                       lines=len(rows_of(content)))
        if message.get("error"):
            header += texts("aging_code", code=message["error"]["code"])
        return "\n".join([header, content[:self.head_chars], texts("aging_gap"),
                          content[len(content) - self.tail_chars:]])


@dataclass(frozen=True)
class ToolResultClipping:
    """Long results keep some of their lines under a header that says how many.

    A result of `min_chars` characters or fewer stays whole, and so do those of the
    last `keep_rounds` rounds. `keep="ends"` keeps the first and last `lines` lines;
    "errors" spends as many characters, but first on the lines that say what is wrong and
    where, with their numbers. At most `line_chars` characters of a line are kept.
    """

    name: ClassVar[str] = "tool_result_clipping"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("read_result",)
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"keep": ("ends", "errors")}
    keep: str = "ends"
    lines: int = 3
    min_chars: int = 400
    keep_rounds: int = 2
    line_chars: int = 200

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all results that get cheaper, None if there is none."""
        stop = rounds_start(view, self.keep_rounds)
        long = (at for at, entry in whole_results(view, scene, stop)
                if len(entry.message["content"]) > self.min_chars)
        return shorten(self.name, view, scene, long, lambda entry: self._render(entry, scene))

    def _render(self, entry: Entry, scene: Scene) -> str:
        message = entry.message
        rows = rows_of(message["content"])
        ends = sorted({*range(len(rows))[:self.lines], *range(len(rows))[-self.lines:]})
        body = _with_gaps({at: self._cut(rows[at], scene.texts) for at in ends}, scene.texts)
        if self.keep == "errors":
            ends = self._rows_kept(rows, ends, max(MIN_BODY, len(body)), scene)
            body = "\n".join(self._numbered(rows, at, scene.texts) for at in ends)
        kept_chars = sum(min(len(rows[at]), self.line_chars) for at in ends)
        header = scene.texts(
            "clip_header", index=entry.stands_for[0], kept=len(ends), lines=len(rows),
            kept_chars=kept_chars, chars=len(message["content"]),
            code=error_code(message, scene.texts), way_back=scene.way_back(entry.stands_for[0]))
        return f"{header}\n{body}"

    def _cut(self, row: str, texts: Texts) -> str:
        left_out = len(row) - self.line_chars
        if left_out <= 0:
            return row
        return row[:self.line_chars] + texts("clip_cut", count=left_out)

    def _numbered(self, rows: list[str], at: int, texts: Texts) -> str:
        return f"{at + 1}: {self._cut(rows[at], texts)}"

    def _rows_kept(self, rows: list[str], ends: list[int], room: int, scene: Scene) -> list[int]:
        """The rows to keep in `room` characters: the first fault, then the first and last row,
        then the other faults, then the rest of `ends`."""
        faults = scene.index.errors.faults(rows)
        outer = [ends[0], ends[-1]] if ends else []
        kept: set[int] = set()
        for at in chain(*faults[:1], outer, *faults[1:], ends):
            size = len(self._numbered(rows, at, scene.texts)) + 1
            if at not in kept and size <= room:
                kept.add(at)
                room -= size
        return sorted(kept) or ends


def _with_gaps(rows: dict[int, str], texts: Texts) -> str:
    """These rows, given by their rising indexes, with a note wherever some are left out."""
    out: list[str] = []
    for before, at in zip([-1, *rows], rows):
        if at - before > 1:
            out.append(texts("clip_gap", count=at - before - 1))
        out.append(rows[at])
    return "\n".join(out)


@dataclass(frozen=True)
class UserShare:
    """The users' messages that are beyond their share of the window become handles.

    Which these are is up to `laws.protected_users`. It is the last rung under every ladder,
    even where a policy freezes what has been sent: in a smaller window users' words may fill
    less.
    """

    name: ClassVar[str] = "user_share"
    asks_model: ClassVar[bool] = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One change for all of them that get cheaper, None if there is none."""
        beyond = (at for at, entry in enumerate(view.entries[:scene.protection.tail])
                  if entry.how == "verbatim" and entry.message["role"] == "user"
                  and not entry.covers(scene.protection.verbatim))
        return shorten(self.name, view, scene, beyond, lambda entry: scene.texts(
            "user_handle", index=entry.stands_for[0], chars=len(entry.message["content"]),
            way_back=scene.way_back(entry.stands_for[0])))


def error_code(message: Message, texts: Texts) -> str:
    """The code of a failed result as it stands in a header, "" where it did not fail."""
    return texts("with_code", code=message["error"]["code"]) if message.get("error") else ""


def rounds_start(view: View, rounds: int) -> int:
    """View index where the last `rounds` rounds begin: a call and its results each."""
    at = len(view)
    while rounds > 0 and at > 0:
        at -= 1
        rounds -= bool(calls_of(view[at].message))
    return at


def unfrozen(view: View, scene: Scene) -> range:
    """View indexes between what is frozen and a tail that may not be shortened either."""
    return range(scene.sent if scene.frozen else 0,
                 len(view) if scene.protection.shorten_tail else scene.protection.tail)


def whole_results(view: View, scene: Scene, stop: int | None = None) -> Iterator[tuple[int, Entry]]:
    """(view index, entry) of each whole tool result before `stop` that may be shortened."""
    free = unfrozen(view, scene)
    last = free.stop if stop is None else min(stop, free.stop)
    for at, entry in enumerate(view.entries[free.start:last], free.start):
        if entry.how == "verbatim" and entry.message["role"] == "tool":
            yield at, entry


def shorten(name: str, view: View, scene: Scene, which: Iterable[int],
            render: Render) -> Change | None:
    """A change that renders these entries anew, each only if it gets strictly cheaper."""
    inserts = []
    for at in which:
        old = view[at]
        entry = scene.entry({**old.message, "content": render(old)},
                            old.stands_for, "shortened")
        if entry.tokens < old.tokens:
            inserts.append((at, entry))
    return Change(name, tuple(at for at, _ in inserts), tuple(inserts)) if inserts else None
