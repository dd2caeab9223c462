"""Milestone 6: which result belongs to which call? Pieces of a log become paired messages.

First the pieces of one assistant message are joined, even where results of parallel calls
stand between them. Then each result is given to its call, by rules for ids that are missing,
repeated, doubled or unknown. Then consecutive assistant messages whose results all come after
the last of them are merged into the one message that they were. Each of these is one pass
whose time grows with the number of pieces, whatever their ids.
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
    """A message being made; `place` is the position of its first piece among all."""

    piece: Piece
    place: int
    answers: list[Piece | None] = field(default_factory=list)
    first_open: int = 0       # calls before this number are answered
    last_answer: int = -1     # the place of its last result
    used: bool = False        # whether it is a result that was given to a call


class _Slot(NamedTuple):
    """The place for the result of one call of a message."""

    unit: Unit
    number: int

    @property
    def open(self) -> bool:
        """Whether its call has no answer yet."""
        return self.unit.answers[self.number] is None


@dataclass(slots=True, eq=False)
class _Joint:
    """An assistant message that is being joined from its pieces; `piece` is the first."""

    piece: Piece
    texts: dict[str, None] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)

    def add(self, piece: Piece) -> int:
        """Join a piece; returns how many of its texts and calls were there already."""
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
    """The pieces as units; assistant pieces with one key are joined where the first stood."""
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
    """Knows which calls are open or answered, and which results came before their call."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.open: dict[str, list[deque[_Slot]]] = {}  # by id, one queue per message
        self.done: dict[str, _Slot] = {}        # by id, the call that was answered last
        self.early: dict[str, deque[Unit]] = {}  # by id, results that wait for their call
        self.last: Unit | None = None           # the last message with calls

    def ask(self, unit: Unit) -> None:
        """Open the calls of a message; results that came early answer theirs at once."""
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
        """Give a result to its call, or keep it for a call that is still to come."""
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
    """Consecutive assistant messages become one if their results all come after the last."""
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
            made += [_merged(run, log)] if run else []
            run = [unit]
        answered = max(answered, unit.last_answer)
    return made + ([_merged(run, log)] if run else [])


def _merged(run: list[Unit], log: Log) -> Unit:
    """The first unit of a run, with all that the others hold."""
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
