"""Milestone 1: the commands that need neither a live model nor the lab.

Here are their options and examples; what they do is imported when they are run, so
that the other commands start fast.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .columns import write_rows
from .errors import DONE, UsageError
from .subcommands import add_command, add_plain, limit, report


def add_commands(commands: Any) -> None:
    """`run`, `tokens` and `policies`."""
    for add in (_add_run, _add_tokens, _add_policies):
        add(commands)


def _add_run(commands: Any) -> None:
    parser = add_command(commands, "run", "run a task file with the scripted model",
                         "scripts/m1_task.json --workspace workspace/m1", _run)
    parser.add_argument("task", type=Path, metavar="TASK.json",
                        help="the task, and what the scripted model replies")
    parser.add_argument("--workspace", type=Path, default=Path("."), metavar="DIR",
                        help="the folder that the tools may touch (default: this one)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write the records there")
    parser.add_argument("--policy", default="", metavar="NAME",
                        help="a policy's name or JSON file, in place of the task's")
    parser.add_argument("--window", default="", metavar="N",
                        help="tokens, 32k for 32000, 1m for a million, in place of the task's")
    parser.add_argument("--max-steps", type=limit, default=200, metavar="N",
                        help="give up after this many steps (default: %(default)s)")
    parser.add_argument("--depth", type=int, default=1, metavar="N", choices=range(1, 10),
                        help="generations of sub-agents, if the task has any "
                        "(default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_plain(parser)


def _run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from .assembly import Grant, Setup
    from .compression.budget import window_tokens
    from .governance import govern
    from .interrupts import Interrupts
    from .runner import run_task
    from .subagents.orders import ChildLimits
    from .tasks import load_task
    from .tools.workspace import Workspace
    from .trace import TraceFile, trace_folder

    task = load_task(options.task)
    window = window_tokens(options.window) if options.window else None
    governance = govern(task, options.policy, window)
    Workspace(options.workspace)  # is refused here, before a trace is opened
    with ExitStack() as stack:
        sinks, folder = [], None
        if options.trace:
            sinks = [stack.enter_context(TraceFile(options.trace))]
            folder = trace_folder(options.trace)
        elif task.delegates:  # the traces of sub-agents, gone when the run is
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="mini-agent-")))
        grant = Grant(steps=options.max_steps,
                      children=ChildLimits(depth=options.depth) if task.delegates else None)
        setup = Setup(options.workspace, task.model(), grant, sinks,
                      interrupts=stack.enter_context(Interrupts()))
        outcome = run_task(task, setup, governance, folder)
    return report(outcome, options.json)


def _add_tokens(commands: Any) -> None:
    parser = add_command(commands, "tokens", "estimate the tokens of files, one row per file",
                         "README.md mini_agent/loop.py", _tokens)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="text in UTF-8")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    add_plain(parser)


def _tokens(options: argparse.Namespace) -> int:
    from .disk import read_file
    from .tokens import ESTIMATORS, estimator

    table = []
    for path in options.files:
        try:
            text = read_file(path).decode("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"the file cannot be read ({error.strerror})", place=str(path),
                             remedy="name files that are there") from error
        table.append({"file": str(path), "characters": len(text), **{
            name: estimator(name).text(text) for name in ESTIMATORS}})
    if options.json:
        print(json.dumps(table, ensure_ascii=False))
        return DONE
    head, *rows = _token_rows(table, ("characters", *ESTIMATORS))
    print(head)
    write_rows(rows, sys.stdout, plain=options.plain)
    return DONE


def _token_rows(table: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """The head, then a row for each file."""
    columns = {name: name.removeprefix("runs:") for name in names}
    wide = {name: max(11 if len(short) > 8 else 8, *(2 + len(f"{row[name]}") for row in table))
            for name, short in columns.items()}
    yield "".join(f"{short:>{wide[name]}}" for name, short in columns.items()) + "  file"
    for row in table:
        yield "".join(f"{row[name]:>{wide[name]}}" for name in columns) + f"  {row['file']}"


def _add_policies(commands: Any) -> None:
    parser = add_command(commands, "policies", "list the policies, or describe one",
                         "clip_errors", _policies)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a policy, or a policy file")
    parser.add_argument("--strategies", action="store_true", help="list what a policy file may "
                        "contain: its settings and the strategies with theirs, and their defaults")
    parser.add_argument("--json", action="store_true",
                        help="print the data, in the form of a policy file")
    add_plain(parser)


def _policies(options: argparse.Namespace) -> int:
    from .compression.catalogue import POLICIES
    from .compression.describe import (
        catalogue_lines, part_lines, parts_of_a_policy, policy_lines)
    from .compression.policies import find_policy

    data: Any
    if options.strategies:
        data, lines, indent = list(parts_of_a_policy()), part_lines(), 4
    elif options.name:
        policy = find_policy(options.name)  # a wrong one is refused with close names
        data = policy.data or next(data for data in POLICIES if data["name"] == policy.name)
        lines, indent = policy_lines(policy), 10
    else:
        data, lines, indent = POLICIES, catalogue_lines(), 0
    if options.json:
        print(json.dumps(data, ensure_ascii=False, indent=1))
    else:
        write_rows(lines, sys.stdout, indent, options.plain)
    return DONE
