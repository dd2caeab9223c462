"""Milestone 3: a policy told in words: what it does, where it comes from, what it costs.

Everything is read off the policy's own data and the strategies that it names, so a
description cannot drift from what runs.
"""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from ..columns import WIDTH, number_of
from .catalogue import POLICIES
from .laws import named
from .policies import ALWAYS, SETTINGS, STRATEGIES, Policy, Rung
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


def parts_of_a_policy() -> Iterator[dict[str, Any]]:
    """What a policy file can contain: first the settings of a policy, then each strategy with
    what it does, its settings and their defaults, and the choices for a setting that has some."""
    yield {"strategy": "",
           "about": "a policy file has a name and a ladder of strategies; if wanted:",
           "settings": {name: field.default for name, field in SETTINGS.items()}, "choices": {}}
    for name, made in STRATEGIES.items():
        yield {"strategy": name, "about": (made.__doc__ or "").splitlines()[0],
               "settings": {field.name: getattr(made(), field.name)
                            for field in dataclasses.fields(made)},
               "choices": dict(getattr(made, "CHOICES", {}))}


def catalogue_lines() -> Iterator[str]:
    """The lines that `mini-agent policies` prints."""
    width = max(len(data["name"]) for data in POLICIES)
    for data in POLICIES:
        yield from textwrap.wrap(data["about"], WIDTH,
                                 initial_indent=f"{data['name']:<{width}}  ",
                                 subsequent_indent=(width + 2) * " ")


def part_lines() -> Iterator[str]:
    """The lines that `mini-agent policies --strategies` prints."""
    for part in parts_of_a_policy():
        yield f"{part['strategy']}: {part['about']}" if part["strategy"] else part["about"]
        for name, value in part["settings"].items():
            choices = part["choices"].get(name)
            said = (f"of {json.dumps(choices)}" if choices
                    else "" if part["strategy"] else SETTINGS[name].metadata["about"])
            yield f"  {json.dumps(name)}: {json.dumps(value)}   {said}".rstrip()


def _trigger(policy: Policy) -> str:
    if policy.trigger is not None:
        words = f"over {_amount(policy.trigger)}"
    elif policy.reserve or policy.margin:
        words = f"over the window less {number_of(policy.reserve + policy.margin, 'token', ',')}"
    else:
        words = "over the window"
    if policy.reserve:
        words += f"; hard limit: the window less {policy.reserve:,} for the answer"
    return words + (", and at the end of each stage" if policy.stages else "")


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
    settings = (f"{field.name}={getattr(strategy, field.name)!r}"
            for field in dataclasses.fields(strategy))
    return f" ({', '.join(settings)})" if dataclasses.fields(strategy) else ""
