"""Milestone 5: is a trace true to itself? Everything that can be checked from it alone.

The records are folded by the one fold that also made them (`compression/state.py`). Each
change is held to the laws that can be seen in it (those that the policy breaks on purpose
are left out), to its own numbers, and to honesty where it names a handle. `check` reports
what is found; a session whose trace contradicts itself is not resumed. Left out: whether one
event follows from another (`course.py`), and whether the tools have said what the trace says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .compression.chronicle import Chronicle
from .compression.digest import CoverageDigest
from .compression.laws import CONSERVATION, GAIN, faults, named
from .compression.overflow import protection
from .compression.rising import common, holds
from .compression.state import WindowState
from .compression.units import HANDLE
from .compression.view import HOW, Change, Entry, apply, from_payload, prefix_kept
from .course import Course
from .errors import TraceError, UsageError
from .governance import Governance, recorded_governance
from .lint import Fault, Finding, lint_message, lint_pairing, malformed
from .messages import text_of
from .texts import LANGUAGES, Texts, recorded_language
from .tokens import estimator
from .trace import FORMAT, Record

_HANDLE = re.compile(r"handle=(\d{1,9})(?!\d)")
NONSENSE = (KeyError, TypeError, IndexError, AttributeError, ValueError)  # what a record raises


class Line(NamedTuple):
    """A record and the number of the line where it stands."""

    number: int
    record: Record


def audit(lines: Sequence[Line], goes_on: bool = False) -> Iterator[Finding]:
    """What is wrong in a trace, in the order of its lines where there is one.

    `goes_on`: the run need not have ended.
    """
    if not lines:
        yield Finding(1, "trace", "there is no record in it")
        return
    yield from _head(lines[0])
    yield from _Audit([line.record for line in lines]).findings(lines)
    ended = lines[-1].record.get("event") == "run_end"
    if not ended and not goes_on:
        yield Finding(lines[-1].number, "trace", "the run has no end: it was killed or goes on")
    yield from lint_pairing([(line.number, line.record["message"]) for line in lines
                             if line.record["type"] == "message"
                             and not malformed(line.record["message"])], ended)


def _head(first: Line) -> Iterator[Finding]:
    number, start = first.number, first.record.get("payload", {})
    if first.record.get("event") != "run_start":
        yield Finding(number, "trace", "the first record is not a run_start")
    elif start.get("format") != FORMAT:
        yield Finding(number, "trace", f"format {start.get('format')!r}, known is {FORMAT}")
    elif (language := start.get("language", LANGUAGES[0])) not in LANGUAGES:
        yield Finding(number, "trace", f"no language {language!r}")


class _Audit:
    """Folds the records once more, and finds what does not fit the state that they make."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._start: dict[str, Any] = next((record["payload"] for record in records
                                            if record.get("event") == "run_start"), {})
        self._governance, self._doubt = _governed(self._start)
        self._state = WindowState(estimator(self._governance.estimator),
                                  Texts(recorded_language(records)))
        self._declared: int | None = None
        self._sent: int | None = None  # tokens of the last request, as estimated
        self._course = Course()
        self._chronicle = Chronicle(self._state.history)

    def findings(self, lines: Sequence[Line]) -> Iterator[Finding]:
        """What is wrong with each record, in order; one that makes no sense is one finding."""
        if self._doubt:
            yield Finding(lines[0].number, "trace", self._doubt)
        in_order = True
        for index, (number, record) in enumerate(lines):
            if in_order and record["seq"] != index:
                yield Finding(number, "trace", f"seq {record['seq']} where {index} should stand")
                in_order = False
            try:
                for kind, text in self._checked(record):
                    yield Finding(number, kind, text)
                self._state.fold(record)
            except TraceError as error:
                yield Finding(number, "trace", error.message)
            except NONSENSE as error:
                yield Finding(number, "trace", f"{record.get('event', 'message')}: not as a record "
                                               f"of its kind ({type(error).__name__}: {error})")

    def _checked(self, record: Record) -> Iterator[Fault]:
        """What is wrong with a record, in the state as it was before."""
        yield from self._course.faults(record)
        if record["type"] == "message":
            ids: set[str] = set()  # of this one: in a session they may repeat, and go out renewed
            yield from lint_message(record["message"], ids, first=not self._state.history)
            return
        if "entries" in record["payload"]:
            yield from self._change(record["event"], record["payload"])
        if check := getattr(self, f"_on_{record['event']}", None):
            yield from check(record["payload"])

    def _change(self, event: str, payload: dict[str, Any]) -> Iterator[Fault]:
        """A compression, or what an undo or a pin put back; only the first has to gain."""
        change, before = from_payload(payload), self._state.view
        after = apply(before, change)
        for law, fault in self._broken(event, change):
            yield named(law), f"{change.strategy}: {fault}"
        yield from _differing(payload, before_messages=len(before), after_messages=len(after),
                              before_tokens=before.tokens, after_tokens=after.tokens,
                              prefix_kept=prefix_kept(before, change))
        for _, entry in change.inserts:
            yield from self._entry(entry)
            if change.strategy == CoverageDigest.name:
                yield from self._quotes(entry)

    def _broken(self, event: str, change: Change) -> Iterator[tuple[int, str]]:
        """The laws that a change breaks and its policy does not, by tokens counted here."""
        if event == "undo":
            return self._undone(change)
        policy, before, counted = self._governance.policy, self._state.view, self._counted(change)
        exempt = () if event == "context_compression" else (GAIN,)
        return faults(before, apply(before, counted), counted, protection(
            self._state, policy, self._limit()), (*policy.breaks, *exempt))

    def _undone(self, change: Change) -> Iterator[tuple[int, str]]:
        """The fault of an undo that is not the inverse of the last change that can be undone."""
        seq, back = self._state.undoable[-1]
        if (change.affected, change.inserts) != (back.affected, back.inserts):
            yield CONSERVATION, f"it does not lead back to the view before seq {seq}"

    def _counted(self, change: Change) -> Change:
        """The change with the tokens of its entries counted here."""
        return replace(change, inserts=tuple(
            (at, entry._replace(tokens=self._state.estimate.message(entry.message)))
            for at, entry in change.inserts))

    def _entry(self, entry: Entry) -> Iterator[Fault]:
        if fault := malformed(entry.message):
            yield "trace", f"of an entry: {fault}"
        if entry.how not in HOW:
            yield "trace", f"an entry is {entry.how!r}, known is {', '.join(HOW)}"
        for kind, fault in _differing({"tokens": entry.tokens},
                                      tokens=self._state.estimate.message(entry.message)):
            yield kind, f"of an entry {fault}"
        history = self._state.history
        for number in map(int, _HANDLE.findall(entry.message["content"])):
            if number >= len(history) and not any(f"handle={number}" in text_of(history[at])
                                                  for at in entry.stands_for):  # not copied
                yield "law 9 (honesty)", f"handle {number} points at nothing"

    def _quotes(self, digest: Entry) -> Iterator[Fault]:
        """The lines of a digest that the message, whose handle stands over them, has not. Not
        looked for where users' words, which stand above all that, have such a handle."""
        try:
            history, known = self._state.history, self._chronicle.grow()
        except NONSENSE:
            return  # of a message, which has a finding of its own
        words = [*(pin.text for pin in self._state.pins.pins),
                 *(history[at]["content"] for at in common(known.users, digest.stands_for))]
        if any(map(HANDLE.search, words)):
            return
        source, text = -1, ""
        for line in digest.message["content"].split("\n"):
            number = int(found[1]) if (found := HANDLE.match(line)) else -1
            if holds(digest.stands_for, number) and known.handles[number] == line:
                source, text = number, text_of(history[number])
            elif source >= 0 and line not in text:
                yield "law 9 (honesty)", f"message {source} has no line {line!r}"

    def _on_model_call(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        view = self._state.view
        self._sent = payload.get("tokens")
        yield from _differing(payload, messages=len(view))
        if "tokens" not in payload:
            return
        declared = payload["tokens"] - view.tokens
        if self._declared is None and declared >= 0:
            self._declared = declared
        yield from _differing({"predicted": payload["tokens"], **payload},
                              tokens=view.tokens + (self._declared or 0),
                              predicted=self._state.drift.predict(payload["tokens"]))

    def _on_model_usage(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        counted = payload.get("prompt_tokens", payload.get("refused_tokens"))
        if self._sent is not None and counted is not None:
            yield from _differing(payload, drift=counted - self._state.drift.predict(self._sent))

    def _on_settings(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        self._declared = None  # other tools, perhaps, or other forms of them; counted anew
        if "policy" in payload:
            self._governance, doubt = _governed({**self._start, "policy": payload["policy"]})
            if doubt:
                yield "trace", doubt

    _on_resume = _on_settings

    def _on_run_end(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        view = self._state.view
        yield from _differing(payload, final_messages=len(view))
        if "final_tokens" in payload and self._declared is not None:
            yield from _differing(payload, final_tokens=view.tokens + self._declared)

    def _limit(self) -> int | None:
        told, budget = self._state.settings.get("learned_window"), self._governance.budget
        return budget.within(told).window if told else budget.window


def _governed(start: Mapping[str, Any]) -> tuple[Governance, str]:
    """What governs a run with this `run_start`, and why that cannot be known, else ""."""
    try:
        estimator((governance := recorded_governance(start, "policy")).estimator)
        return governance, ""
    except (UsageError, TypeError, AttributeError) as error:
        return recorded_governance({}, "policy"), f"laws and sizes cannot be checked: {error}"


def _differing(payload: Mapping[str, Any], **rebuilt: int) -> Iterator[Fault]:
    """The numbers of a record that are not those that were counted again."""
    for key, value in rebuilt.items():
        if payload[key] != value:
            yield "trace", f"{key} is {payload[key]}, rebuilt it is {value}"
