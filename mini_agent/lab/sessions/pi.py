"""Milestone 6, reader: pi, `~/.pi/agent/sessions/*.jsonl` (versions 1 and 3).

A `session` header, then `message` entries with `role: user|assistant|toolResult|
bashExecution`; an assistant's blocks are `text, thinking, toolCall{id, name,
arguments}`. Quirks:
- an aborted turn leaves an empty assistant message, or calls without results;
- `compaction` keeps its summary and the first entry that stays;
- version 3 is a tree (`id`, `parentId`): all branches stay in the history, in file order,
  and a `branch_summary` is left out;
- `custom_message` is injected; a `bashExecution` is a command that the user ran.
OpenClaw writes the same entries with records of its own; its files are not read.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, flat, int_of, list_of, string_of
from .join import finish
from .log import Log, RawCall, failed

_ROLES = ("user", "assistant", "toolResult", "bashExecution")


class Pi:
    """A `session` header that is not OpenClaw's, or messages with pi's own roles."""

    name = "pi"

    def detects(self, document: Document) -> bool:
        """Whether the head has pi's entries, and none of OpenClaw."""
        head = [value for value in document.head if isinstance(value, dict)]
        foreign = any("openclaw" in string_of(value.get("customType")) + string_of(
            value.get("provider")) for value in head)
        return not foreign and any(_is_entry(value) for value in head)

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        parents: set[str] = set()
        for entry in document.objects():
            parent = string_of(entry.get("parentId"))
            if entry.get("type") == "message" and parent:
                log.notes["rewinds"] += parent in parents
                parents.add(parent)
            _entry(log, entry)
        return [finish(log, document)]


def _is_entry(value: dict[str, Any]) -> bool:
    message = dict_of(value.get("message"))
    if value.get("type") == "session":
        return "cwd" in value and ("provider" in value or "version" in value)
    return value.get("type") == "message" and (
        message.get("role") in _ROLES[2:] or "stopReason" in message)


def _entry(log: Log, entry: dict[str, Any]) -> None:
    kind = entry.get("type")
    if kind == "message" and dict_of(entry.get("message")).get("role") in _ROLES:
        log.message()
        _message(log, entry["message"])
    elif kind in ("compaction", "branch_summary"):
        if kind == "compaction":
            log.compression("summary", int_of(entry.get("tokensBefore")))
        with log.aside("summaries"):
            log.message()
            log.user(string_of(entry.get("summary")))
    elif kind == "custom_message":
        log.message()
        log.user(flat(entry.get("content")), injected=True)
    else:
        log.notes["bookkeeping"] += 1


def _message(log: Log, message: dict[str, Any]) -> None:
    role, content = message["role"], message.get("content")
    if role == "user":
        log.user(flat(content))
    elif role == "toolResult":
        log.result(string_of(message.get("toolCallId")), flat(content),
                   name=string_of(message.get("toolName")),
                   error=failed() if message.get("isError") is True else None)
    elif role == "bashExecution":
        command, output = string_of(message.get("command")), string_of(message.get("output"))
        log.user(f"Ran `{command}`\n{output}")
    else:
        _assistant(log, message, list_of(content) or content)


def _assistant(log: Log, message: dict[str, Any], content: Any) -> None:
    calls = [RawCall(string_of(block.get("id")), string_of(block.get("name")),
                     block.get("arguments"))
             for block in dicts_of(content) if block.get("type") == "toolCall"]
    key = f"message {log.counts.messages}"
    log.assistant(flat(content), calls, key=key)
    for block in dicts_of(content):
        if block.get("thinkingSignature"):
            provider = string_of(message.get("provider")) or "unknown"
            log.assistant(key=key, opaque=(provider, block))
        elif block.get("type") == "thinking":
            log.notes["thinking"] += 1
    log.notes["aborts"] += message.get("stopReason") == "aborted"
