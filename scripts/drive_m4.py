"""Milestone 4: one task, done three ways on the same scripted work.

    python3 scripts/drive_m4.py [--task FILE] [--facts FILE] [--policy NAME] [--traces FOLDER]

The task is done in one window without compression, in one window with compression, and with
children. In one window the agent itself makes the calls of the children, one after the other,
so all three ways see the same files. Prints what each way took, where each fact of the facts
file was at the end, and which window held how many facts when. The facts file has one fact per
line: first those that the answer needs, then, after an empty line, some that it does not.
Writes m4-trace.jsonl (with its children in m4-trace.d), m4-one.jsonl, m4-compressed.jsonl
and m4-who.svg into the traces folder. Exit status 1 if one of the three was not done.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fresh import ROOT, TRACES, demo

from mini_agent.assembly import Grant
from mini_agent.cli import Parser, guarded
from mini_agent.columns import fitted
from mini_agent.disk import write_file
from mini_agent.drawing import Curve, Panel, bars, svg
from mini_agent.governance import govern
from mini_agent.lab.facts import state_of
from mini_agent.lab.session_steps import counted_by
from mini_agent.lab.steps import steps_of_trace, views
from mini_agent.loop import Outcome
from mini_agent.messages import text_of
from mini_agent.subagents.orders import ChildLimits
from mini_agent.subagents.traces import child_trace
from mini_agent.tasks import Task, load_task
from mini_agent.trace import Trace, TraceFile, read_trace, trace_folder

COLORS = ("#888888", "#1f6fd0", "#c0392b", "#e07b00", "#7a3fb0", "#2a8a4a", "#8a6d3b", "#3b7d8a")
SAID = {"verbatim": "verbatim", "summary": "in a summary", "handle": "by a handle",
        "gone": "gone"}


@dataclass(frozen=True)
class Facts:
    """Texts that are followed; the first `needed` of them are what the answer needs."""

    texts: tuple[str, ...]
    needed: int

    def held(self, states: Sequence[str]) -> int:
        """How many of the needed ones stand verbatim."""
        return states[:self.needed].count("verbatim")


def read_facts(path: Path) -> Facts:
    """The facts of a file."""
    needed, _, others = path.read_text(encoding="utf-8").partition("\n\n")
    first = needed.splitlines()
    return Facts((*first, *others.splitlines()), len(first))


@dataclass(frozen=True)
class Holder:
    """One window over time. `first` is its first column; by column from there, `tokens` were
    sent and `held` needed facts were in it verbatim. `states` has for each fact its state in
    the last request."""

    name: str
    first: int
    tokens: list[int]
    held: list[int]
    states: list[str]

    @property
    def last(self) -> int:
        """The column after its last one."""
        return self.first + len(self.tokens)


def one_window(task: Task) -> Task:
    """The same work without children: their calls become the agent's own, in order.

    A child's last reply is its report; in one window there is nobody to report to.
    """
    replies: list[dict[str, Any]] = []
    for reply in task.replies:
        own = [made for script in reply.get("children", {}).values()
               for made in script["replies"] if made.get("tool_calls")]
        replies += own or [reply]
    return replace(task, replies=replies)


def run(task: Task, path: Path, policy: str = "") -> tuple[Outcome, Trace]:
    """Run a task on a fresh copy of the workspace: its outcome and its trace."""
    shutil.rmtree(trace_folder(path), ignore_errors=True)
    with demo("m4") as (_, play), TraceFile(path) as file:
        outcome = play(task, [file], govern(task, policy), trace_folder(path),
                       grant=Grant(children=ChildLimits() if task.delegates else None))
    return outcome, read_trace(path)


def holder(name: str, trace: Trace, facts: Facts, first: int = 0) -> Holder:
    """What one window held, step by step."""
    history = trace.messages()
    where = [{at for at, message in enumerate(history) if fact in text_of(message)}
             for fact in facts.texts]
    held, tokens, states = [], [told["tokens"] for told in trace.events("model_call")], []
    for taken, view in views(steps_of_trace(trace.records, counted_by(trace))):
        states = [state_of(fact, view, {at for at in places if at < taken.history})
                  for fact, places in zip(facts.texts, where)]
        held.append(facts.held(states))
    return Holder(name, first, tokens, held, states)


def family(trace: Trace, folder: Path, facts: Facts) -> list[Holder]:
    """The windows of a parent and of its children, on one scale of columns.

    Children of one reply begin together, and their parent goes on after the longest of them.
    """
    column, begun = 0, 0
    children: list[Holder] = []
    columns: list[int] = []
    for record in trace.records:
        name = record.get("event")
        if name == "model_call":
            column = max([column, *(child.last for child in children)])
            columns.append(column)
            column = begun = column + 1
        elif name == "subagent_end":
            number = record["payload"]["child"]
            log = read_trace(child_trace(folder, number))
            children.append(holder(f"child {number}", log, facts, begun))
    whole = holder("parent", trace, facts)
    spread = [0] * (columns[-1] + 1), [0] * (columns[-1] + 1)
    for at, tokens, held in zip(columns, whole.tokens, whole.held):
        spread[0][at], spread[1][at] = tokens, held
    return [replace(whole, tokens=spread[0], held=spread[1]), *children]


Way = Sequence[Holder]  # the window that gives the answer, then those of its children


def costs(ways: Sequence[Way], facts: Facts) -> str:
    """One row per window: the number of requests, the largest, all together; then the sums."""
    lines = [f"{'':<24}{'requests':>10}{'largest':>10}{'all':>10}   needed facts at the end"]
    for way in ways:
        for one in way:
            sent = [tokens for tokens in one.tokens if tokens]
            lines.append(f"{label(one, way):<24}{len(sent):>10}{max(sent):>10}{sum(sent):>10}   "
                         f"{facts.held(one.states)} of {facts.needed}")
    everyone = [tokens for one in ways[-1] for tokens in one.tokens if tokens]
    lines.append(f"{'  together':<24}{len(everyone):>10}{max(everyone):>10}{sum(everyone):>10}")
    peak, whole = (f"{100 * part / of:.1f} %" for part, of in (
        (max(ways[-1][0].tokens), max(ways[0][0].tokens)), (sum(everyone), sum(ways[0][0].tokens))))
    return "\n".join([
        *lines, "(requests are counted, sizes are in tokens of the runs estimate)", "",
        f"the parent's largest request is {peak} of that of one window, and all requests of\n"
        f"the family together are {whole} of all in one window"])


def label(one: Holder, way: Way) -> str:
    """The name of a window in a table; children stand under their parent."""
    return one.name if one is way[0] else f"  {one.name}"


def fates(facts: Facts, ways: Sequence[Way]) -> str:
    """One row per fact: where it was in the last request of each way."""
    width = max(map(len, facts.texts)) + 2
    lines = ["".join([f"{'where at the end':<{width}}", *(
        f"{fitted(way[0].name, 12):<14}" for way in ways)])]
    for at, fact in enumerate(facts.texts):
        mark = "" if at < facts.needed else "  "
        lines.append("".join([f"{mark}{fact:<{width - len(mark)}}", *(
            f"{fate(way, at):<14}" for way in ways)]))
    note = "  (set in: not needed for the answer)" if len(facts.texts) > facts.needed else ""
    return "\n".join(line.rstrip() for line in [*lines, note] if line)


def fate(way: Way, at: int) -> str:
    """Where a fact was at the end; one that the parent never saw may be with a child."""
    if not way[0].states[at]:
        knows = next((one.name for one in way[1:] if one.states[at]), "")
        return f"with {knows}" if knows else "never seen"
    return SAID[way[0].states[at]]


def calendar(ways: Sequence[Way], facts: Facts, encoding: str | None) -> str:
    """Which window held what when: for each model call a bar for its tokens, and its facts."""
    holders = [one for way in ways for one in way]
    top = max(max(one.tokens) for one in holders)
    columns = max(one.last for one in holders)
    lines = [f"who held what when: the bar is the request (full: {top} tokens), the number",
             f"the needed facts in it, of {facts.needed}",
             " " * 24 + "".join(f"{n:<4}" for n in range(columns))]
    for way in ways:
        for one in way:
            cells = [f"{bar}{held}" if tokens else "" for bar, held, tokens in zip(
                bars(one.tokens, top, encoding), one.held, one.tokens)]
            lines.append(f"{label(one, way):<24}" + "    " * one.first + "".join(
                f"{cell:<4}" for cell in cells))
    return "\n".join(line.rstrip() for line in lines)


def picture(holders: Sequence[Holder]) -> str:
    """The requests of every window over the same columns."""
    columns = max(one.last for one in holders)
    curves = []
    for one, color in zip(holders, COLORS):
        values: list[int | None] = [None] * columns
        values[one.first:one.last] = [tokens or None for tokens in one.tokens]
        curves.append(Curve(one.name, values, color))
    return svg("Milestone 4: one task in one window, compressed, and with children",
               [Panel("Tokens of each request", curves)])


def main(arguments: list[str] | None = None) -> int:
    """Run all three, print and write everything; 0 if each was done."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m4_task.json")
    parser.add_argument("--facts", type=Path, default=ROOT / "scripts" / "m4_facts.txt")
    parser.add_argument("--policy", default="", help="compress by this one, not by the task's")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    task = load_task(options.task)
    facts = read_facts(options.facts)
    single, path = one_window(task), options.traces / "m4-trace.jsonl"
    runs = [run(single, options.traces / "m4-one.jsonl", "none"),
            run(single, options.traces / "m4-compressed.jsonl", options.policy),
            run(task, path)]
    ways = [[holder("one window", runs[0][1], facts)],
            [holder(options.policy or task.policy, runs[1][1], facts)],
            family(runs[2][1], trace_folder(path), facts)]
    print(costs(ways, facts), fates(facts, ways), calendar(ways, facts, sys.stdout.encoding),
          sep="\n\n")
    write_file(options.traces / "m4-who.svg", picture([one for way in ways for one in way]))
    for outcome, _ in runs:
        if not outcome.done:
            print(": ".join(filter(None, (outcome.reason, outcome.detail))), file=sys.stderr)
    return 0 if all(outcome.done for outcome, _ in runs) else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
