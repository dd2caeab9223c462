"""Milestone 1: a model that replays the replies of a task file.

It is part of the package because every milestone is shown with it: the same bytes on every
machine, no network, no key. `inject` in a reply makes it fail as real models fail. What is
left out: it does not read what it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Any

from .. import extract
from ..errors import ModelError, PromptTooLongError, ScriptExhaustedError
from ..messages import Call, Message, assistant, call, calls_of
from ..texts import Texts
from .base import Reply

INJECTIONS = ("error", "empty", "bad_json", "unknown_tool", "overflow")
SILENT = ("error", "overflow")  # the injections that leave no answer
OF_A_CALL = ("bad_json", "unknown_tool")  # those that are in each call of a reply
SUMMARIES = ("ok", "empty", "long", "raise")
LONG_SUMMARY = 2  # an injected "long" summary has this many times its source's characters


class ScriptedModel:
    """Replays `replies` in order, then raises `ScriptExhaustedError`.

    Call ids are `call_STEP_INDEX`; `step` is that of the first reply. `summaries` are the
    outcomes of the summaries in turn; any further one succeeds.
    """

    def __init__(self, replies: Sequence[dict[str, Any]], summaries: Sequence[str] = (),
                 texts: Texts = Texts(), step: int = 0) -> None:
        self._replies = iter(replies)
        self._summaries: Iterator[str] = iter(summaries)
        self._texts = texts
        self._step = step
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
        self._scripts.update((f"call_{step}_{index}", script)
                             for index, script in reply.get("children", {}).items())
        return _answer(reply, step)

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


def replies_left(replies: Sequence[dict[str, Any]],
                 history: Iterable[Message]) -> Sequence[dict[str, Any]]:
    """The replies that remain where `history` ends with answers that begin the script; all of
    them where it does not.

    An injected fault leaves no answer, so faults right after the last answer count as given.
    """
    said = [_without_ids(message) for message in history if message["role"] == "assistant"]
    answering = [number for number, reply in enumerate(replies) if not _is_silent(reply)]
    script = [_without_ids(_message(replies[number])) for number in answering]
    for most in range(min(len(said), len(script)), 0, -1):
        if said[-most:] == script[:most]:
            return list(dropwhile(_is_silent, replies[answering[most - 1] + 1:]))
    return replies


def _is_silent(reply: dict[str, Any]) -> bool:
    return reply.get("inject") in SILENT


def _message(reply: dict[str, Any]) -> Message:
    answer = _answer(reply, 0)
    return assistant(answer.content, answer.tool_calls)


def _without_ids(message: Message) -> Any:
    """An answer without the ids of its calls."""
    return message["content"], [{**tool_call, "id": ""} for tool_call in calls_of(message)]


def _answer(reply: dict[str, Any], step: int) -> Reply:
    """The answer of a reply that leaves one (see `SILENT`)."""
    inject = reply.get("inject", "")
    if inject == "empty":
        return Reply()
    calls = tuple(_call(asked, f"call_{step}_{index}", inject)
                  for index, asked in enumerate(reply.get("tool_calls", ())))
    return Reply(reply.get("content", ""), calls, stage=reply.get("stage", ""))


def _call(asked: dict[str, Any], call_id: str, inject: str) -> Call:
    name, arguments = asked["name"], asked.get("arguments", {})
    if inject == "bad_json":
        return call(call_id, name, '{"path": "notes.txt"')
    return call(call_id, "no_such_tool" if inject == "unknown_tool" else name, arguments)
