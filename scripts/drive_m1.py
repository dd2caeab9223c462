"""Milestone 1: the loop on a small task, one line per record as it happens.

    python3 scripts/drive_m1.py [--task FILE] [--traces FOLDER]

Shows how many messages the model is sent at each step: always the whole history, which grows
by one message for each reply and each result. Writes m1-trace.jsonl into the traces folder.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import sys
import textwrap
from pathlib import Path

from fresh import ROOT, TRACES, demo

from mini_agent.cli import Parser, guarded
from mini_agent.columns import number_of
from mini_agent.tasks import load_task
from mini_agent.trace import Record, TraceFile

WIDTH = 78


def tell(record: Record) -> None:
    """Print a record the way a person would tell it."""
    if record["type"] == "message":
        message = record["message"]
        lines = message["content"].splitlines() or [""]
        more = f" (+{number_of(len(lines) - 1, 'line')})" if len(lines) > 1 else ""
        print(textwrap.fill(lines[0] + more, WIDTH, initial_indent=f"  {message['role']:<9} ",
                            subsequent_indent=12 * " "))
    elif record["event"] == "model_call":
        told = record["payload"]
        print(f"step {told['step']}: the model is sent {number_of(told['messages'], 'message')}")
    elif record["event"] == "tool_call":
        print(f"  call      {record['payload']['name']} {record['payload']['arguments']}")
    elif record["event"] == "run_end":
        print(f"ended at step {record['payload']['step']}: {record['payload']['reason']}")


def main(arguments: list[str] | None = None) -> int:
    """Run the task and tell it; 0 if it was done."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m1_task.json")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    task = load_task(options.task)
    with demo("m1") as (_, play), TraceFile(options.traces / "m1-trace.jsonl") as file:
        outcome = play(task, [file, tell])
    return 0 if outcome.done else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
