"""Milestone 4: how a child can end. Each ending has a status, and each is reported.

    finished     it gave a report
    gave_up      it said that the task cannot be done, and why
    step_limit   no report after the steps that it was given
    token_limit  it would have sent more tokens than it was given
    overflow     its own window could not be made small enough
    model_error  its model failed, or its report was cut off
    crashed      it left without a result, or with one that makes no sense
    timed_out    it was ended when its time was up
    killed       it was ended because its parent was interrupted

A result comes from another process, so all of it is checked. What is left out: what the
parent's model is told about it (`delegate.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..hostile import one_line
from ..loop import Outcome
from ..messages import clean_json
from ..models.received import MOST_TOKENS, count
from ..texts import Texts
from ..tools.schema import COUNT, TEXT, first_fault, object_of, one_of
from ..trace import Record
from .processes import ChildOutput

STATUSES = ("finished", "gave_up", "step_limit", "token_limit", "overflow", "model_error",
            "crashed", "timed_out", "killed")
CUT_OFF = ("crashed", "timed_out", "killed")  # the trace of such a child may have no end
REPORT_CHARS = 20_000  # characters of a report that are sent; the child's trace has all of it
DETAIL_CHARS = 300     # characters of a detail
_OF_REASON = {"final_answer": "finished", "step_limit": "step_limit", "overflow": "overflow",
              "token_limit": "token_limit", "interrupted": "killed", "trace_failed": "crashed"}
_COUNT = {**COUNT, "maximum": MOST_TOKENS}
_FIELDS = {"status": one_of(STATUSES), "text": TEXT, "chars": _COUNT, "detail": TEXT,
           "steps": _COUNT, "peak_tokens": _COUNT, "sent_tokens": _COUNT}
_SCHEMA = object_of(_FIELDS, tuple(_FIELDS))


@dataclass(frozen=True)
class Numbers:
    """What a run took: model calls, and the tokens of the largest and of all requests."""

    steps: int = 0
    peak_tokens: int = 0
    sent_tokens: int = 0


def numbers_of(records: Iterable[Record]) -> Numbers:
    """The numbers of a run from its records."""
    calls = [record["payload"] for record in records if record.get("event") == "model_call"]
    sizes = [count(call.get("predicted", call.get("tokens"))) for call in calls]
    return Numbers(len(sizes), max(sizes, default=0), sum(sizes))


@dataclass(frozen=True)
class Ending:
    """How a child ended. `text` is the first part of its report, which has `chars` characters."""

    status: str
    text: str = ""
    chars: int = 0
    detail: str = ""
    numbers: Numbers = Numbers()


def ending_of(outcome: Outcome, numbers: Numbers, gave_up: str = "") -> Ending:
    """The ending of a run, in the child; `gave_up` is the reason given to `give_up`."""
    status = _OF_REASON.get(outcome.reason, "model_error")
    detail = outcome.detail or ("" if status == "finished" else outcome.reason)
    if status == "finished" and gave_up:
        status, detail = "gave_up", gave_up
    return Ending(status, outcome.text[:REPORT_CHARS], len(outcome.text),
                  one_line(detail, DETAIL_CHARS), numbers)


def ending_line(ending: Ending) -> bytes:
    """An ending as the one line that a child writes."""
    flat = asdict(ending)
    numbers = flat.pop("numbers")
    return json.dumps({**flat, **numbers}).encode("ascii") + b"\n"


def ending_from(output: ChildOutput, seconds: float, texts: Texts) -> Ending:
    """The ending, in the parent, for the output of a child that had `seconds` seconds."""
    if output.timed_out:
        return Ending("timed_out", detail=texts("child_no_result", seconds=f"{seconds:g}"))
    if output.flooded:
        return Ending("crashed", detail=texts("child_flood"))
    if not output.line:
        return Ending("crashed", detail=_why_silent(output, texts))
    try:
        value = json.loads(output.line)
    except (ValueError, RecursionError):
        return Ending("crashed", detail=texts("child_no_json", size=len(output.line)))
    if wrong := first_fault(_SCHEMA, value, texts):
        return Ending("crashed", detail=one_line(texts("child_no_sense", fault=wrong),
                                                 DETAIL_CHARS))
    return _checked(clean_json(value), texts)


def _checked(value: dict[str, Any], texts: Texts) -> Ending:
    """The ending with these fields, which fit the schema; a success needs a report."""
    numbers = Numbers(*(value.pop(key) for key in ("steps", "peak_tokens", "sent_tokens")))
    ending = Ending(**value, numbers=numbers)
    if ending.status == "finished" and not ending.text.strip():
        return replace(ending, status="crashed", detail=texts("child_no_report"))
    return replace(ending, text=ending.text[:REPORT_CHARS],
                   detail=one_line(ending.detail, DETAIL_CHARS))


def _why_silent(output: ChildOutput, texts: Texts) -> str:
    """Why a child gave no result, as far as its status and standard error tell."""
    if output.status is None:
        how = texts("child_silent")
    elif output.status < 0:
        how = texts("child_signal", number=-output.status)
    else:
        how = texts("child_status", number=output.status)
    return one_line(f"{how}: {output.last_words}" if output.last_words else how, DETAIL_CHARS)
