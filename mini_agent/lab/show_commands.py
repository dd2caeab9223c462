"""Milestone 6: the commands `show` and `why`, which look at one session.

The code behind them is imported only when they are run, so that the other commands start
fast.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DONE, FAILED, UsageError
from ..subcommands import add_command, add_plain

if TYPE_CHECKING:
    from .session_steps import ReplayOptions

WINDOW = "32k"  # of a replay, where none is given
SHOWN, WHY = 30, 12  # blanks before the continuation of a long row, of `show` and of `why`


def add_show(commands: Any) -> None:
    """The command `show`."""
    parser = add_command(commands, "show", "show the steps of a trace, or what was sent at one",
                         "traces/reference/m3-trace.jsonl --step 4 --diff", _show)
    parser.add_argument("trace", metavar="TRACE",
                        help="a trace (TRACE#2 is its sub-agent 2), or a log of another agent "
                        "(FILE#NAME is one of several sessions)")
    parser.add_argument("--step", type=int, metavar="N", help="all that was sent at this step")
    parser.add_argument("--diff", action="store_true",
                        help="only what changed since the step before")
    parser.add_argument("--message", type=int, metavar="N",
                        help="message #N as it was said, however little of it was sent")
    parser.add_argument("--json", action="store_true",
                        help="print what was sent at the step, or at each, one per line, as JSON")
    add_plain(parser)
    _add_replay(parser)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    """The options of a command that may replay the session first."""
    parser.add_argument("--policy", default="", metavar="NAME",
                        help="replay the session under this policy, or JSON file, first")
    parser.add_argument("--window", metavar="N",
                        help=f"the window of the replay (default: {WINDOW})")
    parser.add_argument("--workspace", default="", metavar="DIR",
                        help="run a task file in a copy of it (default: in an empty folder, "
                        "without commands)")


def _settle_replay(options: argparse.Namespace) -> None:
    """Fill in what is not given. `UsageError` for a window in which nothing would be replayed."""
    if options.window is not None and not options.policy:
        raise UsageError("without a policy nothing is replayed", place="--window",
                         value=options.window, remedy="name one with --policy")
    if options.window is None:
        options.window = WINDOW


def _replay_options(options: argparse.Namespace) -> ReplayOptions:
    """The values of the options that `_add_replay` adds."""
    from .progress import ProgressLine
    from .session_steps import ReplayOptions

    return ReplayOptions(options.policy, options.window, options.workspace,
                         lambda total: ProgressLine(total, sys.stderr, time.monotonic))


def _show(options: argparse.Namespace) -> int:
    from ..columns import write_rows
    from ..disk import readable_again
    from ..hostile import escaped

    if options.json and options.diff:
        raise UsageError("--json and --diff contradict each other", place="--diff",
                         remedy="give one of them")
    if options.message is not None and (options.diff or options.step is not None):
        raise UsageError("a message belongs to no step", place="--message", value=options.message,
                         remedy="give it without --step and --diff")
    _settle_replay(options)
    with readable_again(options.trace) as options.trace:
        if options.json:
            for value in _shown_objects(options):
                print(json.dumps(value, ensure_ascii=False))
        elif options.message is not None or options.step is not None or options.diff:
            for line in _shown_lines(options):  # to the letter: nothing is broken there
                print(escaped(line))
        else:
            write_rows(_shown_rows(options), sys.stdout, SHOWN, options.plain)
    return DONE


def _shown_objects(options: argparse.Namespace) -> Iterable[Any]:
    """The JSON values: a message, or what was sent at one step or at each."""
    from .show import messages_at, step_objects

    if options.message is not None:
        return [said for _, said in messages_at(options.trace, options.message,
                                                options.workspace)]
    return step_objects(options.trace, options.step, _replay_options(options))


def _shown_lines(options: argparse.Namespace) -> Iterable[str]:
    """The lines about a message, or about what was sent or changed at one step or at each."""
    from .show import show_message, show_step

    if options.message is not None:
        return show_message(options.trace, options.message, options.workspace)
    return show_step(options.trace, options.step, options.diff, _replay_options(options))


def _shown_rows(options: argparse.Namespace) -> Iterable[str]:
    """The overview of a session, a row a step."""
    from ..hostile import escaped
    from ..trace import read_trace
    from .session_steps import is_trace, meant_by
    from .show import show_steps, show_trace

    path, _ = meant_by(options.trace)
    if options.policy or not is_trace(path):
        return show_steps(options.trace, _replay_options(options))
    trace = read_trace(Path(path))
    if trace.warning:
        print(f"mini-agent: {escaped(trace.warning)}", file=sys.stderr)
    return show_trace(trace, options.trace)


def add_why(commands: Any) -> None:
    """The command `why`."""
    parser = add_command(commands, "why", "when could the model see a text, and what took it away",
                         'traces/m3-trace.jsonl "N170"', _why)
    parser.add_argument("trace", metavar="TRACE", help="a trace, or a log of another agent "
                        "(FILE#NAME is one of several sessions)")
    parser.add_argument("text", metavar="TEXT", help="words, exactly as they stood in a message "
                        "(after -- if they begin with -)")
    _add_replay(parser)
    parser.add_argument("--json", action="store_true", help="print all that is known as JSON")
    add_plain(parser)


def _why(options: argparse.Namespace) -> int:
    from ..disk import readable_again

    if not options.text:
        raise UsageError("an empty text is everywhere", place="TEXT",
                         remedy="give the text that the model should have known")
    _settle_replay(options)
    with readable_again(options.trace) as options.trace:
        return DONE if _explained(options) else FAILED


def _explained(options: argparse.Namespace) -> bool:
    """Print what is known of the text in each session of the file; True if one has it."""
    from ..columns import write_rows
    from ..compression.budget import window_tokens
    from ..hostile import escaped
    from .session_steps import is_trace, meant_by, steps_at, unread_at
    from .why import explain
    from .whywords import parent_lines, why_lines

    write = partial(write_rows, stream=sys.stdout, indent=WHY, plain=options.plain)
    path, _ = meant_by(options.trace)
    under = f" under {options.policy} at {window_tokens(options.window)}" * bool(options.policy)
    found, ours, below = False, is_trace(path), path != str(options.trace)
    for at, (name, steps, history) in enumerate(steps_at(options.trace, _replay_options(options))):
        explained = explain(options.text, steps, history)
        seen = explained["entered"] or explained["seen"]
        if at and not seen:
            continue  # one of many sessions, and not the one that was asked for
        found = found or bool(seen)
        if options.json:
            print(json.dumps({"session": name, **explained}, ensure_ascii=False))
            continue
        print(f"{escaped(name)}{under}: {options.text!r}")
        write(f"  {line}" for line in why_lines(explained))
        if ours and (at or below):  # the trace of a sub-agent
            write(f"  {line}" for line in parent_lines(name, explained))
    if not found and not options.json and (unread := unread_at(options.trace)):
        write([f"  unread    not part of the session: {unread}"])
    return found
