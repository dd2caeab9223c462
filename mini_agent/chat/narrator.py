"""Milestone 5: tells what happens in a session, a line or two for each record.

The narrator is a sink of the trace, so it sees everything that is recorded: calls, which it
tells with their time and size, compressions, retries, failed strategies. What is left out:
the pieces of an answer, which are shown before the answer is recorded (`Screen.answer`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..columns import number_of
from ..hostile import without_controls
from ..messages import Message, calls_of
from ..trace import Record
from .screen import Screen

MARKS = {"call": "> ", "end": "  ", "news": "~ ", "alarm": "! "}
WORDS = {"call": "call: ", "end": "ended: ", "news": "window: ", "alarm": "note: "}
TOLD = ("failed", "refused", "breaker_open")  # the reasons of `compression_skipped` that are told


class Narrator:
    """A sink. While a person answers a question it is `paused()`: that time is not the call's.

    `final`: whether it shows the last answer; False if somebody else prints that.
    """

    def __init__(self, screen: Screen, final: bool = True,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._screen, self._clock, self._final = screen, clock, final
        self._since: float | None = None  # when the call began; None for a resumed one

    def _row(self, kind: str, text: str, color: str = "") -> None:
        """Show one line, cut to the screen, behind the sign of its kind (a word in plain style)."""
        self._screen.row(self._head(kind) + text, color)

    def _sentence(self, kind: str, text: str, color: str = "") -> None:
        """Show a sentence whole, on as many lines as it takes."""
        self._screen.tell(self._head(kind) + " ".join(text.split()), color)

    def _head(self, kind: str) -> str:
        return (WORDS if self._screen.style.plain else MARKS)[kind]

    def __call__(self, record: Record) -> None:
        """Tell of one record, where there is something to tell."""
        if record["type"] == "message":
            self._message(record["message"])
        elif handler := getattr(self, f"_on_{record['event']}", None):
            handler(record["payload"])

    def _message(self, message: Message) -> None:
        if message["role"] == "assistant" and (self._final or calls_of(message)):
            self._screen.whole_answer(message["content"])

    def _on_model_call(self, _: Mapping[str, Any]) -> None:
        self._screen.begin_answer()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time of this block out of the time of the call."""
        begun = self._clock()
        try:
            yield
        finally:
            if self._since is not None:
                self._since += self._clock() - begun

    def _on_tool_call(self, payload: Mapping[str, Any]) -> None:
        self._since = self._clock()
        self._row("call", f"{payload['name']} {_arguments_line(payload['arguments'])}", "bold")

    def _on_tool_result(self, payload: Mapping[str, Any]) -> None:
        took = "" if self._since is None else f", {max(0.0, self._clock() - self._since):.1f} s"
        said = "ok" if payload["ok"] else payload["code"]
        self._row("end", f"{said}{took}, {number_of(payload['chars'], 'character', ',')}",
                  "dim" if payload["ok"] else "red")

    def _on_model_retry(self, payload: Mapping[str, Any]) -> None:
        self._row("alarm", f"{payload['status']}: asking again in {payload['wait']:.1f} s "
                  f"(attempt {payload['attempt'] + 1})", "red")

    def _on_context_compression(self, payload: Mapping[str, Any]) -> None:
        self._row("news", f"{payload['strategy']}: {payload['before_tokens']:,} -> "
                  f"{number_of(payload['after_tokens'], 'token', ',')}", "green")
        if "notice" in payload:
            self._sentence("alarm", payload["notice"])

    def _on_compression_skipped(self, payload: Mapping[str, Any]) -> None:
        if payload["reason"] == "breaker_open":
            self._sentence("alarm", f"{payload['failures']} summaries in a row have failed: none "
                           "is tried by itself any more; /compact tries again", "red")
        elif payload["reason"] in TOLD:
            detail = f": {payload['detail']}" if "detail" in payload else ""
            self._sentence("news", f"{payload['strategy']} {payload['reason']}{detail}", "red")

    def _on_interrupted(self, _: Mapping[str, Any]) -> None:
        self._row("alarm", "interrupted", "red")


def _arguments_line(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call on one line: a single text as it is, otherwise each by its name."""
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return without_controls(values[0])
    return without_controls(" ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()))
