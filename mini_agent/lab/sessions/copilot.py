"""Milestone 6, reader: GitHub Copilot CLI, `events.jsonl`.

A line is `{type, data, id, parentId, timestamp}`. Quirks:
- a user message is `content` as typed and `transformedContent` as wrapped by the host;
  the first is read, the second where nothing was typed (autopilot);
- a call may exist only as `tool.execution_start`: it joins the message before it;
- `detailedContent` is a second copy of a result for the screen;
- the system message is written again with each user turn;
- what has a `parentToolCallId` is a sub-agent's.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, flat, int_of, string_of
from .join import finish
from .log import Log, RawCall, failed


class Copilot:
    """Events named `session.start`, `user.message`, `assistant.message`."""

    name = "copilot-cli"

    def detects(self, document: Document) -> bool:
        """Whether one of the first events is Copilot's."""
        return any(isinstance(value, dict) and isinstance(value.get("data"), dict)
                   and value.get("type") in ("user.message", "assistant.message", "session.start")
                   for value in document.head)

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        reading = _Reading(log)
        for event in document.objects():
            reading.event(string_of(event.get("type")), dict_of(event.get("data")))
        return [finish(log, document)]


class _Reading:
    """Adds events, and remembers the assistant message of the turn and the calls so far."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.key = ""
        self.messages: set[str] = set()
        self.calls: set[str] = set()

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """Add an event; those of a sub-agent and of the screen are only counted."""
        if data.get("parentToolCallId") or kind.startswith("subagent."):
            self.log.notes["subagent_records"] += 1
        elif kind == "assistant.message":
            self._assistant(data)
        elif kind == "tool.execution_start":
            self._started(data)
        elif kind == "tool.execution_complete":
            self._completed(data)
        elif kind in ("system.message", "user.message", "system.notification"):
            self._message(kind, data)
        elif kind in ("session.truncation", "session.compaction_complete"):
            self._compressed(kind, data)
        elif kind == "assistant.reasoning":
            self.log.notes["thinking"] += 1
        else:
            self.log.notes["aborts" if kind == "abort" else "bookkeeping"] += 1

    def _message(self, kind: str, data: dict[str, Any]) -> None:
        content = string_of(data.get("content"))
        self.log.message()
        if kind == "system.message":
            self.log.system(content)
        elif kind == "user.message" and content.strip():
            self.log.user(content)
        else:
            wrapped = string_of(data.get("transformedContent"))
            self.log.user(wrapped or content, injected=True, counted=not wrapped)

    def _assistant(self, data: dict[str, Any]) -> None:
        message = string_of(data.get("messageId"))
        self.key = f"{message} {data.get('turnId')}" if message else f"event {len(self.log.pieces)}"
        if self.key not in self.messages:
            self.log.message()
        self.messages.add(self.key)
        calls = [RawCall(string_of(call.get("toolCallId")), string_of(call.get("name")),
                         call.get("arguments")) for call in dicts_of(data.get("toolRequests"))]
        self.calls.update(call.call_id for call in calls)
        self.log.assistant(flat(data.get("content")), calls, key=self.key)
        sealed = {name: data[name] for name in ("reasoningOpaque", "encryptedContent")
                  if isinstance(data.get(name), str) and data[name]}
        if sealed:
            self.log.assistant(key=self.key, opaque=("copilot", sealed))
        elif data.get("reasoningText"):
            self.log.notes["thinking"] += 1

    def _started(self, data: dict[str, Any]) -> None:
        call_id = string_of(data.get("toolCallId"))
        if call_id in self.calls:
            return
        self.calls.add(call_id)
        call = RawCall(call_id, string_of(data.get("toolName")), data.get("arguments"))
        self.log.assistant(calls=[call], key=self.key, counted=False,
                           fault=("calls_not_requested", call_id))

    def _completed(self, data: dict[str, Any]) -> None:
        self.log.message()
        result, error = dict_of(data.get("result")), dict_of(data.get("error"))
        content = result.get("content", error.get("message"))
        self.log.result(string_of(data.get("toolCallId")), flat(content),
                        error=failed() if data.get("success") is False else None)

    def _compressed(self, kind: str, data: dict[str, Any]) -> None:
        before = data.get("preTruncationTokensInMessages", data.get("preCompactionTokens"))
        self.log.compression("truncation" if kind.endswith("truncation") else "summary",
                             int_of(before))
        if data.get("summaryContent"):
            with self.log.aside("summaries"):
                self.log.message()
                self.log.user(flat(data["summaryContent"]))
