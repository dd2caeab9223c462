"""Milestone 6: recorded sessions in the lab, from other agents' logs to one page.

    python3 scripts/drive_m6.py [--sessions FOLDER] [--window N,M] [--policy A,B] [--traces FOLDER]

Makes a trace of each session and checks it, replays all of them under every policy,
prints the table, and writes m6-NAME.jsonl and m6-page.html into the traces folder.
Opens nothing, but says where the page is. Exit status 1 if a check found something.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import sys
from pathlib import Path

from fresh import ROOT, TRACES

from mini_agent import cli
from mini_agent.columns import number_of
from mini_agent.lab.check import check_file
from mini_agent.lab.convert import records_of, write_trace
from mini_agent.lab.sessions import open_sessions


def convert(path: Path, traces: Path) -> int:
    """A trace of each session in a file, each checked; how many findings there were."""
    findings = 0
    sessions = open_sessions(str(path))
    for number, session in enumerate(sessions, 1):
        made = traces / f"m6-{path.stem}{f'-{number}' if len(sessions) > 1 else ''}.jsonl"
        records = records_of(session)
        write_trace(made, records, path)
        found = list(check_file(str(made)))
        findings += len(found)
        print(f"{path.name} ({session.format}): {number_of(len(session.messages), 'message')}, "
              f"{number_of(len(records), 'record')}, {number_of(len(found), 'finding')}")
        print("".join(f"  {line}\n" for line in found), end="")
    return findings


def main(arguments: list[str] | None = None) -> int:
    """Convert, check, compare; 0 if nothing was found."""
    parser = cli.Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=Path, default=ROOT / "workspace" / "sessions")
    parser.add_argument("--window", default="1800")
    parser.add_argument("--policy", default="", help="only these, as A,B")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    findings = sum(convert(path, options.traces) for path in sorted(options.sessions.iterdir()))
    print()
    status = cli.main(["compare", str(options.sessions), "--window", options.window,
                       "--policy", options.policy, "--html", str(options.traces / "m6-page.html")])
    return status or (1 if findings else 0)


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
