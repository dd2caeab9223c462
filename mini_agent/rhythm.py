"""Milestone 3: the rhythm of a run, one row per step, read off its records.

What was there before the window acted, what was sent, and what happened in
between. The drivers print it, the charts draw it, `watch` compares two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .compression.rising import stretches
from .errors import TraceError
from .trace import Record


@dataclass(frozen=True)
class Compression:
    """One change of the view: the record's number, sizes in tokens."""

    seq: int
    step: int
    strategy: str
    before: int
    after: int
    before_messages: int
    after_messages: int
    affected: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One step: tokens and messages before governance and as sent, and its compressions.

    Both sizes have all that goes with a request, tool declarations too. Before governance it
    was larger by what the compressions have gained; one that was taken back has gained nothing.
    All are estimates; what an endpoint counts may be more (`compression/drift.py`).
    A step that ended in an overflow was not sent: 0 tokens, 0 messages.
    """

    step: int
    before: int
    before_messages: int
    sent: int
    messages: int
    compressions: tuple[Compression, ...]


def rows(records: Iterable[Record]) -> list[Row]:
    """A row for each step in which something was sent or refused, in order.

    Sizes are those of the records; a run without a window has 0 tokens. Where a
    step asks twice (reactive compression), the second request is the row's.
    `TraceError` for a record without what its kind has to have.
    """
    made: dict[int, Row] = {}
    compressions: list[Compression] = []
    undone: set[int] = set()
    for record in records:
        try:
            if record.get("event") == "context_compression":
                compressions.append(_compression(record))
            elif record.get("event") == "undo":
                undone.add(record["payload"]["seq"])
            elif record.get("event") in ("model_call", "context_overflow"):
                earlier = made.get(record["payload"]["step"])
                row = _row(record, (*(earlier.compressions if earlier else ()), *compressions),
                           undone)
                made[row.step] = row
                compressions = []
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"the {record['event']} does not fit ({error!r})",
                             place=f"seq {record['seq']}", value=record["seq"],
                             remedy="mini-agent check lists what is wrong") from error
    return list(made.values())


def _row(record: Record, compressions: tuple[Compression, ...], undone: set[int]) -> Row:
    payload = record["payload"]
    is_sent = record["event"] == "model_call"
    size = int(payload.get("estimated", payload.get("tokens", 0)))
    count = int(payload.get("messages", compressions[-1].after_messages if compressions else 0))
    stand = [change for change in compressions if change.seq not in undone]
    return Row(int(payload["step"]), size + sum(one.before - one.after for one in stand),
               count + sum(one.before_messages - one.after_messages for one in stand),
               size if is_sent else 0, count if is_sent else 0, compressions)


def _compression(record: Record) -> Compression:
    payload: dict[str, Any] = record["payload"]
    before, after, before_messages, after_messages = (int(payload[key]) for key in (
        "before_tokens", "after_tokens", "before_messages", "after_messages"))
    return Compression(
        record["seq"], int(payload["step"]), str(payload["strategy"]), before, after,
        before_messages, after_messages, tuple(map(int, payload["affected_indexes"])))


def all_compressions(table: Iterable[Row]) -> list[Compression]:
    """Every compression of a table, in order."""
    return [change for row in table for change in row.compressions]


def peak(table: Iterable[Row]) -> int:
    """The largest request, in tokens."""
    return max((row.sent for row in table), default=0)


def number_ranges(numbers: Sequence[int]) -> str:
    """Rising numbers in short: `3`, `2..15`, `3, 5..7`."""
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}"
                     for run in stretches(numbers))
