"""Milestone 6: the steps of each session in a file that was named on the command line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..columns import number_of
from ..compression.budget import window_tokens
from ..errors import UsageError
from ..messages import Message
from ..subagents.traces import children_of, family_of, find_trace
from ..tokens import Estimator, estimator
from ..trace import Trace, is_record, read_trace
from .extremes import lab_policy
from .progress import ProgressLine, quiet
from .recording import Recording
from .sessions import LogSession, left_out, open_sessions
from .steps import TraceStep, steps_of_replay, steps_of_trace
from .taskrun import run_in_copy

FIRST = 1 << 24  # bytes of a first line that are read to find out whether it is a record
SessionSteps = tuple[str, Sequence[TraceStep], Sequence[Message]]


class ReplayOptions(NamedTuple):
    """How a session is replayed: the policy ("": as it was recorded), the window as a person
    types it, and the workspace whose copy a task file is run in. `progress` makes the line that
    shows, for a session of so many messages, how many have been replayed."""

    policy: str = ""
    window: str = "32k"
    workspace: str = ""
    progress: Callable[[int], ProgressLine] = quiet


def meant_by(text: str) -> tuple[str, str]:
    """(file, session) of a name: of `FILE#NAME` for one of several sessions in a log of another
    agent, as `compare` calls it. The session is "" where all of a file are meant, or a trace, or
    `TRACE#N` for that of a sub-agent. Raises `UsageError` where there is no such trace."""
    file, mark, name = text.partition("#")
    if mark and os.path.isfile(file) and not os.path.exists(text) and not is_trace(file):
        return file, f"{Path(file).name}#{name}"
    return str(find_trace(text)), ""


def steps_at(path: str, options: ReplayOptions = ReplayOptions(),
             below: bool = True) -> Iterator[SessionSteps]:
    """(name, steps, history) of each session in a file. With `below` the sub-agents of a trace
    are included, and the changes that a trace has after its last model call.

    Of a trace these are the steps that its run sent. With a policy, and for any other log, the
    session is replayed: under `none` if no policy is named, and then the steps also say where
    the recorded agent had compressed its own context.
    """
    name, (path, only) = Path(path).name, meant_by(path)
    policy, window, workspace, progress = options
    if not policy and is_trace(path):
        for number, place in islice(family_of(Path(path)), None if below else 1):
            trace = read_trace(place)
            yield (name + number, list(steps_of_trace(trace.records, counted_by(trace), below)),
                   trace.messages())
        return
    for session in _meant(open_sessions(path, partial(run_in_copy, workspace=workspace)),
                          only, path):
        recording = Recording(session.name, session.format, session.messages, estimator(),
                              session.acts)
        marks = () if policy else (mark.at for mark in session.host_compressions)
        line = progress(len(session.messages))
        steps = steps_of_replay(recording, lab_policy(policy or "none", recording),
                                window_tokens(window), marks, line)
        line.end()
        yield session.name, steps, session.messages


def _meant(sessions: Sequence[LogSession], only: str, place: str) -> Sequence[LogSession]:
    """The session of this name, all for ""."""
    found = [session for session in sessions if only in ("", session.name)]
    if not found:
        names = [session.name for session in sessions]
        raise UsageError(f"there is no session {only!r}", place=place, value=only,
                         remedy=f"it has {', '.join(names[:5])}"
                         + f" and {len(names) - 5} more" * (len(names) > 5))
    return found


def unread_at(path: str) -> str:
    """In words, what of a log is not part of its history and what could not be read; "" if
    nothing."""
    path, _ = meant_by(path)
    if is_trace(path):
        trace = read_trace(Path(path))
        notes = next(trace.events("run_start"), {}).get("notes")
        begun = [start.get("child") for start in trace.events("subagent_start")]
        there = [number for number, _ in children_of(Path(path))]
        return "; ".join(filter(None, (
            left_out(notes) if isinstance(notes, dict) else "", trace.warning,
            *(f"the log of sub-agent {number} is missing" for number in begun
              if isinstance(number, int) and number not in there))))
    sessions = open_sessions(path, run_in_copy)
    lines = sum(len(session.unreadable) for session in sessions)
    return "; ".join(filter(None, (
        left_out(sum((Counter(session.notes) for session in sessions), Counter[str]())),
        f"{number_of(lines, 'line')} that could not be read" * bool(lines))))


def counted_by(trace: Trace) -> Estimator:
    """The estimator that made the numbers of a trace."""
    start = next(trace.events("run_start"), {})
    return estimator(start.get("estimator", "runs"))


def is_trace(path: str) -> bool:
    """Whether the first line of a file is a record of ours."""
    try:
        with open(path, "rb") as file:
            return is_record(file.readline(FIRST))
    except OSError as error:
        raise UsageError(f"the file cannot be read ({error.strerror})", place=path,
                         remedy="name a trace or a recorded session") from error
