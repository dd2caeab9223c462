"""How `compare` grows with the session: processor time and memory of a process each.

    python3 scripts/scaling.py [--steps 1000,3000,10000]

Five policies and the evidence in one pass over a file; 10,000 steps are about 50 MB.
`make bench` has the same numbers as ratios to the smallest session.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from fresh import ROOT
from made import session, write_trace

from mini_agent.cli import main

POLICIES = ("whole_rounds", "clip_errors", "published", "recall", "digest")
STEPS = (1_000, 3_000, 10_000)
RESULT = 4_700  # characters of a result


@dataclass(frozen=True)
class Size:
    """What `compare` took for a session: seconds of the processor, bytes at the most."""

    steps: int
    file: int
    seconds: float
    memory: int

    @property
    def speed(self) -> float:
        """MB of the file a second."""
        return self.file / 1e6 / self.seconds


def measured(path: Path, steps: int) -> Size:
    """One `compare` in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--one", str(path)], check=True,
                          cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    seconds, memory = json.loads(done.stdout)
    return Size(steps, path.stat().st_size, seconds, memory)


def one(path: str) -> tuple[float, int]:
    """Seconds of the processor and bytes at the most of this process, for one `compare`."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), \
            redirect_stderr(nothing):
        status = main(["compare", path, "--policy", ",".join(POLICIES), "--window", "64k",
                       "--json"])
    if status:
        raise RuntimeError(f"compare {path} ended with status {status}")
    return time.process_time(), largest()


def largest() -> int:
    """The most memory that this process has used, in bytes. On Linux `getrusage` may give that
    of its parent, from before the process became another program."""
    own = Path("/proc/self/status")
    if own.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", own.read_text(encoding="utf-8"))
        if found:
            return int(found[1]) * 1_024
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def sizes(steps: Sequence[int] = STEPS) -> Iterator[Size]:
    """Each session measured, as it is done."""
    with tempfile.TemporaryDirectory() as folder:
        for number in steps:
            path = Path(folder, f"{number}.jsonl")
            write_trace(path, session(2 * number + 2, size=RESULT))  # a call and a result a step
            yield measured(path, number)


def table() -> int:
    """Print the table; with --one the numbers of one session."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="of each session")
    parser.add_argument("--one", metavar="TRACE", help="measure this one, as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one)))
        return 0
    print(f"compare --policy {','.join(POLICIES)} --window 64k, with evidence")
    print(f"{'steps':>8}{'MB':>8}{'seconds':>10}{'MB/s':>8}{'memory, MB':>12}{'x file':>8}")
    for size in sizes(tuple(map(int, options.steps.split(",")))):
        print(f"{size.steps:>8}{size.file / 1e6:>8.1f}{size.seconds:>10.1f}{size.speed:>8.2f}"
              f"{size.memory / 1e6:>12.0f}{size.memory / size.file:>8.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(table())
