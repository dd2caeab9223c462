"""Milestone 6: the far recall that a prototype of the digest measured, for comparison.

By window and policy, over 39, 33 and 21 recorded coding sessions of ten agents, not all of
which are available here. The figures are no goals: other sessions, another reader of them
and another way to count tokens give other figures, for the known policies too.
"""

from __future__ import annotations

from collections.abc import Mapping

SESSIONS: Mapping[int, int] = {16_000: 39, 32_000: 33, 64_000: 21}
FAR: Mapping[int, Mapping[str, float]] = {
    16_000: {"published": .656, "naive": .753, "keep_head": .765, "whole_rounds": .760,
             "clear_keep_3": .760, "clear_keep_10": .767, "digest_full": .924, "digest": .911,
             "digest_lean": .889, "digest_minimal": .847, "oracle": .994},
    32_000: {"published": .793, "naive": .895, "keep_head": .899, "whole_rounds": .896,
             "clear_keep_3": .841, "clear_keep_10": .877, "digest_full": .969, "digest": .955,
             "digest_lean": .944, "digest_minimal": .916, "oracle": .998},
    64_000: {"published": .898, "naive": .950, "keep_head": .960, "whole_rounds": .959,
             "clear_keep_3": .906, "clear_keep_10": .930, "digest_full": .987, "digest": .981,
             "digest_lean": .977, "digest_minimal": .954, "oracle": .999},
}
