"""The command line: argparse and one thin function a command.

Results go to standard output, everything else to standard error. Exit status: 0
done, 1 the task failed or a bound was broken, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .columns import WIDTH, write_rows
from .errors import DONE, FAILED, INTERRUPTED, WRONG_USE, MiniAgentError, UsageError
from .hostile import escaped, open_streams
from .lab.commands import add_commands as lab_commands
from .live.commands import add_commands as live_commands
from .live.commands import limit, report

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; its exit status."""
    open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["child"]:  # what a session starts, and nobody types
        return guarded(lambda: _child(given[1:]))
    return guarded(lambda: run_command(["chat", *given] if is_request(given) else given))


def run_command(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises `UsageError`."""
    options = parsed(arguments)
    return options.command(options)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. `argparse` leaves a REQUEST behind options over (`resume TRACE --yes X`)."""
    parser = make_parser()
    options, left = parser.parse_known_args(arguments)
    if len(left) == 1 and not left[0].startswith("-") and getattr(options, "request", "") is None:
        options.request = left[0]
    elif left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    return options


def is_request(arguments: Sequence[str]) -> bool:
    """Whether no command is named but something to do: `mini-agent "do this" --yes`.

    A request has a blank or is not ASCII; a single word might be a mistyped command.
    """
    first = arguments[0] if arguments else ""
    if first.startswith("-"):
        return first not in ("-h", "--help")
    return bool(first) and (not first.isascii() or len(first.split()) > 1)


def guarded(run: Callable[[], int]) -> int:
    """`run()`; what a user did wrong is one line and status 2, never a traceback."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except MiniAgentError as error:
        print(f"mini-agent: {escaped(str(error))}", file=sys.stderr)
        return WRONG_USE if isinstance(error, UsageError) else FAILED
    except MemoryError:
        print("mini-agent: there is not enough memory for this", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("mini-agent: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough; nothing more may be flushed to it
        _flush_nowhere()
        return DONE
    except OSError as error:  # a path that cannot be one, or results that cannot be written
        _flush_nowhere()
        place = escaped(str(error.filename or "standard output"))
        print(f"mini-agent: {place}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE if error.filename else FAILED


def _flush_nowhere() -> None:
    """What is still in the buffer of standard output must not fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser whose errors are told as all others are."""

    def error(self, message: str) -> NoReturn:
        """Raises `UsageError` for an option that is unknown, missing or wrong."""
        raise UsageError(message, remedy=f"see {self.prog} --help")


def make_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = Parser(
        prog="mini-agent", description="A coding agent to read, and a bench for context "
        "compression.", epilog="example: mini-agent run scripts/m1_task.json --workspace "
        "workspace/m1")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (_add_run, _add_tokens, _add_policies):
        add(commands)
    live_commands(commands, add_command)
    lab_commands(commands, add_command)
    return parser


def add_command(commands: Any, name: str, about: str, example: str,
                command: Command) -> argparse.ArgumentParser:
    """A subparser with one line of description and one example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about + ".", epilog=f"example: mini-agent {name} {example}")
    parser.set_defaults(command=command)
    return parser


def _add_run(commands: Any) -> None:
    parser = add_command(commands, "run", "run a task file with the scripted model",
                         "scripts/m1_task.json --workspace workspace/m1", _run)
    parser.add_argument("task", type=Path, metavar="TASK.json",
                        help="what is said, and what the model replies")
    parser.add_argument("--workspace", type=Path, default=Path("."), metavar="DIR",
                        help="the folder that the tools may touch (default: this one)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write the records there")
    parser.add_argument("--policy", default="", metavar="NAME",
                        help="a policy's name or JSON file, in place of the task's")
    parser.add_argument("--window", default="", metavar="N",
                        help="tokens, 32k for 32000, in place of the task's")
    parser.add_argument("--max-steps", type=limit, default=200, metavar="N",
                        help="give up after so many steps (default: %(default)s)")
    parser.add_argument("--depth", type=int, default=1, metavar="N", choices=range(1, 10),
                        help="generations of sub-agents, if the task has any (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


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
            sinks, folder = [stack.enter_context(TraceFile(options.trace))], trace_folder(options.trace)
        elif task.delegates:  # the traces of sub-agents, gone when the run is
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="mini-agent-")))
        grant = Grant(steps=options.max_steps,
                      children=ChildLimits(depth=options.depth) if task.delegates else None)
        setup = Setup(options.workspace, task.model(), grant, sinks,
                      interrupts=stack.enter_context(Interrupts()))
        outcome = run_task(task, setup, governance, folder)
    return report(outcome, options.json)


def _child(arguments: Sequence[str]) -> int:
    from .subagents.child import main as child

    parser = Parser(prog="mini-agent child", description="What a sub-agent is: a JSON request "
                    "in, a JSON result out.", epilog="example: mini-agent child < request.json")
    parser.add_argument("--attached", action="store_true")
    return child(parser.parse_args(arguments).attached)


def _add_tokens(commands: Any) -> None:
    parser = add_command(commands, "tokens", "estimate the tokens of files, a row a file",
                         "README.md mini_agent/loop.py", _tokens)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="text in UTF-8")
    parser.add_argument("--json", action="store_true", help="print a list of objects")


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
    columns = {name: name.removeprefix("runs:") for name in ("characters", *ESTIMATORS)}
    print("".join(f"{short:>11}" if len(short) > 8 else f"{short:>8}"
                  for short in columns.values()) + "  file")
    write_rows(("".join(f"{row[name]:>11}" if len(short) > 8 else f"{row[name]:>8}"
                        for name, short in columns.items()) + f"  {row['file']}"
                for row in table), sys.stdout)
    return DONE


def _add_policies(commands: Any) -> None:
    parser = add_command(commands, "policies", "list the policies, or tell of one what it does",
                         "clip_errors", _policies)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a policy, or a file of one")
    parser.add_argument("--json", action="store_true", help="print the data, as a policy file has it")


def _policies(options: argparse.Namespace) -> int:
    from .compression.catalogue import POLICIES
    from .compression.describe import described
    from .compression.policies import find_policy

    if options.name:
        policy = find_policy(options.name)  # a wrong one is refused with close names
        data = policy.data or next(data for data in POLICIES if data["name"] == policy.name)
        if options.json:
            print(json.dumps(data, ensure_ascii=False, indent=1))
        else:
            write_rows(described(policy), sys.stdout, indent=10)
        return DONE
    if options.json:
        print(json.dumps(POLICIES, ensure_ascii=False, indent=1))
        return DONE
    width = max(len(data["name"]) for data in POLICIES)
    for data in POLICIES:
        print(textwrap.fill(data["about"], WIDTH, initial_indent=f"{data['name']:<{width}}  ",
                            subsequent_indent=(width + 2) * " "))
    return DONE
