"""The live agent against software of others: a real model, a fault server, official judges.

    python3 scripts/test_real.py [--keep FOLDER] [PART ...]

Parts: model, faults, judges. Their packages are installed into an environment that is deleted
afterwards (or kept in FOLDER for the next time); their servers run on loopback and are ended
by process id. A part whose packages cannot be installed is skipped with a message. Exit status
1 if a part failed.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import fresh  # puts the package on the path  # noqa: F401
from scripts.real import faults_part, judges_part, model_part
from scripts.real.parts import Report, Skipped

PARTS: dict[str, Callable[[Path, Report], None]] = {
    "model": model_part.run, "faults": faults_part.run, "judges": judges_part.run}


def main() -> int:
    """Run the parts that were asked for, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--keep", metavar="FOLDER", type=Path,
                        help="keep the environments there for the next time (thrown away)")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return run(options.parts or list(PARTS), options.keep.resolve())
    with tempfile.TemporaryDirectory(prefix="mini-agent-real-") as folder:
        return run(options.parts or list(PARTS), Path(folder))


def run(parts: list[str], folder: Path) -> int:
    """Each part with its own lines, then one line per part."""
    endings, failed = [], False
    for name in parts:
        print(f"{name}:", flush=True)
        report, started = Report(), time.monotonic()
        try:
            PARTS[name](folder, report)
        except Skipped as reason:
            endings.append(f"skipped  {name}: {reason}")
            continue
        failed = failed or bool(report.faults)
        ending = f"FAILED {len(report.faults)}" if report.faults else "passed"
        endings.append(f"{ending:<8} {name} ({time.monotonic() - started:.0f} s)")
    print("\n".join(endings))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
