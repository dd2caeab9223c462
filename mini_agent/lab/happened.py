"""Milestone 6: what happened in a run besides its requests and its compressions.

`show` tells these between the steps: a window that the endpoint named, a strategy that
failed, a retry, an undo, the end of a stage, a resume. What is left out: strategies that
would have gained nothing, of which there are many.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..chat.narrator import TOLD
from ..columns import number_of
from ..hostile import one_line
from ..trace import Record

HOST = "the recorded agent compressed its own context: from here on it sent less than this"
DETAIL = 120  # characters of what else a record says
Payload = Mapping[str, Any]


def happened(records: Iterable[Record]) -> Iterator[tuple[int, int, str]]:
    """(step, seq, words) of each such record, in order. A record without a step gets that of
    the record before it."""
    step = 0
    for record in records:
        payload = record.get("payload", {})
        step = payload["step"] if type(payload.get("step")) is int else step
        words = _words(record.get("event", ""), payload)
        if words:
            yield step, record["seq"], words


def _words(event: str, payload: Payload) -> str:
    """One record in words, "" for a record that is not told here."""
    if event == "settings":
        return _settings(payload)
    if event == "compression_skipped" and payload.get("reason") == "breaker_open":
        return _line(f"{payload.get('failures')} summaries in a row have failed: none is tried by "
                     "itself any more")
    if event == "compression_skipped" and payload.get("reason") in TOLD:
        detail = payload.get("detail", "")
        return _line(f"{payload.get('strategy')} {payload['reason']}"
                     + f": {detail}" * bool(detail))
    if event == "context_overflow":
        whole = f"; the request was estimated at {payload.get('estimated')}"
        return (f"nothing more can be moved: {number_of(payload.get('tokens'), 'token')}, over "
                f"{payload.get('hard')}" + whole * ("estimated" in payload))
    return _line({
        "model_retry": f"{payload.get('status')}: asked again",
        "undo": f"undo of {payload.get('seq')}",
        "stage": f"the stage {payload.get('name')} ends",
        "resume": "resumed", "interrupted": "interrupted",
        "host_compression": HOST,
    }.get(event, ""))


def _settings(payload: Payload) -> str:
    window = payload.get("learned_window")
    if type(window) is int:
        return f"the endpoint has refused it: its window is {number_of(window, 'token')}"
    said = {name: value for name, value in payload.items() if name != "step"}
    return _line(f"settings {json.dumps(said, ensure_ascii=False)}")


def _line(text: str) -> str:
    return one_line(text, DETAIL)
