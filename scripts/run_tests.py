"""Every test, each module in a process of its own, some at once (`make test`).

    python3 scripts/run_tests.py [MODULE ...]

The same tests as `python3 -X dev -W error -m unittest discover -s tests -t .`, which runs
them one after the other in one process. All modules are loaded once, in a process that then
forks, since starting Python and loading the program for each module would take longer than
most of them. Prints the output of modules that fail, and the counts.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import gc
import os
import re
import signal
import sys
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fresh import ROOT

RAN = re.compile(r"^Ran (\d+) tests? in ([\d.]+)s", re.MULTILINE)
OUTCOME = re.compile(r"(failures|errors|skipped)=(\d+)")
LONG = ("test_lessons", "test_m3_all_laws", "test_m3_digest", "test_m3_killed", "test_m3_long",
        "test_m3_routes", "test_m4_leaving", "test_m4_session", "test_m5_kills", "test_m6_cost",
        "test_m6_evidence_table", "test_m8_ctrl_c", "test_m8_files", "test_m8_interrupts",
        "test_readme")  # two seconds of processors and more, though some have few lines
REASON = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.MULTILINE)
# Of `-X dev` all but the allocator that looks for faults of C, of which there is none here.
STRICTLY = ("-X", "dev", "-W", "error")
ENVIRONMENT = {"PYTHONMALLOC": "default"}


@dataclass(frozen=True)
class Result:
    """The result of a module. `wrong` counts failures and errors; `broken` is its output if there
    are any; `cpu` is its processor time in seconds, with that of its children."""

    module: str
    ran: int = 0
    seconds: float = 0.0
    skipped: int = 0
    wrong: int = 0
    broken: str = ""
    reasons: tuple[str, ...] = ()
    cpu: float = 0.0


def modules() -> list[str]:
    """Every test module, those that take long first, so that none of them is begun last."""
    files = sorted((ROOT / "tests").glob("test_*.py"),
                   key=lambda path: (path.stem not in LONG, -path.stat().st_size))
    return [f"tests.{path.stem}" for path in files]


def result_of(module: str, output: str, failed: bool) -> Result:
    """What the output of unittest says of a module."""
    counted = RAN.search(output)
    if counted is None:
        return Result(module, wrong=1, broken=output)
    found = {name: int(count) for name, count in OUTCOME.findall(output[counted.end():])}
    wrong = found.get("failures", 0) + found.get("errors", 0)
    if failed and not wrong:
        wrong = 1
    return Result(module, int(counted[1]), float(counted[2]), found.get("skipped", 0), wrong,
                  output if wrong else "",
                  tuple(dict.fromkeys(match[2] for match in REASON.finditer(output))))


def begin(suite: unittest.TestSuite) -> tuple[int, int]:
    """Run a module in a process of its own; returns its id and the file of its output."""
    output, path = tempfile.mkstemp(prefix="mini-agent-tests-")
    os.unlink(path)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until its output is redirected
    process = os.fork()
    if not process:
        with open(os.devnull, "rb") as nothing:
            for theirs, ours in ((nothing.fileno(), 0), (output, 1), (output, 2)):
                os.dup2(theirs, ours)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if not process:
        try:
            done = unittest.TextTestRunner(verbosity=2).run(suite)
        except KeyboardInterrupt:
            sys.exit(130)
        sys.exit(not done.wasSuccessful())
    return process, output


def results(wanted: list[str]) -> Iterator[Result]:
    """The results, as they come in. One more at a time than there are processors, since
    some tests mostly wait."""
    suites = [(name, unittest.defaultTestLoader.loadTestsFromName(name)) for name in wanted]
    print(f"{sum(suite.countTestCases() for _, suite in suites)} tests, {len(suites)} modules, "
          "the longest first:", flush=True)
    running: dict[int, tuple[str, int]] = {}
    gc.freeze()  # keeps the collector from touching the memory that all processes share
    try:
        while suites or running:
            if suites and len(running) <= (os.cpu_count() or 1):
                name, suite = suites.pop(0)
                process, output = begin(suite)
                running[process] = name, output
                continue
            process, status, used = os.wait4(-1, 0)
            name, output = running.pop(process)
            with open(output, "rb") as file:
                file.seek(0)
                said = file.read().decode("utf-8", "replace")
            yield replace(result_of(name, said, status != 0), cpu=used.ru_utime + used.ru_stime)
    except KeyboardInterrupt:
        for _ in running:  # they were interrupted too, and put away what they have begun
            os.wait()
        raise


def main() -> int:
    """Run the modules; 1 if any test failed, or none was there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="as tests.test_m1_loop")
    wanted = parser.parse_args().modules or modules()
    if not sys.flags.dev_mode:
        os.execve(sys.executable, [sys.executable, *STRICTLY, *sys.argv],
                  ENVIRONMENT | dict(os.environ))
    os.chdir(ROOT)
    ran = skipped = wrong = 0
    for result in results(wanted):
        ran, skipped, wrong = ran + result.ran, skipped + result.skipped, wrong + result.wrong
        print(f"{result.module:<34}{result.ran:>4} tests{result.seconds:>7.1f} s"
              f"{result.cpu:>7.1f} s CPU"
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
