"""Milestone 3: why the ladder is taken, how far down it is to lead, and how far it has led.

What is left out: the rungs (`policies.py`) and how they are climbed (`ladder.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .attempt import GAINED, VAIN
from .policies import ALWAYS, Rung
from .state import WindowState
from .view import View


class Descent(NamedTuple):
    """One way down the ladder: why it is taken, and how far it leads.

    `over` and `target` are in tokens of the request: rungs are asked if it is over `over`,
    until it is down at `target`. `focus` is what a user who compresses by hand wants to
    keep. `rung` is the number of the rung that is being asked, if another one of the ladder
    has the same strategy.
    """

    step: int
    trigger: str
    over: int
    target: int
    focus: str = ""
    rung: int | None = None

    @property
    def rung_field(self) -> dict[str, Any]:
        """The field `rung` of a record, where the name of the strategy is not enough."""
        return {} if self.rung is None else {"rung": self.rung}

    @property
    def fields(self) -> dict[str, Any]:
        """`rung_field`, and the field `trigger` where that is not the threshold."""
        trigger = {} if self.trigger == "threshold" else {"trigger": self.trigger}
        return {**trigger, **self.rung_field}

    @property
    def once(self) -> bool:
        """Whether each rung is asked at least once, however small the view is."""
        return self.trigger in ("stage", "manual")


@dataclass
class Progress:
    """How far a descent has come.

    `level` is the largest request, in tokens, at which a rung gained; `gained` has the numbers
    of those rungs. `next` is the number of the rung to ask next. `in_vain` has, by the number
    of a rung, the view with which it could do nothing.
    """

    level: int = 0
    gained: set[int] = field(default_factory=set)
    next: int = 0
    in_vain: dict[int, View] = field(default_factory=dict)

    def gain(self, number: int, tokens: int) -> None:
        """Note that a rung gained, asked at a request of so many tokens."""
        self.gained.add(number)
        self.level = max(self.level, tokens)

    def resume(self, trigger: str, state: WindowState, rungs: Sequence[Rung]) -> None:
        """Go on after the attempts that a killed process has made on this trigger."""
        names = [rung.strategy.name for rung in rungs]
        for attempt in state.attempts:
            number = attempt.number(names, self.next)
            if attempt.trigger != trigger or number is None:
                continue  # of another descent, or another policy was chosen since
            self.next = number + 1
            if attempt.outcome == GAINED:
                self.gain(number, 0 if rungs[number].trigger == ALWAYS else
                          attempt.drift.predict(attempt.tokens + state.declared))
            elif attempt.outcome == VAIN:
                self.in_vain[number] = state.view
