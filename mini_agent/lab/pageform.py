"""Milestone 6: the one JSON value that the report page is made from, key by key.

The same comparison gives the same data. Every string may be hostile. A list such as
`[at, entry]` stands for a tuple. The view of a step is computed as `compression/view.py`
does it:

    view = []; for each step s: append the messages before steps[s] that are not in yet,
    each as an entry {index}; then for each change of step s, in order: take out the
    entries at the positions `affected`, then insert each of `inserts` at its position
    `at`, in rising order.

An attached entry has an empty `stands_for`. `dropped` are the messages that a change took
out and that none of its entries stands for. What is left out: how the data are made
(`pagedata.py`), and what of them has no room (`pagesize.py`).
"""

from __future__ import annotations

from typing import TypedDict

from .rows import MeanRow, TrialRow


class CutMessage(TypedDict):
    """A message, its text and the arguments of its calls cut."""

    role: str
    name: str                      # of the tool, "" for none
    text: str                      # at most `pagesize.CUT` characters of the content
    chars: int                     # the true length
    calls: list[list[str | int]]   # [name, text of the arguments, their true length]


class HistoryMessage(CutMessage):
    """A message of the history; the handle of its whole text is #index."""

    step: int
    tokens: int
    lines: int
    error: str                     # a code, or ""
    group: int                     # index of the first message of what moves together with it


class InsertedEntry(CutMessage):
    """An entry that a change has put into the view."""

    tokens: int
    stands_for: list[int]          # history indexes
    how: str                       # how it came about: `compression/view.py`


class PageChange(TypedDict):
    """A change of the view."""

    step: int
    strategy: str
    trigger: str
    before_tokens: int
    after_tokens: int
    affected: list[int]            # positions in the view
    dropped: list[int]             # history indexes
    unsupported: list[str]         # what a summary says that is in none of what it stands for
    inserts: list[list[int | InsertedEntry]]  # [at, entry]


class Layer(TypedDict):
    """What one strategy did in all."""

    changes: int
    saved: int                     # tokens
    spent: int                     # tokens that its summariser read and wrote


class PageRun(TypedDict):
    """One policy at one window."""

    policy: str
    window: int                    # tokens
    soft: int | None               # tokens; none of them for the baseline
    hard: int | None
    about: str                     # of the policy, as the next two
    source: str
    breaks: list[int]              # numbers of laws
    tokens: list[int]              # sent, by step
    prefix: list[int]              # of these the leading ones that were sent before unchanged
    over: list[int]                # the steps whose view was over the window
    missing: list[list[int]]       # by step [items needed, held, of them far, held]; or []
    changes: list[PageChange]      # in order
    layers: dict[str, Layer]       # by strategy
    facts: dict[str, list[list[int | str]]]  # by probe, a state as long as it lasts:
                                   # [first step, state], as in `facts.py`


class PageSession(TypedDict):
    """A session that the bench can show, its history once."""

    session: str                   # this and the next as in its rows
    format: str
    language: str                  # "en" or "zh"
    notes: list[str]               # sentences: what its reader could not do
    windows: list[int]             # rising; all policies were replayed at each
    messages: list[HistoryMessage]  # by history index
    steps: list[int]               # index of the first assistant message of each step: what a
                                   # view is made from at step s are the messages before steps[s]
    runs: list[PageRun]            # one a policy and window, the baseline first


class Page(TypedDict):
    """All of it."""

    title: str                     # for the head of the page
    command: str                   # the exact command line that makes it again
    estimator: str                 # the name that stands beside every number of tokens
    rows: list[TrialRow]           # the baseline first for each session and window
    summary: list[MeanRow]         # only where there are several sessions
    unsound: list[str]             # policies that break laws by their own account
    facts: list[str]               # the texts asked for with --fact, in order
    notes: list[str]               # sentences under the table: what was left out and why
    sessions: list[PageSession]
