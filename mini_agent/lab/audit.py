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

from ..compression.laws import GAIN, Protection, faults, protected_users, tail_start
from ..compression.policies import Policy, find_policy, with_settings
from ..compression.state import WindowState
from ..compression.view import Entry, apply, from_payload, prefix_kept
from ..errors import TraceError, UsageError
from ..messages import Message
from ..texts import Texts, language_of
from ..tokens import Estimator, estimator
from ..trace import FORMAT, Record
from .lint import Fault, Finding, lint_message, lint_pairing

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
    said = [(line.number, line.record["message"]) for line in lines
            if line.record["type"] == "message"]
    task = next((message.get("content") for _, message in said
                 if message.get("role") == "user"), "")
    yield from _Fold(start, Texts(language_of(str(task)))).findings(lines)
    yield from lint_pairing(said,
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
    """The state that the records make (`WindowState`), and what does not fit it."""

    def __init__(self, start: Mapping[str, Any], texts: Texts) -> None:
        self._estimate, self._policy, self._doubt = _governance(start)
        self._window = _mapping(start.get("policy")).get("window") or 0
        self._state = WindowState(self._estimate, texts)
        self._declared: int | None = None
        self._ids: set[str] = set()
        self._answer: dict[str, Any] = {}

    def findings(self, lines: Sequence[Line]) -> Iterator[Finding]:
        """What is wrong with each record, in order. A record that makes no sense is
        one finding, and the fold goes on."""
        if self._doubt:
            yield Finding(1, "trace", self._doubt)
        for number, record in lines:
            event = record.get("event", "message")
            try:
                for kind, text in self._check(event, record):
                    yield Finding(number, kind, text)
                self._state.fold(record)
            except (TraceError, KeyError, TypeError, IndexError, AttributeError,
                    ValueError) as error:
                yield Finding(number, "trace", f"{event}: not as a record of its kind ({error!r})")

    def _check(self, event: str, record: Record) -> Iterator[Fault]:
        """What is wrong with a record, before it is folded."""
        if event == "message":
            yield from self._message(record["message"])
        elif "entries" in record["payload"]:
            yield from self._change(event, record["payload"])
        elif check := getattr(self, f"_on_{event}", None):
            yield from check(record["payload"])

    def _message(self, message: Message) -> Iterator[Fault]:
        yield from lint_message(message, self._ids, first=not self._state.history)
        if message["role"] != "tool" or not self._answer:
            return
        told, self._answer = self._answer, {}
        if told["id"] != message["tool_call_id"]:
            yield "trace", f"the tool_result before it is of {told['id']!r}"
        if told["chars"] != len(message["content"]):
            yield "trace", f"{len(message['content'])} characters, its record says {told['chars']}"
        if told["ok"] == ("error" in message):
            yield "trace", "the record and the message do not agree whether it failed"

    def _on_tool_result(self, payload: dict[str, Any]) -> Iterator[Fault]:
        self._answer = payload
        yield from ()

    def _change(self, event: str, payload: dict[str, Any]) -> Iterator[Fault]:
        """A compression, or what an undo or a pin put back; only the first has to gain."""
        change = from_payload(payload)
        before = self._state.view
        after = apply(before, change)
        exempt = () if event == "context_compression" else (GAIN,)
        for law, fault in faults(before, after, change, self._protection(),
                                 (*self._policy.breaks, *exempt)):
            yield f"law {law} ({_LAWS[law]})", f"{change.strategy}: {fault}"
        for key, value in (("before_messages", len(before)), ("after_messages", len(after)),
                           ("before_tokens", before.tokens), ("after_tokens", after.tokens),
                           ("prefix_kept", prefix_kept(before, change))):
            if payload[key] != value:
                yield "trace", f"{key} is {payload[key]}, rebuilt it is {value}"
        for _, entry in change.inserts:
            yield from self._entry(entry)

    def _entry(self, entry: Entry) -> Iterator[Fault]:
        tokens = self._estimate.message(entry.message)
        if entry.tokens != tokens:
            yield "trace", f"an entry of {tokens} tokens is said to have {entry.tokens}"
        for number in map(int, _HANDLE.findall(entry.message["content"])):
            if number >= len(self._state.history):
                yield "law 9 (honesty)", f"handle {number} points at nothing"

    def _on_model_call(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        view = self._state.view
        if payload["messages"] != len(view):
            yield "trace", f"{payload['messages']} messages sent, the view has {len(view)}"
        if "tokens" not in payload:
            return
        declared = payload["tokens"] - view.tokens
        if declared < 0 or self._declared not in (None, declared):
            yield "trace", (f"{payload['tokens']} tokens sent, rebuilt it is "
                            f"{view.tokens + (self._declared or 0)}")
        else:
            self._declared = declared

    def _on_settings(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        self._declared = None  # other tools, perhaps; counted anew
        yield from ()

    def _on_run_end(self, payload: Mapping[str, Any]) -> Iterator[Fault]:
        view = self._state.view
        if payload["final_messages"] != len(view):
            yield "trace", f"ends with {payload['final_messages']} messages, the view has {len(view)}"
        tokens = view.tokens + (self._declared or 0)
        if payload.get("final_tokens", tokens) != tokens:
            yield "trace", f"ends with {payload['final_tokens']} tokens, the view has {tokens}"

    def _protection(self) -> Protection:
        state, policy = self._state, self._policy
        users = protected_users(state.users, int(policy.user_share * self._window))
        return Protection(frozenset(users.union(state.heads)),
                          tail_start(state.view, policy.protect_last), policy.shorten_tail,
                          state.pins, state.history)


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
