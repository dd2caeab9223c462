"""Every test, each module in a process of its own, some at once (`make test`).

    python3 scripts/run_tests.py [MODULE ...]

The same as `python3 -X dev -W error -m unittest discover -s tests -t .`, which runs
them one after the other. Prints the output of modules that fail, and the count.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fresh import ROOT

RAN = re.compile(r"^Ran (\d+) tests? in ([\d.]+)s", re.MULTILINE)
OUTCOME = re.compile(r"(failures|errors|skipped)=(\d+)")
LONG = ("test_m3_laws", "test_m3_digest", "test_m6_evidence_table", "test_lessons",
        "test_m8_files", "test_m8_interrupts")  # ten seconds and more, though some are short
REASON = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.MULTILINE)
# Of `-X dev` all but the allocator that looks for faults of C, of which there is none here.
ENVIRONMENT = {"PYTHONMALLOC": "default"}


@dataclass(frozen=True)
class Result:
    """What a module came to. `wrong` counts failures and errors, `broken` is its output."""

    module: str
    ran: int = 0
    seconds: float = 0.0
    skipped: int = 0
    wrong: int = 0
    broken: str = ""
    reasons: tuple[str, ...] = ()


def modules() -> list[str]:
    """Every test module, those that take long first, so that none of them is begun last."""
    files = sorted((ROOT / "tests").glob("test_*.py"),
                   key=lambda path: (path.stem not in LONG, -path.stat().st_size))
    return [f"tests.{path.stem}" for path in files]


def run(module: str) -> Result:
    """One module in a process of its own, warnings as errors."""
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-m", "unittest", "-v",
                           module],
                          cwd=ROOT, env=ENVIRONMENT | dict(os.environ),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    counted = RAN.search(done.stdout)
    if counted is None:
        return Result(module, wrong=1, broken=done.stdout)
    found = {name: int(count) for name, count in OUTCOME.findall(done.stdout[counted.end():])}
    wrong = found.get("failures", 0) + found.get("errors", 0)
    if done.returncode and not wrong:
        wrong = 1
    return Result(module, int(counted[1]), float(counted[2]), found.get("skipped", 0), wrong,
                  done.stdout if wrong else "",
                  tuple(dict.fromkeys(match[2] for match in REASON.finditer(done.stdout))))


def results(wanted: list[str]) -> Iterator[Result]:
    """The results, as they come in. One more at a time than there are processors, since
    some tests mostly wait."""
    with ThreadPoolExecutor(1 + (os.cpu_count() or 1)) as pool:
        yield from pool.map(run, wanted)


def main() -> int:
    """Run the modules; 1 if any test failed, or none was there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="as tests.test_m1_loop")
    ran = skipped = wrong = 0
    for result in results(parser.parse_args().modules or modules()):
        ran, skipped, wrong = ran + result.ran, skipped + result.skipped, wrong + result.wrong
        print(f"{result.module:<38}{result.ran:>5} tests {result.seconds:>7.1f} s"
              + (f", {result.skipped} skipped" if result.skipped else "")
              + (f", {result.wrong} FAILED" if result.wrong else ""), flush=True)
        for reason in result.reasons:
            print(f"    skipped: {reason}")
        if result.broken:
            print(result.broken)
    print(f"{ran - wrong - skipped} passed, {wrong} failed, {skipped} skipped")
    return 0 if ran and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
