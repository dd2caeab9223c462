"""Milestone 3: one long session under each of the six paths of compression.

    python3 scripts/drive_m3_paths.py [--task FILE] [--window TOKENS] [--traces FOLDER]

Runs the task of milestone 3 under one policy for each path, each on a fresh copy of
`workspace/m3`, and prints a table: changes of the view, largest and last request, and how
many of the records that the task asks for the last request still had. Below it two lines
for each path say how it works and what it costs. Writes m3-path-POLICY.jsonl into the
traces folder. Exit status 1 if a run came to no answer.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fresh import ROOT, TRACES, demo

from mini_agent.cli import Parser, guarded
from mini_agent.compression.budget import window_tokens
from mini_agent.compression.state import rebuild
from mini_agent.compression.view import View
from mini_agent.governance import Governance, govern
from mini_agent.lab.facts import state_of
from mini_agent.loop import Outcome
from mini_agent.messages import text_of
from mini_agent.rhythm import all_compressions, peak, rows
from mini_agent.tasks import Task, load_task
from mini_agent.tokens import estimator
from mini_agent.trace import Record, TraceFile, trace_folder

WINDOW = 12_000  # tokens: the largest single result of the session just fits
ESTIMATOR = "runs"
WANTED = re.compile(r"^N\d{3} \S+ P1 open .*$", re.MULTILINE)  # what the task asks for


@dataclass(frozen=True)
class Route:
    """One of the six paths, the policy that shows it, and what a learner should see."""

    name: str
    policy: str
    how: str
    cost: str


ROUTES = (
    Route("no compression", "none",
          "Every request carries the whole history; the price grows with its square.",
          "Nothing is lost, until the window is full: then the run dies."),
    Route("1 window, naive", "naive",
          "Drops the oldest messages one by one: the task itself goes first.",
          "Calls lose their results: a real endpoint would refuse such a request."),
    Route("1 window, whole rounds", "whole_rounds",
          "Keeps the task, drops the oldest rounds whole, and says how many are gone.",
          "What stood in them is gone for good; the prefix changes at each drop."),
    Route("1 window, middle", "snip_middle",
          "Keeps the first and the newest round; what lies between stays behind handles.",
          "One line in place of many rounds: the model has to ask to see them again."),
    Route("2 aging of tool results", "published",
          "Long results keep head and tail; then old groups become a summary.",
          "Results are most of a window, so this frees most; the middle of each is lost."),
    Route("2 clipping at errors", "clip_errors",
          "Old results keep the lines that look like their point, in the same room.",
          "No model call; what does not look like an error is cut like anything else."),
    Route("2 clearing old results", "clear_keep_3",
          "All but the newest three results become a line: what each was, and came to.",
          "Cheap and honest; each clearing breaks the prefix that a cache has kept."),
    Route("3 rolling summary", "reserve_16k",
          "The oldest run of groups becomes one summary, folded into the next one later.",
          "One message for many; details that no one thought worth a word are gone."),
    Route("4 segmented summary", "segmented",
          "Segments are summarised, their summaries merged: the older, the coarser.",
          "Keeps more points than one summary; costs more model calls."),
    Route("5 store and recall", "recall",
          "The oldest rounds go to a store that the model can search and read from.",
          "Nothing is lost, but only what is asked for comes back."),
    Route("6 governing the input", "lean_input",
          "Tool declarations are sent short until a tool is used; results are clipped.",
          "Frees what every request pays for; an unusual tool has to be asked for first."),
    Route("both layers of an agent", "two_layer",
          "Large results go to files on arrival; a preview stays and never changes.",
          "The prefix holds; in need a full summary, which is a model call."),
)


@dataclass(frozen=True)
class Result:
    """The figures of a run. Sizes are in tokens; `facts` counts the wanted records by state."""

    outcome: Outcome
    changes: int
    peak: int
    last: int
    messages: int
    facts: Counter[str]


def run(task: Task, policy: str, window: int, traces: Path) -> Result:
    """Run the task under a policy, and write its trace."""
    records: list[Record] = []
    place = traces / f"m3-path-{policy}.jsonl"
    with demo("m3") as (workspace, play), TraceFile(place) as file:
        outcome = play(task, [file, records.append], governed(task, policy, window),
                       trace_folder(place))
        wanted = WANTED.findall((workspace / "long_notes.txt").read_text(encoding="utf-8"))
    table = rows(records)
    last = [row for row in table if row.sent][-1]
    return Result(outcome, len(all_compressions(table)), peak(table), last.sent, last.messages,
                  facts_of(records, wanted))


def governed(task: Task, policy: str, window: int) -> Governance | None:
    """The policy at this window, with the estimator that also counts tool declarations."""
    made = govern(replace(task, threshold=None, compression={}), policy, window)
    return made and replace(made, estimator=ESTIMATOR)


def facts_of(records: list[Record], wanted: list[str]) -> Counter[str]:
    """The wanted lines, counted by their state in the last request."""
    last = max(record["seq"] for record in records if record.get("event") == "model_call")
    history: list[str] = []
    view = View()
    for record, view in rebuild(records[:last + 1], estimator(ESTIMATOR)):
        if record["type"] == "message":
            history.append(text_of(record["message"]))
    return Counter(state_of(fact, view, {index for index, text in enumerate(history)
                                         if fact in text}) for fact in wanted)


def table(results: dict[str, Result]) -> Iterator[str]:
    """One row per path."""
    yield (f"{'path':<24}{'changes':>8}{'peak':>7}{'last':>7}{'messages':>10}{'in view':>9}"
           f"{'handle':>8}{'gone':>6}")
    for route in ROUTES:
        result = results[route.policy]
        seen = result.facts["verbatim"] + result.facts["summary"]
        end = "" if result.outcome.done else f"  {result.outcome.reason}"
        yield (f"{route.name:<24}{result.changes:>8}{result.peak:>7}{result.last:>7}"
               f"{result.messages:>10}{seen:>9}{result.facts['handle']:>8}"
               f"{result.facts['gone']:>6}{end}")


def main(arguments: list[str] | None = None) -> int:
    """Run all, print the table and the explanations; 0 if every run came to an answer."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m3_task.json")
    parser.add_argument("--window", type=window_tokens, default=WINDOW, help="tokens (%(default)s)")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    task = load_task(options.task)
    results = {route.policy: run(task, route.policy, options.window, options.traces)
               for route in ROUTES}
    print(f"window {options.window} tokens ({ESTIMATOR} estimate), "
          f"{sum(results['none'].facts.values())} records wanted by the task: at the end\n"
          "they are in view, behind a handle, or gone; peak and last are requests in tokens\n")
    print("\n".join(table(results)))
    for route in ROUTES:
        print(f"\n{route.name} ({route.policy})\n  {route.how}\n  {route.cost}")
    return 0 if all(result.outcome.done for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
