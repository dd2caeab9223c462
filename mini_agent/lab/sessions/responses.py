"""Milestone 6, reader: items of the OpenAI Responses interface.

Messages, calls and results are items of one list. Codex writes the same items, so they are
added by its `Reading`. A file holds
- such a list, alone or an item a line (an SDK's `to_input_list()`); or
- calls `{instructions, input, output}`, or `{request, response}` around these, one in all or
  one a line. A call belongs to the session of the one before if its input begins with that
  one's input, or if it has only new items and a `previous_response_id`. Inputs repeat earlier
  answers, so only the `output` of the last call of a session is added.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from .base import LogSession
from .codex import Reading
from .document import Document
from .fields import dict_of, dicts_of, string_of
from .join import finish
from .log import Log

_ENDS = ("_call", "_call_output")


class RecordedCall(NamedTuple):
    """A call of the interface: the items that were sent and those of the answer, the id of that
    answer, and the id of the earlier answer that it continues, "" for none."""

    system: str
    sent: list[dict[str, Any]]
    answer: list[dict[str, Any]]
    answer_id: str = ""
    after: str = ""

    def going_on_from(self, before: RecordedCall) -> RecordedCall:
        """This call with the earlier items too, if it sent only the id of the answer before."""
        if not self.after or self.after != before.answer_id:
            return self
        return self._replace(sent=[*before.sent, *before.answer, *self.sent])


class Responses:
    """Lists of items, or recorded calls of the interface."""

    name = "openai-responses"

    def detects(self, document: Document) -> bool:
        """Whether the head holds a call or a result, bare or in a call of the interface."""
        return any(_is_item(item) for value in document.head
                   for item in (value, *chain(*_recorded_call(value)[1:3])))

    def read(self, document: Document) -> list[LogSession]:
        """One session for calls that continue each other; one for all loose items."""
        sessions: list[RecordedCall] = []  # of each its newest call, which has all that was said
        loose: list[dict[str, Any]] = []
        for number, value in document.records():
            asked = _recorded_call(value)
            if asked.sent:
                asked = asked.going_on_from(sessions[-1]) if sessions else asked
                if sessions and asked.sent[:len(sessions[-1].sent)] == sessions[-1].sent:
                    sessions[-1] = asked._replace(system=sessions[-1].system)
                else:
                    sessions.append(asked)
            elif isinstance(value, dict) and ("type" in value or "role" in value):
                loose.append(value)
            else:
                document.skip(number, "no item and no call with an input")
        if loose:
            sessions.insert(0, RecordedCall("", loose, []))
        return [finish(_log(call), document, str(number) if len(sessions) > 1 else "")
                for number, call in enumerate(sessions, 1)]


def _recorded_call(value: Any) -> RecordedCall:
    """A recorded call; one without an input if the value is something else."""
    outer = dict_of(value if "type" not in dict_of(value) else None)
    request = dict_of(outer.get("request")) or outer
    sent = request.get("input")
    response = dict_of(outer.get("response")) or outer
    return RecordedCall(
        string_of(request.get("instructions")),
        [{"role": "user", "content": sent}] if isinstance(sent, str) else dicts_of(sent),
        dicts_of(response.get("output")), string_of(response.get("id")),
        string_of(request.get("previous_response_id")))


def _is_item(value: Any) -> bool:
    item = dict_of(value)
    return isinstance(item.get("call_id"), str) and string_of(item.get("type")).endswith(_ENDS)


def _log(call: RecordedCall) -> Log:
    log = Log(Responses.name)
    log.system(call.system, counted=False)
    reading = Reading(log)
    for item in (*call.sent, *call.answer):
        reading.item(item)
    return log
