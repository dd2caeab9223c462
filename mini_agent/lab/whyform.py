"""Milestone 6: what `why` knows of a text, as plain JSON, key by key.

What is left out: how it is found (`why.py`, `nearly.py`), and its words for people.
"""

from __future__ import annotations

from typing import Any, TypedDict

NAMED = 5  # messages that are named one by one


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
    """A message that has the text but for capitals and blanks, or where nobody would look."""

    message: int             # history index
    where: str               # text, call or thinking
    words: str               # as they stand in a text, "" elsewhere


class Cause(TypedDict):
    """The change of the view that made the text stand as it does."""

    seq: int                 # of its record
    step: int
    strategy: str
    trigger: str
    before_tokens: int
    after_tokens: int


class Period(TypedDict):
    """Steps at which the text stood in one form, one after another."""

    first: int
    last: int
    form: str                # verbatim, shortened, summary, attached, made, handle or gone
    messages: list[int]      # history indexes of those that the text stands for, at `last`
    cause: Cause | None      # None where it was a new message
    sent: bool               # if not, it is how the text will stand in the next request


class WayBack(TypedDict):
    """How the text can be had."""

    handles: list[int]       # those that the newest view shows of messages that have it
    spans: list[int]         # of the others, those in a span that it says can be read again
    log: list[int]           # history indexes of all messages that have it


class Now(WayBack):
    """How the text stands at last."""

    form: str                # as of the last that was seen, "" for none


class Explanation(TypedDict):
    """All of it."""

    text: str
    entered: list[Occurrence]
    nearly: list[NearMiss]   # only where it was never said
    seen: list[Period]
    host: list[int]          # the steps before which a recorded agent had compressed
    now: Now
