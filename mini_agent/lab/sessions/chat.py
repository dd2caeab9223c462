"""Milestone 6: messages of the OpenAI chat form, clean and dirty.

Shared by the readers whose logs have them. A call is in `tool_calls` (or the older
`function_call`), sometimes a second time among the content parts; its result is a message of
role `tool` (or `function`). Agents with a text protocol write the call into the assistant's
text, as `<function=NAME><parameter=...>` or as a fenced bash block, and the next user message
is its result. These become a call and a result without id, so that the result can be
compressed like any other.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .fields import (
    arguments_of, between_all, dict_of, dicts_of, flat, is_injected, list_of, string_of)
from .lists import role_of
from .log import Log, RawCall, exit_error, failed

_PARTS = ("tool_call", "tool_use", "toolCall")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_XML = re.compile(r"<function=([^>\n]*)>(.*?)(?:</function>|\Z)", re.S)
_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.S)
_RETURNCODE = re.compile(r"<returncode>(-?\d{1,6})</returncode>")


class TextCall(NamedTuple):
    """A call in a text: the text around it, the call, and the text inside it."""

    said: str
    call: RawCall
    body: str


def calls_in(message: dict[str, Any]) -> list[RawCall]:
    """The calls of a message: `tool_calls`, else `function_call`, else content parts."""
    listed = dicts_of(message.get("tool_calls"))
    alone = dict_of(message.get("function_call")) or _spelt(message)
    if not listed and alone:
        listed = [{"function": alone}]
    parts = [part for part in dicts_of(message.get("content")) if part.get("type") in _PARTS]
    made: list[RawCall] = []
    for call in listed or parts:
        inner = dict_of(call.get("function")) or call
        raw = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
        call_id = call.get("id") or call.get("call_id") or call.get("tool_call_id")
        made.append(RawCall(string_of(call_id), string_of(inner.get("name")), raw))
    return made


def _spelt(message: dict[str, Any]) -> dict[str, Any]:
    """The call that is the whole text of a message from `function_call`, {} for any other."""
    if message.get("from") != "function_call":
        return {}
    made = dict_of(arguments_of(message.get("value")))
    return made if string_of(made.get("name")) else {}


def _xml_call(text: str) -> TextCall | None:
    """The first `<function=...>` of a text."""
    found = _XML.search(text)
    if not found:
        return None
    parameters = between_all(found[2], "<parameter=", "</parameter>")[1]
    arguments = {name: value for name, _, value in (one.partition(">") for one in parameters)}
    said = (text[:found.start()].rstrip() + text[found.end():]).rstrip()
    return TextCall(said, RawCall("", found[1], arguments), found[2])


def _fenced_call(text: str) -> TextCall | None:
    """The one fenced bash block of a text."""
    found = _FENCE.search(text)
    if not found:
        return None
    said = (text[:found.start()].rstrip() + text[found.end():]).rstrip()
    return TextCall(said, RawCall("", "bash", {"command": found[1]}), found[1])


class Chat:
    """Adds chat messages to a log. `fences`: fenced bash blocks in the text are calls."""

    def __init__(self, log: Log, *, fences: bool = False) -> None:
        self.log = log
        self.fences = fences
        self.waiting = False  # the last message had a call in its text: the next is the result

    def add(self, message: dict[str, Any]) -> None:
        """One message of the log."""
        role = role_of(message)
        content = message.get("content", message.get("value"))
        self.log.message()
        if role in ("system", "developer"):
            self.log.system(flat(content))
        elif role == "assistant":
            self._assistant(message, content)
        elif role in ("tool", "function"):
            self._result(message, content)
        elif role == "exit":
            with self.log.aside("exit_messages"):
                self.log.user(flat(content))
        elif role:
            self._user(content, role != "user")
        else:
            self.log.notes["other_messages"] += 1

    def _assistant(self, message: dict[str, Any], content: Any) -> None:
        thought = [part for part in dicts_of(content) if part.get("type") in _THOUGHTS]
        self.log.notes["thinking"] += len(thought) or bool(
            message.get("reasoning_content") or message.get("reasoning"))
        text, calls = flat("" if _spelt(message) else content), calls_in(message)
        made = None if calls else _xml_call(text.text) or (
            _fenced_call(text.text) if self.fences else None)
        self.waiting = made is not None
        if made is None:
            self.log.assistant(text, calls)
            return
        self.log.notes["calls_in_text"] += 1
        xml = not self.fences
        self.log.count(calls=int(xml), chars=text.chars + len(made.body) * xml)
        self.log.assistant(made.said, [made.call], counted=False)

    def _user(self, content: Any, injected: bool) -> None:
        text = flat(content)
        if not self.waiting:
            self.log.user(text, injected=injected or is_injected(text.text))
            return
        self.waiting = False
        found = _RETURNCODE.match(text.text)
        self.log.count(results=int(self.fences), chars=text.chars)
        self.log.result("", text, error=exit_error(int(found[1])) if found else None,
                        counted=False)

    def _result(self, message: dict[str, Any], content: Any) -> None:
        parts = [part.get("tool_call_id") or part.get("call_id") for part in dicts_of(content)]
        call_id = message.get("tool_call_id") or next(filter(None, parts), "")
        text = flat(content)
        status = _RETURNCODE.match(text.text)
        error = exit_error(int(status[1])) if status else None
        if message.get("status") == "error" or message.get("is_error") is True:
            error = failed()
        self.log.result(string_of(call_id), text, name=string_of(message.get("name")), error=error)


def texts_of(messages: list[dict[str, Any]], role: str) -> list[str]:
    """The texts of the messages of a role."""
    return [flat(message.get("content", message.get("value"))).text
            for message in list_of(messages) if role_of(message) == role]
