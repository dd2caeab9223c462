"""Milestone 6: whose result is this? The pieces of a log as messages with their answers.

Pieces of one assistant message are joined first, so that interleaved results of parallel
calls do not tear it; then each result finds its call, by rules for ids that are missing,
repeated, doubled or never asked for; then assistant messages in a row whose calls were
answered only after them all become the one message that they were. Each of the three is
one pass whose time grows with the number of pieces, whatever their ids.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from ...messages import Call
from .fields import dumped, glue
from .log import Log, Piece


@dataclass(slots=True, eq=False)
class Unit:
    """A message in the making; `place` is its position among the pieces."""

    piece: Piece
    place: int
    answers: list[Piece | None] = field(default_factory=list)
    first_open: int = 0       # no call before it is open
    last_answer: int = -1     # the place of the last of its results
    used: bool = False        # a result that has its call


class _Slot(NamedTuple):
    unit: Unit
    number: int

    @property
    def open(self) -> bool:
        """Whether its call has no answer yet."""
        return self.unit.answers[self.number] is None


@dataclass(slots=True, eq=False)
class _Joint:
    """An assistant message that is being put together."""

    piece: Piece
    texts: dict[str, None] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)

    def add(self, piece: Piece) -> int:
        """A further piece; how much of it was there already."""
        double = int(piece.text in self.texts and bool(piece.text.strip()))
        self.texts[piece.text] = None
        for call in piece.calls:
            if call["id"] and self.calls.get(call["id"]) == call:
                double += 1
            else:
                self.calls[call["id"]] = call
                if piece is not self.piece:
                    self.piece.calls.append(call)
        if piece is not self.piece:
            self.piece.faults += piece.faults
        for provider, blocks in piece.opaque.items():
            fresh = [block for block in blocks if dumped(block) not in self.sealed]
            self.sealed.update(map(dumped, fresh))
            if piece is not self.piece:
                self.piece.opaque.setdefault(provider, []).extend(fresh)
        return double


def joined_pieces(log: Log) -> list[Unit]:
    """Assistant pieces with one key as one piece, where the first of them stood."""
    units: list[Unit] = []
    joints: dict[str, _Joint] = {}
    for place, piece in enumerate(log.pieces):
        joint = joints.get(piece.key) if piece.key else None
        if joint is None:
            units.append(Unit(piece, place))
        if piece.key:
            joint = joint or joints.setdefault(piece.key, _Joint(piece))
            for _ in range(joint.add(piece)):
                log.fault(joint.piece, "duplicates")
    for joint in joints.values():
        joint.piece.text = glue(joint.texts)
    return units


class _Pairing:
    """Which calls are open, which were answered, which results have no call yet."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.open: dict[str, list[deque[_Slot]]] = {}  # by id, one queue per message
        self.done: dict[str, _Slot] = {}
        self.early: dict[str, deque[Unit]] = {}
        self.last: Unit | None = None

    def ask(self, unit: Unit) -> None:
        """A message with calls: they are open, or answered by a result that came early."""
        calls = unit.piece.calls
        unit.answers = [None] * len(calls)
        self.last = unit if calls else self.last
        for number, call in enumerate(calls):
            slot, call_id = _Slot(unit, number), call["id"]
            if not call_id:
                continue
            queues = self.open.setdefault(call_id, [])
            if not queues or not queues[-1] or queues[-1][-1].unit is not unit:
                queues.append(deque())
            queues[-1].append(slot)
            if self.early.get(call_id):
                self.log.fault(unit.piece, "early_results", call_id)
                self._give(slot, self.early[call_id].popleft())

    def answer(self, result: Unit) -> None:
        """A result: to the call that it belongs to, or kept for one to come."""
        slot = self._slot(result.piece.call_id)
        if slot is not None:
            self._give(slot, result)
        else:
            self.early.setdefault(result.piece.call_id, deque()).append(result)

    def _slot(self, call_id: str) -> _Slot | None:
        """The call of a result: an open one with this id, else one just answered, else the
        first that is open, else an older one."""
        waiting = self._waiting(call_id)
        done = self.done.get(call_id) if call_id else None
        if waiting or done and done.unit is self.last:
            return waiting or done
        first = self._first_open()
        if first and (done or not call_id or not first.unit.piece.calls[first.number]["id"]):
            return first
        return done

    def _waiting(self, call_id: str) -> _Slot | None:
        """The first open call with this id in the newest message that has one."""
        queues = self.open.get(call_id, []) if call_id else []
        while queues:
            while queues[-1] and not queues[-1][0].open:
                queues[-1].popleft()
            if queues[-1]:
                return queues[-1][0]
            queues.pop()
        return None

    def _first_open(self) -> _Slot | None:
        unit = self.last
        if unit is None:
            return None
        while unit.first_open < len(unit.answers) and unit.answers[unit.first_open] is not None:
            unit.first_open += 1
        return _Slot(unit, unit.first_open) if unit.first_open < len(unit.answers) else None

    def _give(self, slot: _Slot, result: Unit) -> None:
        unit = slot.unit
        if not slot.open:
            self.log.fault(unit.piece, "doubled_results", unit.piece.calls[slot.number]["id"])
        unit.answers[slot.number] = result.piece
        unit.piece.faults += result.piece.faults
        unit.last_answer = max(unit.last_answer, result.place)
        self.done[unit.piece.calls[slot.number]["id"]] = slot
        result.used = True


def pair(units: list[Unit], log: Log) -> None:
    """Give each result to its call."""
    pairing = _Pairing(log)
    for unit in units:
        if unit.piece.role == "assistant":
            pairing.ask(unit)
        elif unit.piece.role == "tool":
            pairing.answer(unit)


def merged_turns(units: list[Unit], log: Log) -> list[Unit]:
    """Assistant messages in a row, the results of all after the last, as one."""
    made: list[Unit] = []
    run: list[Unit] = []
    answered = -1  # the place of the last result that a message so far has
    for unit in units:
        speaks = unit.piece.role == "assistant"
        early = speaks and unit.place < answered
        if early and run and run[-1].piece.role == "assistant":
            run.append(unit)
            log.notes["merged_messages"] += 1
        else:
            if early:
                log.fault(unit.piece, "late_results")
            made += [_one(run, log)] if run else []
            run = [unit]
        answered = max(answered, unit.last_answer)
    return made + ([_one(run, log)] if run else [])


def _one(run: list[Unit], log: Log) -> Unit:
    """The units of a run as the first of them."""
    first, *others = run
    if others:
        first.piece.text = glue(unit.piece.text for unit in run)
    for unit in others:
        first.piece.calls += unit.piece.calls
        first.answers += unit.answers
        first.piece.faults += unit.piece.faults
        for provider, blocks in unit.piece.opaque.items():
            known = first.piece.opaque.setdefault(provider, [])
            if isinstance(known, list) and isinstance(blocks, list):
                known += blocks
            else:
                log.notes["reasoning_dropped"] += 1
    return first
