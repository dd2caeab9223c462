"""Milestone 6: what `why` knows of a text, in sentences, one a line.

What is left out: how it is found (`why.py`), and its form as plain JSON (`whyform.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..columns import number_of
from ..hostile import one_line
from .whyform import NAMED, Cause, Explanation, Now, Occurrence, Period

ARGUMENT_CHARS = 120  # of the arguments of a call; --json has all of them


def why_lines(found: Explanation) -> Iterator[str]:
    """An explanation in words, one line per fact."""
    yield from _entered(found["entered"]) if found["entered"] else _never_said(found)
    for sight in found["seen"]:
        steps = f"{sight['first']}" if sight["first"] == sight["last"] else (
            f"{sight['first']}-{sight['last']}")
        when = f"step {steps:10}" if sight["sent"] else f"{'since then':15}"
        yield f"{when}{_form(sight)}{_because(sight['cause'])}"
    if found["entered"] or found["seen"]:
        yield f"now       {_now(found['now'], found['entered'])}"
    if found["seen"] and found["host"]:
        yield (f"but       the recorded agent compressed its own context before step "
               f"{_some(found['host'])}, which is not replayed: from then on it may "
               f"not have had this{_until(found)}")


def _until(found: Explanation) -> str:
    """The step at which the text came again after the recorded agent's last compression."""
    again = [place["first_seen"] for place in found["entered"]
             if place["first_seen"] is not None and place["first_seen"] > found["host"][-1]]
    return f", until it was said again: step {again[0]}" if again else ""


def _entered(entered: Sequence[Occurrence]) -> Iterator[str]:
    for place in entered[:NAMED]:
        arguments = one_line(place["arguments"], ARGUMENT_CHARS)
        source = place["tool"] and f" of {place['tool']} {arguments}"
        seen = place["first_seen"]
        cut = "" if place["with_text"] else ", already without it"
        yield (f"entered   message #{place['message']}, {place['role']}{source}, " + (
            f"first sent at step {seen}{cut}" if seen is not None else "never sent"))
    if len(entered) > NAMED:
        more = number_of(len(entered) - NAMED, "more message")
        yield f"          and {more}, the last is #{entered[-1]['message']}"


def _never_said(found: Explanation) -> Iterator[str]:
    """The lines for a text that no message has: where it nearly stands."""
    yield "it was never said in this session (capitals and blanks have to be as they were)"
    for place in found["nearly"][:NAMED]:
        words = {"text": repr(one_line(place["words"], ARGUMENT_CHARS)),
                 "call": "it in a call, as JSON", "thinking": "it in its thinking"}
        yield f"nearly    message #{place['message']} has {words[place['where']]}"
    if len(found["nearly"]) > NAMED:
        yield f"          and {number_of(len(found['nearly']) - NAMED, 'more message')}"


def _some(numbers: Sequence[int], mark: str = "") -> str:
    """The first of the numbers, and how many more there are."""
    more = len(numbers) - NAMED
    return (", ".join(f"{mark}{number}" for number in numbers[:NAMED])
            + (f" and {more} more" if more > 0 else ""))


def _form(sight: Period) -> str:
    named = _some(sight["messages"], "#")
    return {"verbatim": f"verbatim in {named}", "shortened": f"in a shortened {named}",
            "summary": "only in a summary", "handle": "not there, behind a handle",
            "attached": "only in what was attached",
            "made": "only in what was put into the window",
            "gone": "gone"}[sight["form"]]


def _because(cause: Cause | None) -> str:
    if cause is None:
        return ""
    record = "" if cause["seq"] is None else f"seq {cause['seq']}, "
    return (f": {cause['strategy']} ({record}{cause['trigger']}, "
            f"{cause['before_tokens']} -> {number_of(cause['after_tokens'], 'token')})")


def parent_lines(name: str, found: Explanation) -> Iterator[str]:
    """The line on how a parent can read the text in the trace of its child N, named `...#N`."""
    _, mark, number = name.rpartition("#")
    if mark and number.isdecimal() and found["entered"]:
        place = found["entered"][-1]
        yield (f"above     read_child(child={number}, message={place['message']}"
               f"{_part_arguments(place)}) gives it to the parent")


def _part_arguments(place: Occurrence) -> str:
    """The arguments of read_result after the handle, as they stand in a call."""
    return "".join(f", {name}={json.dumps(value)}" for name, value in place["part"].items())


def _now(now: Now, entered: Sequence[Occurrence]) -> str:
    ways = []
    if now["form"] not in ("", "handle", "gone"):
        ways.append("the model can see it")
    if now["handles"] or now["spans"]:
        handle = (now["handles"] or now["spans"])[-1]
        place = next(place for place in entered if place["message"] == handle)
        span = "" if now["handles"] else ", though the window names only the span of its message"
        ways.append(f"read_result(handle={handle}{_part_arguments(place)}) gives it back{span}")
    log = f"message #{now['log'][-1]} of the log has it" if now["log"] else "no message has it"
    return "; ".join([*(ways or ["the window shows no handle of it"]), log])
