"""Milestone 6: the row of figures for one trial.

`rows.py` lists its keys, `evidence.py` defines the shares. For `cost`, a token that the
step before had sent too counts a tenth (a cache reads it), any other token counts in full,
and the sum is divided by the same sum without compression. Summaries are not in it:
`summary_price` is what they took, in full, divided by the same sum. The `bill` is what was
sent, cached and answered at a provider's prices for a million tokens of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..held import HeldEvidence, Shares
from ..meter import Meter, Prices
from .facts import Probe
from .recording import Recording
from .replay import Moment
from .rows import TrialRow

KEYS = tuple(TrialRow.__annotations__)
CACHED = .1  # the price of a token that a cache reads


@dataclass
class Mean:
    """A mean over the steps that have something to measure."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float | None) -> None:
        """Take in one step; None means that it had nothing to measure."""
        if value is not None:
            self.total += value
            self.count += 1

    @property
    def value(self) -> float | None:
        """The mean to 4 decimals, None if nothing was measured."""
        return round(self.total / self.count, 4) if self.count else None


class Missed(NamedTuple):
    """An item that a step needed and its view did not hold. `last_seen` is a history index;
    `reach` says whether the view showed a handle behind which the item stands."""

    step: int
    text: str
    last_seen: int
    reach: bool


class Tally:
    """Observes one trial and adds up its figures. `price` is in tokens, of which cached ones
    count a tenth."""

    def __init__(self, recording: Recording, facts: Sequence[str] = (), *,
                 evidence: bool = True, misses: bool = False, prices: Prices | None = None) -> None:
        self._recording, self._prices = recording, prices
        self.probes = [Probe(fact, recording.messages) for fact in facts]
        self.held = HeldEvidence(recording.evidence) if evidence else None
        self._means = {name: Mean() for name in Shares._fields}
        self._misses = misses
        self.missed: list[Missed] = []
        self.steps = self.peak = self.sent = self.over = self.prefix_breaks = self.law_breaks = 0
        self.cached = self.answered = self.summary_tokens = self.summary_output = 0
        self.price = 0.0
        self.compressions: Counter[str] = Counter()

    def __call__(self, moment: Moment) -> None:
        """Take in one step."""
        self.steps += 1
        self.peak = max(self.peak, moment.sent)
        self.sent += moment.sent
        self.cached += moment.prefix
        self.answered += sum(map(self._recording.tokens.__getitem__,
                                 self._recording.calls[moment.step]))
        self.price += CACHED * moment.prefix + (moment.sent - moment.prefix)
        self.over += moment.over
        self.prefix_breaks += moment.prefix < moment.before
        self.law_breaks += len(moment.broken)
        for record in moment.records:
            self._take(record)
        if self.held is not None:
            self._weigh(self.held, moment)
        for probe in self.probes:
            probe(moment)

    def _take(self, record: dict[str, Any]) -> None:
        payload = record["payload"]
        if record["event"] == "context_compression":
            self.compressions[payload["strategy"]] += 1
        elif record["event"] == "model_summarize":
            self.summary_tokens += self.summary_cost(payload)
            self.summary_output += self._recording.estimate.text(payload["output"])

    def summary_cost(self, payload: dict[str, Any]) -> int:
        """Tokens that a summariser read and wrote, from its record."""
        read: int = sum(self._recording.tokens[index] for index in payload["input"])
        return read + self._recording.estimate.text(payload["output"])

    def needed_and_held(self, step: int) -> list[int]:
        """Four counts for the step just taken: items needed and held, far items needed and held.
        [] where no evidence is measured."""
        if self.held is None:
            return []
        needed = self._recording.evidence.steps[step]
        missing = set(self.held.missing(needed))
        return [len(needed.items), len(needed.items) - len(missing), len(needed.far),
                len(set(needed.far) - missing)]

    def _weigh(self, held: HeldEvidence, moment: Moment) -> None:
        for entry in (*moment.arrived, *moment.made):
            held.enter(entry)
        for entry in moment.gone:
            held.leave(entry)
        evidence = self._recording.evidence
        step = evidence.steps[moment.step]
        for mean, value in zip(self._means.values(), held.shares(step, moment.over)):
            mean.add(value)
        if self._misses:
            self.missed.extend(Missed(moment.step, evidence.text(number),
                                      evidence.last_seen(number, moment.at),
                                      held.can_be_had(number))
                               for number in held.missing(step))

    def row(self, policy: str, window: int, baseline: Tally) -> TrialRow:
        """The row; `baseline` is the tally of `none`."""
        cost, summary_price = (round(price / baseline.price, 4) if baseline.price else None
                               for price in (self.price, self.summary_tokens))
        return {"session": self._recording.name, "format": self._recording.format,
                "policy": policy, "window": window, "steps": self.steps,
                "peak_tokens": self.peak, "sent_tokens": self.sent,
                "summary_tokens": self.summary_tokens, "cost": cost, "summary_price": summary_price,
                "over_window_steps": self.over, "far_recall": self._means["far"].value,
                "far_in_context": self._means["far_in_context"].value,
                "recall": self._means["recall"].value, "fresh": self._means["fresh"].value,
                "lines": self._means["lines"].value, "reach": self._means["reach"].value,
                "prefix_breaks": (round(100 * self.prefix_breaks / self.steps, 2)
                                  if self.steps else None),
                "cached_tokens": self.cached, "answer_tokens": self.answered,
                "bill": self._bill(), "compressions": dict(sorted(self.compressions.items())),
                "law_breaks": self.law_breaks,
                "facts": {probe.fact: probe.state for probe in self.probes}}

    def _bill(self) -> float | None:
        """The price of everything, to 6 decimals; nothing that a summariser reads is cached."""
        used = Meter(prompt=self.sent + self.summary_tokens - self.summary_output,
                     cached=self.cached, answer=self.answered + self.summary_output)
        return None if self._prices is None else round(self._prices.of(used), 6)
