"""Milestone 6, reader: our own traces (`trace.py`).

`{"type": "message", "step", "message", "seq"}` and `{"type": "event", "event", "payload",
"seq"}`. The messages are the history, with the steps of their records. Of the events, those
kept are a `host_compression` (another agent's, from a converted log), the stages that were
ended and the pins that were set. What this run compressed itself concerns its views and not
the history, and is only counted.
"""

from __future__ import annotations

from typing import Any

from ...hostile import clean
from .base import KINDS, Act, HostCompression, LogSession, act_of
from .document import Document
from .fields import dict_of, dicts_of, int_of, string_of
from .join import finish
from .log import OWN, Log, RawCall


class OwnTrace:
    """Records with `type`, `seq` and a message or an event."""

    name = OWN

    def detects(self, document: Document) -> bool:
        """Whether one of the first records is one of ours."""
        return any(isinstance(value, dict) and isinstance(value.get("seq"), int) and (
            isinstance(value.get("message"), dict) or isinstance(value.get("event"), str))
                   for value in document.head)

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        host, said = "", 0
        acts: list[Act] = []
        for record in document.objects():
            payload = dict_of(record.get("payload"))
            if record.get("type") == "message":
                said += 1
                log.step = int_of(record.get("step"))
                _message(log, dict_of(record.get("message")))
            elif record.get("event") == "host_compression":
                host = string_of(payload.get("format")) or host
                kind = payload.get("kind")
                log.compression(kind if kind in KINDS else "summary",
                                int_of(payload.get("tokens")))
            elif act := act_of(said, record.get("event"), payload):
                acts.append(act)
            else:
                log.notes["own_compressions" if record.get("event") == "context_compression"
                          else "events"] += 1
        session = finish(log, document)
        if said == len(session.messages):  # else it was mended, and the places are others
            session.acts = acts
        if host:
            session.host_compressions = [
                HostCompression(mark.at, clean(host), mark.tokens, mark.kind)
                for mark in session.host_compressions]
        return [session]


def _message(log: Log, message: dict[str, Any]) -> None:
    role, content = message.get("role"), string_of(message.get("content"))
    log.message()
    if role == "system":
        log.system(content)
    elif role == "user":
        log.user(content)
    elif role == "tool":
        error = dict_of(message.get("error"))
        log.result(string_of(message.get("tool_call_id")), content,
                   name=string_of(message.get("name")), error={
                       "code": string_of(error.get("code")),
                       "message": string_of(error.get("message"))} if error else None)
    elif role == "assistant":
        calls = [RawCall(string_of(call.get("id")), string_of(call.get("name")),
                         call.get("invalid", call.get("arguments")))
                 for call in dicts_of(message.get("tool_calls"))]
        log.assistant(content, calls)
        for provider, blocks in dict_of(message.get("opaque")).items():
            log.seal(log.pieces[-1], provider, blocks)
    else:
        log.notes["other_messages"] += 1
