"""Milestone 5: the commands `chat` and `resume`, and how one request is done.

The code behind the commands is imported only when they are run, so that the other commands
start fast.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compression.catalogue import DEFAULT_POLICY
from ..errors import UsageError
from ..subcommands import add_command, limit, report

if TYPE_CHECKING:
    from ..session import Session
    from .wiring import Wiring


def add_commands(commands: Any) -> None:
    """`chat` and `resume`."""
    parser = add_command(commands, "chat", "talk with a model, or have one request done",
                         '"fix the failing test" --workspace my_project --yes', _chat)
    parser.add_argument("request", nargs="?", metavar="REQUEST",
                        help="do only this; its answer alone goes to standard output")
    _add_options(parser)
    parser = add_command(commands, "resume", "go on with a session from its trace",
                         "traces/session.jsonl", _resume)
    parser.add_argument("trace", type=Path, metavar="TRACE", help="the trace of a session")
    parser.add_argument("request", nargs="?", metavar="REQUEST", help="say only this, then end")
    _add_options(parser, resumed=True)


def _add_options(parser: argparse.ArgumentParser, resumed: bool = False) -> None:
    add = parser.add_argument
    add("--workspace", type=Path, default=Path("."), metavar="DIR",
        help="the folder that the tools may touch (default: this one)")
    if not resumed:
        add("--trace", type=Path, metavar="FILE", help="keep the session there")
    add("--policy", default="", metavar="NAME", help="how the window is kept small (default: "
        f"{'as before' if resumed else DEFAULT_POLICY}; see mini-agent policies)")
    add("--window", default="", metavar="N",
        help="the model's window in tokens, such as 32000, 32k or 1m")
    add("--model", default="", metavar="NAME", help="the model's name (default: MINI_AGENT_MODEL)")
    add("--provider", default="", choices=("", "openai", "anthropic"), metavar="NAME",
        help="openai or anthropic (default: the one whose variables are set)")
    add("--base-url", default="", metavar="URL",
        help="the endpoint (default: from the environment)")
    add("--max-tokens", type=limit, metavar="N", help="the longest answer, in tokens")
    add("--max-steps", type=limit, default=200, metavar="N",
        help="steps until it is the user's turn again (default: %(default)s)")
    add("--price", default="", metavar="IN,CACHED,OUT",
        help="prices of a million tokens each; the status line then shows the cost")
    add("--yes", action="store_true", help="allow every call without asking")
    add("--read-only", action="store_true", help="allow no call that writes or runs something")
    add("--sub-agents", action="store_true",
        help="let the model give parts of the work to sub-agents")
    add("--depth", type=int, default=1, metavar="N", choices=range(1, 10),
        help="generations of sub-agents (default: %(default)s)")
    add("--plain", action="store_true", help="whole lines of words, no colours or symbols")
    add("--json", action="store_true", help="with REQUEST: print the outcome as JSON")
    add("--script", type=Path, metavar="TASK.json",
        help="answer with the replies of a task file, without any model" + (
            "; those that the session has had already are skipped" if resumed else ""))


def _chat(options: argparse.Namespace) -> int:
    from ..trace import TraceFile
    from .wiring import Wiring

    path = options.trace or _new_path(_state_folder(os.environ) / "sessions")
    wiring = Wiring(options, os.environ)
    with TraceFile(path) as file, wiring.interrupts:
        if options.script is None:
            _check_unused(path)
        if options.request is not None:
            return _once(wiring, wiring.begin(file, options.request), options)
        return wiring.talk(lambda said: wiring.begin(file, said), None,
                           _state_folder(os.environ) / "history")


def _resume(options: argparse.Namespace) -> int:
    from ..trace import TraceFile
    from .wiring import Wiring

    if not os.path.isfile(options.trace):
        raise UsageError("there is no such trace", place=str(options.trace),
                         remedy="name a .jsonl file that a session has written")
    wiring = Wiring(options, os.environ)
    with TraceFile(options.trace, fresh=False) as file, wiring.interrupts:
        session = wiring.resume(file)
        if options.request is not None:
            return _once(wiring, session, options)
        return wiring.talk(lambda said: session, session, _state_folder(os.environ) / "history")


def _once(wiring: Wiring, session: Session, options: argparse.Namespace) -> int:
    """Do one request; returns the exit status, which says how it ended."""
    outcome = session.finish(session.turn(options.request))
    if outcome.done:
        wiring.tell_status()
    return report(outcome, options.json)


def _state_folder(environ: Mapping[str, str]) -> Path:
    """The folder of sessions and of the typed lines, below XDG_STATE_HOME."""
    home = environ.get("XDG_STATE_HOME", "")
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
    return base / "mini-agent"


def _check_unused(path: Path) -> None:
    """Raise `UsageError` for a file with something in it: a session that was kept is not
    replaced by the next one, unless a script can play it again."""
    if path.is_file() and path.stat().st_size:
        raise UsageError("a session is kept in this file already", place=str(path), remedy="go on "
                         f"with mini-agent resume {shlex.quote(str(path))}, or name another file")


def _new_path(folder: Path) -> Path:
    """The path of a new trace. It is numbered if it exists, since clocks are set back and
    process ids are used again."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    paths = (folder / f"{name}{f'-{more}' if more else ''}.jsonl" for more in count())
    return next(path for path in paths if not path.exists())
