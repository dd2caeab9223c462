"""Milestone 3: policies are data: a ladder of strategies, a trigger, a reason.

A policy is used by its name (`catalogue.py`) or read from a JSON file of the same
fields; here it is checked and made. What is left out: what a strategy does (its
own module) and when it is asked (`window.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..json_files import located, read_object
from ..texts import Texts
from ..tokens import ESTIMATORS
from ..tools.schema import OBJECT, TEXT, array_of, first_fault, object_of, one_of
from .admission import Admission
from .budget import FULL_WINDOW, Budget, make_budget, tokens_at
from .catalogue import POLICIES
from .clear import ToolResultClearing
from .digest import CoverageDigest
from .drop import Recall, SlidingWindow
from .handoff import (
    ContextReset, FullSummary, HandoffFive, HandoffForm, HandoffNote, HardCollapse, StateCard)
from .inputs import InputBudget
from .offload import ResultOffload
from .scene import Strategy
from .settings import BOUNDS, has_setting, nearest, with_setting
from .shrink import ToolResultAging, ToolResultClipping
from .summarise import RollingSummary, SegmentedSummary, StageSummary

STRATEGIES: dict[str, type[Strategy]] = {made.name: made for made in (
    SlidingWindow, ToolResultAging, ToolResultClipping, ToolResultClearing, ResultOffload, Recall,
    InputBudget, RollingSummary, SegmentedSummary, StageSummary, FullSummary, HandoffNote,
    HandoffForm, HandoffFive, ContextReset, HardCollapse, StateCard, Admission,
    CoverageDigest)}

ALWAYS = 0  # the trigger of a rung that is taken before every call, and not only in need


@dataclass(frozen=True)
class Rung:
    """One step of a ladder; `trigger` is a tier of its own, as in `budget.tokens_at`."""

    strategy: Strategy
    trigger: str | int | None = None


_COUNT, _FLAG = {"type": "integer", **BOUNDS}, {"type": "boolean"}
_AMOUNT: dict[str, Any] = {}  # of two kinds, which `tokens_at` knows
_LAWS = array_of({"type": "integer", "minimum": 1, "maximum": 9})


def _setting(default: Any, schema: Mapping[str, Any], about: str) -> Any:
    return dataclasses.field(default=default, metadata={"schema": schema, "about": about})


@dataclass(frozen=True)
class Policy:
    """A named ladder, and settings of its own; `data` is the file that it was read from."""

    name: str
    source: str
    about: str
    ladder: tuple[Rung, ...] = ()
    breaks: tuple[int, ...] = _setting((), _LAWS, "numbers of the laws that it breaks on purpose")
    trigger: str | int | None = _setting(None, _AMOUNT, 'over how much something is done: 50000, '
                                         '"80%" or "-16384"; null: the window')
    target: str | int | None = _setting(
        None, _AMOUNT, "down to how much then, in the same forms; null: the trigger")
    reserve: int = _setting(0, _COUNT, "tokens that stay free for the answer")
    margin: int = _setting(0, _COUNT, "tokens below that at which something is done")
    protect_last: int = _setting(
        4, _COUNT, "messages at the end that are neither dropped nor summarised")
    shorten_tail: bool = _setting(True, _FLAG, "whether results among them may be shortened")
    user_share: float = _setting(1.0, {"type": "number", "minimum": 0, "maximum": 1},
                                 "share of the window that users' words may fill as they are")
    frozen: bool = _setting(False, _FLAG, "whether what was sent stays as it was sent")
    scale: bool = _setting(True, _FLAG, "whether numbers of tokens are for a window of 200,000")
    stages: bool = _setting(False, _FLAG, "whether the end of a stage is a trigger as well")
    estimator: str = "runs"
    data: Mapping[str, Any] | None = dataclasses.field(default=None, compare=False, repr=False)


SETTINGS = {field.name: field for field in dataclasses.fields(Policy) if "about" in field.metadata}
SCHEMA = object_of({
    "name": TEXT, "source": TEXT, "about": TEXT, "estimator": one_of(ESTIMATORS),
    **{name: field.metadata["schema"] for name, field in SETTINGS.items()},
    "ladder": array_of(object_of({"strategy": TEXT, "trigger": {}, "settings": OBJECT},
                                 ("strategy",)))}, ("name", "ladder"))


def budget_of(policy: Policy, window: int | None) -> Budget:
    """The budget of a policy at a window in tokens; None: there is no limit."""
    return make_budget(window, trigger=policy.trigger, target=policy.target,
                       reserve=policy.reserve, margin=policy.margin, scale=policy.scale)


def policy_names() -> list[str]:
    """The names of all policies, in the order of the catalogue."""
    return [data["name"] for data in POLICIES]


def find_policy(name: str, place: str = "policy") -> Policy:
    """The policy of this name, or of a file NAME.json; it was named at `place`.

    `UsageError` with close names if there is none, or with the place in the file.
    """
    return read_policy(Path(name)) if name.endswith(".json") else catalogue_policy(name, place)


def catalogue_policy(name: str, place: str = "policy") -> Policy:
    """The policy of this name in the catalogue. `UsageError` with close names if there is none."""
    for data in POLICIES:
        if data["name"] == name:
            return make_policy(data, "policy")
    raise no_policy(name, policy_names(), place)


def no_policy(name: object, known: Iterable[str], place: str) -> UsageError:
    """The error for a name that no policy has; a path is told what a policy file is."""
    remedy = "a policy file is JSON, and is named NAME.json" if set(str(name)) & set("./") else (
        nearest(str(name), known))
    return UsageError(f"no policy {name!r}", place=place, value=name, remedy=remedy)


def read_policy(path: Path) -> Policy:
    """A policy from a JSON file. `TaskFileError` has the line and the field that is wrong."""
    data = read_object(path, SCHEMA)
    try:
        return from_data(data, str(path))
    except UsageError as error:
        raise located(path, error.place.removeprefix(f"{path}."), error) from None


def from_data(data: Mapping[str, Any], place: str) -> Policy:
    """A policy that is in no catalogue; a trace has its data, so that it can be made again."""
    if wrong := first_fault(SCHEMA, data, Texts()):
        raise UsageError(wrong, place=place, value=data,
                         remedy="see mini-agent policies --strategies")
    policy = make_policy({"source": place, "about": "", **data}, place)
    amounts = {"trigger": policy.trigger, "target": policy.target, **{
        f"ladder[{at}].trigger": rung.trigger for at, rung in enumerate(policy.ladder)}}
    for field, amount in amounts.items():
        try:
            tokens_at(0 if amount is None else amount, FULL_WINDOW)
        except UsageError as error:
            raise UsageError(error.message, place=f"{place}.{field}", value=amount,
                             remedy=error.remedy) from None
    budget_of(policy, FULL_WINDOW)  # a reserve that leaves nothing is refused
    return dataclasses.replace(policy, data=data)


def make_policy(data: Mapping[str, Any], place: str) -> Policy:
    """A policy from its data. `UsageError` names the field that is wrong."""
    fields = {field.name for field in dataclasses.fields(Policy)} - {"data"}
    for key in data:
        if key not in fields:
            raise UsageError(f"unknown key {key!r}", place=f"{place}.{key}", value=data[key],
                             remedy=nearest(key, fields))
    ladder = tuple(_rung(item, f"{place}.ladder[{number}]")
                   for number, item in enumerate(data.get("ladder", ())))
    return Policy(**{**data, "ladder": ladder, "breaks": tuple(data.get("breaks", ()))})


def _rung(item: Mapping[str, Any], place: str) -> Rung:
    name = item.get("strategy")
    if name not in STRATEGIES:
        raise UsageError(f"no strategy {name!r}", place=f"{place}.strategy", value=name,
                         remedy=nearest(str(name), STRATEGIES))
    made = STRATEGIES[name]()
    for key, value in item.get("settings", {}).items():
        made = with_setting(made, key, value, f"{place}.settings")
    return Rung(made, item.get("trigger"))


def tools_of(policy: Policy) -> set[str]:
    """The names of the tools over window and store that the texts of a policy speak of."""
    return {name for rung in policy.ladder for name in getattr(rung.strategy, "tools", ())}


def with_settings(policy: Policy, settings: Mapping[str, Any], place: str) -> Policy:
    """The policy with these settings: its own, or those of strategies on its ladder.

    Raises `UsageError` for a key that neither has, or a value of another type.
    """
    for key, value in settings.items():
        if key in SETTINGS:
            policy = with_setting(policy, key, value, place, SETTINGS[key].metadata["schema"])
            continue
        if not any(has_setting(rung.strategy, key) for rung in policy.ladder):
            known = [field.name for rung in policy.ladder
                     for field in dataclasses.fields(rung.strategy)]
            raise UsageError(f"no setting {key!r} in policy {policy.name!r}",
                             place=f"{place}.{key}", value=value,
                             remedy=nearest(key, ["protect_last", "target", *known]))
        policy = dataclasses.replace(policy, ladder=tuple(
            dataclasses.replace(rung, strategy=with_setting(rung.strategy, key, value, place))
            if has_setting(rung.strategy, key) else rung for rung in policy.ladder))
    return policy


def unmodified(policy: Policy) -> Policy:
    """The policy as it stands in the catalogue or its file, without the settings of a session."""
    return catalogue_policy(policy.name) if policy.data is None else from_data(policy.data, "file")


def differing(policy: Policy) -> dict[str, Any]:
    """The settings in which a policy differs from the one of its name, for `run_start`."""
    made = unmodified(policy)
    changed: dict[str, Any] = {} if policy.data is None else {"file": policy.data}
    changed |= {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)
                if field.name not in ("ladder", "data", "source")
                and getattr(policy, field.name) != getattr(made, field.name)}
    for rung, old in zip(policy.ladder, made.ladder):
        for field in dataclasses.fields(rung.strategy):
            value = getattr(rung.strategy, field.name)
            if value != getattr(old.strategy, field.name):
                changed[field.name] = value
    return changed
