"""What the tests of sub-agents share: real children, and programs that only seem to be one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mini_agent.assembly import Grant, Setup
from mini_agent.compression.pins import Pin
from mini_agent.governance import govern
from mini_agent.loop import Agent, Outcome
from mini_agent.messages import Message
from mini_agent.models.scripted import ScriptedModel
from mini_agent.runner import run_task
from mini_agent.subagents.delegate import subagent_tools
from mini_agent.subagents.orders import ChildLimits
from mini_agent.subagents.starting import Parent
from mini_agent.tasks import load_task
from mini_agent.texts import Texts
from mini_agent.tools import NAMES
from mini_agent.tools.base import ToolBox
from mini_agent.tools.workspace import Workspace
from mini_agent.trace import Record, Tracer

from .support import FolderTest

GOOD = {"status": "finished", "text": "the port is 8443", "chars": 16, "detail": "",
        "steps": 3, "peak_tokens": 900, "sent_tokens": 2000}


LATE = """
import random, runpy, sys, time
time.sleep(random.random() / 5)
sys.argv = ["mini-agent", "child", "--attached"]
runpy.run_module("mini_agent", run_name="__main__")
"""  # a real child that begins when it likes


def delegate(task: str = "look", **arguments: Any) -> dict[str, Any]:
    """A call of `delegate`."""
    return {"name": "delegate", "arguments": {"task": task, **arguments}}


def says(value: Any) -> str:
    """A program that reads its request and answers with one JSON line."""
    return f"import sys; sys.stdin.readline(); print({json.dumps(json.dumps(value))})"


class SubagentTest(FolderTest):
    """A test whose agent has children. `self.workspace` is theirs too."""

    def setUp(self) -> None:
        super().setUp()
        self.workspace = self.folder / "workspace"
        self.workspace.mkdir()
        self.run_folder = self.folder / "run.d"

    def real(self, *replies: dict[str, Any], limits: ChildLimits = ChildLimits(),
             **fields: Any) -> tuple[Outcome, list[Record]]:
        """A run whose children are what they are for everybody."""
        task = load_task(self.write_task(replies=list(replies), **{"policy": "none", **fields}))
        records: list[Record] = []
        setup = Setup(self.workspace, task.model(), Grant(children=limits), [records.append])
        outcome = run_task(task, setup, govern(task), self.run_folder)
        return outcome, records

    def fake(self, program: str, *calls: dict[str, Any], limits: ChildLimits = ChildLimits(),
             window: int | None = None, pins: Sequence[Pin] = (),
             children: Mapping[str, Any] = MappingProxyType({}),
             ) -> tuple[list[Message], list[Record]]:
        """A reply with these calls, where each child is the Python text `program`.

        `children` are scripts, for a program that is a real child after all. The results
        of the calls, and all records.
        """
        records: list[Record] = []
        texts, tracer = Texts(), Tracer(records.append)
        model = ScriptedModel([{"tool_calls": list(calls), "children": children},
                               {"content": "done"}], (), texts)
        start = {"task": "t", "policy": {"name": "none", **({"window": window} if window else {})}}
        parent = Parent(Workspace(self.workspace, texts), self.run_folder, start, NAMES, None,
                        lambda: pins, model.for_child)
        tools = ToolBox(subagent_tools(parent, tracer, limits, command=[
            sys.executable, "-S", "-c", program]), texts)
        agent = Agent(model, tools, tracer)
        self.outcome = agent.run("s", "u", {"format": 1})
        return [message for message in agent.history if message["role"] == "tool"], records


def running_with(mark: str) -> list[int]:
    """The processes that have this variable, NAME=VALUE, in their environment. Linux only."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            variables = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # gone, or another user's
            continue
        if mark.encode() in variables and state != "Z":
            found.append(int(name))
    return found
