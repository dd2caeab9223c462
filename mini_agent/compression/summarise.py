"""Milestone 3: one message in the place of a run of whole groups.

A run lies between two user messages, behind the protected head and before the
protected tail. An earlier summary in it is folded into the new one, which is
written from the original messages of both: nothing is ever summarised twice.
What this module leaves out: who writes the text (`Summariser` asks the model).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import ModelError, StrategyError
from ..messages import Message, groups, user
from ..models.base import Model
from .scene import Scene
from .verify import unsupported
from .view import Change, View


@dataclass(frozen=True)
class RollingSummary:
    """The oldest run that gets strictly smaller becomes one summary."""

    name: ClassVar[str] = "rolling_summary"
    asks_model: ClassVar[bool] = True
    form: ClassVar[str] = "rolling"

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """The first run that gains; None if none does. Raises `StrategyError`."""
        for run in runs(view, scene):
            if run_is_new(view, run) and (change := self._fold(view, scene, run)):
                return change
        return None

    def _fold(self, view: View, scene: Scene, run: range) -> Change | None:
        covered = covered_by(view, run)
        header = scene.texts("rolling_header", count=len(covered))
        if scene.estimate.message(user(header)) >= tokens_of(view, run):
            return None
        return replace_run(self.name, view, scene, run, header,
                           scene.summarise(covered, self.form))


def runs(view: View, scene: Scene) -> Iterator[range]:
    """View ranges of whole groups between messages that have to stay, oldest first."""
    stop = scene.protection.tail
    start = 0
    for group in groups([entry.message for entry in view.entries[:stop]]):
        if stays(view, group.start, scene):
            if start < group.start:
                yield range(start, group.start)
            start = group.stop
    if start < stop:
        yield range(start, stop)


def stays(view: View, at: int, scene: Scene) -> bool:
    """Whether the entry at `at` parts two runs: what is protected, and users' words."""
    entry = view[at]
    return entry.how == "verbatim" and (
        entry.message["role"] in ("system", "user")
        or not scene.protection.verbatim.isdisjoint(entry.stands_for))


def run_is_new(view: View, run: range) -> bool:
    """Whether a run has more in it than one earlier summary."""
    return any(view[at].how != "summary" for at in run)


def covered_by(view: View, run: range) -> list[int]:
    """The history messages behind a run, rising."""
    return sorted(index for at in run for index in view[at].stands_for)


def tokens_of(view: View, run: range) -> int:
    """The tokens of a run as it stands."""
    return sum(view[at].tokens for at in run)


def replace_run(name: str, view: View, scene: Scene, run: range, header: str,
                text: str) -> Change | None:
    """A change that puts header and text in the place of a run, None without gain.

    Raises `StrategyError` for an empty summary. What the text names and its
    originals do not is listed as `unsupported`.
    """
    if not text.strip():
        raise StrategyError("the summary is empty", place=name,
                            remedy="the messages stay as they are")
    covered = covered_by(view, run)
    entry = scene.entry(user(f"{header}\n{text}"), covered, "summary")
    if entry.tokens >= tokens_of(view, run):
        return None
    facts = {"unsupported": unsupported(text, [scene.history[index] for index in covered])}
    return Change(name, tuple(run), ((run.start, entry),), facts)


@dataclass
class Summariser:
    """Asks the model, and keeps what was asked until the window has recorded it."""

    model: Model
    history: Sequence[Message]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, indexes: Sequence[int], form: str) -> str:
        """The text of a summary of these history messages.

        Raises `StrategyError` where the model gives none.
        """
        note: dict[str, Any] = {"input": list(indexes), "form": form, "output": ""}
        self.asked.append(note)
        try:
            note["output"] = self.model.summarize([self.history[i] for i in indexes], form)
        except ModelError as error:
            note["error"] = str(error)
            raise StrategyError(f"the summariser failed: {error}", place=form) from error
        return note["output"]

    def take(self) -> list[dict[str, Any]]:
        """What was asked since the last time, for the records."""
        asked, self.asked = self.asked, []
        return asked
