"""Milestone 6: the rows of the lab, key by key, as they stand in JSON, in CSV, on the page.

Shares are from 0 to 1 with 4 decimals, None where there was nothing to measure; `evidence.py`
defines them. A cost is relative to the same session without compression. What is left out:
how a row is computed (`measures.py`, `summary.py`).
"""

from __future__ import annotations

from typing import Literal, TypedDict, final

Measure = Literal["far_recall", "far_in_context", "recall", "fresh", "lines", "reach", "cost",
                  "summary_price", "prefix_breaks", "bill"]  # keys that a mean is taken of


@final
class TrialRow(TypedDict):
    """The figures of one session under one policy at one window."""

    session: str
    format: str                    # of the log that it was read from
    policy: str
    window: int                    # tokens
    steps: int
    peak_tokens: int               # the largest request
    sent_tokens: int               # all requests
    summary_tokens: int            # what a summariser read and wrote
    cost: float | None             # of all requests, where a cached token counts a tenth
    summary_price: float | None    # of the summary_tokens, in full
    over_window_steps: int         # steps whose request was over the window
    far_recall: float | None       # share of what is used again from far back
    far_in_context: float | None   # the same, with what stood around it
    recall: float | None           # the same, near things included
    fresh: float | None            # of what only tools had said
    lines: float | None            # of whole lines
    reach: float | None            # far recall that counts what stands behind a handle too
    prefix_breaks: float | None    # of 100 steps: those that changed what had been sent before
    cached_tokens: int             # leading ones that the step before had sent, over all steps
    answer_tokens: int             # what the recorded agent had answered
    bill: float | None             # requests, answers and summaries; None without prices
    compressions: dict[str, int]   # how many, by strategy
    law_breaks: int                # changes that broke a law
    facts: dict[str, str]          # of each probe the state at the last step (`facts.py`)


@final
class MeanRow(TypedDict):
    """The figures of all sessions that count at one window, under one policy.

    A key that a `TrialRow` has too is the mean of it, in which each session weighs the same.
    """

    window: int                    # tokens
    policy: str
    sessions: int                  # how many count
    far_recall: float | None
    low: float | None              # where the mean of far_recall may be,
    high: float | None             # by a bootstrap over sessions
    each: list[float | None]       # the far_recall of each session
    worst_tenth: float | None      # mean far_recall of the worst tenth of the sessions
    worst_session: str | None      # its name
    far_in_context: float | None
    recall: float | None
    fresh: float | None
    lines: float | None
    reach: float | None
    cost: float | None
    summary_price: float | None
    prefix_breaks: float | None
    bill: float | None             # where there are prices
    over_steps: int                # steps over the window, of all sessions together
    over_share: float | None       # of the steps of a session
    law_breaks: int                # of all sessions together


AnyRow = TrialRow | MeanRow
