"""Milestone 6: one recorded session, read, counted and split once for all who ask.

A comparison replays the same messages under many policies and windows. What these share is
computed here once: the tokens of each message, the steps, the evidence, the words. The
windows count with `Recording.estimate`, which looks up the messages of the history and
counts only what a strategy made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from ..evidence import Evidence
from ..messages import Message, calls_of, model_calls, text_of
from ..texts import Texts, session_language
from ..tokens import PER_MESSAGE, Estimator
from ..words import GENERAL, words
from .sessions.base import Act

KEPT = 8_192  # weights of texts that are remembered: most lines of a digest were in the one
              # before it, and several policies may render the same text


class CountedOnce:
    """An estimator that remembers the `tokens` of each message of a history, and the weights
    of the texts that it counted last."""

    def __init__(self, estimate: Estimator, history: Sequence[Message]) -> None:
        self.name = estimate.name
        self._estimate = estimate
        self.parts = estimate.parts
        self.weigh: Callable[[str], int] = lru_cache(KEPT)(self._weigh)
        self._history = history  # kept, so that ids stay
        self.tokens = list(map(estimate.message, history))
        self._known = dict(zip(map(id, history), self.tokens))
        self._made = 0  # characters

    @property
    def characters(self) -> int:
        """The characters counted so far; the history counts once."""
        return self._made + sum(len(text_of(message)) for message in self._history)

    def text(self, text: str) -> int:
        """Tokens of a bare text."""
        return -(-self.weigh(text) // self.parts)

    def message(self, message: Mapping[str, Any]) -> int:
        """Tokens of a message; one of the history is looked up."""
        known = self._known.get(id(message))
        if known is not None:
            return known
        if "tool_calls" in message or "opaque" in message:
            self._made += len(text_of(message))
            return self._estimate.message(message)
        return PER_MESSAGE + self.text(message["content"])

    def _weigh(self, text: str) -> int:
        self._made += len(text)
        return self._estimate.weigh(text)

    def declarations(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """0, since logs do not hold the tool declarations of the recorded agent."""
        return 0

    def __call__(self, messages: Iterable[Mapping[str, Any]]) -> int:
        return sum(map(self.message, messages))


class Recording:
    """A session as the lab replays it. `calls` are the history indexes of each step, `acts`
    what was done to its window, in order."""

    def __init__(self, name: str, format: str, messages: Sequence[Message],
                 estimate: Estimator, acts: Sequence[Act] = ()) -> None:
        self.name, self.format, self.messages, self.acts = name, format, messages, acts
        self.estimate = CountedOnce(estimate, messages)
        self.tokens = self.estimate.tokens
        self.calls = list(model_calls(messages))
        self.language = session_language(messages)
        self.texts = Texts(self.language)
        self._words: dict[int, list[str]] = {}

    @cached_property
    def evidence(self) -> Evidence:
        """What each step needed; made when it is first asked for."""
        return Evidence(self.messages)

    @property
    def tool_calls(self) -> int:
        """How many calls the session has."""
        return sum(len(calls_of(message)) for message in self.messages)

    @property
    def head(self) -> int:
        """Tokens of the system messages at the start and of the user message after them."""
        total = 0
        for message, tokens in zip(self.messages, self.tokens):
            if message["role"] not in ("system", "user"):
                break
            total += tokens
            if message["role"] == "user":
                break
        return total

    def words(self, index: int) -> list[str]:
        """The telling words of a message, each once, in order; kept."""
        if index not in self._words:
            found = dict.fromkeys(words(text_of(self.messages[index])))
            self._words[index] = [word for word in found if word not in GENERAL]
        return self._words[index]


def second_half(messages: Sequence[Message]) -> list[Message]:
    """The second half of a session as one of its own, to test a policy on another history: all up
    to the first user message, and from the first model call after the middle on."""
    opening = next((at + 1 for at, message in enumerate(messages)
                    if message["role"] == "user"), 0)
    middle = max(opening, len(messages) // 2)
    start = next((call.start for call in model_calls(messages) if call.start >= middle),
                 len(messages))
    return [*messages[:opening], *messages[start:]]
