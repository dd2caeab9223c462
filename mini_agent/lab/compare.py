"""Milestone 6: many sessions under many policies at many windows.

The unit of work is a file: it is read once, and every session in it is replayed once for
all policies and windows. Several files, or the policies of a single file, may be worked on
in parallel; the results come in the order of the files all the same, so any number of
processes gives the same bytes. The result of a session is plain JSON, so that parts of the
work can be saved and merged by another call. What is left out: options and output
(`run_compare.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from typing import Any

from ..columns import number_of
from ..compression.budget import make_budget
from ..errors import MiniAgentError, UsageError
from ..hostile import clean
from ..meter import Prices, prices
from ..tokens import estimator
from .extremes import check_names, lab_policy
from .measures import Tally
from .pagedata import PageRecorder, page_session
from .pageform import PageRun
from .pagesize import with_changes_that_fit
from .processes import Job, side_by_side
from .recording import Recording, second_half
from .replay import Trial, replay
from .results import Result, UnreadFile
from .rows import TrialRow
from .sessions import LogSession, left_out, open_sessions
from .sources import Source
from .taskrun import run_in_copy

BASELINE = "none"
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Plan:
    """What is done with every session. Windows are in tokens; `grid` are further windows that
    only the page shows. Without `evidence` its columns stay empty. Task files are run in a copy
    of `workspace`. With `half` only the second half of each session is replayed. `price` are
    the prices of a bill as a user writes them, "" for none."""

    policies: tuple[str, ...]
    windows: tuple[int, ...]
    estimator: str = "runs"
    facts: tuple[str, ...] = ()
    evidence: bool = True
    misses: bool = False
    page: bool = False
    grid: tuple[int, ...] = ()
    workspace: str = ""
    half: bool = False
    price: str = ""

    def check(self) -> None:
        """`UsageError` where a name or a window is wrong."""
        check_names(self.policies)
        estimator(self.estimator)
        for window in self.windows:
            make_budget(window)
        self.prices()

    def prices(self) -> Prices | None:
        """The prices of a million tokens, None where there are none."""
        return prices(self.price) if self.price else None

    @property
    def all_policies(self) -> tuple[str, ...]:
        """The baseline, then the policies asked for, each once: the order of the rows."""
        return tuple(dict.fromkeys((BASELINE, *self.policies)))

    @property
    def all_windows(self) -> tuple[int, ...]:
        """The windows asked for, then those that only the page shows."""
        return self.windows + (self.grid if self.page else ())


def file_results(source: Source, plan: Plan, progress: Progress = lambda _: None,
                 jobs: int = 1) -> list[Result] | list[UnreadFile]:
    """The result of each session of a file, or one that says why the file cannot be read.

    `progress` is called with the share of the file that is done, 0 to 1. With several `jobs`
    each is a process with some of the policies.
    """
    try:
        sessions = open_sessions(source.path, partial(
            run_in_copy, workspace=plan.workspace, named=source.asked))
    except MiniAgentError as error:
        return [UnreadFile(at=source.at, session=source.name, error=str(error), asked=source.asked)]
    replayed = _replayed if jobs == 1 else partial(_in_parts, jobs)
    results = replayed(sessions, source, plan, progress)
    for result in results:
        if (page := result["page"]) is not None:
            result["page"] = with_changes_that_fit(page, plan.windows, _most_first(result["rows"]))
    return results


def _most_first(rows: Sequence[TrialRow]) -> list[str]:
    """The policies of a session, those that keep the most first."""
    return list(dict.fromkeys(row["policy"] for row in sorted(
        rows, key=lambda row: -(row["far_recall"] or 0))))


def _replayed(sessions: Sequence[LogSession], source: Source, plan: Plan,
              progress: Progress = lambda _: None) -> list[Result]:
    return [result_of(session, source, plan, _in_file(progress, at, len(sessions)))
            for at, session in enumerate(sessions)]


def _in_parts(jobs: int, sessions: Sequence[LogSession], source: Source, plan: Plan,
              progress: Progress) -> list[Result]:
    """`_replayed`, with each process replaying some of the policies; the file is read once."""
    parts = [replace(plan, policies=plan.all_policies[at::jobs])
             for at in range(min(jobs, len(plan.all_policies)))]
    done: list[list[Result]] = []
    for results in side_by_side([Job(source.path, partial(
            _replayed, sessions, source, part)) for part in parts], jobs):
        done.append(results)
        progress(len(done) / len(parts))
    return [_joined(results, parts, plan) for results in zip(*done, strict=True)]


def _joined(results: Sequence[Result], parts: Sequence[Plan], plan: Plan) -> Result:
    """The result of one session, joined from those of its parts, as one process would give it."""
    rows, runs = dict[tuple[int, str], TrialRow](), dict[tuple[int, str], PageRun]()
    missed = dict[tuple[int, str], list[Any]]()
    for result, part in zip(results, parts, strict=True):
        rows |= zip(product(part.windows, part.all_policies), result["rows"], strict=True)
        if (page := result["page"]) is not None:
            runs |= zip(product(part.all_windows, part.all_policies), page["runs"], strict=True)
        for found in result["missed"]:
            policy, window, *_ = found
            missed.setdefault((window, policy), []).append(found)
    first = results[0]
    whole = first | {
        "rows": [rows[key] for key in product(plan.windows, plan.all_policies)],
        "breaks": [name for name in plan.all_policies
                   if any(name in result["breaks"] for result in results)],
        "missed": list(chain.from_iterable(
            missed.get(key, ()) for key in product(plan.windows, plan.policies)))}
    if first["page"] is not None:
        whole["page"] = first["page"] | {
            "runs": [runs[key] for key in product(plan.all_windows, plan.all_policies)]}
    return whole


def _in_file(progress: Progress, at: int, sessions: int) -> Progress:
    """Turns the share done of session number `at` into a share of its file."""
    return lambda share: progress((at + share) / sessions)


def result_of(session: LogSession, source: Source, plan: Plan, progress: Progress) -> Result:
    """The result of one session: one pass through its history."""
    recording = _recording(session, source, plan)
    tallies, recorders, trials = {}, [], []
    for window, name in product(plan.all_windows, plan.all_policies):
        tally = Tally(recording, plan.facts, evidence=plan.evidence, misses=plan.misses,
                      prices=plan.prices())
        trial = Trial(recording, lab_policy(name, recording), window, [tally])
        if plan.page:
            recorders.append(PageRecorder(trial, tally))
            trial.observers.append(recorders[-1])
        tallies[window, name] = tally
        trials.append(trial)
    size = max(1, len(recording.messages))
    replay(recording, trials, lambda at: progress(at / size))
    rows = [tallies[window, name].row(name, window, tallies[window, BASELINE])
            for window, name in product(plan.windows, plan.all_policies)]
    missed = [[name, window, *item] for window, name in product(plan.windows, plan.policies)
              for item in tallies[window, name].missed]
    notes = _notes_of(session, recording)
    return {"at": source.at, "session": recording.name, "rows": rows,
            "breaks": [name for name in plan.all_policies if lab_policy(name, recording).breaks],
            "notes": notes, "unreadable": len(session.unreadable), "calls": recording.tool_calls,
            "tokens": sum(recording.tokens), "head": recording.head, "missed": missed,
            "page": page_session(recording, recorders, plan.all_windows, notes)
                    if plan.page else None}


def _recording(session: LogSession, source: Source, plan: Plan) -> Recording:
    """The session, or its second half, as it is replayed; its name is that of its source."""
    name = clean(source.name) + clean(session.name).removeprefix(
        clean(source.path.rpartition("/")[2]))
    messages, acts = session.messages, session.acts
    if plan.half:
        messages, acts = second_half(messages), []
    return Recording(name, session.format, messages, estimator(plan.estimator), acts)


def _notes_of(session: LogSession, recording: Recording) -> list[str]:
    """Sentences about what could not be read, what was not run and what cannot be measured."""
    notes = []
    if session.unreadable:
        first = session.unreadable[0]
        lines = number_of(len(session.unreadable), "line")
        notes.append(f"{lines} could not be read, the first is line {first.line}: {first.what}")
    if session.host_compressions:
        times = number_of(len(session.host_compressions), "time")
        notes.append(f"the recorded agent compressed its own context {times}: what it dropped "
                     "is in the history here")
    if unread := left_out(session.notes):
        notes.append(f"no part of the history, and in no number: {unread}")
    if held_back := session.notes.get("commands_not_run"):
        notes.append(f"not run: {number_of(held_back, 'command')} of this task file; name the file "
                     "and --workspace if you trust it")
    if not recording.calls:
        notes.append("the model was never called in it: there is nothing to measure")
    elif not recording.tool_calls:
        notes.append("it has no tool calls, so no evidence can be measured")
    return notes


def compare(sources: Sequence[Source], plan: Plan, jobs: int = 1,
            progress: Callable[[int], None] = lambda _: None) -> Iterator[Result | UnreadFile]:
    """The results of all sources, in their order, as they get done.

    `jobs` files are worked on at a time, each in a process of its own; the policies of a single
    file are split into as many parts. `progress` is called with the bytes that are done. An
    interrupt ends the work at once. Raises `UsageError` for less than one job.
    """
    if jobs < 1:
        raise UsageError(f"{number_of(jobs, 'job')} do nothing", place="--jobs", value=jobs,
                         remedy="give 1 or more")
    done = 0
    if jobs > 1 and len(sources) > 1:
        work = [Job(source.path, partial(file_results, source, plan)) for source in sources]
        for source, results in zip(sources, side_by_side(work, jobs)):
            yield from results
            done += source.size
            progress(done)
        return
    for source in sources:
        yield from file_results(source, plan, _bytes_of(source, done, progress), jobs)
        done += source.size
        progress(done)


def _bytes_of(source: Source, done: int, progress: Callable[[int], None]) -> Progress:
    """Turns the share done of a file into bytes, on top of those `done` before it."""
    return lambda share: progress(done + int(share * source.size))
