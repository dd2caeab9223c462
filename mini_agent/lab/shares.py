"""Milestone 6: a share of a comparison, as one call prints it and another merges it.

Shares are kept in files and copied from machine to machine, so each has a checksum of its
content, and a share whose checksum is wrong is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NotRequired, TypedDict, TypeGuard

from ..disk import read_file
from ..errors import UsageError
from ..hostile import clean
from .compare import Plan
from .results import Result, UnreadFile

FORMAT = 3


class Share(TypedDict):
    """One share of a comparison, as it stands in its file."""

    compare: int                   # the number of this format
    shard: str                     # "K/N"
    paths: list[str]               # what was asked to be compared, the same in each share
    plan: dict[str, Any]           # the fields of a `Plan`, whose keys are not said twice
    results: list[Result | UnreadFile]
    interrupted: NotRequired[bool]  # some of its files are missing
    sum: NotRequired[str]          # the checksum of all the rest; absent once it is checked


def share_text(shard: str, paths: Sequence[str], plan: Plan, results: Sequence[Result | UnreadFile],
               interrupted: bool) -> str:
    """The share as JSON, a line; `shard` is "K/N"."""
    share: Share = json.loads(clean(json.dumps(
        {"compare": FORMAT, "shard": shard, "paths": paths, "plan": asdict(plan),
         "results": results, **({"interrupted": True} if interrupted else {})},
        ensure_ascii=False)))  # as it will be read
    return json.dumps({**share, "sum": _sum(share)}, ensure_ascii=False) + "\n"


def merge_shares(paths: Sequence[str]) -> tuple[list[str], Plan, list[Result | UnreadFile]]:
    """Paths, plan and results of all shares of a comparison. Raises `UsageError`."""
    shares = [_read_share(path) for path in paths]
    first = shares[0]
    numbers = sorted(share["shard"] for share in shares)
    for path, share in zip(paths, shares):
        if (share["plan"], share["paths"]) != (first["plan"], first["paths"]):
            raise UsageError("this share is of another comparison", place=path,
                             remedy="merge shares of one and the same call")
        if share.get("interrupted"):
            raise UsageError("this share was interrupted, it has not all of its files",
                             place=path, remedy=f"do --shard {share['shard']} again")
    of = int(first["shard"].partition("/")[2])
    if numbers != sorted(f"{number}/{of}" for number in range(1, of + 1)):
        raise UsageError(f"shares {', '.join(numbers)} are not all {of} of them, each once",
                         place="--merge", value=numbers, remedy="name each share once")
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value
                              for key, value in first["plan"].items()}
    plan = Plan(**fields)
    results = sorted((result for share in shares for result in share["results"]),
                     key=lambda result: result["at"])
    return first["paths"], plan, results


def _read_share(path: str) -> Share:
    try:
        share = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError("the share cannot be read", place=path,
                         remedy="give what compare --shard has printed") from error
    if not _is_share(share):
        raise UsageError("this is not a share of a comparison", place=path,
                         remedy="give what compare --shard has printed")
    if share.pop("sum", "") != _sum(share):
        raise UsageError("this share was changed after it was written", place=path,
                         remedy="give what compare --shard has printed, as it is")
    return share


def _is_share(read: object) -> TypeGuard[Share]:
    """Whether the format is right; `_read_share` checks the content by its checksum."""
    return isinstance(read, dict) and read.get("compare") == FORMAT


def _sum(share: Share) -> str:
    return hashlib.sha256(json.dumps(share).encode()).hexdigest()
