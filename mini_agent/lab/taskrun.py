"""Milestone 6: a task file becomes a session by being run.

The scripted model replays it without a window, in a copy of the workspace that is
thrown away: comparing must not change a file of the user's.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ..errors import UsageError
from ..runner import run_task
from ..tasks import load_task
from ..trace import Record
from .sessions import Session


def run_in_copy(path: str, workspace: str = "") -> Session:
    """The session that a run of the task file is; without a workspace in an empty folder.

    Raises `UsageError` for a broken task file or a workspace that is no folder.
    """
    task = load_task(Path(path))
    if workspace and not Path(workspace).is_dir():
        raise UsageError("the workspace is not a folder", place=workspace,
                         remedy="name a folder that is there with --workspace")
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "workspace"
        if workspace:
            shutil.copytree(workspace, copy, symlinks=True)
        else:
            copy.mkdir()
        outcome = run_task(task, copy, [records.append])
    said = [record for record in records if record["type"] == "message"]
    return Session(Path(path).name, "task file", [record["message"] for record in said],
                   [record["step"] for record in said],
                   notes={} if outcome.done else {f"ended_{outcome.reason}": 1})
