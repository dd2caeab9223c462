"""Milestone 3: the same session with and without compression, side by side.

    python3 scripts/drive_m3.py [--task FILE] [--traces FOLDER]

Runs the task twice, each on a fresh copy of `workspace/m3`, prints one row per step
and both curves, and writes m3-trace.jsonl, m3-baseline.jsonl, m3-tokens.json and
m3-curve.svg into the traces folder. Exit status 1 if the task was not done.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fresh import ROOT, TRACES, demo, wants_color

from mini_agent.cli import Parser, guarded
from mini_agent.columns import number_of
from mini_agent.disk import write_file
from mini_agent.drawing import Curve, Mark, Panel, glyphs, svg, terminal_chart
from mini_agent.governance import govern
from mini_agent.loop import Outcome
from mini_agent.rhythm import Row, all_compressions, number_ranges, peak, rows
from mini_agent.tasks import Task, load_task
from mini_agent.trace import Record, TraceFile

AGING, SUMMARY = "tool_result_aging", "rolling_summary"
NAMES = {AGING: "aging", SUMMARY: "summary"}
BLUE, GREY, ORANGE, PURPLE = "#1f6fd0", "#888888", "#e07b00", "#7a3fb0"


def run_both(task: Task, traces: Path) -> tuple[Outcome, list[Record], list[Record]]:
    """Run `task` as it is and without compression; the outcome of the first."""
    governance = govern(task)
    governed: list[Record] = []
    baseline: list[Record] = []
    with demo("m3") as (_, play), TraceFile(traces / "m3-trace.jsonl") as file:
        outcome = play(task, [file, governed.append], governance)
    with demo("m3") as (_, play), TraceFile(traces / "m3-baseline.jsonl") as file:
        play(task, [file, baseline.append], govern(task, policy="none"))
    return outcome, governed, baseline


def table(governed: list[Row], baseline: list[Row]) -> str:
    """One row per step: baseline, before governance and sent, each tokens (messages)."""
    lines = ["step  baseline    before      sent        what happened"]
    for row, plain in zip(governed, baseline):
        sizes = [_size(plain.sent, plain.messages), _size(row.before, row.before_messages),
                 _size(row.sent, row.messages)]
        told = [f"{change.seq}: {NAMES.get(change.strategy, change.strategy)} "
                f"[{number_ranges(change.affected)}]" for change in row.compressions]
        cells = "".join(f"{size:<12}" for size in sizes)
        lines.append(f"{row.step:>4}  {cells}{'; '.join(told)}".rstrip())
    return "\n".join(lines)


def _size(tokens: int, messages: int) -> str:
    return f"{tokens} ({messages})" if tokens else "nothing"


def steps_of(table_rows: list[Row], strategy: str) -> list[int]:
    """The steps at which a strategy changed the view."""
    return [change.step for change in all_compressions(table_rows) if change.strategy == strategy]


def closing(outcome: Outcome, governed: list[Row], baseline: list[Row], end: dict[str, Any]) -> str:
    """The numbers that matter, in two lines; one where the first request did not fit."""
    if not governed[0].sent:
        return f"{outcome.reason}: nothing was sent"
    last = [row for row in governed if row.sent][-1]
    plain = baseline[last.step]
    saved = 100 * (1 - last.sent / plain.sent)
    first = (f"{outcome.reason}: aging in {number_of(len(steps_of(governed, AGING)), 'step')}, "
             f"a summary in {len(steps_of(governed, SUMMARY))}; peak {peak(governed)} tokens "
             f"against {peak(baseline)}")
    return (f"{first}\nat step {last.step} {last.sent} tokens against {plain.sent}: {saved:.2f} % "
            f"below the baseline; at the end {number_of(end['final_messages'], 'message')}, "
            f"{end['final_tokens']} tokens")


def picture(governed: list[Row], baseline: list[Row], threshold: int) -> str:
    """Two panels: tokens a step, messages a step."""
    marks = (Mark("aging", steps_of(governed, AGING), ORANGE),
             Mark("summary", steps_of(governed, SUMMARY), PURPLE))
    return svg("Milestone 3: a long session with and without compression", (
        Panel("Tokens sent a step (published estimate)", (
            Curve("baseline", [row.sent for row in baseline], GREY),
            Curve("compressed", [row.sent for row in governed], BLUE)), marks, threshold),
        Panel("Messages sent a step", (
            Curve("baseline", [row.messages for row in baseline], GREY),
            Curve("compressed", [row.messages for row in governed], BLUE)), marks)))


def main(arguments: list[str] | None = None) -> int:
    """Run both, print and write everything; 0 if the task was done."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m3_task.json")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    task = load_task(options.task)
    outcome, records, plain_records = run_both(task, options.traces)
    governed, baseline = rows(records), rows(plain_records)
    threshold = task.threshold or task.window or 0
    print(table(governed, baseline))
    print()
    print(terminal_chart(
        (Curve("compressed", [row.sent for row in governed]),
         Curve("baseline", [row.sent for row in baseline])), threshold,
        (Mark("aging", steps_of(governed, AGING)), Mark("summary", steps_of(governed, SUMMARY))),
        glyphs(sys.stdout.encoding, wants_color(sys.stdout))))
    print()
    print(closing(outcome, governed, baseline, records[-1]["payload"]))
    write_file(options.traces / "m3-tokens.json", json.dumps(
        {"threshold": threshold, "estimator": "published",
         "steps": [asdict(row) for row in governed],
         "baseline": [{"step": row.step, "tokens": row.sent, "messages": row.messages}
                      for row in baseline]}, indent=1) + "\n")
    write_file(options.traces / "m3-curve.svg", picture(governed, baseline, threshold))
    if not outcome.done:
        print(": ".join(filter(None, (outcome.reason, outcome.detail))), file=sys.stderr)
    return 0 if outcome.done else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
