"""Milestone 3: a process is killed behind any record, and whoever resumes goes on as if
nothing had been.

The same as in `test_m3_ladder.CutOff`, but for random sessions under every policy, every
strategy alone and random ladders, in which a strategy may stand twice.
"""

from __future__ import annotations

import json
import unittest
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mini_agent.compression.policies import budget_of
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import ContextOverflowError
from mini_agent.messages import Message
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer

from .fuzz import case_of, names
from .histories import Case
from .lawbook import policy_of

SEEDS = 2, 3            # of each name; odd ones have reports of an endpoint
TWICE = {"digest": (20, 41), "digest_lean": (20, 41), "pipelines": range(7, 16)}  # and these


class Moody:
    """A summariser whose success hangs on nothing but what it is asked."""

    def __init__(self, moods: Sequence[str], texts: Texts) -> None:
        self._moods, self._texts = moods, texts

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """A summary, or a failure."""
        asked = "".join(message["content"] for message in messages).encode("utf-8", "replace")
        mood = self._moods[zlib.crc32(asked) % len(self._moods)]
        return ScriptedModel([], [mood], self._texts).summarize(messages, form)


class Driver:
    """Lives a case through a window, from where its records so far have come."""

    def __init__(self, case: Case, before: Sequence[Record]) -> None:
        self.case, self.records = case, list(before)
        texts, policy = Texts(case.language), policy_of(case)
        state = WindowState(estimator(case.estimate), texts)
        for record in before:
            state.fold(record)
        self.tracer = Tracer(self.records.append, seq=len(before))
        self.window = ContextWindow(
            policy, budget_of(policy, case.window), state,
            Resources(Moody(case.summaries, texts), self.tracer, MemoryStore()),
            [{"name": name, "description": "", "parameters": {}} for name in case.tools])
        self.history = [record["message"] for record in before if record["type"] == "message"]
        self.done = Counter((record.get("event"), record["payload"].get("step"))
                            for record in before if record["type"] == "event")

    def live(self) -> list[Record]:
        """All records, to the end."""
        step = sum(message["role"] == "assistant" for message in self.history)
        try:
            for message in json.loads(json.dumps(self.case.messages))[len(self.history):]:
                if message["role"] == "assistant":
                    self._request(step)
                    step += 1
                self.tracer.message(step, message)
                self.history.append(message)
            self._request(step)
        except ContextOverflowError:
            pass  # it stands in the records
        return self.records

    def _request(self, step: int) -> None:
        acts = [(name, given) for when, name, given in self.case.acts if when == step]
        if not self.done["model_call", step]:
            stages = [given[0] for name, given in acts if name == "stage_done"]
            for stage in stages[self.done["stage", step]:]:
                self.window.stage_done(self.history, stage, step)
            request = self.window.before_model_call(self.history, step)
            self.tracer.event("model_call", step=step, messages=len(request),
                              tokens=self.window.tokens)
        counted = [given[0] for name, given in acts if name == "reported"][:1]
        for prompt in counted[self.done["model_usage", step]:]:
            self.tracer.event("model_usage", step=step, prompt_tokens=prompt,
                              drift=self.window.reported(prompt))


def told(records: Sequence[Record]) -> list[Any]:
    """What was decided. A summary is told of behind its change: who is killed in between has
    lost that record, and `seq` moves up."""
    return [record.get("payload", record.get("message")) for record in records
            if record.get("event") != "model_summarize"]


class Killed(unittest.TestCase):
    """Every decision behind any record is that of the run that was not killed."""

    def test_behind_any_record_it_goes_on_as_if_nothing_had_been(self) -> None:
        """What was asked in vain is not asked again; a rung whose name stands twice is known."""
        seen = Counter[str]()
        for name in names():
            for seed in (*SEEDS, *TWICE.get(name, ())):
                case = case_of(name, seed)
                whole = Driver(case, []).live()
                expected = told(whole)
                for count, record in enumerate(whole[:-1], 1):
                    seen.update(record.get("payload", {}).keys() & {"rung", "asked", "failures"})
                    if told(Driver(case, whole[:count]).live()) != expected:
                        self.fail(f"{name}, seed {seed}: killed behind record {count}")
        self.assertTrue(all(seen[key] > 4 for key in ("rung", "asked", "failures")), seen)

    def test_an_open_breaker_is_told_though_the_process_was_killed_before_it_could(self) -> None:
        """Once: by the failing process, or by the one that resumes."""
        case = next(case for seed in range(40) for case in [case_of("+rolling_summary", 2 * seed)]
                    if self._opened(Driver(case, []).live()))
        whole = Driver(case, []).live()
        for count in range(len(whole)):
            self.assertEqual(self._opened(whole), self._opened(Driver(case, whole[:count]).live()))

    @staticmethod
    def _opened(records: Sequence[Record]) -> list[Any]:
        return [record["payload"] for record in records
                if record.get("payload", {}).get("reason") == "breaker_open"]


if __name__ == "__main__":
    unittest.main()
