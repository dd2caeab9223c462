"""Milestone 6, reader: opencode, `opencode export`: `{info, messages: [{info, parts}]}`.

Quirks:
- a call and its result are one `tool` part: `state{status, input, output | error}`;
  several in a message are parallel, and there is no tool role;
- one message may hold several model calls: each begins with a `step-start` part;
- `metadata.output` and the like repeat the output and are not read;
- a `running` or `pending` tool at an interrupt has no result;
- text parts with `synthetic` are injected; `compaction` parts and assistant messages
  with `summary: true` are a compaction, `state.time.compacted` a cleared result.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, flat, int_of, string_of
from .join import finish
from .log import Log, RawCall, failed


class OpenCode:
    """An object with `info` and `messages`, each with `info` and `parts`."""

    name = "opencode"

    def detects(self, document: Document) -> bool:
        """Whether the first message has a role in its `info` and `parts`."""
        messages = dicts_of(dict_of(document.value).get("messages"))
        return any("parts" in message and "role" in dict_of(message.get("info"))
                   for message in messages[:5])

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        tokens: int | None = None
        for number, message in enumerate(dicts_of(document.value["messages"])):
            info, parts = dict_of(message.get("info")), dicts_of(message.get("parts"))
            if any(part.get("type") == "compaction" for part in parts):
                log.compression("summary", tokens)
            log.message()
            if info.get("role") != "assistant":
                _user(log, parts)
            elif info.get("summary") is True:
                with log.aside("summaries"):
                    _assistant(log, parts, str(number))
            else:
                _assistant(log, parts, str(number))
                tokens = _context(dict_of(info.get("tokens"))) or tokens
        return [finish(log, document)]


def _context(tokens: dict[str, Any]) -> int:
    cache = dict_of(tokens.get("cache"))
    return sum(int_of(value) or 0 for value in (
        tokens.get("input"), cache.get("read"), cache.get("write")))


def _user(log: Log, parts: list[dict[str, Any]]) -> None:
    """Add what the user typed, then what the host put beside it."""
    seen = [part for part in parts if part.get("type") in ("text", "file")
            and part.get("ignored") is not True]
    typed = [part for part in seen if part.get("synthetic") is not True]
    if typed:
        log.user(flat(typed))
    if len(typed) < len(seen):
        log.user(flat([part for part in seen if part not in typed]), injected=True)


def _assistant(log: Log, parts: list[dict[str, Any]], message: str) -> None:
    step, key = 0, f"{message}.0"
    for part in parts:
        kind = part.get("type")
        if kind == "step-start":
            step += 1
            key = f"{message}.{step}"
        elif kind == "text":
            log.assistant(flat(part), key=key)
        elif kind == "tool":
            _tool(log, part, key)
        elif kind == "reasoning":
            _reasoning(log, part, key)
        else:
            log.notes["bookkeeping"] += 1


def _tool(log: Log, part: dict[str, Any], key: str) -> None:
    state, call_id = dict_of(part.get("state")), string_of(part.get("callID"))
    name, status = string_of(part.get("tool")), state.get("status")
    log.assistant(calls=[RawCall(call_id, name, state.get("input"))], key=key)
    if status == "completed":
        shown = [state.get("output"), *dicts_of(state.get("attachments"))]
        log.result(call_id, flat(shown), name=name)
    elif status == "error":
        log.result(call_id, flat(state.get("error")), name=name, error=failed())
    log.notes["cleared_results"] += "compacted" in dict_of(state.get("time"))


def _reasoning(log: Log, part: dict[str, Any], key: str) -> None:
    metadata = dict_of(part.get("metadata"))
    signed = [provider for provider, value in metadata.items()
              if {"signature", "reasoningEncryptedContent"} & set(dict_of(value))]
    if signed:
        log.assistant(key=key, opaque=(signed[0], part))
    else:
        log.notes["thinking"] += 1
