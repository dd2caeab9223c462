"""What other people's code thinks of our requests: 100 steps, every policy, both forms."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from mini_agent.compression.policies import Policy, budget_of, find_policy, policy_names
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.window import ContextWindow
from mini_agent.embedded import EmbeddedWindow
from mini_agent.embedded.forms import form_of
from mini_agent.loop import Agent
from mini_agent.messages import Message, tool_result
from mini_agent.models.anthropic import OFFICIAL, Messages
from mini_agent.models.base import Reply
from mini_agent.models.live import Request
from mini_agent.models.openai import ChatCompletions
from mini_agent.models.scripted import ScriptedModel
from mini_agent.models.turns import legal
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.tools.base import ToolBox
from mini_agent.trace import Tracer

from .parts import Report, environment

PACKAGES = ("openai", "anthropic", "mistral-common", "tool-call-repair")
STEPS = 100
HEAD = "You look things up."
WINDOW = 6_000  # tokens: small enough that every policy has to work all the time
ORPHANS = {  # a result without its call, in a message with a field that no form has
    "openai": {"messages": [{"role": "user", "content": "x", "colour": "red"}, {
        "role": "tool", "tool_call_id": "c00000000", "content": "orphan"}]},
    "anthropic": {"messages": [{"role": "user", "colour": "red", "content": [
        {"type": "tool_result", "tool_use_id": "c00000000", "content": "orphan"}]}]}}
Judge = Callable[[str, dict[str, Any]], None]
FORMS = {"openai": ChatCompletions(), "anthropic": Messages(OFFICIAL)}


@dataclass
class Tool:
    """Answers with so many lines; every seventh call of it raises."""

    name: str
    lines: int
    description: str = "Looks something up."
    parameters: dict[str, Any] = field(default_factory=lambda: {
        "type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}})
    calls: int = 0

    def __call__(self, path: str = "", n: int = 0) -> str:
        self.calls += 1
        if self.calls % 7 == 0:
            raise ValueError(f"{path} is not there")
        return "\n".join(f"{path}:{line}: value {line * n}" for line in range(self.lines))


def replies(steps: int) -> Iterator[dict[str, Any]]:
    """One, two or five calls a step, some with text, some that cannot work."""
    for step in range(steps - 1):
        names = ("read", "grep", "no such tool!") if step % 9 == 0 else ("read", "grep")
        calls = [{"name": names[(step + n) % len(names)],
                  "arguments": {"path": f"源/src/{step}_{n}.py", "n": step}}
                 for n in range((1, 2, 5)[step % 3])]
        yield {"content": ("", f"Step {step}: 看一下 `src/{step}.py`.")[step % 2],
               "tool_calls": calls, **({"inject": "bad_json"} if step % 11 == 5 else {})}
    yield {"content": "All looked up."}


class Watched:
    """A scripted model whose requests go to `judge(form, body)` before it answers."""

    def __init__(self, steps: int, judge: Judge) -> None:
        self._model, self._judge = ScriptedModel(list(replies(steps))), judge
        self.requests = 0

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        """Let the request be judged as both forms have it; then answer."""
        for form, wire in FORMS.items():
            turns = legal(messages, Texts(), wire.bridged)
            self._judge(form, wire.body(Request("m", turns, tools, 100, True)))
        self.requests += 1
        return self._model.complete(messages, tools)

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """As the scripted model does."""
        return self._model.summarize(messages, form)


def run(folder: Path, report: Report) -> None:
    """All requests of all policies to one process that judges; its counts and faults.

    Before them goes one that every judge has to refuse.
    """
    python = environment(folder, "judges", PACKAGES)
    verdicts = folder / "verdicts.json"
    with subprocess.Popen([str(python), str(Path(__file__).with_name("judge.py")), str(verdicts)],
                          stdin=subprocess.PIPE, text=True, encoding="utf-8") as judge:
        def send(policy: str, form: str, body: dict[str, Any]) -> None:
            print(json.dumps({"policy": policy, "form": form, "body": body}), file=judge.stdin)

        for form, body in ORPHANS.items():
            send("orphans", form, body)
        made = {name: drive(find_policy(name), STEPS, partial(send, name))
                for name in policy_names()}
        made |= {f"{name}, embedded": sum(
            embedded(name, form, STEPS, partial(send, f"{name}, embedded")) for form in FORMS) // 2
            for name in policy_names() if find_policy(name).ladder and not find_policy(name).breaks}
        judge.stdin.close()
        report.expect(judge.wait() == 0, "the judges came to their end")
    told = json.loads(verdicts.read_text(encoding="utf-8"))
    report.say(f"judges: {', '.join(told['judges'])}")
    silent = [name for name in told["judges"] if not any(
        name.split()[0] in fault for fault in told["faults"].get("orphans", []))]
    report.expect(not silent, "each judge refuses an orphan" + "".join(
        f"; not {name}" for name in silent))
    for name, requests in made.items():
        faults = told["faults"].get(name, [])
        report.expect(requests == STEPS and told["seen"].get(name) == 2 * requests and not faults,
                      f"{name}: {requests} requests on {len(FORMS)} forms"
                      + "".join(f"; {fault}" for fault in faults[:3]))


def drive(policy: Policy, steps: int, judge: Judge) -> int:
    """A session of `steps` under `policy`; the number of its requests.

    Nothing is too large here: a policy that cannot get down to the window goes on, since
    it is the shape of its requests that is judged.
    """
    model = Watched(steps, judge)
    tools = ToolBox([Tool("read", 40), Tool("grep", 5)], Texts())
    tracer = Tracer()
    budget = replace(budget_of(policy, WINDOW), hard=10 ** 9)
    window = ContextWindow(policy, budget, WindowState(estimator(policy.estimator)),
                           Resources(model, tracer, MemoryStore()), tools.declarations())
    agent = Agent(model, tools, tracer, window=window)
    agent.run(HEAD, "Look up everything.", {})
    return model.requests


def embedded(policy: str, form: str, steps: int, judge: Judge) -> int:
    """A session in the loop of another agent, with results of 40 lines; the number of its
    requests."""
    beside = form == "anthropic"  # the system prompt is no message there
    messages: list[dict[str, Any]] = [{"role": "system", "content": HEAD},
                                      {"role": "user", "content": "Look up everything."}][beside:]
    tools = [form_of(form).tool(tool, {})
             for tool in ToolBox([Tool("read", 40)], Texts()).declarations()]
    window = EmbeddedWindow(messages, policy, 2 * WINDOW, tools, provider=form,
                            system=HEAD if beside else "", model=ScriptedModel([]))
    for step in range(steps):
        judge(form, {"messages": window.request(), "tools": window.tools})
        made = [(f"{step:04}{number:05}", "\n".join(
            f"{step}:{line}: value {step * line}" for line in range(40)))
            for number in range((1, 2, 5)[step % 3])]
        messages += _round(form, made)
    return steps


def _round(form: str, made: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Calls by their ids, and what came of each, as an agent of that form keeps them."""
    results = [form_of(form).result(tool_result(call_id, "read", text)) for call_id, text in made]
    if form == "anthropic":
        return [{"role": "assistant", "content": [
            {"type": "tool_use", "id": call_id, "name": "read", "input": {"path": f"{call_id}.py"}}
            for call_id, _ in made]}, {"role": "user", "content": results}]
    return [{"role": "assistant", "content": None, "tool_calls": [
        {"id": call_id, "type": "function", "function": {
            "name": "read", "arguments": json.dumps({"path": f"{call_id}.py"})}}
        for call_id, _ in made]}, *results]
