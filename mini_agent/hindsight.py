"""Milestone 6: what a session's own views had forgotten of what its model used later.

At the end of a live run the measure of the lab (`evidence.py`) is taken of the run itself,
from its records: of the evidence of each step, how much did the view hold that was sent?
It costs one more fold of the trace. What is left out: other policies (`lab/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .compression.state import WindowState
from .compression.view import Entry
from .evidence import Evidence
from .held import HeldEvidence, Shares, mean
from .trace import Record


def own_evidence(records: Sequence[Record], state: WindowState) -> dict[str, Any]:
    """The payload of `evidence`. `state` is a fresh one, into which the records are folded.

    `measured` are the steps that used something seen more than 8 messages before; the
    shares are 0 to 1 with 4 decimals, None where nothing was measured.
    """
    evidence = Evidence([record["message"] for record in records if record["type"] == "message"])
    coming = iter(evidence.steps)
    step = next(coming, None)
    view = _Watched(HeldEvidence(evidence))
    found: list[Shares] = []
    for record in records:
        if record["type"] == "message" and step and len(state.history) == step.at:
            view.become(state.view.entries)
            found.append(view.held.shares(step))
            step = next(coming, None)
        state.fold(record)
    far = [shares.far for shares in found]
    return {"step": state.step, "measured": len(far) - far.count(None), "far_recall": mean(far),
            "far_in_context": mean(shares.far_in_context for shares in found),
            "recall": mean(shares.recall for shares in found)}


class _Watched:
    """Keeps a `HeldEvidence` in step with the entries of a view."""

    def __init__(self, held: HeldEvidence) -> None:
        self.held = held
        self._entries: dict[int, Entry] = {}

    def become(self, entries: Sequence[Entry]) -> None:
        """The view has these entries now."""
        now = {id(entry): entry for entry in entries}
        for key, entry in self._entries.items():
            if key not in now:
                self.held.leave(entry)
        for key, entry in now.items():
            if key not in self._entries:
                self.held.enter(entry)
        self._entries = now
