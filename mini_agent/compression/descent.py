"""Milestone 3: why the ladder is taken, and how far down it is to lead.

What is left out: the rungs (`policies.py`) and how they are climbed (`ladder.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .view import View


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


@dataclass
class Progress:
    """How far a descent has come.

    `level`: the most tokens at which a rung has gained; `gained`: the numbers of those rungs;
    `next`: the number of the rung to ask next; `in_vain`: by its number the view with which a
    rung could do nothing.
    """

    level: int = 0
    gained: set[int] = field(default_factory=set)
    next: int = 0
    in_vain: dict[int, View] = field(default_factory=dict)

    def gain(self, number: int, tokens: int) -> None:
        """A rung gained that was taken at so many tokens."""
        self.gained.add(number)
        self.level = max(self.level, tokens)
