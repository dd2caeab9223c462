"""Milestone 3: a policy told in words: what it does, where it comes from, what it costs.

Everything is read off the policy's own data and the strategies that it names, so a
description cannot drift from what runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..columns import number_of
from .laws import named
from .policies import ALWAYS, Policy, Rung
from .scene import Strategy


def policy_lines(policy: Policy) -> Iterator[str]:
    """The lines that `mini-agent policies NAME` prints."""
    yield f"{policy.name}: {policy.about}"
    yield ""
    yield f"from      {policy.source}"
    yield "breaks    " + (", ".join(map(named, policy.breaks)) or "no law")
    yield f"trigger   {_trigger(policy)}"
    if policy.target is not None:
        yield f"target    {_amount(policy.target)}"
    yield "keeps     " + "; ".join(_kept(policy))
    for number, rung in enumerate(policy.ladder, 1):
        yield ""
        yield f"{number}. {rung.strategy.name}{_tier(rung)}{_settings(rung.strategy)}"
        yield f"   {(rung.strategy.__doc__ or '').splitlines()[0]}"


def _trigger(policy: Policy) -> str:
    if policy.trigger is not None:
        told = f"over {_amount(policy.trigger)}"
    elif policy.reserve or policy.margin:
        told = f"over the window less {number_of(policy.reserve + policy.margin, 'token', ',')}"
    else:
        told = "over the window"
    if policy.reserve:
        told += f"; hard limit: the window less {policy.reserve:,} for the answer"
    return told + (", and at the end of each stage" if policy.stages else "")


def _amount(amount: str | int) -> str:
    """A trigger or target in words."""
    if isinstance(amount, int):
        return f"{number_of(amount, 'token', ',')} of 200,000"
    if amount.endswith("%"):
        return f"{amount[:-1]} % of the window"
    return f"the window less {amount.lstrip('-')}"


def _kept(policy: Policy) -> Iterator[str]:
    yield "system message, first and newest user message"
    yield ("all other words of users" if policy.user_share >= 1
           else f"other words of users up to {policy.user_share:.0%} of the window")
    results = "" if policy.shorten_tail else ", results too"
    yield f"the last {number_of(policy.protect_last, 'message')}{results}"
    if policy.frozen:
        yield "what was answered, as it was sent"


def _tier(rung: Rung) -> str:
    if rung.trigger is None:
        return ""
    return ", before every request" if rung.trigger == ALWAYS else (
        f", over {_amount(rung.trigger)}")


def _settings(strategy: Strategy) -> str:
    """The settings with which a strategy runs."""
    told = (f"{field.name}={getattr(strategy, field.name)!r}"
            for field in dataclasses.fields(strategy))
    return f" ({', '.join(told)})" if dataclasses.fields(strategy) else ""
