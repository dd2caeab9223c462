"""Milestone 3: what is put back beside a summary, as far as there is room.

A summary says what happened; it does not hold a file, a skill or a name exactly.
What is put back comes from the history alone, is measured with the change, and says
how old it is. Each thing is named in the record. What this module leaves out: how
the state card is written (`card.py`).

Source of the numbers: the article on two-layer compression that this project was
founded on. They hold for a window of 200,000 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from ..actions import CHANGED, access, file_accesses, part_asked
from ..errors import UsageError
from ..messages import Message, user
from ..texts import Texts
from ..words import rows_of
from .card import MAX_OPEN, card_lines
from .chronicle import File, Place, backwards, call_order, newest
from .rising import common
from .scene import Scene
from .view import Entry, View

MAX_FILES = 5
FILE_TOKENS = 5_000    # of each file
SKILL_TOKENS = 25_000  # of all skills together
SKILL_TOOL = "skill"


def check_kinds(attach: str) -> None:
    """`UsageError` where a word of the setting `attach` names nothing that can be put back."""
    for kind in attach.split():
        if kind not in _MAKERS:
            raise UsageError(f"nothing named {kind!r} can be attached", place="attach",
                             value=kind, remedy=f"known are: {', '.join(_MAKERS)}")


class Attachment(NamedTuple):
    """One thing that is put back: its kind, its name, its entry."""

    kind: str
    name: str
    entry: Entry


class _Source(NamedTuple):
    """What attachments are made of: what leaves the view, and what stays after it."""

    scene: Scene
    covered: Sequence[int]
    standing: Sequence[Message]


def attachments(kinds: Sequence[str], view: View, scene: Scene, covered: Sequence[int],
                stop: int, room: int) -> list[Attachment]:
    """What of `kinds` fits into `room` tokens together, in this order of importance.

    `covered` are the history messages that are folded, `stop` the view index after
    them.
    """
    source = _Source(scene, covered, [entry.message for entry in view.entries[stop:]
                                      if entry.how == "verbatim"])
    found: list[Attachment] = []
    for kind in kinds:
        for item in _MAKERS[kind](source, room):
            if item.entry.tokens <= room:
                found.append(item)
                room -= item.entry.tokens
    return found


def is_card(entry: Entry, texts: Texts) -> bool:
    """Whether an entry is the state card. Only the harness makes attached entries."""
    return entry.how == "attached" and entry.message["content"].startswith(texts("card_title"))


def _entry(scene: Scene, text: str) -> Entry:
    return scene.entry(user(text), (), "attached")


def _card(source: _Source, room: int) -> Iterator[Attachment]:
    """The state card; where it does not fit, one with half as many points, and so on."""
    scene, most = source.scene, MAX_OPEN
    while most:
        text = "\n".join([scene.texts("card_title"), *card_lines(scene, most)])
        entry = _entry(scene, text)
        if entry.tokens <= room:
            yield Attachment("card", "", entry)
            return
        most //= 2


def _notice(source: _Source, room: int) -> Iterator[Attachment]:
    yield Attachment("notice", "", _entry(source.scene, source.scene.texts("boundary_notice")))


def _tools(source: _Source, room: int) -> Iterator[Attachment]:
    if names := sorted(source.scene.tools):
        text = source.scene.texts("tools_restored", names=", ".join(names))
        yield Attachment("tools", "", _entry(source.scene, text))


def _skills(source: _Source, room: int) -> Iterator[Attachment]:
    """The skills that were loaded, the newest first, each once, whole or not at all."""
    scene = source.scene
    left = scene.budget.scaled(SKILL_TOKENS)
    seen = {message["content"] for message in source.standing}
    loaded = scene.index.chronicle.grow().results.get(SKILL_TOOL, ())
    for index in reversed(common(loaded, source.covered)):
        message = scene.history[index]
        if message.get("error") or message["content"] in seen:
            continue
        seen.add(message["content"])
        entry = _entry(scene, scene.texts("skill_restored", index=index) + "\n"
                       + message["content"])
        if entry.tokens <= left:
            left -= entry.tokens
            yield Attachment("skill", f"#{index}", entry)


def _files(source: _Source, room: int) -> Iterator[Attachment]:
    """The files last read, the newest first, unless a later reading still stands."""
    scene = source.scene
    standing = {file.path for file in file_accesses(source.standing)}
    known = [(call_order(place), path, place, content)
             for path, file in scene.index.chronicle.grow().files.items() if path not in standing
             for place, content in _last_whole(scene, file, source.covered)]
    found = 0
    for when, path, place, content in sorted(known, key=itemgetter(0), reverse=True):
        if found == MAX_FILES:
            return
        changed = newest(scene.index.chronicle.files[path].changed, source.covered)
        key = "file_restored" if changed is None or call_order(changed) <= when else "file_stale"
        part = "" if access(place.call) == CHANGED else part_asked(place.call)
        name = f"{path} ({part})" if part else path
        entry = _cut_to(scene, key, name, place.result, content,
                        min(room, scene.budget.scaled(FILE_TOKENS)))
        if entry is not None:
            found += 1
            room -= entry.tokens
            yield Attachment("file", path, entry)


def _last_whole(scene: Scene, file: File, covered: Sequence[int]) -> Iterator[tuple[Place, str]]:
    """The last call that shows a file, read (perhaps in part) or written, and its text, if there
    is one. An edit shows only what it changed, so it does not count."""
    read = newest(file.read, covered)
    for place in backwards(file.changed, covered):
        if read is not None and call_order(place) < call_order(read):
            break
        if isinstance(content := place.call["arguments"].get("content"), str):
            yield place, content
            return
    if read is not None:
        yield read, scene.history[read.result]["content"]


def _cut_to(scene: Scene, key: str, path: str, index: int, content: str,
            limit: int) -> Entry | None:
    """The entry of a file with as many of its first lines as `limit` holds, at least one."""
    lines = rows_of(content)
    used, shown = 0, 0
    for line in lines:
        used += scene.estimate.text(line) + 1
        if used > limit:
            break
        shown += 1
    while shown:
        head = scene.texts(key, path=path, index=index, shown=shown, lines=len(lines))
        entry = _entry(scene, "\n".join([head, *lines[:shown]]))
        if entry.tokens <= limit:
            return entry
        shown -= max(1, shown // 16)
    return None


_MAKERS: dict[str, Callable[[_Source, int], Iterator[Attachment]]] = {
    "card": _card, "notice": _notice, "tools": _tools, "skills": _skills, "files": _files}
