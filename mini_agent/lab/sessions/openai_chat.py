"""Milestone 6, reader: lists of OpenAI chat messages, the usual form of datasets.

`[{role, content, tool_calls}]`, alone, under `messages`, `traj` or `conversations`, one
session per file, item or line; or one message per line, alone or under `message`; or recorded
requests, `{messages}` or `{request, response}` (`lists.py`). Real files differ in this:
- content parts beside `tool_calls` that repeat the calls; roles `developer`, `function`;
- parallel calls in assistant messages of their own, then all results;
- SWE-smith: calls as `<function=...>` in the text, results as user messages;
- LangChain dumps: `{lc, id, kwargs: {type: human|ai|tool, content, tool_calls}}` and
  `{type, data}`, their arguments objects, their content Anthropic blocks; in older ones the
  calls of the API stand in `additional_kwargs`;
- `{from, value}`: a call is a message of its own from `function_call`, its result from
  `observation`.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .chat import Chat
from .document import Document
from .fields import dict_of, dicts_of, flat
from .join import finish
from .lists import MessageList, has_messages, message_lists
from .log import Log

_LANGCHAIN = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system",
              "function": "function", "AIMessageChunk": "assistant", "HumanMessageChunk": "user"}


class OpenAIChat:
    """Messages with roles, or LangChain's dumps of them."""

    name = "openai-chat"

    def detects(self, document: Document) -> bool:
        """Whether the head holds messages or lists of them."""
        return has_messages(document.head) or bool(_langchain(document))

    def read(self, document: Document) -> list[LogSession]:
        """One session per list."""
        dumped = _langchain(document)
        lists = [MessageList("", dumped)] if dumped else message_lists(document)
        sessions: list[LogSession] = []
        for name, messages, system in lists:
            log = Log(self.name)
            log.system(flat(system), counted=False)
            chat = Chat(log)
            for message in messages:
                chat.add(message)
            sessions.append(finish(log, document, name))
        return sessions


def _langchain(document: Document) -> list[dict[str, Any]]:
    """The messages of a LangChain dump in the chat form, [] if it is not one."""
    value = document.value
    items = dicts_of(value if isinstance(value, list) else dict_of(value).get("messages"))
    made: list[dict[str, Any]] = []
    for item in items:
        inner = dict_of(item.get("kwargs")) if "lc" in item else dict_of(item.get("data"))
        role = _LANGCHAIN.get(str(inner.get("type") or item.get("type")))
        if not made and (not role or "content" not in inner):
            return []
        older = dict_of(inner.get("additional_kwargs"))
        calls = inner if inner.get("tool_calls") else {**inner, **older}
        made.append({**inner, "role": role or "", "tool_calls": calls.get("tool_calls"),
                     "function_call": calls.get("function_call")})
    return made
