"""Milestone 6: why did the model no longer know it?

For one text: when it entered and from where, at which steps the model could see it and in
what form, which record took it away, and how it can be got back now. What is left out: how
the session and its steps are found (`session_steps.py`, `steps.py`), and the sentences
(`whywords.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..actions import answers
from ..compression.rising import holds
from ..compression.tools import reading_arguments
from ..compression.view import Entry, View, apply, from_payload
from ..held import handles
from ..messages import Call, Message, arguments_text, text_of
from ..trace import Record
from .facts import state_from_hows
from .nearly import nearly_said
from .steps import TraceStep
from .whyform import NAMED, Cause, Explanation, FirstSeen, Occurrence, Origin, WayBack

EACH = "read_result(handle=N)"  # in the text of an entry whose messages can each be read again


@dataclass
class Sighting:
    """The text stood in one `form` from step `first` to step `last`, in the history messages
    `at`. `cause` is the record that brought it into that form, None where a new message did.
    If not `sent`, this is how it will stand in the next request."""

    first: int
    last: int
    form: str
    at: list[int] = field(default_factory=list)
    cause: Record | None = None
    sent: bool = True

    def goes_on(self, later: Sighting) -> bool:
        """Whether the later one only adds messages to those that are too many to be named."""
        return (len(self.at) >= NAMED and later.cause is None and later.sent
                and later.form == self.form and later.at[:len(self.at)] == self.at)


class Followed:
    """Follows a text through the view, which is built step by step. `holders` are the history
    messages so far that have the text, `having` the entries of the view that have it, by id."""

    def __init__(self, text: str, history: Sequence[Message]) -> None:
        self.text, self.view = text, View()
        self.holders: set[int] = set()
        self.having: dict[int, Entry] = {}
        self._where = deque(index for index, message in enumerate(history)
                            if text in text_of(message))

    def take(self, step: TraceStep) -> tuple[list[Entry], Record | None, Record | None]:
        """Apply a step. Returns the arrived entries that have the text; the last change that
        touched an entry with the text; and the last that touched an entry of a message that
        has it (such as a handle, which stands for the message but has not its text)."""
        cause = about = None
        while self._where and self._where[0] < step.history:
            self.holders.add(self._where.popleft())
        for entry in step.arrived:
            self.view.append(entry)
        came = self._with_text(step.arrived)
        for record in step.changes:
            change = from_payload(record["payload"])
            gone, made = self.view.at(change.affected), [entry for _, entry in change.inserts]
            had = [self.having.pop(id(entry)) for entry in gone if id(entry) in self.having]
            if had + self._with_text(made):
                cause = record
            if any(not self.holders.isdisjoint(entry.stands_for) for entry in (*gone, *made)):
                about = record
            self.view = apply(self.view, change)
        return came, cause, about

    def _with_text(self, entries: Iterable[Entry]) -> list[Entry]:
        """Those of the new entries that have the text; they are remembered."""
        found = [entry for entry in entries if self.text in text_of(entry.message)]
        self.having.update((id(entry), entry) for entry in found)
        return found

    def look(self, step: int, cause: Record | None) -> Sighting:
        """The form in which the text stands in the view, and the history messages that the entries
        with it stand for. The form is `made` where no message has had the text yet, but a
        summary or an attached entry has it."""
        hows = {entry.how for entry in self.having.values()}
        form = state_from_hows(hows, self.view, self.holders) or ("made" if hows else "")
        if form == "verbatim" and "verbatim" not in hows:
            form = "shortened"
        elif form == "summary" and hows == {"attached"}:
            form = "attached"
        at = sorted(index for entry in self.having.values() for index in entry.stands_for
                    if index in self.holders and (entry.how == form or form not in hows))
        return Sighting(step, step, form, at, cause)


def _sightings(text: str, steps: Iterable[TraceStep],
               history: Sequence[Message]) -> tuple[list[Sighting], View]:
    """The forms in which `text` stood, step after step ("" before it was there), and the last
    view. Steps that only add messages to more than can be named are one sighting."""
    found: list[Sighting] = []
    followed = Followed(text, history)
    for step in steps:
        came, cause, about = followed.take(step)
        last = found[-1] if found else None
        if last and not step.changes and last.form == "verbatim" and len(last.at) >= NAMED:
            last.at += [index for entry in came for index in entry.stands_for]
        elif came or step.changes or not last:
            sight = followed.look(step.step, cause)
            sight.sent = step.asked
            if sight.form in ("handle", "gone"):
                sight.cause = cause or about
            if not sight.form and last and last.form:
                sight.form = "gone"
            if last and last.goes_on(sight):
                last.at = sight.at
            elif not last or (sight.form, sight.at) != (last.form, last.at):
                found.append(sight)
        if step.asked:
            found[-1].last = step.step
    return found, followed.view


def explain(text: str, steps: Iterable[TraceStep], history: Sequence[Message]) -> Explanation:
    """All that `why` knows about a text, as plain JSON."""
    taken = list(steps)
    sighted, last = _sightings(text, taken, history)
    found = [sight for sight in sighted if sight.form]
    holders = [index for index, message in enumerate(history) if text in text_of(message)]
    asked = [step for step in taken if step.asked]
    calls = dict(answers(history))
    entered: list[Occurrence] = [
        {"message": index, **_origin(history[index], calls.get(index)),
         **_first_seen(index, asked, found), "part": reading_arguments(text, history[index])}
        for index in holders]
    return {"text": text, "entered": entered,
            "nearly": [] if holders else nearly_said(text, history),
            "seen": [{"first": sight.first, "last": sight.last, "form": sight.form,
                      "messages": sight.at, "cause": _cause(sight.cause), "sent": sight.sent}
                     for sight in found],
            "host": [step.step for step in taken if step.host],
            "now": {"form": found[-1].form if found else "", **_way_back(
                holders, last)}}


def _first_seen(index: int, asked: Sequence[TraceStep], found: Sequence[Sighting]) -> FirstSeen:
    """The step whose request first had a message, None if there is none, and whether the text was
    in it: a message can be cut before it is first sent."""
    at = bisect_right(asked, index, key=lambda step: step.history)
    if at == len(asked):
        return {"first_seen": None, "with_text": False}
    first = asked[at].step
    seen = found[:bisect_right(found, first, key=lambda sight: sight.first)][-1:]
    return {"first_seen": first, "with_text": any(
        first <= sight.last and holds(sight.at, index) for sight in seen)}


def _origin(message: Message, call: Call | None) -> Origin:
    """The role, and for a result its tool with the arguments of its call."""
    if message["role"] != "tool":
        return {"role": message["role"], "tool": "", "arguments": ""}
    return {"role": "tool", "tool": message.get("name", ""),
            "arguments": arguments_text(call) if call else ""}


def _cause(record: Record | None) -> Cause | None:
    if record is None:
        return None
    payload = record["payload"]
    return {"seq": record["seq"], "step": payload["step"], "strategy": payload["strategy"],
            "trigger": payload["trigger"], "before_tokens": payload["before_tokens"],
            "after_tokens": payload["after_tokens"]}


def _way_back(holders: Sequence[int], view: View) -> WayBack:
    """The handles by which the newest view gives back messages that have the text."""
    shown = {index for entry in view.entries for index in handles(entry)}
    spans = {index for entry in view.entries if EACH in entry.message["content"]
             for index in entry.stands_for if index not in shown}
    return {"handles": [index for index in holders if index in shown],
            "spans": [index for index in holders if index in spans], "log": list(holders)}
