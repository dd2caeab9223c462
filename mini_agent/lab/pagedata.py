"""Milestone 6: the data of the report page, in the form that `pageform.py` describes.

`page.render_page` makes the file from it. What is left out: which parts of the data have to
go when the page would be too large (`pagesize.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..messages import Message, arguments_text, calls_of, groups
from ..words import rows_of
from .measures import Tally
from .pageform import (
    CutMessage, HistoryMessage, InsertedEntry, Layer, Page, PageChange, PageRun, PageSession)
from .pagesize import CUT, SESSIONS, cut_for, size_of, with_fewer_windows
from .recording import Recording
from .replay import Moment, Trial
from .results import Result
from .summary import summarise

EIGHTHS = (4, 5, 6, 7, 10, 12)  # of the window asked for: further windows on the page


def grid(windows: Sequence[int]) -> tuple[int, ...]:
    """The further windows of a page, around the one asked for; none where several were."""
    if len(windows) > 1:
        return ()
    sizes = [windows[0] * eighths // 8 for eighths in EIGHTHS]
    return tuple(size for size in sizes if size > 0)


class PageRecorder:
    """Observes one trial and keeps what the page shows of it."""

    def __init__(self, trial: Trial, tally: Tally) -> None:
        self._trial, self._tally = trial, tally
        self._tokens: list[int] = []
        self._prefix: list[int] = []
        self._over: list[int] = []
        self._missing: list[list[int]] = []
        self._changes: list[PageChange] = []
        self._layers: dict[str, Layer] = {}

    def __call__(self, moment: Moment) -> None:
        """Keep one step."""
        self._tokens.append(moment.sent)
        self._prefix.append(moment.prefix)
        if moment.over:
            self._over.append(moment.step)
        self._missing.append(self._tally.needed_and_held(moment.step))
        for record in moment.records:
            self._take(record)

    def _take(self, record: Mapping[str, Any]) -> None:
        payload = record["payload"]
        if record["event"] == "context_compression":
            self._changes.append(_change(payload))
            layer = self._layer(payload["strategy"])
            layer["changes"] += 1
            layer["saved"] += payload["before_tokens"] - payload["after_tokens"]
        elif record["event"] == "model_summarize":
            asked_by = self._changes[-1]["strategy"] if self._changes else "summary"
            self._layer(asked_by)["spent"] += self._tally.summary_cost(payload)

    def _layer(self, name: str) -> Layer:
        return self._layers.setdefault(name, {"changes": 0, "saved": 0, "spent": 0})

    def data(self) -> PageRun:
        """One of the `runs` of a session."""
        policy, budget = self._trial.policy, self._trial.budget
        soft, hard = (budget.soft, budget.hard) if budget.window else (None, None)
        return {"policy": policy.name, "window": self._trial.window, "soft": soft, "hard": hard,
                "about": policy.about, "source": policy.source, "breaks": list(policy.breaks),
                "tokens": self._tokens, "prefix": self._prefix, "over": self._over,
                "missing": self._missing, "changes": self._changes,
                "layers": dict(sorted(self._layers.items())),
                "facts": {probe.fact: [list(state) for state in probe.states]
                          for probe in self._tally.probes}}


def _change(payload: Mapping[str, Any]) -> PageChange:
    return {"step": payload["step"], "strategy": payload["strategy"],
            "trigger": payload["trigger"], "before_tokens": payload["before_tokens"],
            "after_tokens": payload["after_tokens"],
            "affected": payload["affected_indexes"], "dropped": payload.get("dropped", []),
            "unsupported": payload.get("unsupported", []),
            "inserts": [[item["at"], _inserted(item)] for item in payload["entries"]]}


def _inserted(item: Mapping[str, Any]) -> InsertedEntry:
    return {**_message(item["message"], CUT), "tokens": item["tokens"],
            "stands_for": item["stands_for"], "how": item["how"]}


def _message(message: Message, cut: int) -> CutMessage:
    text = message["content"]
    calls = ((call["name"], arguments_text(call)) for call in calls_of(message))
    return {"role": message["role"], "name": message.get("name", ""), "text": text[:cut],
            "chars": len(text), "calls": [[name, said[:cut], len(said)] for name, said in calls]}


def page_session(recording: Recording, recorders: Sequence[PageRecorder], windows: Sequence[int],
                 notes: Sequence[str]) -> PageSession:
    """One of the `sessions`, whole: `recorders` are of all its `windows`."""
    return {"session": recording.name, "format": recording.format,
            "language": recording.language, "notes": list(notes),
            "windows": sorted(set(windows)), "messages": _history(recording),
            "steps": [call.start for call in recording.calls],
            "runs": [recorder.data() for recorder in recorders]}


def _history(recording: Recording) -> list[HistoryMessage]:
    cut = cut_for(len(message["content"]) for message in recording.messages)
    group_of = [group.start for group in groups(recording.messages) for _ in group]
    return [{"step": step, **_message(message, cut), "tokens": tokens,
             "lines": len(rows_of(message["content"])),
             "error": message.get("error", {}).get("code", ""), "group": group}
            for step, message, tokens, group in zip(
                _step_of_each(recording), recording.messages, recording.tokens, group_of)]


def _step_of_each(recording: Recording) -> Iterator[int]:
    """The step of each message; messages after the last call have the step of that call."""
    last = len(recording.calls) - 1
    step = 0
    for index in range(len(recording.messages)):
        if step < last and index >= recording.calls[step].stop:
            step += 1
        yield step


def page_data(command: str, estimator: str, facts: Sequence[str],
              results: Sequence[Result]) -> Page:
    """All that the page gets; `results` are what `compare.result_of` makes."""
    names = [result["session"] for result in results]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    shown, notes = _sessions_that_fit(results)
    return {"title": ", ".join(names[:3]) + more, "command": command, "estimator": estimator,
            "rows": [row for result in results for row in result["rows"]],
            "summary": summarise(results) if len(results) > 1 else [],
            "unsound": sorted({name for result in results for name in result["breaks"]}),
            "facts": list(facts), "notes": notes, "sessions": shown}


def _sessions_that_fit(results: Sequence[Result]) -> tuple[list[PageSession], list[str]]:
    """(the sessions in `SESSIONS` bytes, a note on each that is left out).

    Each session gets an equal part of the room that is left. If it needs more, windows that
    were not asked for are left out; if that is not enough, it is only in the table.
    """
    room = SESSIONS
    shown: list[PageSession] = []
    notes: list[str] = []
    pages = [(result, whole) for result in results if (whole := result["page"]) is not None]
    for at, (result, whole) in enumerate(pages):
        page = with_fewer_windows(whole, {row["window"] for row in result["rows"]},
                                  room // (len(pages) - at))
        size = size_of(page)
        if shown and size > room:
            notes.append(f"{result['session']}: only in the table, the page would be too large")
            continue
        room -= size
        shown.append(page)
    return shown, notes
