"""Milestone 6: the digest with a part of it switched off, to see what each is worth.

Only the lab has these policies. The name of a variant says which part of `digest` is
switched off, or what was tried with it and did not help; the difference to `digest` itself
is what the part is worth. `GRID` are the settings that `heldout.py` chooses among.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..compression.policies import ALWAYS, Policy, Rung, STRATEGIES, find_policy, with_settings

VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "digest_no_coverage": ("a word counts again in each line that has it", {"coverage": False}),
    "digest_no_chances": ("words are valued by their rarity alone", {"value": "frequency"}),
    "digest_no_card": ("lines only, without the card on top", {"card": False}),
    "digest_no_choice": ("large results keep their ends instead of chosen lines",
                         {"choice": "ends"}),
    "digest_no_admission": ("large results come in whole", {}),
    "digest_prototype": ("the settings of the prototype: to 65 %, a digest of 40 %, results "
                         "over 6.25 % cut", {"target": "65%", "digest": .4, "share": .0625}),
    "digest_clip_first": ("old results are clipped before a digest is made", {}),
    "digest_clear_first": ("old results become placeholders before a digest is made", {}),
}
GRID: Mapping[str, Mapping[str, Any]] = {  # % of the window: target, a digest, a result
    f"digest_{target}_{digest}_{share:g}": {
        "target": f"{target}%", "digest": digest / 100, "share": share / 100}
    for target in (65, 75) for digest in (40, 50) for share in (6.25, 10)}
FIRST = {"digest_clip_first": "tool_result_clipping", "digest_clear_first": "tool_result_clearing"}


def variant(name: str) -> Policy:
    """The policy of that name, one of `VARIANTS` or `GRID`."""
    about, settings = VARIANTS.get(name) or ("other settings", GRID[name])
    policy = with_settings(find_policy("digest"), settings, name)
    ladder = policy.ladder
    if name == "digest_no_admission":
        ladder = tuple(rung for rung in ladder if rung.trigger != ALWAYS)
    elif name in FIRST:
        ladder = (ladder[0], Rung(STRATEGIES[FIRST[name]]()), *ladder[1:])
    return replace(policy, name=name, source="the lab", about=about, ladder=ladder)
