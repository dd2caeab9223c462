"""Milestone 1: what a model is to the loop.

A model continues a conversation (`complete`) and summarises one (`summarize`). What is left
out: everything that differs between providers, which is hidden behind these two methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..messages import Call, Message

LONGEST_ANSWER = 4_096  # tokens
ANSWER_SHARE = 5        # an answer gets a fifth of the window, if that is less


@dataclass(frozen=True)
class Reply:
    """One answer of a model: text, calls, or both.

    `usage` is what the endpoint reported, in tokens; `opaque` is reasoning that
    must go back byte for byte; `stage` names a stage of the work that it ends;
    `cut` says why the answer stops before its end ("length", "refusal"), else "".
    """

    content: str = ""
    tool_calls: tuple[Call, ...] = ()
    usage: dict[str, int] | None = None
    opaque: dict[str, Any] | None = None
    stage: str = ""
    cut: str = ""


class Model(Protocol):
    """The seam between the loop and any model, scripted or live.

    Both methods raise `ModelError` where no usable answer can be had, and
    `PromptTooLongError` where the request does not fit.
    """

    def complete(self, messages: Sequence[Message],
                 tools: Sequence[dict[str, Any]]) -> Reply:
        """What comes next after `messages`, where `tools` are declared."""

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """A summary of `messages`, in a form of `forms.FORMS`."""


def longest_answer(window: int | None) -> int:
    """The tokens that an answer may have; many endpoints count them with the prompt."""
    return LONGEST_ANSWER if window is None else max(1, min(LONGEST_ANSWER, window // ANSWER_SHARE))


class ParentModel(Model, Protocol):
    """A model that can say, as JSON, which model a sub-agent gets (milestone 4)."""

    def for_child(self, call_id: str) -> dict[str, Any]:
        """The model of the sub-agent that this call starts; `subagents.child.model_of` reads it."""
