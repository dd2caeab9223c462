"""One session under a policy, a step at a time: what is said, and what would be sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_agent.compression.resources import Resources
from mini_agent.compression.policies import (
    Policy, budget_of, find_policy, make_policy, with_settings)
from mini_agent.compression.scene import Store
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.view import Entry
from mini_agent.compression.window import ContextWindow
from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer

TOOLS = ("read_file", "read_result", "recall")


def ladder(strategy: str, **settings: Any) -> Policy:
    """A policy of one strategy."""
    data = {"name": "made", "source": "a test", "about": "",
            "ladder": [{"strategy": strategy, "settings": settings}]}
    return make_policy(data, "test")


class PolicySession:
    """One session under a policy. `window` in tokens; numbers are not scaled unless asked for."""

    def __init__(self, policy: str | Policy, window: int, *, tools: tuple[str, ...] = TOOLS,
                 store: Store | None = None, language: str = "en", estimate: str = "chars4",
                 scale: bool = False, **settings: Any) -> None:
        made = find_policy(policy) if isinstance(policy, str) else policy
        made = replace(with_settings(made, settings, "test"), scale=scale)
        self.records: list[Record] = []
        self.history: list[Message] = []
        self.step = 0
        self.store = MemoryStore() if store is None else store
        self.window = ContextWindow(
            made, budget_of(made, window), WindowState(estimator(estimate), Texts(language)),
            Resources(ScriptedModel([]), Tracer(self.records.append), self.store),
            [{"name": name, "description": "", "parameters": {}} for name in tools])
        self.say(system("You are a coding agent."), user("Mend the dates."))

    def say(self, *messages: Message) -> None:
        """Messages enter the history."""
        self.history += messages

    def round(self, text: str, *results: str, tool: str = "read_file", said: str = "") -> None:
        """One step: a request, the assistant's calls (one a result,
        the path is `text`), results."""
        self.ask()
        calls = [call(f"call_{self.step}_{n}", tool, {"path": text}) for n in range(len(results))]
        self.say(assistant(said, calls), *(tool_result(made["id"], tool, result)
                                           for made, result in zip(calls, results)))
        self.step += 1

    def ask(self) -> list[Message]:
        """What would be sent now."""
        return self.window.before_model_call(self.history, self.step)

    @property
    def entries(self) -> list[Entry]:
        """The view."""
        return self.window.view.entries

    def entry(self, index: int) -> Entry:
        """The entry that stands for a message of the history."""
        return next(entry for entry in self.entries if index in entry.stands_for)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The payloads of the records of that name."""
        return [record["payload"] for record in self.records if record.get("event") == name]
