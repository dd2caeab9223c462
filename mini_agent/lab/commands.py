"""Milestone 6: the options of the lab's commands `compare`, `check` and `convert`.

`show` and `why` are in `show_commands.py`. The code behind a command is imported only when
the command is run, so that the others start fast.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ..errors import DONE, FAILED, WRONG_USE, UsageError
from ..subcommands import add_command, add_plain
from .show_commands import add_show, add_why


def add_commands(commands: Any) -> None:
    """All commands of the lab."""
    for add in (add_show, _add_compare, add_why, _add_check, _add_convert):
        add(commands)


def _add_compare(commands: Any) -> None:
    parser = add_command(commands, "compare",
                         "replay recorded sessions under policies, and measure",
                         "workspace/sessions --policy published,naive --window 2000,8k", _compare)
    parser.add_argument("sessions", nargs="*", metavar="SESSION",
                        help="a log of any known agent, a trace, a task file, or a folder")
    parser.add_argument("--policy", metavar="A,B", default="",
                        help="names or JSON files (default: all policies; see mini-agent policies)")
    parser.add_argument("--window", metavar="N,M",
                        help="windows in tokens, 32k for 32000, 1m for a million (default: 32k)")
    parser.add_argument("--estimator", metavar="NAME",
                        help="what counts the tokens (default: runs; see mini-agent tokens)")
    parser.add_argument("--price", default="", metavar="IN,CACHED,OUT",
                        help="prices of a million tokens each; adds a bill, and "
                             "the advice goes by it")
    parser.add_argument("--fact", action="append", default=[], metavar="TEXT",
                        help="say where this text is at the end (@FILE: one text per line; @@TEXT: "
                             "@TEXT itself)")
    parser.add_argument("--evidence", nargs="?", type=int, const=20, metavar="N",
                        help="list what was missing, the N largest items (default: 20)")
    parser.add_argument("--no-evidence", action="store_true",
                        help="leave out the evidence, which takes most of the time")
    parser.add_argument("--workspace", default="", metavar="DIR",
                        help="run task files in a copy of it, with commands if the file is named "
                        "(default: in an empty folder, without commands)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the rows as JSON")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")
    parser.add_argument("--verdict", action="store_true", help="with --json: print an object with "
                        "the rows, the means of many sessions, and the verdicts")
    add_plain(parser)
    parser.add_argument("--html", metavar="PAGE", help="write a one-file page "
                        "(with --shard: keep what the page of --merge needs)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="processes: each works on a file, or on some of the policies of a "
                        "single file (default: %(default)s)")
    parser.add_argument("--shard", metavar="K/N",
                        help="compare share K of N of the files; print it as JSON, for --merge")
    parser.add_argument("--merge", nargs="+", metavar="SHARE",
                        help="put all shares together, as if one call had made them")
    parser.add_argument("--max-peak", type=int, metavar="N",
                        help="exit with 1 if any request has more tokens")
    parser.add_argument("--min-recall", type=float, metavar="X",
                        help="exit with 1 if far recall is lower in any session, 0 to 1")
    parser.add_argument("--fail-on", metavar="A,B",
                        help="exit with 1 on any of lost-fact, law, overflow")


def _compare(options: argparse.Namespace) -> int:
    from .run_compare import run

    return run(options, sys.stdout, sys.stderr)


def _add_check(commands: Any) -> None:
    parser = add_command(commands, "check", "find what is wrong in transcripts and traces",
                         "traces/m3-trace.jsonl", _check)
    parser.add_argument("files", nargs="+", metavar="FILE",
                        help="a trace, or a session of another agent")
    parser.add_argument("--json", action="store_true",
                        help="print a list of findings: file, line or message, kind, text")
    add_plain(parser)


def _check(options: argparse.Namespace) -> int:
    from ..columns import write_rows
    from .check import findings_of

    unread: list[str] = []
    found = findings_of(options.files, unread)
    if options.json:
        findings = [one._asdict() for one in found]
        if len(unread) < len(options.files):
            print(json.dumps(findings, ensure_ascii=False))
        status = FAILED if findings else DONE
    else:
        status = DONE
        for one in found:
            write_rows([str(one)], sys.stdout, plain=options.plain)
            status = FAILED
    write_rows((f"mini-agent: {text}" for text in unread), sys.stderr)
    return WRONG_USE if unread else status


def _add_convert(commands: Any) -> None:
    parser = add_command(commands, "convert", "make a trace from another agent's log",
                         "workspace/sessions/rename.json --trace traces/rename.jsonl", _convert)
    parser.add_argument("file", metavar="FILE", help="the log of another agent")
    parser.add_argument("--trace", metavar="OUT", help="write it there (default: print it)")
    parser.add_argument("--session", type=int, default=1, metavar="N",
                        help="which one, if the file has several (default: %(default)s)")


def _convert(options: argparse.Namespace) -> int:
    from ..trace import line
    from .convert import records_of, write_trace
    from .sessions import open_sessions

    sessions = open_sessions(options.file)
    if not 1 <= options.session <= len(sessions):
        raise UsageError(f"there is no session {options.session}", place=options.file,
                         value=options.session, remedy=f"it has {len(sessions)}")
    if len(sessions) > 1:
        print(f"mini-agent: session {options.session} of {len(sessions)} in {options.file}",
              file=sys.stderr)
    records = records_of(sessions[options.session - 1])
    if options.trace:
        write_trace(Path(options.trace), records, Path(options.file))
    else:
        sys.stdout.writelines(map(line, records))
    return DONE
