"""A window over a hand-made history, for tests of single strategies and laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mini_agent.compression.policies import budget_of, find_policy, make_policy
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.window import ContextWindow
from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer


def window(limit: int | None, *strategies: str, summaries: Sequence[str] = (), language: str = "en",
           estimate: str = "published", model: Any = None, records: list[Record] | None = None,
           policy: str = "", tools: Sequence[dict[str, Any]] = (), **fields: Any) -> ContextWindow:
    """A window of `limit` tokens with these strategies as its ladder, or a named policy."""
    texts = Texts(language)
    if policy:
        chosen = find_policy(policy)
    else:
        chosen = make_policy({"name": "test", "source": "a test", "about": "a test", "scale": False,
                              "ladder": [{"strategy": name} for name in strategies], **fields},
                             "test")
    sink = records.append if records is not None else (lambda record: None)
    resources = Resources(model or ScriptedModel([], summaries, texts), Tracer(sink))
    return ContextWindow(chosen, budget_of(chosen, limit),
                         WindowState(estimator(estimate), texts), resources, tools)


def rounds(count: int, text: str = "x", said: str = "next") -> list[Message]:
    """So many assistant messages with one call each, and its result."""
    made: list[Message] = []
    for number in range(count):
        made += [assistant(f"{said} {number}", [call(f"c{number}", "read", {"n": number})]),
                 tool_result(f"c{number}", "read", text)]
    return made


def head(task: str = "the task") -> list[Message]:
    """A system message and the first user message."""
    return [system("the system"), user(task)]
