"""The cost of governing a window, as ratios within one run (`make bench`).

    python3 scripts/bench.py [--json] [--quick] [--profile]

Machines differ, and their speed changes, so no row is a time alone: subject and floor take
turns in one process, and what counts is the ratio of each pair, its median and spread over
the repetitions. A row with a limit fails the run if its median is over it.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import cProfile
import gc
import json
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

from bench_parts import python, small_parts
from made import session, write_trace
from ratios import REPEATS, Row, ratio, row_of, timed
from scaling import sizes

from mini_agent.compression.index import HistoryIndex
from mini_agent.compression.policies import find_policy
from mini_agent.lab.compare import Plan, file_results
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Trial, Walk, replay
from mini_agent.lab.results import Result, UnreadFile
from mini_agent.lab.sources import Source
from mini_agent.messages import Message, text_of
from mini_agent.tokens import estimator

POLICIES = ("published", "whole_rounds", "keep_head", "snip_middle", "clip", "clip_errors",
            "clear_keep_3", "clear_keep_10", "layered", "digest", "digest_lean", "recall")


def play(messages: Sequence[Message], policies: Sequence[str], window: int = 64_000,
         estimate: str = "runs") -> Recording:
    """Replay from loaded messages: counted once, no trace, no evidence."""
    recording = Recording("bench", "bench", messages, estimator(estimate))
    replay(recording, [Trial(recording, find_policy(name), window, []) for name in policies])
    return recording


def governed_steps(quick: bool) -> Iterator[Row]:
    """A step with one new round against `json.dumps` of the view it governs."""
    for size in (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000):
        messages = session(size, size=1_900 if size == 100_000 else 4_700)
        recording = Recording("bench", "bench", messages, estimator("runs"))
        trial = Trial(recording, find_policy("clip"), 10**9, [])
        history, new = messages[:-2 * REPEATS], iter(messages[-2 * REPEATS:])
        walk = Walk(trial, HistoryIndex(history))
        walk.step(1, 0, history)

        def governed() -> None:
            history.extend(islice(new, 2))
            walk.step(2, 0, history)

        yield ratio(f"governed step, {size} messages", governed, partial(json.dumps, history), .5)


def growth(quick: bool) -> Row:
    """The mean step late in a long replay against the mean step early in it."""
    messages = session(6_000 if quick else 30_000, size=1_500)
    pairs = []
    for _ in range(1 if quick else 3):
        recording = Recording("bench", "bench", messages, estimator("runs"))
        trial = Trial(recording, find_policy("layered"), 64_000, [])
        ends = [0.0]
        gc.collect()
        start = time.process_time()
        replay(recording, [trial], lambda at: ends.append(time.process_time() - start))
        fifth = len(ends) // 5
        pairs.append((ends[-1] - ends[-fifth], ends[2 * fifth] - ends[fifth]))
    return row_of(f"last fifth / second fifth, {len(messages)} messages", pairs, 1.5)


def replays(quick: bool) -> Iterator[Row]:
    """A whole replay against one `json.loads` of the session; many policies against one.

    200,000 tokens are the window for which the numbers of policies are given.
    """
    messages = session(2_000 if quick else 10_000)
    text = json.dumps(messages, ensure_ascii=False)
    size = f"{len(text) // 10**6} MB"
    for estimate, limit in (("runs", 10.0), ("chars3", 1.0)):
        for name in ("recall", "whole_rounds", "clip_errors", "digest"):
            work = partial(play, messages, [name], estimate=estimate)
            row = ratio(f"replay {name}, {estimate}, {size}", work, lambda: json.loads(text),
                        limit if name == "recall" else None, REPEATS if name == "recall" else 1)
            yield replace(row, work=work)
    yield ratio(f"replay recall, chars3, window 200k, {size}", partial(
        play, messages, ["recall"], 200_000, "chars3"), lambda: json.loads(text), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        write_trace(path, messages)
        for told, policies, limit in (
                ("12 policies", POLICIES, 4.0),
                ("10, no digest", [name for name in POLICIES if "digest" not in name], None)):
            yield ratio(f"compare, {told} / 1, {size}", partial(
                compared, path, policies), lambda: compared(path, ["published"]), limit,
                1 if quick else 3)


def commands(quick: bool) -> Iterator[Row]:
    """`compare` as it is called, on a folder of recorded sessions: many policies against one."""
    folder = os.environ.get("SESSIONS")
    if not folder:
        print("left out: compare of recorded sessions; SESSIONS names their folder",
              file=sys.stderr)
        return
    for window in ("32k", "64k"):
        call = ["-m", "mini_agent", "compare", folder, "--window", window, "--no-evidence",
                "--policy"]
        yield ratio(f"compare, 12 policies / 1, SESSIONS, {window}", lambda: python(
            *call, ",".join(POLICIES)), lambda: python(*call, "published"), 4.0,
            1 if quick else REPEATS, time.perf_counter)


def digests(quick: bool) -> Iterator[Row]:
    """A digest of a history of 200,000 tokens, its words and lines known, against 50 ms."""
    recording = Recording("bench", "bench", session(310), estimator("runs"))
    index = HistoryIndex(recording.messages).grow()
    for window in (64_000,) if quick else (32_000, 64_000, 128_000):
        trial = Trial(recording, find_policy("digest"), window, [])
        took = []
        for _ in range(REPEATS):
            walk = Walk(trial, index)
            took.append(timed(lambda: walk.step(1, 0, recording.messages)) / .05)
        middle = statistics.median(took)
        yield Row(f"digest of {sum(recording.tokens)} tokens, window {window}",
                  f"{middle * 50:.1f} ms", "50 ms", middle, min(took), max(took), 1.0)


def compared(path: Path, policies: Sequence[str]) -> list[Result] | list[UnreadFile]:
    """What `compare` does with a file, from reading it to its rows."""
    return file_results(Source(0, str(path), path.name, path.stat().st_size, True),
                        Plan(tuple(policies), (64_000,), evidence=False))


def counted(quick: bool) -> Iterator[Row]:
    """Characters counted in a replay, against those of the session and of the entries that
    changes made: numbers without noise."""
    messages = session(1_000 if quick else 4_000)
    there = sum(len(text_of(message)) for message in messages)
    for name in POLICIES:
        seen, made = counted_and_made(messages, name)
        share = seen / (there + made)
        yield Row(f"characters counted / there, {name}", f"{seen}", f"{there + made}", share,
                  share, share, 1.05)


def counted_and_made(messages: Sequence[Message], policy: str) -> tuple[int, int]:
    """Characters that a replay counts, and those of the entries that its changes make."""
    recording = Recording("bench", "bench", messages, estimator("runs"))
    made: list[int] = []
    trial = Trial(recording, find_policy(policy), 64_000, [lambda moment: made.extend(
        len(text_of(entry["message"])) for record in moment.records
        for entry in record["payload"].get("entries", ()))])
    replay(recording, [trial])
    return recording.estimate.characters, sum(made)


def scaled(quick: bool) -> Iterator[Row]:
    """What `compare` takes for a long session against a short one, a MB each.

    The short one is measured before and behind the long ones: a machine that changes its
    speed meanwhile shows in the spread.
    """
    steps = (300, 1_000) if quick else (1_000, 3_000, 10_000)
    before, *others, behind = sizes((*steps, steps[0]))
    for size in others:
        low, high = sorted((before.speed / size.speed, behind.speed / size.speed))
        yield Row(f"compare, seconds a MB, {size.steps} / {before.steps} steps",
                  f"{size.seconds:.1f} s", f"{(before.seconds + behind.seconds) / 2:.1f} s",
                  (low + high) / 2, low, high, 1.5)
    share = others[-1].memory / others[-1].file
    yield Row(f"compare, memory / file, {others[-1].steps} steps",
              f"{others[-1].memory / 1e6:.0f} MB",
              f"{others[-1].file / 1e6:.0f} MB", share, share, share, None if quick else 6.0)


def all_rows(quick: bool) -> Iterator[Row]:
    """Every row, as it is measured."""
    yield from small_parts()
    yield from counted(quick)
    yield from governed_steps(quick)
    yield growth(quick)
    yield from digests(quick)
    yield from replays(quick)
    yield from commands(quick)
    yield from scaled(quick)


def profile(row: Row, out: TextIO) -> None:
    """Where a replay spends its time: the functions with the most of their own."""
    profiler = cProfile.Profile()
    profiler.runcall(row.work)
    out.write(f"profile of: {row.name}\n")
    pstats.Stats(profiler, stream=out).strip_dirs().sort_stats("tottime").print_stats(12)


def main(arguments: list[str] | None = None,
         measure: Callable[[bool], Iterable[Row]] = all_rows) -> int:
    """Print the table; 1 if a median is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print a list of rows, with the times")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--profile", action="store_true", help="profile the slowest replay too")
    options = parser.parse_args(arguments)
    rows = []
    if not options.json:
        print(f"{'ratio':>7} {'low':>7} {'high':>7} {'limit':>5}")
    for row in measure(options.quick):
        rows.append(row)
        if not options.json:
            print(row, flush=True)
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
    if options.profile:
        worst = max((row for row in rows if row.work), key=lambda row: row.ratio)
        profile(worst, sys.stderr)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
