"""Milestone 6: what each policy forgets and costs, over a folder of recorded sessions.

    python3 scripts/evidence.py FOLDER [--windows 16000,32000,64000] [--jobs N]
                                [--traces FOLDER]

Prints the table of all policies at each window, then what the sessions say of the digest:
its difference to the best known policies session by session, what each of its parts is worth,
how much it keeps with settings chosen on other sessions, and on second halves of sessions.
Writes evidence.svg (cost against far recall) and evidence.html (the table, sortable) into the
traces folder. The same sessions give the same bytes.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fresh import TRACES

from mini_agent.cli import Parser, guarded
from mini_agent.columns import columns_of, write_rows
from mini_agent.compression.budget import windows_of
from mini_agent.disk import write_file
from mini_agent.errors import UsageError
from mini_agent.lab.compare import Plan, compare
from mini_agent.lab.frontier import frontier_svg
from mini_agent.lab.heldout import HeldOut, second_halves
from mini_agent.lab.page import render_page
from mini_agent.lab.pagedata import page_data
from mini_agent.lab.progress import ProgressLine
from mini_agent.lab.results import Result
from mini_agent.lab.sources import find_sources
from mini_agent.lab.study import KNOWN, POLICIES, Study
from mini_agent.lab.summary import is_counted
from mini_agent.lab.tables import summary_table
from mini_agent.lab.variants import GRID

WINDOWS = "16000,32000,64000"


def results_of(folder: str, plan: Plan, jobs: int) -> list[Result]:
    """The results of all sessions of a folder that could be read, under the plan."""
    sources = find_sources([folder])
    line = ProgressLine(sum(source.size for source in sources), sys.stderr, time.monotonic)
    try:
        return [result for result in compare(sources, plan, jobs, line) if "rows" in result]
    finally:
        line.end()


def said_of(study: Study, folder: str, windows: tuple[int, ...], jobs: int) -> Iterator[str]:
    """What the table does not say; then the held-out settings and the second halves."""
    yield from study.sentences()
    yield from HeldOut(results_of(folder, Plan(tuple(GRID), windows), jobs)).sentences(study)
    yield from second_halves(Study(results_of(
        folder, Plan((*KNOWN, "digest"), windows, half=True), jobs)))


def write(study: Study, said: list[str], command: str, traces: Path) -> list[Path]:
    """Write the picture, and the page with these sentences and the sessions that count."""
    data = page_data(command, "runs", (), study.results)
    kept = {(result["session"], window) for result in study.results for window in study.windows
            if is_counted(result, window)}
    data["rows"] = [row for row in data["rows"] if (row["session"], row["window"]) in kept]
    data["notes"] = [*data["notes"], *said]
    written = []
    for name, text in (("evidence.svg", frontier_svg(study)), ("evidence.html", render_page(data))):
        written.append(traces / name)
        write_file(written[-1], text)
    return written


def main() -> int:
    """Exit status 0. Raises `UsageError` where there is nothing to measure."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="FOLDER", help="recorded sessions, of any known agent")
    parser.add_argument("--windows", default=WINDOWS, help=f"in tokens ({WINDOWS})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="files at a time (one a processor)")
    parser.add_argument("--traces", type=Path, default=TRACES, help="where the picture goes")
    options = parser.parse_args()
    windows = windows_of(options.windows)
    study = Study(results_of(options.folder, Plan(POLICIES, windows), options.jobs))
    if not study.windows:
        raise UsageError("no session counts at these windows: it takes 20 calls, a history over "
                         "1.15 windows, and a head under 40 % of one", place=options.folder,
                         remedy="give longer ones, as SESSIONS=FOLDER, or smaller --windows")
    write_rows(summary_table(study.summary, columns_of(sys.stdout)), sys.stdout)
    said = list(said_of(study, options.folder, windows, options.jobs))
    for sentence in said:
        if sentence.endswith(":"):
            print()
        write_rows([sentence if sentence.endswith(":") else f"  {sentence}"], sys.stdout)
    command = f"python3 scripts/evidence.py {options.folder} --windows {options.windows}"
    for path in write(study, said, command, options.traces):
        print(f"\nwritten: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
