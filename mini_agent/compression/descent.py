"""Milestone 3: why the ladder is taken, and how far down it is to lead.

What is left out: the rungs (`policies.py`) and how they are climbed (`ladder.py`).
"""

from __future__ import annotations

from typing import NamedTuple


class Descent(NamedTuple):
    """One way down the ladder: why it is taken, and how far it leads.

    `over` and `target` are in tokens of the request: above `over` a rung is taken,
    and once it was it goes on down to `target`. `focus` is what a user who
    compresses by hand wants to keep.
    """

    step: int
    trigger: str
    over: int
    target: int
    focus: str = ""

    @property
    def once(self) -> bool:
        """Whether each rung is asked at least once, however small the view is."""
        return self.trigger in ("stage", "manual")
