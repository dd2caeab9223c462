"""Milestone 6: what `why` knows of a text, as plain JSON, key by key.

What is left out: how it is found (`why.py`, `nearly.py`), and the sentences (`whywords.py`).
"""

from __future__ import annotations

from typing import Any, TypedDict

NAMED = 5  # as many messages are named; of the others only the number is told


class Origin(TypedDict):
    """Where a message is from."""

    role: str
    tool: str                # of a result, "" for another message
    arguments: str           # of the call, whole, "" for none


class FirstSeen(TypedDict):
    """The first request that had a message."""

    first_seen: int | None   # its step, None for none
    with_text: bool          # whether the text was still in it: it can have been cut before


class Occurrence(Origin, FirstSeen):
    """A message that has the text."""

    message: int             # history index
    part: dict[str, Any]     # arguments of read_result by which it gives the text back


class NearMiss(TypedDict):
    """A message that has the text except for capitals and blanks, or outside its own text."""

    message: int             # history index
    where: str               # text, call or thinking
    words: str               # as they stand in a text, "" elsewhere


class Cause(TypedDict):
    """The change of the view that made the text stand as it does."""

    seq: int | None          # of its record, None in a replay: no file has it
    step: int
    strategy: str
    trigger: str
    before_tokens: int
    after_tokens: int


class Period(TypedDict):
    """A run of steps at which the text stood in one form."""

    first: int
    last: int
    form: str                # verbatim, shortened, summary, attached, made, handle or gone
    messages: list[int]      # history indexes of those that the text stands for, at `last`
    cause: Cause | None      # None where it was a new message
    sent: bool               # if not, it is how the text will stand in the next request


class WayBack(TypedDict):
    """How the text can be got back."""

    handles: list[int]       # those that the newest view shows of messages that have it
    spans: list[int]         # others: the view says only that a span with them can be read again
    log: list[int]           # history indexes of all messages that have it


class Now(WayBack):
    """How the text stands at last."""

    form: str                # that of the last of `seen`, "" for none


class Explanation(TypedDict):
    """All that `why` knows of a text."""

    text: str
    entered: list[Occurrence]
    nearly: list[NearMiss]   # empty unless `entered` is
    seen: list[Period]
    host: list[int]          # the steps before which a recorded agent had compressed
    now: Now
