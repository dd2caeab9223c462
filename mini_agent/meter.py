"""Milestone 5: what a session has used so far, as a fold over its records.

It is a sink of the live tracer, and reads the same records on resume, so the price goes
on where it was. All numbers are tokens, as the endpoint has counted them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .errors import UsageError
from .trace import Record

MILLION = 1_000_000


@dataclass
class Meter:
    """Totals of a session, with those of each sub-agent once that has ended. `prompt` includes
    what was `cached`. `children` is how many sub-agents have begun; `at_work` has the
    `subagent_start` of those that have not ended, by number. `answered` is the step of the
    newest answer, -1 before the first, `reached` that of the newest message or model call;
    `stopped`: the user has ended the last turn and said nothing since."""

    records: int = 0
    answered: int = -1
    reached: int = 0
    stopped: bool = False
    prompt: int = 0
    cached: int = 0
    answer: int = 0
    drift: int | None = None
    children: int = 0
    at_work: dict[int, dict[str, Any]] = field(default_factory=dict)
    _resumed: bool = False

    def __call__(self, record: Record) -> None:
        """Take in one record."""
        self.records += 1
        event = record.get("event")
        if record["type"] == "message":
            role, self.reached = record["message"]["role"], record["step"]
            if role == "assistant":
                self.answered = record["step"]
            if role != "tool":
                self.stopped = False
        elif event == "interrupted":
            self.stopped = not self._resumed
        elif event == "model_call":
            self.stopped, self.reached = False, record["payload"]["step"]
        elif event == "subagent_start":
            self.children += 1
            self.at_work[record["payload"]["child"]] = record["payload"]
        elif event == "subagent_end":
            self.at_work.pop(record["payload"]["child"], None)
            self._used(record["payload"])
        elif event == "model_usage":
            self._used(record["payload"])
        self._resumed = event == "resume"

    def _used(self, usage: dict[str, int]) -> None:
        self.drift = usage.get("drift", self.drift)
        for prefix in ("", "summary_"):
            self.prompt += usage.get(f"{prefix}prompt_tokens", 0)
            self.cached += usage.get(f"{prefix}cached_tokens", 0)
            self.answer += usage.get(f"{prefix}completion_tokens", 0)


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, in the currency of whoever names them."""

    prompt: float
    cached: float
    answer: float

    def of(self, meter: Meter) -> float:
        """What a session has cost so far."""
        fresh = meter.prompt - meter.cached
        return (fresh * self.prompt + meter.cached * self.cached
                + meter.answer * self.answer) / MILLION


def prices(text: str) -> Prices:
    """`IN,CACHED,OUT` as a user writes it. Raises `UsageError`."""
    try:
        made = Prices(*map(float, text.split(",")))
    except (TypeError, ValueError):
        made = Prices(-1, -1, -1)
    if not all(0 <= price < MILLION for price in (made.prompt, made.cached, made.answer)):
        raise UsageError(f"no prices in {text!r}", place="--price", value=text,
                         remedy="give three numbers for a million tokens: "
                                "IN,CACHED,OUT as 3,0.3,15")
    return made
