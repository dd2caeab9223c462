"""Milestone 3: run again whenever the task file is saved, and say what changed.

    python3 scripts/watch_m3.py [--task FILE]

Edit a number in the file, save it, and read which compressions are new or gone, and how peak
and final size have changed. A file that is broken (or half saved) gives one line, and the
watch goes on. Ctrl-C ends it.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fresh import ROOT, demo

from mini_agent.cli import Parser, guarded
from mini_agent.columns import number_of
from mini_agent.errors import UsageError
from mini_agent.governance import govern
from mini_agent.rhythm import all_compressions, peak, rows
from mini_agent.tasks import load_task
from mini_agent.trace import Record

PAUSE = 0.3  # seconds between two looks at the file


@dataclass(frozen=True)
class Result:
    """The figures of one run; sizes in tokens, compressions as `strategy at step`; `detail` says
    what went wrong."""

    reason: str
    detail: str
    compressions: tuple[str, ...]
    peak: int
    final: int


def run_once(path: Path) -> Result:
    """Run the task file once. Raises `UsageError` where it is wrong."""
    task = load_task(path)
    records: list[Record] = []
    with demo("m3") as (_, play):
        outcome = play(task, [records.append], govern(task))
    table = rows(records)
    compressions = tuple(f"{change.strategy} at step {change.step}"
                         for change in all_compressions(table))
    return Result(outcome.reason, outcome.detail, compressions, peak(table),
                  records[-1]["payload"].get("final_tokens", 0))


def report(result: Result, last: Result | None) -> str:
    """One run in a few lines, against the last one if there was one."""
    head = (f"{result.reason}: {number_of(len(result.compressions), 'compression')}, "
            f"peak {result.peak} tokens, {result.final} at the end")
    wrong = [f"  {result.detail}"] * bool(result.detail)
    if last is None:
        return "\n".join([head, *wrong, *(f"    {made}" for made in result.compressions)])
    lines = [head, *wrong] if result != last else [f"{head} (as before)"]
    lines += [f"  + {made}" for made in result.compressions if made not in last.compressions]
    lines += [f"  - {made}" for made in last.compressions if made not in result.compressions]
    for name, now, before in (("peak", result.peak, last.peak), ("end", result.final, last.final)):
        if now != before:
            lines.append(f"  {name}: {before} -> {now} ({now - before:+})")
    return "\n".join(lines)


def watch(path: Path, sleep: Callable[[float], None], say: Callable[[str], None]) -> None:
    """Run at once and after each save, until `sleep` raises `KeyboardInterrupt`."""
    last: Result | None = None
    seen: tuple[int, int] | None = None
    while True:
        state = _state(path)
        if state != seen:
            seen = state
            try:
                result = run_once(path)
                say(report(result, last))
                last = result
            except UsageError as error:
                say(f"not run: {error}")
        sleep(PAUSE)


def _state(path: Path) -> tuple[int, int] | None:
    """Time and size of the file; None while an editor has it away."""
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size


def main(arguments: list[str] | None = None) -> int:
    """Watch the task file until Ctrl-C."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m3_task.json")
    options = parser.parse_args(arguments)
    print(f"watching {options.task}: edit and save it; Ctrl-C ends", flush=True)
    try:
        watch(options.task, time.sleep, lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print("\nwatch ended")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
