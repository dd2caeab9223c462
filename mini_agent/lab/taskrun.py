"""Milestone 6: a task file becomes a session by being run.

The scripted model replays it without a window, in a copy of the workspace that is
thrown away: comparing must not change a file of the user's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from ..runner import run_task
from ..subagents.orders import Limits
from ..subagents.trails import family_of
from ..tasks import load_task
from ..trace import Record, TraceFile, read_trace, trace_folder
from .sessions import Session


def run_in_copy(path: str, workspace: str = "") -> list[Session]:
    """The session that a run of the task file is, and behind it those of its sub-agents.

    Without a workspace it is run in an empty folder.

    Raises `UsageError` for a broken task file or a workspace that is no folder.
    """
    task = load_task(Path(path))
    if workspace and not Path(workspace).is_dir():
        raise UsageError("the workspace is not a folder", place=workspace,
                         remedy="name a folder that is there with --workspace")
    name = Path(path).name
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "workspace"
        if workspace:
            shutil.copytree(workspace, copy, symlinks=True)
        else:
            copy.mkdir()
        trace = Path(folder) / "run.jsonl"
        with TraceFile(trace) as file:
            outcome = run_task(task, copy, [file], folder=trace_folder(trace),
                               limits=Limits() if task.delegates else None)
        sessions = [_session(name + below, read_trace(path).records)
                    for below, path in family_of(trace)]
    if not outcome.done:
        sessions[0].notes[f"ended_{outcome.reason}"] = 1
    return sessions


def _session(name: str, records: Sequence[Record]) -> Session:
    said = [record for record in records if record["type"] == "message"]
    return Session(name, "task file", [record["message"] for record in said],
                   [record["step"] for record in said])
