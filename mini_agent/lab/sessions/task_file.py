"""Milestone 6, reader: task files (`tasks.py`).

A task file is a script: it has no session in it until it is run.
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
        """Nothing is run here: `open_sessions` may be given somebody who does. `UsageError`."""
        raise UsageError("a task file is run, not read", place=document.place,
                         remedy="run it with `mini-agent run` and give its trace")
