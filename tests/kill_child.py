"""A live session in a process that somebody will kill, begun or taken up again.

    python3 -m tests.kill_child SCENARIO FOLDER

It tells on standard output, a JSON line each, what has happened: a record that is in
the trace, a request that goes out, the middle of a summary, a tool that has begun. The
model answers by the number of answers that the trace has, so it goes on where it was.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mini_agent.assembly import Grant, Setup
from mini_agent.compression.policies import find_policy
from mini_agent.governance import governed_by
from mini_agent.loop import ANSWERED, Outcome
from mini_agent.messages import Message, call
from mini_agent.models.base import Reply
from mini_agent.session import Session, begin, resume
from mini_agent.subagents.orders import ChildLimits
from mini_agent.trace import Record, TraceFile, read_trace

from .sessions import Counter, Speaker, counting

TURNS = ("Count <pin>up to thirty</pin>.", "Go on.")
CHILD = {"replies": [{"content": "", "tool_calls": [{
    "name": "list_files", "arguments": {}}]}, {"content": "There is nothing."}]}


def run_mark(number: int) -> Reply:
    """A reply that runs a command; it leaves its number in `marks`."""
    return Reply("", (call(f"r{number}", "run_command", {"command": f"sh mark.sh {number}"}),))


def ask_children(number: int) -> Reply:
    """A reply that starts two sub-agents."""
    return Reply("", tuple(call(f"d{number}.{at}", "delegate", {"task": f"look {at}"})
                           for at in range(2)))


@dataclass(frozen=True)
class Scenario:
    """What the model says, and what governs the window (in tokens).

    `lines`: about so many it tells when nobody kills it. `begins` stands in those after
    which what the scenario is about is at work.
    """

    lines: int
    begins: str
    replies: Sequence[Reply]
    policy: str = "clip_errors_summary"
    window: int = 4_000


SCENARIOS = {
    "results": Scenario(218, '"counted":', [
        *(counting(*range(at, at + 1 + at % 3)) for at in range(0, 60, 3)), Reply("thirty"),
        *map(counting, range(60, 66)), Reply("all")]),
    "commands": Scenario(55, '"event": "tool_call"', [
        *map(run_mark, range(6)), Reply("six"), run_mark(6), Reply("all")]),
    "summaries": Scenario(180, '"summary": "', [
        *map(counting, range(14)), Reply("fourteen"), *map(counting, range(14, 20)),
        Reply("all")], "tail_summary", 3_600),
    "children": Scenario(53, '"event": "subagent_start"', [
        ask_children(0), counting(1), ask_children(1), Reply("two"), counting(2), Reply("all")]),
}


def tell(**what: Any) -> None:
    """One line for whoever waits to kill."""
    os.write(1, json.dumps(what).encode() + b"\n")


class TellingSpeaker(Speaker):
    """Tells of what it is asked, and that a summary is being written."""

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        tell(asked=list(messages))
        return super().complete(messages, tools)

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        tell(summary=form)
        said = super().summarize(messages, form)
        tell(summary=len(said))
        return said

    def for_child(self, call_id: str) -> dict[str, Any]:
        """A sub-agent of two steps."""
        return {"script": CHILD}


class Marks(list[int]):
    """An effect: each number that the tool is called with stands in the file `marks` then."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def append(self, number: int) -> None:
        """Said as soon as it is done."""
        with open(self._folder / "marks", "a", encoding="utf-8") as marks:
            marks.write(f"{number}\n")
        tell(counted=number)


def open_session(scenario: Scenario, folder: Path, file: TraceFile, model: Speaker,
                 sinks: tuple[Any, ...] = ()) -> Session:
    """The session of the trace, or a new one where nothing whole was written yet."""
    setup = Setup(folder, model, Grant(shell=True, children=ChildLimits()), sinks,
                  extra=[Counter(Marks(folder))])
    records = read_trace(file.path).records
    model.replies = [*scenario.replies[sum(answers(record) for record in records):]]
    if records:
        return resume(setup, file)
    file.cut(0)
    return begin(setup, file, governed_by(find_policy(scenario.policy), scenario.window), TURNS[0])


def answers(record: Record) -> bool:
    """Whether a record is an answer of the model."""
    return record["type"] == "message" and record["message"]["role"] == "assistant"


def go_on(session: Session) -> Outcome:
    """All turns that are left, to the end."""
    outcome = Outcome(ANSWERED)
    if session.due:
        outcome = session.turn()
    said = sum(message["role"] == "user" for message in session.agent.history)
    for words in TURNS[said:]:
        outcome = session.turn(words)
    return session.finish(outcome)


def main() -> int:
    """0 where the session has come to its end."""
    scenario, folder = SCENARIOS[sys.argv[1]], Path(sys.argv[2])
    with TraceFile(folder / "s.jsonl", fresh=False) as file:
        session = open_session(scenario, folder, file, TellingSpeaker(),
                               (lambda record: tell(record=record),))
        outcome = go_on(session)
    tell(ended=outcome.reason)
    return 0 if outcome.done else 1


if __name__ == "__main__":
    sys.exit(main())
