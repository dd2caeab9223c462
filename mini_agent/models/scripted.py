"""Milestone 1: a model that replays the replies of a task file.

It ships with the package because it is how every milestone is shown: the same
bytes on every machine, no network, no key. `inject` in a reply makes it fail the
way real models fail. It does not read what it is sent; that is the point of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import extract
from ..errors import ModelError, PromptTooLongError, ScriptExhaustedError
from ..messages import Call, Message, call
from ..texts import Texts
from .base import Reply

INJECTIONS = ("error", "empty", "bad_json", "unknown_tool", "overflow")
SUMMARIES = ("ok", "empty", "long", "raise")
LONG_SUMMARY = 2  # an injected "long" summary has this many times its source's characters


class ScriptedModel:
    """Replays `replies` in order, then raises `ScriptExhaustedError`.

    Call ids are `call_STEP_INDEX`. `summaries` says what becomes of each summary in turn;
    any further one succeeds.
    """

    def __init__(self, replies: Sequence[dict[str, Any]], summaries: Sequence[str] = (),
                 texts: Texts = Texts()) -> None:
        self._replies = iter(replies)
        self._summaries: Iterator[str] = iter(summaries)
        self._texts = texts
        self._step = 0
        self._scripts: dict[str, dict[str, Any]] = {}

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        """The next reply of the script."""
        reply = next(self._replies, None)
        if reply is None:
            raise ScriptExhaustedError(self._texts("end_script"), value=self._step,
                                       remedy=self._texts("end_script_remedy"))
        inject = reply.get("inject", "")
        if inject == "overflow":
            raise PromptTooLongError("prompt is too long (injected)")
        if inject == "error":
            raise ModelError(self._texts("end_injected"))
        step, self._step = self._step, self._step + 1
        if inject == "empty":
            return Reply()
        calls = tuple(_call(made, f"call_{step}_{index}", inject)
                      for index, made in enumerate(reply.get("tool_calls", ())))
        self._scripts.update((f"call_{step}_{index}", script)
                             for index, script in reply.get("children", {}).items())
        return Reply(reply.get("content", ""), calls, stage=reply.get("stage", ""))

    def for_child(self, call_id: str) -> dict[str, Any]:
        """The model of the sub-agent that a call starts: the script nested in its reply."""
        return {"script": self._scripts.get(call_id, {"replies": []})}

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """A summary that only quotes, or the failure that the script asks for."""
        outcome = next(self._summaries, "ok")
        if outcome == "raise":
            raise ModelError("the summariser failed (injected)")
        if outcome == "empty":
            return ""
        if outcome == "long":
            return "\n".join(message["content"] for message in messages) * LONG_SUMMARY
        return extract.summary(form, messages, self._texts)


def _call(made: dict[str, Any], call_id: str, inject: str) -> Call:
    name, arguments = made["name"], made.get("arguments", {})
    if inject == "bad_json":
        return call(call_id, name, '{"path": "notes.txt"')
    return call(call_id, "no_such_tool" if inject == "unknown_tool" else name, arguments)
