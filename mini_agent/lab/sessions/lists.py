"""Milestone 6: the lists of chat messages that a document holds, each a session.

A list stands alone, in an object beside other things, or in a recorded request. A program that
records its requests writes the whole list anew for each of them, longer every time; all of
these are one session, to which the answer of the longest belongs; those that name different
sessions are not. What is left out: what a message means (`chat.py`, `anthropic.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .document import Document
from .fields import dict_of, dicts_of, list_of, string_of

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "exit")
_PLAIN_ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "chatgpt": "assistant",
                "function_call": "assistant", "observation": "tool"}
_LISTS = ("messages", "traj", "conversations", "conversation")
_SESSIONS = ("instance_id", "session_id", "sessionId", "conversation_id", "task_id")
_NAMES = (*_SESSIONS, "id")  # the last one may be that of a request


class MessageList(NamedTuple):
    """One session of a document; `name` is "" for the only one."""

    name: str
    messages: list[dict[str, Any]]
    system: Any = None  # where it stands beside the messages


class _Request(NamedTuple):
    """A list, and the message that answered it, [] where it is no recorded request."""

    listed: MessageList
    answer: list[dict[str, Any]]

    def whole(self) -> MessageList:
        """The list with the answer, unless it ends in one."""
        messages = self.listed.messages
        answered = role_of(messages[-1]) == "assistant"
        return self.listed._replace(messages=messages if answered else messages + self.answer)


def message_lists(document: Document) -> Iterator[MessageList]:
    """The sessions of a document: its lists, and loose messages as one."""
    loose: list[dict[str, Any]] = []
    found: list[_Request] = []
    trees: dict[str, dict[Any, Any]] = {}  # by the session that is named, as `_place` grows them
    for number, value in document.records():
        if messages_in(value):
            asked = _asked(value, number)
            tree = trees.setdefault(_name(value, _SESSIONS), {})
            at = _place(tree, asked.listed.messages, len(found))
            if at == len(found):
                found.append(asked)
            elif len(asked.listed.messages) >= len(found[at].listed.messages):
                name = found[at].listed.name
                found[at] = asked._replace(listed=asked.listed._replace(name=name))
        elif message := message_in(value):
            loose.append(message)
        else:
            document.skip(number, "no message and no list of messages")
    lists = [MessageList("", loose)] * bool(loose) + [asked.whole() for asked in found]
    return iter([lists[0]._replace(name="")] if len(lists) == 1 else lists)


def _place(tree: dict[Any, Any], messages: Sequence[dict[str, Any]], new: int) -> int:
    """The number of the list that these messages belong to, `new` if there is none: they begin
    with it, or it begins with them. `tree` has, message by message, how the lists go on, and
    under None the number of one that ends; this one is added."""
    number = new
    for message in messages:
        number = tree.pop(None, number)  # it does not end here
        said = json.dumps(message, sort_keys=True).encode()
        tree = tree.setdefault(hashlib.sha256(said).digest(), {})
    while tree and None not in tree:
        tree = next(iter(tree.values()))
    return int(tree.setdefault(None, number))


def is_message(value: Any) -> bool:
    """Whether a value is a message of the chat form."""
    if not isinstance(value, dict):
        return False
    if role_of({"role": value.get("role")}) in ROLES:
        return any(key in value for key in ("content", "tool_calls", "function_call"))
    return role_of({"from": value.get("from")}) in ROLES and "value" in value


def message_in(value: Any) -> dict[str, Any]:
    """The message that a value is, or holds as `message`; {} if it is something else."""
    inner = dict_of(value).get("message")
    return next((dict_of(one) for one in (value, inner) if is_message(one)), {})


def has_messages(values: Sequence[Any]) -> bool:
    """Whether there are messages or lists of them; or each value holds one as `message`, and
    nothing tells of another format, of which only a part would be read."""
    return any(is_message(value) or messages_in(value) for value in values) or bool(
        values) and all(map(message_in, values))


def messages_in(value: Any) -> list[dict[str, Any]]:
    """The messages that a value is or holds, [] if it is something else."""
    if isinstance(value, dict):
        held = {**_body(value, "request"), **value}
        value = next((held[key] for key in _LISTS if isinstance(held.get(key), list)), [])
    items = dicts_of(value)
    return items if items and any(is_message(item) for item in items[:3]) else []


def role_of(message: dict[str, Any]) -> str:
    """The role of a message in small letters; names of older forms become those of today."""
    role = string_of(message.get("role") or message.get("from")).lower()
    return _PLAIN_ROLES.get(role, role)


def _asked(value: Any, number: int) -> _Request:
    """The list that a value is or holds, under its name or its number, and its answer."""
    outer = dict_of(value)
    system = outer.get("system", _body(outer, "request").get("system"))
    response = _body(outer, "response")
    choices = dicts_of(response.get("choices", outer.get("choices")))
    answer = dict_of(choices[0].get("message")) if choices else response
    messages = list(map(_unmarked, messages_in(value)))
    return _Request(MessageList(_name(value, _NAMES) or str(number), messages, system),
                    [answer] if is_message(answer) else [])


def _name(value: Any, keys: Sequence[str]) -> str:
    """The first of these fields that a list has beside it, "" if there is none."""
    return next(filter(None, (string_of(dict_of(value).get(key)) for key in keys)), "")


def _unmarked(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the marks of a cache, which move from request to request."""
    content = message.get("content")
    if not any("cache_control" in part for part in dicts_of(content)):
        return message
    return {**message, "content": [
        {key: field for key, field in part.items() if key != "cache_control"}
        if isinstance(part, dict) else part for part in list_of(content)]}


def _body(call: dict[str, Any], key: str) -> dict[str, Any]:
    """The request or the response of a recorded call; some recorders wrap it once more."""
    return dict_of(dict_of(call.get(key)).get("body")) or dict_of(call.get(key))
