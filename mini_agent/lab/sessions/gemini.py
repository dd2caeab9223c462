"""Milestone 6, reader: Gemini CLI, three forms of one chat.

a) `chats/session-*.json`: `{sessionId, projectHash, messages: [{id, type, content,
   toolCalls}]}`, the results inside the calls;
b) the same as lines since 0.40: a header, one message per line, `{"$set": ...}` patches;
c) `--output-format stream-json`: events `init, message, tool_use, tool_result, result`.
Quirks:
- in b) a message is written again when its results arrive: of several with one id the last
  counts, at the place of the first;
- `$set.messages` replaces the model's context: messages known before are updated; if some
  are missing, the new ones are the host's summary and are left out;
- `$rewindTo` takes turns back, but they stay in the history;
- `info, warning, error` are for the screen; an info that says `compressed from: N to M
  tokens` is a compression; older assistant messages have the type `model` and `parts`;
- in c) text comes in deltas.
"""

from __future__ import annotations

import re
from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, dumped, flat, list_of, string_of
from .join import finish
from .log import Error, Log, RawCall, failed

_COMPRESSED = re.compile(r"ompressed from:? (\d{1,9}|unknown) to ")
_ASSISTANT = ("gemini", "model")


class Gemini:
    """`projectHash` and messages of type `gemini`, or a stream that begins with `init`."""

    name = "gemini-cli"

    def detects(self, document: Document) -> bool:
        """Whether the file is one of the three forms."""
        first = dict_of(document.head[0]) if document.head else {}
        return ("projectHash" in first and "sessionId" in first) or _is_stream(first) or any(
            isinstance(value, dict) and value.get("type") == "gemini" and "content" in value
            for value in (*document.head, *dicts_of(first.get("messages"))))

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        if _is_stream(dict_of(document.head[0])):
            stream = _Stream(log)
            for event in document.objects():
                stream.event(event)
            stream.close()
        else:
            for message in _messages(log, document):
                _message(log, message)
        return [finish(log, document)]


def _is_stream(first: dict[str, Any]) -> bool:
    return first.get("type") == "init" and "session_id" in first


def _messages(log: Log, document: Document) -> list[dict[str, Any]]:
    """The last version of each message; a mark among them tells where the context was replaced."""
    found: dict[str, dict[str, Any]] = {}
    for record in document.objects():
        patch = dict_of(record.get("$set"))
        if "messages" in record:
            for message in dicts_of(record["messages"]):
                _put(found, message)
        elif "messages" in patch:
            _replace(log, found, dicts_of(patch["messages"]))
        elif "$rewindTo" in record:
            log.notes["rewinds"] += 1
        elif "type" in record:
            _put(found, record)
        else:
            log.notes["bookkeeping"] += 1
    return list(found.values())


def _put(found: dict[str, dict[str, Any]], message: dict[str, Any]) -> None:
    found[string_of(message.get("id")) or f"without id {len(found)}"] = message


def _replace(log: Log, found: dict[str, dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    ids = {string_of(message.get("id")) for message in messages}
    gone = any(known not in ids for known in found if not known.startswith("mark"))
    if gone:
        found[f"mark {len(found)}"] = {"type": "$mark"}
    for message in messages:
        if not gone or string_of(message.get("id")) in found:
            _put(found, message)
        else:
            log.notes["summaries"] += 1


def _message(log: Log, message: dict[str, Any]) -> None:
    kind = message.get("type")
    content = message.get("content", message.get("parts"))
    if kind == "user":
        log.message()
        log.user(_flat(content))
    elif kind in _ASSISTANT:
        log.message()
        log.notes["thinking"] += len(list_of(message.get("thoughts")))
        _assistant(log, message, content)
    elif kind == "$mark":
        log.compression("summary")
    else:
        found = _COMPRESSED.search(_flat(content).text)
        if found:
            log.compression("summary", int(found[1]) if found[1].isdigit() else None)
        log.notes["screen_messages"] += 1


def _flat(content: Any) -> Any:
    """Content without the parts that are thoughts."""
    return flat([part for part in list_of(content) if not dict_of(part).get("thought")]
                if isinstance(content, list) else content)


def _assistant(log: Log, message: dict[str, Any], content: Any) -> None:
    called = dicts_of(message.get("toolCalls"))
    log.assistant(_flat(content), [
        RawCall(string_of(call.get("id")), string_of(call.get("name")), call.get("args"))
        for call in called])
    answered = [call for call in called if list_of(call.get("result"))]
    log.message(bool(answered))
    for call in answered:
        response = dict_of(dict_of(list_of(call["result"])[0]).get("functionResponse"))
        text, error = _response(response.get("response"))
        if call.get("status") in ("error", "cancelled"):
            error = failed()
        log.result(string_of(call.get("id")), text, name=string_of(call.get("name")), error=error)


def _response(response: Any) -> tuple[Any, Error | None]:
    """The text of a function response: its output or error, else all of it."""
    for key in ("output", "error"):
        value = dict_of(response).get(key)
        if value is not None:
            text = value if isinstance(value, str) else dumped(value)
            return text, failed() if key == "error" else None
    return (response if isinstance(response, str) else dumped(response)), None


class _Stream:
    """Adds events of form c): the deltas and calls of one model call become one message."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.deltas: list[str] = []
        self.calls: list[RawCall] = []

    def event(self, event: dict[str, Any]) -> None:
        """Add an event; the message of the assistant ends at the first one of another role."""
        kind = event.get("type")
        if kind == "message" and event.get("role") == "assistant":
            self.deltas.append(flat(event.get("content")).text)
        elif kind == "tool_use":
            self.calls.append(RawCall(string_of(event.get("tool_id")),
                                      string_of(event.get("tool_name")), event.get("parameters")))
        elif kind == "message":
            self.close()
            self.log.message()
            self.log.user(flat(event.get("content")))
        elif kind == "tool_result":
            self.close()
            self.log.message()
            failure = dict_of(event.get("error")).get("message") or event.get("error")
            self.log.result(string_of(event.get("tool_id")), flat(event.get("output") or failure),
                            error=failed() if event.get("status") == "error" else None)
        else:
            self.log.notes["bookkeeping"] += 1

    def close(self) -> None:
        """Add the message of the assistant, if one is open."""
        if self.deltas or self.calls:
            self.log.message()
            self.log.assistant("".join(self.deltas), self.calls)
        self.deltas, self.calls = [], []
