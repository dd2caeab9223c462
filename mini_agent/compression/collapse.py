"""Milestone 3: the last resorts, without a model.

What is older than the tail is replaced by what code can take out of it. What this
module leaves out: any choice by value (the coverage digest does that).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .. import extract
from .card import card_lines
from .fold import Fold, fold_span
from .scene import Scene
from .spans import older
from .summary_text import SummaryText
from .view import Change, View


@dataclass(frozen=True)
class HardCollapse:
    """The protected parts, an extracted digest, the tail."""

    name: ClassVar[str] = "hard_collapse"
    asks_model: ClassVar[bool] = False
    keep_last: int = 0
    max_tokens: int = 10_000

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain."""
        def write(covered: Sequence[int]) -> SummaryText:
            originals = [scene.history[index] for index in covered]
            return SummaryText.of(extract.summary("digest", originals, scene.texts))
        return fold_span(Fold(self.name, "digest", "collapse_header", self.max_tokens,
                              by_code=True), view, scene, older(view, scene, self.keep_last), write)


@dataclass(frozen=True)
class StateCard:
    """The state card alone stands for all that is older than the tail."""

    name: ClassVar[str] = "state_card"
    asks_model: ClassVar[bool] = False
    keep_last: int = 0
    max_tokens: int = 10_000

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain."""
        def write(covered: Sequence[int]) -> SummaryText:
            return SummaryText.of("\n".join(card_lines(scene)))
        return fold_span(Fold(self.name, "rolling", "card_header", self.max_tokens, by_code=True),
                         view, scene, older(view, scene, self.keep_last), write)
