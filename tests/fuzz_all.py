"""All of `make fuzz`, part by part; Ctrl-C ends it at once, and says how far it was.

    python3 -m tests.fuzz_all [arguments of tests.fuzz]

Some parts press Ctrl-C themselves, at each place of a run, and would take one of the
terminal for theirs. So each has a process group of its own, which is killed, and a
folder of its own for what it throws away.
"""

from __future__ import annotations

import scripts.ctrl_c  # first: see there  # noqa: F401

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

PARTS = ("fuzz", "fuzz_children", "fuzz_faults", "kills")
INTERRUPTED = 130


def run(part: str, arguments: Sequence[str], told: list[str]) -> int:
    """The exit status of a part. `told` gets the lines that it says of its work."""
    with tempfile.TemporaryDirectory(
            prefix="mini-agent-fuzz-", ignore_cleanup_errors=True) as folder, subprocess.Popen(
            [sys.executable, *(f"-W{option}" for option in sys.warnoptions), "-m", f"tests.{part}",
             *arguments], stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
            env={**os.environ, "TMPDIR": folder}) as process:
        try:
            for line in process.stderr or ():
                told.append(line)
                print(line, end="", file=sys.stderr, flush=True)
            return process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def main() -> int:
    """1 if anything fails, 130 for an interrupt."""
    start = time.monotonic()
    asks = {"-h", "--help"} & {*sys.argv[1:]}  # what the first part says is all
    for number, part in enumerate(PARTS[:1] if asks else PARTS, 1):
        told: list[str] = []
        try:
            if status := run(part, sys.argv[1:] if number == 1 else (), told):
                return status
        except KeyboardInterrupt:
            last = next((f", which had said: {line.strip()}" for line in reversed(told)
                         if line.strip()), "")
            print(f"interrupted after {time.monotonic() - start:.0f} s in part {number} of "
                  f"{len(PARTS)}, tests.{part}{last}", file=sys.stderr)
            return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
