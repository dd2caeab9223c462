"""Milestone 3: asking the model for the text of a summary.

The model is always given the original messages, cut into parts that it can read;
every message is in exactly one part, and a message that is longer than a part is
given as its head and tail. The texts of the parts are merged by code, so that
nothing is summarised twice. What was written for a part, and applied, is not asked
for again. What this module leaves out: which messages, and what for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ..errors import ModelError, PromptTooLongError, StrategyError, SummaryRefused
from ..forms import own_lines
from ..messages import Message, user
from ..models.base import Model
from ..texts import Texts
from .parts import Part, Parts, bounded
from .sections import without_draft
from .segments import Segments
from .summary_text import SummaryText
from .verify import refuse_no_text

PART_CHARS = 80_000   # characters of messages that the summariser is given at a time
LEAST_CHARS = 2_000   # a part this small and still too long: the model is not usable

Note = dict[str, Any]  # the payload of a `model_summarize` record, but for its step


@dataclass(frozen=True)
class _Answer:
    """What came of asking for one part: a text or an error, and what was asked."""

    text: str = ""
    notes: tuple[Note, ...] = ()
    error: StrategyError | None = None


class Summariser:
    """Asks the model for summaries, and keeps a note of each request until it is recorded.

    `focus` is what a user who compresses by hand wants to keep; the model gets it as that
    user's words. Parts are asked for one after another, since only the main thread gets
    interrupts, and since replies and records have to have an order.
    """

    def __init__(self, model: Model, history: Sequence[Message], texts: Texts = Texts()) -> None:
        self._model, self._history, self._texts = model, history, texts
        self.focus = ""
        self._limit = PART_CHARS
        self._parts = Parts(history)
        self._asked: list[Note] = []
        self._known: dict[tuple[str, Part], str] = {}
        self._finals: dict[tuple[str, Part], str] = {}  # the final text of each known one
        self._firm: dict[str, list[tuple[Part, str]]] = {}  # the leading parts of the last request
        self._summaries: dict[str, SummaryText] = {}
        self._segments: dict[str, Segments] = {}

    def gather(self, indexes: Sequence[int], form: str) -> SummaryText:
        """A summary of these history messages, whatever their size, as sections.

        A form has one text, which is kept and grows. Raises `StrategyError`
        if the model gives no usable text.
        """
        parts = self._parts.cut(indexes, self._limit)
        texts = self.each(parts, form)
        if form not in self._summaries:
            self._summaries[form] = SummaryText(self._texts("said_none"), own_lines(self._texts))
        return self._summaries[form].become(list(zip(parts, texts)))

    def segments(self, indexes: Sequence[int], form: str, messages: int) -> Segments:
        """Summaries of segments of at least `messages` messages, each of whole groups.

        Raises `StrategyError` if the model gives no usable text.
        """
        parts = self._parts.segments(indexes, messages)
        return self._segments.setdefault(form, Segments()).become(
            list(zip(parts, self.each(parts, form))))

    def each(self, parts: Sequence[Sequence[int]], form: str) -> list[str]:
        """The text of a summary for each of these lists of history messages. Raises the same."""
        wanted = [tuple(part) for part in parts]
        firm = self._firm_part_of(wanted, form)
        texts = [text for _, text in firm]
        new = wanted[len(firm):]
        answers = self._answers(new, form)
        for answer in answers:
            self._asked += answer.notes
        for part, answer in zip(new, answers):
            if answer.error is not None:
                raise answer.error
            if not answer.notes and len(firm) == len(texts):
                firm.append((part, answer.text))
            texts.append(answer.text)
        return texts

    def _firm_part_of(self, wanted: Sequence[Part], form: str) -> list[tuple[Part, str]]:
        """The leading parts of `wanted` that are those of the last request, and whose text is
        known. The caller adds to this list.

        Parts are compared by identity, since one may have thousands of indexes.
        """
        if self.focus:
            return []
        firm = self._firm.setdefault(form, [])
        same = sum(takewhile(bool, (part is old for part, (old, _) in zip(wanted, firm))))
        del firm[same:]
        return firm

    def _answers(self, parts: Sequence[Part], form: str) -> list[_Answer]:
        """An answer for each part, in order; none is asked for after a failure."""
        answers: list[_Answer] = []
        for part in parts:
            answers.append(self._answer(part, form))
            if answers[-1].error is not None:
                break
        return answers

    def learn(self, note: Note) -> None:
        """Remember the text in the `model_summarize` record of a summary that was applied."""
        if "error" not in note and "focus" not in note:
            key = note["form"], tuple(note["input"])
            self._known[key] = note["output"]
            if self._finals.pop(key, None) is not None:
                self._firm.clear()

    @property
    def asked(self) -> bool:
        """Whether the model was asked anything since the last `take`."""
        return bool(self._asked)

    def take(self, applied: bool) -> list[Note]:
        """What was asked since the last time, for the records. If the summary was `applied`,
        its texts are remembered."""
        asked, self._asked = self._asked, []
        for note in asked if applied else ():
            self.learn(note)
        return asked

    def _answer(self, part: Part, form: str) -> _Answer:
        """The model's text for one part, checked; smaller parts where it does not fit."""
        if not self.focus and (known := self._known.get((form, part))) is not None:
            if (form, part) not in self._finals:
                self._finals[form, part] = self._final(known, form)
            return _Answer(self._finals[form, part])
        note: Note = {"input": list(part), "form": form, "output": ""}
        messages = [bounded(self._history[index], self._limit, self._texts) for index in part]
        if self.focus:
            note["focus"] = self.focus
            messages.append(focus_message(self.focus, self._texts))
        try:
            said = self._model.summarize(messages, form)
            if not isinstance(said, str):  # of another program's model, which may refuse
                raise SummaryRefused(f"the summary is {type(said).__name__}, not text",
                                     place=form, remedy="the messages stay as they are")
            note["output"] = said
            return _Answer(self._final(note["output"], form), (note,))
        except SummaryRefused as error:
            return _Answer(notes=(note,), error=error)
        except ModelError as error:
            note["error"] = str(error)
            if isinstance(error, PromptTooLongError) and self._limit > LEAST_CHARS:
                return self._smaller(part, form, note, error.window)
            failed = StrategyError(f"the summariser failed: {error}", place=form)
            failed.__cause__ = error
            return _Answer(notes=(note,), error=failed)

    def _smaller(self, part: Part, form: str, refused: Note, window: int | None) -> _Answer:
        """Ask for the same messages in parts of half the size, which is kept for later parts.

        If the refusal named the `window` in tokens, a part gets about half of that.
        """
        whole = sum(min(self._limit, self._parts.size(index)) for index in part)
        half = min(self._limit, whole) // 2
        self._limit = max(LEAST_CHARS, min(half, 2 * window) if window else half)
        answers = self._answers(Parts(self._history).cut(part, self._limit), form)
        merged = SummaryText.of(*(answer.text for answer in answers),
                                none=self._texts("said_none"))
        notes = (note for answer in answers for note in answer.notes)
        return _Answer(merged.text(), (refused, *notes), answers[-1].error)

    def _final(self, output: str, form: str) -> str:
        text = without_draft(output, form)
        refuse_no_text(text, form)
        return text


def focus_message(focus: str, texts: Texts) -> Message:
    """What a user who compresses by hand wants to keep, in that user's words."""
    return user(texts("summary_focus", focus=focus))
