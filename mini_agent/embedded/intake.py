"""Milestone 6: what an agent appends to its list, as it enters the history.

Each message is looked at once. What is left out: how much of it is sent (`window.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..compression.view import Entry
from ..errors import UsageError
from ..hostile import clean
from ..lab.convert import write_call
from ..messages import Call, Message, calls_of, system
from ..trace import Tracer
from .forms import Form
from .given import Given, check_json, checked_message, checked_messages, wrong
from .parts import Calls, parts_of, waiting_for


class Intake:
    """Turns what an agent appends to its list into our history.

    `parts` has, for each message of the history, the part of the agent's list that it comes
    from; None for the system text, which stands beside the list. `said` is the step of the
    newest message: an answer belongs to the request before it, any other to the next one.
    """

    def __init__(self, messages: Sequence[Given], form: Form, beside: str) -> None:
        self.history, self.parts = list[Message](), list[Given | None]()
        self._places = list[tuple[int, int]]()  # which of the list each was, from which part on
        self.said = 0
        self._given, self._form, self._beside = checked_messages(messages), form, beside
        self._seen = list[Given]()
        self._sizes = list[int]()  # how many parts the content of each has
        self._open: Calls = []  # calls without a result

    def take_in(self, asked: int, tracer: Tracer) -> None:
        """Take in what the agent has appended since the last time; `asked` requests were made
        so far. `UsageError` for a message that no endpoint would accept."""
        if self._beside and not self.history:
            self._enter(system(self._beside), None, (0, 0), asked, tracer)
        for at in range(len(self._seen), len(self._given)):
            place = f"messages[{at}]"
            given = checked_message(self._given[at], place)
            pieces = list(self._form.pieces(given, [*self._open], place))
            results = [message["role"] == "tool" for message, _ in pieces]
            if self._open and not all(results[:len(self._open)]):
                raise self._unanswered(place, "a call has no result before it")
            for message, _ in pieces:
                check_json([calls_of(message), message.get("opaque")], place)
            start = 0
            for message, part in pieces:
                self._enter(message, part, (at, start), asked, tracer)
                start += _size(part)
            self._seen.append(given)
            self._sizes.append(_size(given))

    def check_kept(self, view: Iterable[Entry]) -> None:
        """`UsageError` where the agent has changed what a message of the view says since it was
        taken in. Other changes, such as marks for the endpoint's cache, are allowed."""
        if len(self._given) < len(self._seen):
            raise _changed(len(self._given), "messages were taken out")
        for entry in view:
            part = None if entry.made else self.parts[entry.stands_for[0]]
            if part is None:
                continue
            place, start = self._places[entry.stands_for[0]]
            given, seen = self._given[place], self._seen[place]
            if given is not seen and given != seen:
                raise _changed(place, "it is a different one")
            if _size(given) != self._sizes[place]:
                raise _changed(place, "it has more parts, or fewer, than it had")
            if part is not seen:  # it has some of the blocks: as they are now, marks and all
                part["content"][:] = given["content"][start:start + _size(part)]
            said = self.history[entry.stands_for[0]]["content"]
            if clean(self._form.text(part)) != said:
                raise _changed(place, "its text is not what it was")

    def check_answered(self) -> None:
        """`UsageError` where a call has no result yet."""
        if self._open:
            raise self._unanswered(f"messages[{len(self._given)}]", "a call has no result")

    def cut_off(self, asked: int, tracer: Tracer, failed: Callable[[Call], Message]) -> None:
        """Give each call without a result one that has failed: the session ends, and whoever goes
        on with it needs one of each."""
        if self._open:
            tracer.event("interrupted", step=self.said)
        for call in [*self._open]:
            self._enter(failed(call), None, (len(self._seen), 0), asked, tracer)

    def _unanswered(self, place: str, what: str) -> UsageError:
        names = [f"{call['name']} {call['id']}" for call in self._open]
        return wrong(place, f"{what} ({', '.join(names)})", names,
                     "append one for each call before anything else")

    def _enter(self, message: Message, part: Given | None, place: tuple[int, int], asked: int,
               tracer: Tracer) -> None:
        answers = message["role"] in ("assistant", "tool")
        self.said = max(self.said, asked - answers)
        waiting = [*self._open]
        if message["role"] == "tool" and (call := waiting_for(message["tool_call_id"], waiting)):
            write_call(tracer, self.said, call, message)
        tracer.message(self.said, message)
        self._open = [*waiting, *calls_of(message)]  # what could not be recorded is not there
        self.history.append(message)
        self.parts.append(part)
        self._places.append(place)


def _size(given: Given) -> int:
    return len(parts_of(given.get("content")))


def _changed(at: int, what: str) -> UsageError:
    return wrong(f"messages[{at}]", what, at,
                 "only append: the window leaves out what does not fit")
