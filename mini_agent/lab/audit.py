"""Milestone 6: is a trace true? Everything in it that can be checked from it alone.

The views are rebuilt from the records by the one function that also made them. Each
change is held to the laws that can be seen in it (1 pairing, 2 conservation, 3 strict
gain, 4 protection; those that the policy breaks on purpose are left out), to its own
numbers, and to law 9 where it names a handle. What cannot be seen in a trace: whether
the tools said what they are said to have said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..compression.laws import Protection, faults, protected_users, tail_start
from ..compression.pins import Pin, Pins
from ..compression.policies import Policy, find_policy, with_settings
from ..compression.view import Entry, View, apply, from_payload, prefix_kept
from ..errors import UsageError
from ..messages import Message
from ..tokens import Estimator, estimator
from ..trace import FORMAT, Record
from .lint import Finding, lint_message, lint_pairing

_HANDLE = re.compile(r"handle=(\d+)")
_LAWS = {1: "pairing", 2: "conservation", 3: "strict gain", 4: "protection"}


class Line(NamedTuple):
    """A record and the number of the line where it stands."""

    number: int
    record: Record


def audit(lines: Sequence[Line]) -> Iterator[Finding]:
    """What is wrong in a trace, in the order of its lines where there is one."""
    yield from _frame(lines)
    start = next((line.record["payload"] for line in lines
                  if line.record.get("event") == "run_start"), {})
    yield from _Fold(start).findings(lines)
    yield from lint_pairing([(line.number, line.record["message"]) for line in lines
                             if line.record["type"] == "message"],
                            ended=bool(lines) and lines[-1].record.get("event") == "run_end")


def _frame(lines: Sequence[Line]) -> Iterator[Finding]:
    """Sequence numbers, the first and the last record."""
    if not lines:
        yield Finding(1, "trace", "there is no record in it")
        return
    first, last = lines[0].record, lines[-1].record
    if first.get("event") != "run_start":
        yield Finding(lines[0].number, "trace", "the first record is no run_start")
    elif first["payload"].get("format") != FORMAT:
        yield Finding(lines[0].number, "trace",
                      f"format {first['payload'].get('format')!r}, known is {FORMAT}")
    for expected, line in enumerate(lines):
        if line.record["seq"] != expected:
            yield Finding(line.number, "trace",
                          f"seq {line.record['seq']} where {expected} should stand")
            break
    if last.get("event") != "run_end":
        yield Finding(lines[-1].number, "trace", "the run has no end: it was killed or goes on")


class _Fold:
    """The state that the records make, and what does not fit it."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._estimate, self._policy, self._doubt = _governance(start)
        self._window = _mapping(start.get("policy")).get("window") or 0
        self._view, self._size = View(), 0
        self._heads: list[int] = []
        self._users: list[tuple[int, int]] = []
        self._pins: list[Pin] = []
        self._declared: int | None = None
        self._ids: set[str] = set()
        self._answer: dict[str, Any] = {}

    def findings(self, lines: Sequence[Line]) -> Iterator[Finding]:
        """What is wrong with each record, in order. A record that makes no sense is
        one finding, and the fold goes on."""
        if self._doubt:
            yield Finding(1, "trace", self._doubt)
        for number, record in lines:
            event = record.get("event")
            check = self._message if record["type"] == "message" else getattr(
                self, f"_{event}", None)
            if check is None:
                continue
            try:
                for kind, text in check(record if event is None else record["payload"]):
                    yield Finding(number, kind, text)
            except (KeyError, TypeError, IndexError, AttributeError, RuntimeError,
                    ValueError) as error:
                yield Finding(number, "trace", f"{event or 'message'}: not as a record of "
                                               f"its kind ({type(error).__name__}: {error})")

    def _message(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        message: Message = record["message"]
        yield from lint_message(message, self._ids, first=self._size == 0)
        entry = Entry(message, self._estimate.message(message), (self._size,))
        self._view.append(entry)
        if message["role"] == "system":
            self._heads.append(self._size)
        elif message["role"] == "user":
            self._users.append((self._size, entry.tokens))
        elif message["role"] == "tool" and self._answer:
            yield from self._answered(message)
        self._size += 1

    def _answered(self, message: Message) -> Iterator[tuple[str, str]]:
        told, self._answer = self._answer, {}
        if told["id"] != message["tool_call_id"]:
            yield "trace", f"the tool_result before it is of {told['id']!r}"
        if told["chars"] != len(message["content"]):
            yield "trace", f"{len(message['content'])} characters, its record says {told['chars']}"
        if told["ok"] == ("error" in message):
            yield "trace", "the record and the message do not agree whether it failed"

    def _tool_result(self, payload: dict[str, Any]) -> Iterator[tuple[str, str]]:
        self._answer = payload
        yield from ()

    def _pin(self, payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        index, text = payload.get("index", payload.get("handle")), payload["text"]
        if isinstance(index, int) and payload.get("ok", True):
            self._pins.append(Pin(index, text, payload.get("kind", "constraint")))
        yield from ()

    def _context_compression(self, payload: dict[str, Any]) -> Iterator[tuple[str, str]]:
        change = from_payload(payload)
        if any(not 0 <= at < len(self._view) for at in change.affected):
            raise IndexError("an affected index is not in the view")
        before, after = self._view, apply(self._view, change)
        self._view = after
        for law, fault in faults(before, after, change, self._protection(before),
                                 self._policy.breaks):
            yield f"law {law} ({_LAWS[law]})", f"{change.strategy}: {fault}"
        for key, value in (("before_messages", len(before)), ("after_messages", len(after)),
                           ("before_tokens", before.tokens), ("after_tokens", after.tokens),
                           ("prefix_kept", prefix_kept(before, change))):
            if payload[key] != value:
                yield "trace", f"{key} is {payload[key]}, rebuilt it is {value}"
        for _, entry in change.inserts:
            yield from self._entry(entry)

    def _entry(self, entry: Entry) -> Iterator[tuple[str, str]]:
        tokens = self._estimate.message(entry.message)
        if entry.tokens != tokens:
            yield "trace", f"an entry of {tokens} tokens is said to have {entry.tokens}"
        for number in map(int, _HANDLE.findall(entry.message["content"])):
            if number >= self._size:
                yield "law 9 (honesty)", f"handle {number} points at nothing"

    def _model_call(self, payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if payload["messages"] != len(self._view):
            yield "trace", f"{payload['messages']} messages sent, the view has {len(self._view)}"
        if "tokens" not in payload:
            return
        declared = payload["tokens"] - self._view.tokens
        if self._declared is None and declared >= 0:
            self._declared = declared
        elif declared != self._declared:
            yield "trace", (f"{payload['tokens']} tokens sent, rebuilt it is "
                            f"{self._view.tokens + (self._declared or 0)}")

    def _settings(self, payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        self._declared = None  # other tools, perhaps; counted anew
        yield from ()

    def _run_end(self, payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if payload["final_messages"] != len(self._view):
            yield "trace", f"ends with {payload['final_messages']} messages, the view has {len(self._view)}"
        if "final_tokens" in payload and payload["final_tokens"] != self._view.tokens + (
                self._declared or 0):
            yield "trace", f"ends with {payload['final_tokens']} tokens, the view has {self._view.tokens}"

    def _protection(self, view: View) -> Protection:
        users = protected_users(self._users, int(self._policy.user_share * self._window))
        return Protection(frozenset(users.union(self._heads)),
                          tail_start(view, self._policy.protect_last),
                          self._policy.shorten_tail, Pins(tuple(self._pins)))


def _governance(start: Mapping[str, Any]) -> tuple[Estimator, Policy, str]:
    """Estimator and policy of a run, and what stands in doubt about them."""
    settings = {**_mapping(start.get("policy"))}
    name = settings.pop("name", "none")
    settings.pop("window", None)
    try:
        counted = estimator(start.get("estimator", "runs"))
        return counted, with_settings(find_policy(str(name)), settings, "policy"), ""
    except UsageError as error:
        return estimator(), find_policy("none"), f"laws and sizes cannot be checked: {error}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
