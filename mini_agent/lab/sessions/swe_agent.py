"""Milestone 6, reader: SWE-agent `.traj` (0.x and 1.x): `{trajectory, history, info}`.

`history` is read; `trajectory` repeats the whole prompt at every step. Quirks:
- 1.x has `tool_calls`, and `tool_call_ids`, a list, in the result; ids repeat;
- 0.x has the action as text inside the assistant's text and as `action`, the observation
  as a user message: they become a call `bash` and its result here;
- a demonstration is one user message `is_demo: true`;
- there is no error flag; other agents of a run are told apart by `agent`.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .chat import calls_in
from .document import Document
from .fields import dict_of, dicts_of, flat, list_of, string_of
from .join import finish
from .lists import role_of
from .log import Log, RawCall


class SweAgent:
    """An object with `trajectory` and `history`."""

    name = "swe-agent"

    def detects(self, document: Document) -> bool:
        """Whether the file is a trajectory."""
        value = dict_of(document.value)
        return isinstance(value.get("trajectory"), list) and bool(dicts_of(value.get("history")))

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        history = dicts_of(document.value["history"])
        own = history[0].get("agent")
        waiting = False
        for message in history:
            if message.get("agent") != own:
                log.notes["subagent_records"] += 1
                continue
            log.message()
            waiting = _message(log, message, waiting)
        return [finish(log, document)]


def _message(log: Log, message: dict[str, Any], waiting: bool) -> bool:
    """Add a message; True if an action in its text waits for the next one."""
    role, text = role_of(message), flat(message.get("content"))
    observed = message.get("message_type") == "observation"
    if role == "system":
        log.system(text)
    elif role == "assistant":
        return _assistant(log, message)
    elif role == "tool":
        ids = list_of(message.get("tool_call_ids")) or [message.get("tool_call_id")]
        log.result(string_of(ids[0]), text)
    elif waiting:
        log.result("", text)
    else:
        log.count(results=int(observed), chars=text.chars)
        log.user(text, injected=message.get("is_demo") is True, counted=False)
    return waiting and role == "system"


def _assistant(log: Log, message: dict[str, Any]) -> bool:
    text, calls = flat(message.get("content")), calls_in(message)
    action = string_of(message.get("action"))
    if calls or not action.strip():
        log.assistant(text, calls)
        return False
    log.count(calls=1, chars=text.chars + len(action))
    log.notes["calls_in_text"] += 1
    said = string_of(message.get("thought")).strip() or text.text
    log.assistant(said, [RawCall("", "bash", {"command": action})], counted=False)
    return True
