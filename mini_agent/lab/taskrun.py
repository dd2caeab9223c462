"""Milestone 6: a task file becomes a session by being run.

The scripted model replays it without a window, in a copy of the workspace that is thrown
away, since a comparison must not change a file of the user's. Nor may it run a stranger's
commands: the format of a log is found by its content, so any file may turn out to be a task
file. Commands are run only if the user named the file itself and a workspace for it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..assembly import Grant, Setup
from ..compression.policies import find_policy
from ..errors import UsageError
from ..governance import Governance, check_child_scripts, governed_by
from ..loop import Outcome
from ..messages import calls_of
from ..runner import run_task
from ..subagents.orders import ChildLimits
from ..subagents.traces import family_of
from ..tasks import Task, load_task
from ..tools import NAMES
from ..tools.workspace import Workspace
from ..trace import Record, TraceFile, read_trace, trace_folder
from .sessions import LogSession
from .sessions.base import Act, act_of

HARMLESS = tuple(name for name in NAMES if name != "run_command")


def run_in_copy(path: str, workspace: str = "", named: bool = True) -> list[LogSession]:
    """The session of a run of the task file, and after it those of its sub-agents.

    Without a workspace the task is run in an empty folder. Commands are not run then, nor if the
    file was not `named` but found in a folder; a note of the session counts them. Raises
    `UsageError` for a broken task file or a workspace that is not a folder.
    """
    task = load_task(Path(path))
    check_child_scripts(task)
    if workspace:
        Workspace(Path(workspace))  # is refused here, before it is copied
    name, trusted = Path(path).name, bool(workspace and named)
    with tempfile.TemporaryDirectory() as folder:
        copy, trace = Path(folder) / "workspace", Path(folder) / "run.jsonl"
        _copy(workspace, copy)
        outcome = _run(task, copy, trace, NAMES if trusted else HARMLESS)
        sessions = [_session(name + below, read_trace(place).records)
                    for below, place in family_of(trace)]
    held_back = sum(call["name"] == "run_command" for session in sessions
                    for message in session.messages for call in calls_of(message))
    if held_back and not trusted:
        sessions[0].notes["commands_not_run"] = held_back
    if not outcome.done:
        sessions[0].notes[f"ended_{outcome.reason}"] = 1
    return sessions


def _run(task: Task, workspace: Path, trace: Path, tools: Sequence[str]) -> Outcome:
    grant = Grant(tools, children=ChildLimits() if task.delegates else None)
    with TraceFile(trace) as file:
        return run_task(task, Setup(workspace, task.model(), grant, [file]), _stages_of(task),
                        trace_folder(trace))


def _copy(workspace: str, copy: Path) -> None:
    """A copy of the workspace, or an empty folder where there is none."""
    try:
        if workspace:
            shutil.copytree(workspace, copy, symlinks=True)
        else:
            copy.mkdir()
    except (OSError, RecursionError) as error:
        why = getattr(error, "strerror", "") or "not every file can be read"
        raise UsageError(f"the workspace cannot be copied ({why})", place=workspace or str(copy),
                         remedy="name a folder of files that you may read, and free some space"
                         ) from error


def _stages_of(task: Task) -> Governance | None:
    """A window that does nothing but note where stages end, for a task that has any."""
    if not task.has_stages:
        return None
    return governed_by(replace(find_policy("none"), stages=True), None)


def _session(name: str, records: Sequence[Record]) -> LogSession:
    said = [record for record in records if record["type"] == "message"]
    acts: list[Act] = []
    before = 0
    for record in records:
        before += record["type"] == "message"
        if act := act_of(before, record.get("event"), record.get("payload", {})):
            acts.append(act)
    return LogSession(name, "task file", [record["message"] for record in said],
                      [record["step"] for record in said], acts=acts)
