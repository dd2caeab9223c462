"""The command line: which command it is, and how it ends.

What each does, and its options, stand in `commands.py`, `live/` and `lab/`. Results go to
standard output, everything else to standard error. Exit status: 0 done, 1 the task
failed or a bound was broken, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import NoReturn

from .commands import add_commands as own_commands
from .errors import DONE, FAILED, INTERRUPTED, WRONG_USE, MiniAgentError, UsageError
from .hostile import escaped, prepare_streams
from .lab.commands import add_commands as lab_commands
from .live.commands import add_commands as live_commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; its exit status."""
    prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["child"]:  # what a session starts, and nobody types
        return guarded(lambda: _child(given[1:]))
    return guarded(lambda: called(["chat", *given] if is_request(given) else given))


def called(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises `UsageError`."""
    options = parsed(arguments)
    status: int = options.command(options)
    return status


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. `argparse` does not take a REQUEST after options (`resume TRACE --yes X`)."""
    parser = make_parser()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in parser.commands:
        raise _no_command(arguments, parser.commands)
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


def _no_command(given: Sequence[str], known: Iterable[str]) -> UsageError:
    """The error for a word that is not a command: it is often mistyped, and requests cost money."""
    word, said = given[0], takewhile(lambda one: not one.startswith("-"), given)
    close = difflib.get_close_matches(word, known, n=2)
    meant = f"did you mean {' or '.join(close)}?" if close else "mini-agent --help lists them"
    return UsageError(f"no command {word!r}", place="COMMAND", value=word, remedy=(
        f"{meant}; as a request to a model: mini-agent chat "
        f"{shlex.quote(word if close else ' '.join(said))}"))


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
        folder = "." if isinstance(error, FileNotFoundError) else ""  # the one we are in is gone
        place = escaped(str(error.filename or folder or "standard output"))
        print(f"mini-agent: {place}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE if error.filename or folder else FAILED


def _flush_nowhere() -> None:
    """What is still in the buffer of standard output must not fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser whose errors are reported like all others; `commands` are its subparsers by
    name."""

    commands: Mapping[str, argparse.ArgumentParser] = MappingProxyType({})

    def error(self, message: str) -> NoReturn:
        """Raises `UsageError` for an option that is unknown, missing or wrong."""
        raise UsageError(message, remedy=f"see {self.prog} --help")


def make_parser() -> Parser:
    """The parser with all commands."""
    parser = Parser(
        prog="mini-agent", description="A coding agent to read, and a bench for context "
        "compression. `mini-agent \"do this\"` is `chat` for one request.",
        epilog="example: mini-agent run scripts/m1_task.json --workspace workspace/m1")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_commands in (own_commands, live_commands, lab_commands):
        add_commands(commands)
    parser.commands = commands.choices
    return parser


def _child(arguments: Sequence[str]) -> int:
    from .subagents.child import main as child

    parser = Parser(prog="mini-agent child", description="What a sub-agent is: a JSON request "
                    "in, a JSON result out.", epilog="example: mini-agent child < request.json")
    parser.add_argument("--attached", action="store_true")
    return child(parser.parse_args(arguments).attached)
