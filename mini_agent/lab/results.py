"""Milestone 6: the result of one session or file of a comparison, key by key.

Results are written into shares and read again, so they hold only what JSON can express. What
is left out: how they are made (`compare.py`), and the means over many (`summary.py`).
"""

from __future__ import annotations

from typing import Any, TypedDict, final

from .pageform import PageSession
from .rows import TrialRow


@final
class Result(TypedDict):
    """The result of one session, under all policies at all windows."""

    at: int                        # the position of its source among all, from 0
    session: str
    rows: list[TrialRow]           # by window, then by policy, the baseline first
    breaks: list[str]              # policies that break laws by their own account
    notes: list[str]               # sentences: what could not be read, or not be measured
    unreadable: int                # lines of the file; 0 for all sessions but its first
    calls: int                     # of tools
    tokens: int                    # of the whole history
    head: int                      # tokens of all up to the first user message
    missed: list[list[Any]]        # [policy, window, *measures.Missed]
    page: PageSession | None       # where a page was asked for


@final
class UnreadFile(TypedDict):
    """A file that could not be read."""

    at: int                        # the position of its source among all, from 0
    session: str                   # the name of the file
    error: str                     # place, value and remedy
    asked: bool                    # named by the user, not found in a folder
