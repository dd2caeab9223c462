"""Milestone 3: one summary in place of all that is older than the tail.

It is written for a successor who knows nothing: in nine parts, as a note, as a form,
in five sections, or for a fresh window. They differ in form, in what is put back
beside it, and in how much of the end stays whole. The last two are for a session without
a model: code takes out of the history what it can. What this module leaves out:
summaries of a part of the view (`summarise.py`), and any choice by value (`digest.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .. import extract
from .card import card_lines
from .fold import SUMMARY_TOKENS, Fold, fold_span
from .scene import Scene
from .spans import older
from .summary_text import SummaryText
from .view import Change, View


@dataclass(frozen=True)
class FullSummary:
    """A summary in nine parts, drafted first; then what a successor needs beside it.

    The last `keep_last` messages stay whole, and at least `tail_share` of the window.
    `attach`: the boundary notice, files, skills and tools, as far as there is room.
    """

    name: ClassVar[str] = "full_summary"
    asks_model: ClassVar[bool] = True
    keep_last: int = 5
    tail_share: float = 0.0
    max_tokens: int = SUMMARY_TOKENS
    attach: str = "notice tools skills files"
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain. Raises `StrategyError`."""
        how = Fold(self.name, "nine", "nine_header", self.max_tokens, self.attach,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_span(how, view, scene, older(view, scene, self.keep_last, self.tail_share))


@dataclass(frozen=True)
class HandoffNote:
    """A note to the successor after the users' messages, which stay as they are."""

    name: ClassVar[str] = "handoff_note"
    asks_model: ClassVar[bool] = True
    keep_last: int = 0
    max_tokens: int = SUMMARY_TOKENS
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain. Raises `StrategyError`."""
        how = Fold(self.name, "note", "note_header", self.max_tokens, apart=True,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_span(how, view, scene, older(view, scene, self.keep_last))


@dataclass(frozen=True)
class HandoffForm:
    """A structured form with lists of the files read and changed, kept by code.

    `tail_share` of the window stays whole after it.
    """

    name: ClassVar[str] = "handoff_form"
    asks_model: ClassVar[bool] = True
    tail_share: float = 0.1
    max_tokens: int = SUMMARY_TOKENS
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain. Raises `StrategyError`."""
        how = Fold(self.name, "form", "form_header", self.max_tokens,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_span(how, view, scene, older(view, scene, tail_share=self.tail_share))


@dataclass(frozen=True)
class HandoffFive:
    """Five sections: goal, instructions, discoveries, accomplished, relevant files."""

    name: ClassVar[str] = "handoff_five"
    asks_model: ClassVar[bool] = True
    keep_last: int = 0
    max_tokens: int = SUMMARY_TOKENS
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All that is older than the tail; None without gain. Raises `StrategyError`."""
        how = Fold(self.name, "five", "five_header", self.max_tokens,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_span(how, view, scene, older(view, scene, self.keep_last))


@dataclass(frozen=True)
class ContextReset:
    """A handoff form and a fresh window: what a successor would get, and no tail.

    For a fresh window the policy must protect no tail (`protect_last` 0).
    """

    name: ClassVar[str] = "context_reset"
    asks_model: ClassVar[bool] = True
    max_tokens: int = SUMMARY_TOKENS
    attach: str = "card notice tools skills"
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """All after the head; None without gain. Raises `StrategyError`."""
        how = Fold(self.name, "form", "reset_header", self.max_tokens, self.attach,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_span(how, view, scene, older(view, scene))


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
