"""Milestone 6: what the report page gets: one JSON value, and nothing else.

`page.render(data) -> str` makes the file; here stands what `data` has. The same
comparison gives the same data. Every string may be hostile. Keys, in this order:

    title      text for the head of the page
    command    the exact command line that makes it again
    estimator  the name that stands beside every number of tokens
    rows       the rows of `compare --json`, the baseline `none` first for each
               session and window; `measures.KEYS` has their keys
    summary    only where there are several sessions: one row per window and policy with
               window, policy, sessions (how many counted for the evidence), far_recall,
               low, high (the bootstrap interval of far_recall), far_in_context, recall,
               fresh, lines, reach, worst_tenth, cost, summary_price, prefix_breaks, bill; each
               null where nothing could be counted; `each` (far recall of each session),
               worst_session and over_steps, for the verdict
    facts      the probes: the texts asked for with --fact, in order
    notes      sentences to be shown under the table: what was left out and why
    sessions   the sessions that the bench can show, each with its history once:

        session, format, language ("en", "zh")   as in its rows
        notes      sentences: what its reader could not do
        windows    the windows of the grid, rising; all policies were replayed at each
        messages   the history, by index:
                   {step, role, name, tokens, chars, lines, text, calls, error, group}
                   `text` is the content, at most CUT characters of it (`chars` has the
                   true length; the handle is #index); `calls` is a list of [name, text
                   of the arguments, their true length]; `error` a code or ""; `group`
                   the index of the first message of its group: what moves together
        steps      history index of the first assistant message of each step: what a view
                   is made from at step s are the messages before steps[s]
        runs       one a policy and window, the baseline first:

            policy, window, soft, hard       tokens; window, soft and hard null for `none`
            about, source, breaks            of the policy; breaks are law numbers
            tokens       sent before each step, by step
            prefix       of these the leading tokens that were sent before unchanged
            over         the steps whose view was over the window
            missing      by step: [items needed, items that the view held, of them far,
                         far held], or [] without evidence
            changes      what was done, in order: {step, strategy, trigger, before_tokens,
                         after_tokens, affected, dropped, unsupported, inserts}; `inserts`
                         are [at, {role, name, text, chars, tokens, stands_for, how, calls}]
            layers       by strategy: {changes, saved, spent}, all but `changes` in tokens
            facts        by probe: its state at each step as a run-length list of
                         [first step, state], state one of "", verbatim, summary, handle,
                         gone; "" as long as the fact has not entered the history

The view of a step is folded like this, as by `compression/view.py`:

    view = []; for each step s: append the messages before steps[s] that are not in yet,
    each as an entry {index}; then for each change of step s, in order: take out the
    entries at the positions `affected`, then insert each of `inserts` at its position
    `at`, in rising order.

An entry without `stands_for` (attached) stands for no message. What a change took out
and no entry of it stands for is `dropped`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..messages import Message, arguments_text, calls_of, groups
from ..words import rows_of
from .measures import Tally
from .pagesize import CUT, SESSIONS, Data, cut_for, size_of, with_fewer_windows
from .recording import Recording
from .replay import Moment, Trial
from .summary import summarise

GRID = (4, 5, 6, 7, 10, 12)  # eighths of a window, at which the page shows it too


def grid(windows: Sequence[int]) -> tuple[int, ...]:
    """The further windows of a page: some around the only one that was asked for."""
    if len(windows) > 1:
        return ()
    sizes = [windows[0] * eighths // 8 for eighths in GRID]
    return tuple(size for size in sizes if size > 0)


class Film:
    """Observes one trial and keeps what the page shows of it."""

    def __init__(self, trial: Trial, tally: Tally) -> None:
        self._trial, self._tally = trial, tally
        self._tokens: list[int] = []
        self._prefix: list[int] = []
        self._over: list[int] = []
        self._missing: list[list[int]] = []
        self._changes: list[Data] = []
        self._layers: dict[str, Data] = {}

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

    def _layer(self, name: str) -> Data:
        return self._layers.setdefault(name, {"changes": 0, "saved": 0, "spent": 0})

    def data(self) -> Data:
        """One of the `runs` of a session."""
        policy, budget = self._trial.policy, self._trial.budget
        soft, hard = (budget.soft, budget.hard) if budget.window else (None, None)
        return {"policy": policy.name, "window": self._trial.size, "soft": soft, "hard": hard,
                "about": policy.about, "source": policy.source, "breaks": list(policy.breaks),
                "tokens": self._tokens, "prefix": self._prefix, "over": self._over,
                "missing": self._missing, "changes": self._changes,
                "layers": dict(sorted(self._layers.items())),
                "facts": {probe.fact: [list(state) for state in probe.states]
                          for probe in self._tally.probes}}


def _change(payload: Mapping[str, Any]) -> Data:
    inserts = [[item["at"], {**_message(item["message"], CUT), "tokens": item["tokens"],
                             "stands_for": item["stands_for"], "how": item["how"]}]
               for item in payload["entries"]]
    return {**{key: payload[key] for key in ("step", "strategy", "trigger", "before_tokens",
                                             "after_tokens")},
            "affected": payload["affected_indexes"], "dropped": payload.get("dropped", []),
            "unsupported": payload.get("unsupported", []), "inserts": inserts}


def _message(message: Message, cut: int) -> Data:
    text = message["content"]
    calls = ((call["name"], arguments_text(call)) for call in calls_of(message))
    return {"role": message["role"], "name": message.get("name", ""), "text": text[:cut],
            "chars": len(text), "calls": [[name, said[:cut], len(said)] for name, said in calls]}


def page_session(recording: Recording, films: Sequence[Film], windows: Sequence[int],
                 notes: Sequence[str]) -> Data:
    """One of the `sessions`, whole: `films` are of all its `windows`."""
    return {"session": recording.name, "format": recording.format,
            "language": recording.language, "notes": list(notes),
            "windows": sorted(set(windows)), "messages": _history(recording),
            "steps": [call.start for call in recording.calls],
            "runs": [film.data() for film in films]}


def _history(recording: Recording) -> list[Data]:
    cut = cut_for(len(message["content"]) for message in recording.messages)
    group_of = [group.start for group in groups(recording.messages) for _ in group]
    return [{"step": step, **_message(message, cut), "tokens": tokens,
             "lines": len(rows_of(message["content"])),
             "error": message.get("error", {}).get("code", ""), "group": group}
            for step, message, tokens, group in zip(
                _step_of_each(recording), recording.messages, recording.tokens, group_of)]


def _step_of_each(recording: Recording) -> Iterator[int]:
    """The step of each message; what follows the last call belongs to that."""
    last = len(recording.calls) - 1
    step = 0
    for index in range(len(recording.messages)):
        if step < last and index >= recording.calls[step].stop:
            step += 1
        yield step


def page_data(command: str, estimator: str, facts: Sequence[str],
              results: Sequence[Data]) -> Data:
    """All that the page gets; `results` are what `compare.result_of` makes."""
    names = [result["session"] for result in results]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    shown, notes = _sessions_that_fit(results)
    return {"title": ", ".join(names[:3]) + more, "command": command, "estimator": estimator,
            "rows": [row for result in results for row in result["rows"]],
            "summary": summarise(results) if len(results) > 1 else [],
            "facts": list(facts), "notes": notes, "sessions": shown}


def _sessions_that_fit(results: Sequence[Data]) -> tuple[list[Data], list[str]]:
    """(the sessions in `SESSIONS` characters, a note on each that is left out).

    Each has an equal part of what is left. Over it, windows that were not asked for are
    left out; a session that even then has no room is only in the table.
    """
    room = SESSIONS
    shown: list[Data] = []
    notes: list[str] = []
    pages = [result for result in results if result["page"] is not None]
    for at, result in enumerate(pages):
        page = with_fewer_windows(result["page"], {row["window"] for row in result["rows"]},
                                  room // (len(pages) - at))
        size = size_of(page)
        if shown and size > room:
            notes.append(f"{result['session']}: only in the table, the page would be too large")
            continue
        room -= size
        shown.append(page)
    return shown, notes
