"""Milestone 6, reader: mini-swe-agent 1.x `.traj.json`, and the bare list before it.

`{info, messages, trajectory_format}` with chat messages of the LiteLLM form. Quirks:
- `extra.response` repeats the whole API answer, `extra.raw_output` has the result before
  it was clipped: neither is read;
- the last message has the role `exit`; the model never saw it, it stays out;
- in the text protocol the action is a fenced bash block and the observation a user
  message that begins with `<returncode>`.
"""

from __future__ import annotations

from .base import LogSession
from .chat import Chat, texts_of
from .document import Document
from .fields import dict_of, string_of
from .join import finish
from .lists import message_lists, messages_in
from .log import Log


class MiniSwe:
    """A trajectory of mini-swe-agent, or a bare list that has its observations."""

    name = "mini-swe-agent"

    def detects(self, document: Document) -> bool:
        """By `trajectory_format`, by `info`, or by observations with a return code."""
        value = document.value
        messages = messages_in(value)
        if isinstance(value, dict):
            info = dict_of(value.get("info"))
            return bool(messages) and (
                string_of(value.get("trajectory_format")).startswith("mini-swe-agent")
                or "mini_version" in info or {"exit_status", "model_stats"} <= set(info))
        return any(text.startswith("<returncode>") for text in texts_of(messages[:50], "user"))

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        sessions: list[LogSession] = []
        for name, messages, _ in message_lists(document):
            log = Log(self.name)
            fences = not any("tool_calls" in message for message in messages)
            chat = Chat(log, fences=fences)
            for message in messages:
                chat.add(message)
            sessions.append(finish(log, document, name))
        return sessions
