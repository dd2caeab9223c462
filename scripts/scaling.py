"""How `compare` grows with the session: processor time and memory of a process each.

    python3 scripts/scaling.py [--steps 1000,3000,10000]

Five policies and the evidence in one pass over a file; 10,000 steps are about 50 MB.
`make bench` has the same numbers as ratios to the smallest session.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fresh import ROOT
from made import session

from mini_agent.trace import TraceFile, Tracer

POLICIES = ("whole_rounds", "clip_errors", "published", "recall", "digest")
STEPS = (1_000, 3_000, 10_000)
RESULT = 4_700  # characters of a result
UNIT = 1 if sys.platform == "darwin" else 1_024  # bytes of what a system calls its largest size


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


def write_session(path: Path, steps: int) -> None:
    """A trace of so many steps: a call and its result each."""
    with TraceFile(path) as file:
        tracer = Tracer(file)
        for message in session(2 * steps + 2, size=RESULT):
            tracer.message(0, message)


def measured(path: Path, steps: int, policies: Sequence[str] = POLICIES) -> Size:
    """One `compare` in a process of its own."""
    words = [sys.executable, "-m", "mini_agent", "compare", str(path), "--policy",
             ",".join(policies), "--window", "64k", "--json"]
    with open(os.devnull, "wb") as nothing:
        child = os.posix_spawn(sys.executable, words, {**os.environ, "PYTHONPATH": str(ROOT)},
                               file_actions=[(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1),
                                             (os.POSIX_SPAWN_DUP2, nothing.fileno(), 2)])
        _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(words)} ended with status {status}")
    return Size(steps, path.stat().st_size, used.ru_utime + used.ru_stime, used.ru_maxrss * UNIT)


def sizes(steps: Sequence[int] = STEPS) -> Iterator[Size]:
    """Each session measured, as it is done."""
    with tempfile.TemporaryDirectory() as folder:
        for number in steps:
            path = Path(folder, f"{number}.jsonl")
            write_session(path, number)
            yield measured(path, number)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="of each session")
    options = parser.parse_args()
    print(f"compare --policy {','.join(POLICIES)} --window 64k, with evidence")
    print(f"{'steps':>8}{'MB':>8}{'seconds':>10}{'MB/s':>8}{'memory, MB':>12}{'x file':>8}")
    for size in sizes(tuple(map(int, options.steps.split(",")))):
        print(f"{size.steps:>8}{size.file / 1e6:>8.1f}{size.seconds:>10.1f}{size.speed:>8.2f}"
              f"{size.memory / 1e6:>12.0f}{size.memory / size.file:>8.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
