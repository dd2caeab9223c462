"""Milestone 3: what governs a run: which policy, at which window, counted by whom.

It comes from a task file, from options, or from the `run_start` of a trace; the same
record always gives the same policy and budget. What this module leaves out: acting on
it (`compression/window.py`), and the parts of a run (`runner.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .compression.budget import FULL_WINDOW, MOST, Budget
from .compression.policies import (
    Policy, budget_of, differing, find_policy, from_data, catalogue_policy, with_settings)
from .errors import UsageError
from .models.base import ANSWER_SHARE, longest_answer
from .tasks import Task, located_in


@dataclass(frozen=True)
class Governance:
    """Policy, budget and estimator of a run; what `run_start` says of them."""

    policy: Policy
    budget: Budget
    estimator: str
    settings: dict[str, Any]

    def as_recorded(self) -> dict[str, Any]:
        """What `run_start` says of it; the function `recorded_governance` reads it back."""
        return {"policy": self.settings, "estimator": self.estimator}


def govern(task: Task, policy: str = "", window: int | None = None) -> Governance | None:
    """What governs a task: its own fields, or the options `policy` and `window`.

    The task's compression settings are for the task's own policy; another one
    runs with its own, measured by the same estimator, so that both can be compared.
    None where nothing asks for a window. Raises `UsageError` for a wrong setting, in the
    script of a sub-agent too.
    """
    with located_in(task):
        return _govern(task, policy, window)


def _govern(task: Task, policy: str, window: int | None) -> Governance | None:
    check_child_scripts(task)
    limit = window or task.threshold or task.window
    own = task.policy or ("published" if limit else "")
    name = policy or own
    if not name:
        if task.compression:
            raise UsageError("there is no threshold, so nothing would be compressed",
                             place=f"{task.place}: compression",
                             remedy="give a threshold, or take the settings out")
        return None
    chosen = find_policy(name, "policy" if policy else f"{task.place}: policy")
    if name == own:
        chosen = with_settings(chosen, task.compression, f"{task.place}: compression")
    if name != "none" and limit is None:
        raise UsageError(f"policy {name!r} needs a window", place=task.place,
                         remedy="give the task a threshold or a window, or --window")
    if name == "none":
        limit = None
    if task.threshold and limit == task.threshold:
        chosen = replace(chosen, trigger=None, reserve=0, margin=0)
    estimator = find_policy(own or name, f"{task.place}: policy").estimator
    return governed_by(chosen, limit, estimator)


def check_child_scripts(task: Task) -> None:
    """Raise `UsageError` for a wrong policy or setting in the script of a sub-agent. Found only
    when that sub-agent starts, it would be one failed call in a run that ends as usual."""
    children = ((f"{task.place}: replies[{number}].children.{key}", script)
                for number, reply in enumerate(task.replies)
                for key, script in reply.get("children", {}).items())
    with located_in(task):
        for place, script in children:
            govern(Task(task.name, "", "", script["replies"], place=place,
                        **governance_fields(script)))


def governance_fields(script: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a sub-agent's script that say what governs it; {}: what governs its parent."""
    return {key: script[key] for key in ("policy", "threshold", "window", "compression")
            if key in script}


def governed_by(policy: Policy, window: int | None, estimator: str = "") -> Governance:
    """Governance by a policy and a window in tokens; the estimator is the policy's own if none
    is named."""
    settings = {"name": policy.name, **({"window": window} if window else {}),
                **differing(policy)}
    return Governance(policy, budget_of(policy, window), estimator or policy.estimator, settings)


def with_room(policy: Policy, window: int | None) -> Policy:
    """The policy with a `reserve` for a live answer, unless it has one, or never compresses.

    Of a window that is not known yet one part in `ANSWER_SHARE` stays free.
    """
    if policy.reserve or not policy.ladder or not (window or policy.scale):
        return policy
    answer = longest_answer(window) if window else FULL_WINDOW // ANSWER_SHARE
    if window and policy.scale:  # `reserve` is for 200,000 tokens, and is scaled down again
        answer = min(-(-answer * FULL_WINDOW // window), FULL_WINDOW // ANSWER_SHARE)
    return replace(policy, reserve=answer)


def recorded_governance(start: Mapping[str, Any], place: str) -> Governance:
    """What governed the run that began with this `run_start`, which has all of it: no file is
    read because a trace names one. Raises `UsageError`."""
    settings = {**start.get("policy", {"name": "none"})}
    name, window = settings.pop("name", "none"), settings.pop("window", None)
    data = settings.pop("file", None)
    if window is not None and not (type(window) is int and 0 < window <= MOST):
        raise UsageError(f"no window {window!r}", place=place, value=window,
                         remedy="a window is a number of tokens")
    policy = catalogue_policy(name) if data is None else from_data(data, place)
    return governed_by(with_settings(policy, settings, place), window,
                       start.get("estimator", "runs"))


def governed_in_words(start: Mapping[str, Any], place: str) -> str:
    """Policy and window of a run in words, with all other settings as they were recorded; a
    reserve in tokens of this window, since it is recorded in those of a full one."""
    policy = start.get("policy")
    settings = {**policy} if isinstance(policy, dict) else {}
    name, window, file = (settings.pop(key, None) for key in ("name", "window", "file"))
    if name is None:  # no policy, or something that no run of ours has written
        return json.dumps(policy, ensure_ascii=False) if policy else ""
    said = f"under {name}" + " (of a file)" * bool(file) + f" at {window}" * bool(window)
    if window and "reserve" in settings:
        try:
            free = window - (recorded_governance(start, place).budget.hard or 0)
        except UsageError:  # of a policy that is not known here
            return f"{said} {json.dumps(settings, ensure_ascii=False)}"
        del settings["reserve"]
        said += f", {free} of it free for the answer"
    return f"{said} {json.dumps(settings, ensure_ascii=False)}" if settings else said
