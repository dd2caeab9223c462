"""Milestone 5: what a provider would refuse, or nobody meant, in a transcript.

The rules that need nothing but the messages: roles and their order, pairing, empty
contents, ids used twice, arguments that are not a JSON object, sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .messages import ROLES, Message, calls_of, pairing_faults

TOO_LARGE = 400_000  # characters of one message: a whole window of 100,000 tokens
Fault = tuple[str, str]


class Finding(NamedTuple):
    """What is wrong at a line (of a trace) or message (of another log); `kind` is the
    law that it breaks, "trace" or "transcript"."""

    line: int
    kind: str
    text: str


def malformed(message: Any) -> str:
    """What is wrong with the form of a message in a trace, "" if nothing is."""
    if not isinstance(message, dict):
        return f"a message is {type(message).__name__}, not dict"
    if message.get("role") not in ROLES:
        return f"no role {message.get('role')!r}"
    return next((f"{name} is {type(value).__name__}, not {kind.__name__}"
                 for name, value, kind in _parts(message) if not isinstance(value, kind)), "")


def _parts(message: Mapping[str, Any]) -> Iterator[tuple[str, Any, type]]:
    """(name, value, the type that it has to have) of each part of a message.

    Whoever takes them stops at the first that has another: what comes later relies on it.
    """
    yield "content", message.get("content"), str
    if message["role"] == "tool":
        yield "tool_call_id", message.get("tool_call_id"), str
        yield "name", message.get("name"), str
    calls, error = message.get("tool_calls", []), message.get("error", {})
    yield "tool_calls", calls, list
    yield "error", error, dict
    yield "opaque", message.get("opaque", {}), dict
    for call in calls:
        fields = call if isinstance(call, dict) else {}
        for key, kind in (("id", str), ("name", str), ("arguments", dict)):
            yield f"a call's {key}", fields.get(key), kind
    for key, value in error.items():
        yield f"error.{key}", value, str


def lint_message(message: Mapping[str, Any], ids: set[str], first: bool) -> Iterator[Fault]:
    """(kind, text) for each fault of one message; `ids` are the call ids before it."""
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        yield "transcript", f"no role {role!r}"
    if not isinstance(content, str):
        yield "transcript", f"the content is {type(content).__name__}, not text"
        return
    if role == "system" and not first:
        yield "transcript", "a system message that is not the first"
    if role in ("system", "user") and not content.strip():
        yield "transcript", f"an empty {role} message"
    if role == "assistant" and not content.strip() and not message.get("tool_calls"):
        yield "transcript", "an assistant message with neither text nor calls"
    if len(content) > TOO_LARGE:
        yield "transcript", f"{len(content)} characters in one message"
    for call in calls_of(message):
        yield from _lint_call(call, ids)


def _lint_call(call: Mapping[str, Any], ids: set[str]) -> Iterator[Fault]:
    if call["id"] and call["id"] in ids:  # an empty one says that the log has no ids
        yield "transcript", f"the call id {call['id']!r} was used before"
    ids.add(call["id"])
    if not call["name"]:
        yield "transcript", f"the call {call['id']!r} names no tool"
    if "invalid" in call:
        named = call["id"] or call["name"]
        yield "transcript", f"the arguments of {named!r} are not a JSON object"


def lint_pairing(messages: Sequence[tuple[int, Message]], ended: bool = True) -> Iterator[Finding]:
    """A finding for each call without result and the reverse. In a run that has not
    `ended`, the calls of the last group may still be open."""
    found = list(pairing_faults([message for _, message in messages]))
    last = max((at for at, (_, message) in enumerate(messages)
                if message.get("role") == "assistant"), default=-1)
    for at, text in found:
        if ended or at != last:
            yield Finding(messages[at][0], "law 1 (pairing)", text)
