"""Milestone 5: does a trace tell of one course of events, step by step?

What can be held against the records before it alone: the number of the step, a call as it is
begun against the message that made it, a result against its call and against what the trace
says of it, sub-agents that begin and end, numbers that are none. Left out: the view, its laws and
sizes (`audit.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .lint import Fault, malformed
from .messages import Call, Message, calls_of
from .trace import Record

COUNTS = ("tokens", "failures", "learned_window")  # and all keys that end in _tokens
Calls = dict[str, deque[Call]]  # by their ids, which may repeat


class Course:
    """What has happened so far, as far as the next record has to go on from it."""

    def __init__(self) -> None:
        self._step = 0  # of the last message
        self._called = -1  # step of the last model call
        self._to_begin: Calls = {}  # those of the last answer that no record tells of yet
        self._waiting: Calls = {}  # those that have no result yet
        self._result: dict[str, Any] = {}  # told of the message that follows
        self._children: list[int] = []  # sub-agents that have begun
        self._at_work: set[int] = set()

    def faults(self, record: Record) -> Iterator[Fault]:
        """What does not go on from the records before. Raises as a record of another form does."""
        yield from (("trace", text) for text in self._faults(record))

    def _faults(self, record: Record) -> Iterator[str]:
        begins = record.get("event") == "run_start"  # the only record without a step
        step = record.get("payload", record).get("step", 0 if begins else None)
        if type(step) is not int or step < 0:
            yield f"no step {step!r}"
            return
        if record["type"] == "message":
            yield from self._message(record["message"], step)
            return
        latest = max(self._called, self._step) + 1
        if not self._called <= step <= latest and record["event"] != "run_end":
            yield f"step {step} where {max(0, self._called)} is at work"
        if record["event"] != "host_compression":  # whose tokens the other agent may not tell
            yield from _no_numbers(record["payload"])
        if check := getattr(self, f"_on_{record['event']}", None):
            yield from check(record["payload"])

    def _message(self, message: Message, step: int) -> Iterator[str]:
        if step < self._step:
            yield f"step {step} behind step {self._step}"
        self._step = step
        if fault := malformed(message):
            yield fault
            return
        if message["role"] != "tool":
            self._to_begin, self._waiting = (_by_id(calls_of(message)) for _ in range(2))
            return
        call = _taken(self._waiting, message["tool_call_id"])
        if call and call["name"] != message["name"]:  # if there is none, pairing tells it
            yield f"a result of {message['name']!r}, the call was for {call['name']!r}"
        if self._result:
            yield from self._as_told(message)

    def _as_told(self, message: Message) -> Iterator[str]:
        told, self._result = self._result, {}
        if told["id"] != message["tool_call_id"]:
            yield f"the tool_result before it is of {told['id']!r}"
        if told["chars"] != len(message["content"]):
            yield f"chars is {told['chars']}, rebuilt it is {len(message['content'])}"
        if told["ok"] == ("error" in message):
            yield "the record and the message do not agree whether it failed"
        elif told["code"] != (code := message.get("error", {}).get("code")):
            yield f"code is {told['code']!r}, in the message it is {code!r}"

    def _on_model_call(self, payload: Mapping[str, Any]) -> Iterable[str]:
        self._called = payload["step"]
        return ()

    def _on_tool_call(self, payload: Mapping[str, Any]) -> Iterator[str]:
        call = _taken(self._to_begin, payload["id"])
        if call is None or any(call[key] != payload[key] for key in ("name", "arguments")):
            yield f"no message has made the call {payload['id']!r} like this"

    def _on_tool_result(self, payload: dict[str, Any]) -> Iterable[str]:
        self._result = payload  # held against the message that follows
        return ()

    def _on_subagent_start(self, payload: Mapping[str, Any]) -> Iterator[str]:
        if payload["child"] != len(self._children) + 1:
            yield f"sub-agent {payload['child']} where {len(self._children) + 1} begins"
        if not isinstance(payload["id"], str):
            yield f"no id of a call: {payload['id']!r}"
        self._children.append(payload["child"])
        self._at_work.add(payload["child"])

    def _on_subagent_end(self, payload: Mapping[str, Any]) -> Iterator[str]:
        if payload["child"] not in self._at_work:
            yield f"sub-agent {payload['child']} ends and is not at work"
        self._at_work.discard(payload["child"])

    def _on_run_end(self, _: Mapping[str, Any]) -> Iterator[str]:
        if self._at_work:
            yield f"sub-agents {sorted(self._at_work)} have no end"


def _no_numbers(payload: Mapping[str, Any]) -> Iterator[str]:
    for key, value in payload.items():
        if (key in COUNTS or key.endswith("_tokens")) and (type(value) is not int or value < 0):
            yield f"{key} is {value!r}, which is no number"


def _by_id(calls: Iterable[Call]) -> Calls:
    found: Calls = {}
    for call in calls:
        found.setdefault(call["id"], deque()).append(call)
    return found


def _taken(calls: Calls, call_id: str) -> Call | None:
    """The first of the calls with this id, taken out; None where there is none."""
    alike = calls.get(call_id)
    return alike.popleft() if alike else None
