"""Milestone 3: what happened in a session, taken in once for each message.

What a call was about, which files were read and changed where, what users said, which
points of a list are ticked, what fails: summaries, digests and the state card ask this
at each compression, and what has happened does not change. It is a cache and nothing
else: one made anew equals one that has grown with the history. What is left out: what
the messages hold (`index.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from ..actions import CHANGED, READ, access, described, target
from ..extract import boxes
from ..messages import Call, Message, arguments_text, calls_of
from .rising import holds


class Place(NamedTuple):
    """An answered call: its message, which of the calls there, its result."""

    message: int
    number: int
    result: int
    call: Call


@dataclass(frozen=True)
class File:
    """Where a file was read and changed without an error, in the order of the results."""

    read: list[Place] = field(default_factory=list)
    changed: list[Place] = field(default_factory=list)

    def newest(self, covered: Sequence[int]) -> Place | None:
        """The last of these calls that is among the covered messages (rising)."""
        return max(filter(None, (newest(self.read, covered), newest(self.changed, covered))),
                   default=None, key=call_order)


class Chronicle:
    """Facts about a history, which only grow.

    By message: `labels` (what it called, or the call that it answers) and `handles` (the
    heading over lines that a digest copies from it). `users`: the messages of users;
    `others`: all that are no results; `results`: those that are, by the name of their tool.
    `answers`: the answered calls, in the order of their results. `call_of`: the call that a
    result answers; `result_of`: the result of a call, by its message and its number in there.
    `files`: by path, the one touched last at the end.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = history
        self.labels: list[str] = []
        self.handles: list[str] = []
        self.users: list[int] = []
        self.others: list[int] = []
        self.results: dict[str, list[int]] = {}
        self.answers: list[Place] = []
        self.call_of: dict[int, Call] = {}
        self.result_of: dict[tuple[int, int], int] = {}
        self.files: dict[str, File] = {}
        self._open: dict[str, deque[tuple[int, int, Call, str]]] = {}  # unanswered, by id

    def grow(self) -> Chronicle:
        """Take in what the history has gained; returns itself."""
        with anew_if_broken(self, lambda: Chronicle(self.history)):
            for index in range(len(self.labels), len(self.history)):
                message = self.history[index]
                take = self._take_result if message["role"] == "tool" else self._take_calls
                self.labels.append(take(index, message))
                self.handles.append(_handle(index, message, self.labels[-1]))
        return self

    def _take_calls(self, index: int, message: Message) -> str:
        self.others.append(index)
        if message["role"] == "user":
            self.users.append(index)
        self._open = {}
        calls = calls_of(message)
        labels = [described(call["name"], call) for call in calls]
        for number, (call, label) in enumerate(zip(calls, labels)):
            self._open.setdefault(call["id"], deque()).append((index, number, call, label))
        return "; ".join(labels[:2]) + "; ..." * (len(labels) > 2)

    def _take_result(self, index: int, message: Message) -> str:
        self.results.setdefault(message["name"], []).append(index)
        waiting = self._open.get(message.get("tool_call_id", ""))
        if not waiting:
            return str(message["name"])
        at, number, call, label = waiting.popleft()
        place = Place(at, number, index, call)
        self.answers.append(place)
        self.call_of[index], self.result_of[at, number] = call, index
        if (what := access(call)) and not message.get("error"):
            path = target(call)
            file = self.files.pop(path) if path in self.files else File()
            self.files[path] = file  # the one touched last is the last
            (file.changed if what == CHANGED else file.read).append(place)
        return label

    def touched(self, covered: Sequence[int]) -> dict[str, str]:
        """What these messages (rising) did to each file, the one touched last at the end:
        `CHANGED` where one changed it, else `READ`."""
        touched = [(place, path) for path, file in self.files.items()
                   if (place := file.newest(covered)) is not None]
        touched.sort(key=lambda item: call_order(item[0]))
        return {path: CHANGED if newest(self.files[path].changed, covered) else READ
                for _, path in touched}


def _handle(index: int, message: Message, label: str) -> str:
    """`[#12 read_file src/app.py]` for a result, `[#11 > read_file src/app.py]` for its call."""
    if message["role"] == "tool":
        return f"[#{index} {label}]"
    return f"[#{index} > {label}]" if calls_of(message) else f"[#{index} {message['role']}]"


@contextmanager
def anew_if_broken(cache: object, fresh: Callable[[], object]) -> Iterator[None]:
    """If the body raises, replace the half updated cache by a fresh one."""
    try:
        yield
    except BaseException:
        vars(cache).update(vars(fresh()))
        raise


def call_order(place: Place) -> tuple[int, int]:
    """Sort key of answered calls: as they were made, whatever came back first."""
    return place[:2]


def backwards(places: Sequence[Place], covered: Sequence[int]) -> Iterator[Place]:
    """The calls whose result is among the covered messages (rising), the newest first."""
    return (place for place in reversed(places) if holds(covered, place.result))


def newest(places: Sequence[Place], covered: Sequence[int]) -> Place | None:
    """The call made last of those whose result is among the covered messages."""
    found = next(backwards(places, covered), None)
    if found is None:
        return None
    beside = takewhile(lambda place: place.message == found.message, backwards(places, covered))
    return max(beside, key=call_order)


class Work:
    """How far the work is: what the state card is made of, besides the files.

    `points`: the points of the task lists that the assistant wrote, and whether each is
    ticked; the one written last is last. `failing`: calls whose newest result is an error.
    """

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self.points: dict[str, bool] = {}
        self.failing: dict[str, Place] = {}
        self._tried: dict[str, Place] = {}  # where each call was made last
        self._read = self._answered = 0     # messages and answers taken in

    def grow(self) -> Work:
        """Take in what the history has gained; returns itself."""
        self._chronicle.grow()
        with anew_if_broken(self, lambda: Work(self._chronicle)):
            self._take_in(self._chronicle.history, self._chronicle.answers)
        return self

    def _take_in(self, history: Sequence[Message], answers: Sequence[Place]) -> None:
        for index in range(self._read, len(history)):
            for point, ticked in boxes([history[index]]).items():
                self.points.pop(point, None)
                self.points[point] = ticked
        for place in answers[self._answered:]:
            call = place.call
            said = f"{call['name']} {arguments_text(call)}"
            if said in self._tried and call_order(self._tried[said]) > call_order(place):
                continue
            self._tried[said] = place
            self.failing.pop(said, None)
            if history[place.result].get("error"):
                self.failing[said] = place
        self._read, self._answered = len(history), len(answers)

    def failed(self) -> list[str]:
        """The failing calls, the one made last at the end."""
        return sorted(self.failing, key=lambda said: call_order(self.failing[said]))
