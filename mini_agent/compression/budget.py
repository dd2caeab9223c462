"""Milestone 3: how much fits, and when something has to be done about it.

A budget is made from a window in tokens and a trigger. It amounts to three numbers: over
`soft` a policy goes down its ladder until `target` is reached; over `hard` a request may
not be sent. With a plain number as threshold all three are that number. What is left
out: measuring, and what follows from it (`window.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..columns import number_of
from ..errors import UsageError

FULL_WINDOW = 200_000  # the window for which the absolute numbers of policies are given
MOST = 10**12          # tokens: the largest window that can be named
HAND_MARGIN = 3_000    # by hand the margin is smaller: the user knows what is coming
_TYPED = re.compile(r"([0-9]{1,12})([km]?)")  # a window as a person types it
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)%")
_FREE = re.compile(r"-\s*(\d{1,12})")
_FREE_MIN = re.compile(r"-\s*min\(\s*(\d{1,12})\s*,\s*max_output\s*\)")


@dataclass(frozen=True)
class Budget:
    """All in tokens. With `window` None there is no limit.

    `by_hand` is the target of a compression that a person asks for. `scale`: whether absolute
    numbers scale with the window. `recipe` are the arguments of `make_budget`, from which the
    budget is made again for another window.
    """

    window: int | None
    soft: int = 0
    hard: int = 0
    target: int = 0
    by_hand: int = 0
    scale: bool = True
    recipe: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def tokens_at(self, trigger: str | int) -> int:
        """The tokens of a trigger in this window, which must be known."""
        window = self.window or 0
        return tokens_at(trigger, window, window - self.hard, self.scale)

    def within(self, window: int) -> Budget:
        """The same budget for a window that an endpoint has reported, if that is smaller."""
        if self.window is not None and window >= self.window:
            return self
        return make_budget(window, **self.recipe)

    def window_for(self, tokens: int) -> int:
        """The smallest window in which a request of `tokens` is not over `hard`."""
        return bisect_left(range(1, MOST), tokens,
                           key=lambda window: make_budget(window, **self.recipe).hard) + 1

    def scaled(self, number: int) -> int:
        """An absolute number given for 200,000 tokens, scaled to this window, rounded down.

        It stays as it is where there is no window, or the policy does not scale.
        """
        if self.window is None or not self.scale:
            return number
        return number * self.window // FULL_WINDOW


def make_budget(window: int | None, *, trigger: str | int | None = None,
                target: str | int | None = None, reserve: int = 0, margin: int = 0,
                scale: bool = True) -> Budget:
    """A budget of `window` tokens.

    soft = window - reserve - margin, hard = window - reserve; a trigger replaces
    soft: a number, a share ("80%") or what is left free ("-16384",
    "-min(20000,max_output)", where the reserve is the longest answer). Absolute numbers scale
    with the window if `scale`.
    Raises `UsageError` for a window below 1, a trigger of another form, or a reserve that
    would leave nothing of any window.
    """
    recipe = {"trigger": trigger, "target": target, "reserve": reserve, "margin": margin,
              "scale": scale}
    if window is None:
        return Budget(None, scale=scale, recipe=recipe)
    if window < 1:
        raise UsageError(f"a window of {number_of(window, 'token')} holds nothing", place="window",
                         value=window, remedy="give a positive number of tokens")
    if scale and reserve >= FULL_WINDOW:
        raise UsageError(f"a reserve of {reserve} of {number_of(FULL_WINDOW, 'token')} "
                         "leaves nothing",
                         place="reserve", value=reserve, remedy="reserve less")
    scaled = Budget(window, scale=scale).scaled
    hard = window - scaled(reserve)
    soft = hard - scaled(margin)
    if trigger is not None:
        soft = min(hard, tokens_at(trigger, window, window - hard, scale))
    goal = soft if target is None else min(soft, tokens_at(target, window, window - hard, scale))
    by_hand = max(soft, hard - scaled(HAND_MARGIN)) if margin else soft
    return Budget(window, soft, hard, goal, by_hand, scale, recipe)


def tokens_at(trigger: str | int, window: int, answer: int = 0, scale: bool = True) -> int:
    """The tokens of a trigger: number, "80%", "-16384", "-min(20000,max_output)".

    `answer`: what is reserved for the longest answer, in tokens; 0 if that is not known.
    """
    scaled = Budget(window, scale=scale).scaled
    if type(trigger) is int and 0 <= trigger <= MOST:
        return scaled(trigger)
    if not isinstance(trigger, str):  # a file may say 0.8, or -16384 without the quotes
        raise _no_trigger(trigger)
    if match := _SHARE.fullmatch(trigger):
        return int(window * float(match[1]) / 100)
    if match := _FREE.fullmatch(trigger):
        return window - scaled(int(match[1]))
    if match := _FREE_MIN.fullmatch(trigger):
        free = scaled(int(match[1]))
        return window - (min(free, answer) if answer else free)
    raise _no_trigger(trigger)


def _no_trigger(trigger: object) -> UsageError:
    return UsageError(f"no trigger {trigger!r}", place="trigger", value=trigger,
                      remedy='give a number, "80%", "-16384" or "-min(20000,max_output)"')


def windows_of(text: str) -> tuple[int, ...]:
    """The windows of a list as a person types it: `16k,32000`. Raises `UsageError`."""
    return tuple(dict.fromkeys(map(window_tokens, text.split(","))))


def window_tokens(text: str) -> int:
    """The tokens of a window as a person types it: 32000, 32k or 1m. Raises `UsageError`."""
    typed = _TYPED.fullmatch(text.strip().lower())
    if typed is None:
        raise UsageError(f"no window {text!r}", place="--window", value=text,
                         remedy="give tokens, such as 32000, 32k or 1m")
    tokens = int(typed[1]) * _FACTORS[typed[2]]
    if not 0 < tokens <= MOST:
        what = "is larger than any" if tokens else "holds nothing"
        raise UsageError(f"a window of {number_of(tokens, 'token')} {what}", place="--window",
                         value=tokens, remedy=f"give a positive number of tokens, at most {MOST}")
    return tokens
