"""Milestone 1: what the commands of the command line share.

How one is added, the options that several have, and how a run or a turn is reported.
What is left out: the commands themselves (`commands.py`, `live/`, `lab/`), and how an
error ends one (`cli.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import DONE, FAILED, INTERRUPTED

if TYPE_CHECKING:
    from .loop import Outcome

Command = Callable[[argparse.Namespace], int]  # does what the options say; the exit status


def add_command(commands: Any, name: str, about: str, example: str,
                command: Command) -> argparse.ArgumentParser:
    """A subparser with one line of description and one example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about + ".", epilog=f"example: mini-agent {name} {example}")
    parser.set_defaults(command=command)
    return parser


def add_plain(parser: argparse.ArgumentParser) -> None:
    """The option of a command that fits its rows to a terminal."""
    parser.add_argument("--plain", action="store_true",
                        help="whole rows and columns on a terminal too, as in a file")


def limit(text: str) -> int:
    """The number of an option that bounds something, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a limit; give a positive number")
    return int(text)


def report(outcome: Outcome, as_json: bool) -> int:
    """Print how a turn or a run has ended; its exit status."""
    from .hostile import without_controls

    if as_json:
        print(json.dumps({"reason": outcome.reason, "text": outcome.text,
                          "detail": outcome.detail}, ensure_ascii=False))
    elif outcome.text:
        print(without_controls(outcome.text))
    if outcome.done:
        return DONE
    detail = f": {outcome.detail}" if outcome.detail else ""
    print(without_controls(f"mini-agent: {outcome.reason}{detail}"), file=sys.stderr)
    return INTERRUPTED if outcome.reason == "interrupted" else FAILED
