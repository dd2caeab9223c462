"""Milestone 3: summaries of a part of the view: rolling, segmented, of a stage.

They differ in the stretch that they cover and in the form of the text; the rest is
`fold_span`. What this module leaves out: summaries of everything (`handoff.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ..extract import brief
from ..forms import heading, own_lines
from .fold import SUMMARY_TOKENS, Fold, fold_first, fold_span
from .scene import Scene
from .sections import bound, parse, render
from .segments import Segment
from .spans import of_stage, runs
from .summary_text import SummaryText
from .view import Change, View


@dataclass(frozen=True)
class RollingSummary:
    """The oldest run between two user messages that gains by it becomes a summary.

    An earlier summary in the run is folded into the new one; one in another run
    stays. `max_tokens` is for a window of 200,000; `attach`: what is put back with it.
    """

    name: ClassVar[str] = "rolling_summary"
    asks_model: ClassVar[bool] = True
    max_tokens: int = SUMMARY_TOKENS
    attach: str = ""
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """The first run that gains; None if none does. Raises `StrategyError`."""
        how = Fold(self.name, "rolling", "rolling_header", self.max_tokens, self.attach,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_first(how, view, scene, runs(view, scene))


@dataclass(frozen=True)
class SegmentedSummary:
    """A run cut into segments; each is summarised, and the summaries are merged.

    The newest segments stay separate. Older ones are merged, four into one, again and
    again, and no merger may be longer than the longest of its parts: the older, the
    coarser. Merging is done by code, so no summary is summarised.
    `segment_messages`: a segment ends with the group that reaches this number.
    """

    name: ClassVar[str] = "segmented_summary"
    asks_model: ClassVar[bool] = True
    segment_messages: int = 12
    fan_in: int = 4
    max_tokens: int = SUMMARY_TOKENS
    attach: str = ""
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """The first run that gains; None if none does. Raises `StrategyError`."""
        how = Fold(self.name, "segment", "segmented_header", self.max_tokens, self.attach,
                   refuse_unsupported=self.refuse_unsupported)
        return fold_first(how, view, scene, runs(view, scene), partial(self._write, scene))

    def _write(self, scene: Scene, covered: Sequence[int]) -> SummaryText:
        segments = scene.summariser.segments(covered, "segment", self.segment_messages)
        parts: list[str] = []
        for segment in segments.merged(self.fan_in, partial(merge_segments, scene)):
            parts += [scene.texts("segment_title", first=segment.first, last=segment.last,
                                  count=segment.messages), _subsections(segment.text, scene)]
        return SummaryText.of("\n".join(parts), own=own_lines(scene.texts))


def _subsections(text: str, scene: Scene) -> str:
    """The text of a segment, its headings a level deeper, without what a model wrote of
    users' words."""
    users = heading("users", scene.texts)
    return render({f"#{head}" if head else "": body
                   for head, body in parse(text).items() if head != users})


def merge_segments(scene: Scene, segments: Sequence[Segment]) -> Segment:
    """Some neighbouring segments as one that is no longer than the longest of them."""
    count = scene.estimate.text
    merged = SummaryText.of(*(segment.text for segment in segments),
                            none=scene.texts("said_none"))
    limit = max(count(segment.text) for segment in segments)
    sections = bound(merged.sections(), limit, count,
                     lambda gone: scene.texts("lines_left_out", count=gone))
    return Segment(segments[0].first, segments[-1].last,
                   sum(segment.messages for segment in segments), render(sections))


@dataclass(frozen=True)
class StageSummary:
    """A finished stage becomes a record: goal, result, key decisions, left over.

    When a stage ends, it comes first, so that it becomes a record at once; in need the
    oldest does, with what the tail had held back of it. `attach` names what is put back: the card.
    """

    name: ClassVar[str] = "stage_summary"
    asks_model: ClassVar[bool] = True
    max_tokens: int = 4_000
    attach: str = "card"
    refuse_unsupported: bool = False

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """The first stage that gains; None if none does. Raises `StrategyError`."""
        for stage in scene.stages[::-1] if scene.trigger == "stage" else scene.stages:
            how = Fold(self.name, "stage", "stage_header", self.max_tokens, self.attach,
                       refuse_unsupported=self.refuse_unsupported, title=brief(stage.name))
            if change := fold_span(how, view, scene, of_stage(view, scene, stage)):
                return change
        return None
