"""Milestone 6, reader: task files (`tasks.py`).

A task file is a script; only a run of it makes a session.
"""

from __future__ import annotations

from ...errors import UsageError
from .base import LogSession
from .document import Document
from .fields import dict_of


class TaskFile:
    """An object with `task` and `replies`."""

    name = "task file"

    def detects(self, document: Document) -> bool:
        """Whether the file is a task file."""
        return {"task", "replies"} <= set(dict_of(document.value))

    def read(self, document: Document) -> list[LogSession]:
        """Raises `UsageError`: a task file is run by the `run` that `open_sessions` is given."""
        raise UsageError("a task file is run, not read", place=document.place,
                         remedy="run it with `mini-agent run` and give its trace")
