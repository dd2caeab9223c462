"""Milestone 6, reader: Anthropic Messages lists, and API calls recorded on the wire.

- a list of `{role, content}` with content blocks, alone or as a request body with
  `system` and `tools`; Cline's `api_conversation_history.json`, its results in text;
- claude-trace: calls `{request, response}` in order. Each request repeats the history,
  so only what is new in it is taken. If some calls have tools, those without (titles,
  topics) do not belong to the conversation. A call that asks for a summary is the host's
  compression: its answer is left out, and so is "This session is being continued" in the
  request after it;
- claude.ai/code: `{loglines: [Claude Code records]}`.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .blocks import add_assistant, add_user, is_result
from .claude_code import add_records
from .document import Document
from .fields import dict_of, dicts_of, flat, int_of, string_of
from .join import finish
from .lists import has_messages, message_in, message_lists, messages_in
from .log import Log

_OWN = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_SUMMARISER = ("summarizing conversations", "detailed summary of the conversation so far")
_CONTINUED = "This session is being continued from a previous conversation"


class Anthropic:
    """Messages with Anthropic's own blocks, recorded calls, or loglines."""

    name = "anthropic-messages"

    def detects(self, document: Document) -> bool:
        """Whether the head of the file has one of the three forms."""
        if isinstance(dict_of(document.value).get("loglines"), list):
            return True
        return any(map(_request, document.head)) or has_messages(document.head) and _has_blocks([
            message for value in document.head
            for message in messages_in(value) or [message_in(value)]])

    def read(self, document: Document) -> list[LogSession]:
        """One session per list; recorded calls are one session."""
        if "loglines" in dict_of(document.value):
            log = Log(self.name)
            add_records(log, dicts_of(document.value["loglines"]))
            return [finish(log, document)]
        if any(_request(value) for value in document.head):
            return [_recorded(document)]
        sessions: list[LogSession] = []
        for name, messages, system in message_lists(document):
            log = Log(self.name)
            log.system(flat(system), counted=False)
            _Messages(log).add(messages)
            sessions.append(finish(log, document, name))
        return sessions


def _has_blocks(messages: list[dict[str, Any]]) -> bool:
    """Whether these are Anthropic's messages; OpenAI's may have some of the same blocks."""
    if any(message.get("role") == "tool" or message.get("tool_calls") for message in messages):
        return False
    return any(block.get("type") in _OWN for message in messages
               if message.get("role") in ("user", "assistant")
               for block in dicts_of(message.get("content")))


def _request(value: Any) -> dict[str, Any]:
    """The body of a recorded call, {} if the value is not one."""
    request = dict_of(dict_of(value).get("request"))
    body = dict_of(request.get("body")) or request
    response = dict_of(dict_of(value).get("response"))
    answer = dict_of(response.get("body")) or response
    return body if response and "choices" not in answer and dicts_of(
        body.get("messages")) else {}


class _Messages:
    """Adds messages, and counts the open calls, whose results may come as text."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.open = 0

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Add messages; each is one message of the log."""
        for message in messages:
            self.log.message()
            content, role = message.get("content"), message.get("role")
            blocks = dicts_of(content)
            if role == "assistant":
                add_assistant(self.log, content, f"message {self.log.counts.messages}")
                self.open = sum(block.get("type") == "tool_use" for block in blocks)
            elif role == "system":
                self.log.system(flat(content))
            else:
                answered = sum(map(is_result, blocks))
                asked = _SUMMARISER[1] in flat(content).text
                add_user(self.log, content, injected=asked,
                         open_calls=max(0, self.open - answered))
                self.open = 0


class _Conversation:
    """The conversation to which recorded calls belong. `taken` is how many messages of the
    last request were added; `answer` is that of the last call, not added yet."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.messages = _Messages(log)
        self.taken = 0
        self.opening = ""
        self.answer: Any = None

    def call(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        """Add what is new in the request of a call, and keep its answer."""
        messages = dicts_of(request["messages"])
        opening = flat(messages[0].get("content")).text
        if self.taken and opening != self.opening:
            self._start_anew(messages)
        elif not self.taken:
            self.log.system(flat(request.get("system")), counted=False)
        self.messages.add(messages[self.taken:])
        self.taken = max(self.taken, len(messages))
        self.opening = opening
        self.answer = response.get("content")
        asked = flat(request.get("system")).text + flat(messages[-1].get("content")).text
        if any(words in asked for words in _SUMMARISER):
            usage = dict_of(response.get("usage"))
            self.log.compression("summary", sum(int_of(usage.get(key)) or 0 for key in (
                "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")))
            self.log.notes["summaries"] += 1
            self.answer = None

    def _start_anew(self, messages: list[dict[str, Any]]) -> None:
        """A request that does not continue the last one, after a compression or a reset."""
        parts = dicts_of(messages[0].get("content"))
        kept = [part for part in parts if _CONTINUED not in string_of(part.get("text"))]
        if len(kept) < len(parts):
            messages[0] = {**messages[0], "content": kept}
        else:
            self.close()
            self.log.compression("reset")
        self.taken = 0

    def close(self) -> None:
        """Add the answer of the last call, which no request repeats."""
        if self.answer is not None:
            add_assistant(self.log, self.answer, f"answer {self.log.counts.messages}",
                          counted=False)
        self.answer = None


def _recorded(document: Document) -> LogSession:
    log = Log("anthropic-messages")
    calls = [(_request(value), dict_of(value["response"]))
             for value in document.objects() if _request(value)]
    conversation = _Conversation(log)
    # If no call has tools, nothing tells which calls do not belong to the conversation.
    have_tools = any(request.get("tools") for request, _ in calls)
    for request, response in calls:
        if request.get("tools") or not have_tools:
            conversation.call(request, dict_of(response.get("body")) or response)
        else:
            log.notes["side_calls"] += 1
    conversation.close()
    return finish(log, document)
