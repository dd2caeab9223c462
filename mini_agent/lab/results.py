"""Milestone 6: what comes of a file of a comparison, as plain JSON, key by key.

It is written into shares and read again, so what JSON has no word for is not in it. What
is left out: how it comes about (`compare.py`), and how many are made into one (`summary.py`).
"""

from __future__ import annotations

from typing import Any, TypedDict, final

from .pageform import PageSession
from .rows import TrialRow


@final
class Result(TypedDict):
    """What comes of one session, under all policies at all windows."""

    at: int                        # the number of its source
    session: str
    rows: list[TrialRow]           # by window, then by policy, the baseline first
    breaks: list[str]              # policies that break laws by their own account
    notes: list[str]               # sentences: what could not be read, or not be measured
    unreadable: int                # lines, told of the first session of a file
    calls: int                     # of tools
    tokens: int                    # of the whole history
    head: int                      # tokens of what it begins with
    missed: list[list[Any]]        # [policy, window, *measures.Missed], a tuple but for JSON
    page: PageSession | None       # where a page was asked for


@final
class UnreadFile(TypedDict):
    """A file that could not be read."""

    at: int                        # the number of its source
    session: str                   # the name of the file
    error: str                     # place, value and remedy
    asked: bool                    # named by the user, not found in a folder
