"""Every strategy, every policy and random pipelines on random sessions: `make fuzz`.

    python3 -m tests.fuzz [HISTORIES] [NAME ...] [--seeds SEED ...] [--minutes MINUTES]

For each name (a policy, `+strategy` alone, `pipelines`) so many seeded sessions are
lived and judged by `lawbook`; a failing one is made small and printed as code. Every
other one has pins, undos, stages and refusals in them. The sessions are numbered from
each seed on, 0 unless others are given; with `--minutes` they go on until the time is
up, from three seeds of chance, which are printed. `tests.fuzz_all` takes the same
arguments, and ends all of its processes at Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from mini_agent.columns import number_of
from mini_agent.compression.policies import STRATEGIES, find_policy, policy_names

from .histories import Case, as_code, random_case, shrink, with_acts, with_stages
from .lawbook import broken_laws, first_breach, live

SMALL = {"max_chars": 300, "batch_chars": 800, "preview_chars": 60}
LADDERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {  # in `make test` alone
    "aging, summary": (("tool_result_aging", "rolling_summary"), {}),
    "admission, digest": (("admission", "coverage_digest"), {}),
    "digest, summary": (("coverage_digest", "rolling_summary"), {}),
    "offload by step": (("result_offload",), SMALL),
    "offload of the view, frozen": (("result_offload",),
                                    {**SMALL, "batch_scope": "view", "frozen": True}),
    "offload, clip, drop, frozen": (("result_offload", "tool_result_clipping", "sliding_window"),
                                    {**SMALL, "frozen": True}),
    "clip to two lines": (("tool_result_clipping",), {
        "keep_rounds": 0, "min_chars": 100, "line_chars": 40, "lines": 1}),
    "clip around errors": (("tool_result_clipping",), {
        "keep_rounds": 0, "keep": "errors", "min_chars": 100, "protect_last": 0}),
    "clear all": (("tool_result_clearing",), {"keep": 0}),
    "clear behind a tail, recall": (("tool_result_clearing", "recall"), {
        "keep": 1, "shorten_tail": False, "protect_last": 3}),
    "snip all": (("sliding_window",), {"variant": "snip_middle", "keep_first": 0,
                                       "protect_last": 0, "user_share": .1}),
    "rounds, few words of users": (("sliding_window",), {"user_share": .05, "protect_last": 1}),
    "recall to a target": (("recall",), {"target": "50%", "user_share": .1}),
    "four rungs": (("tool_result_clearing", "recall", "rolling_summary", "sliding_window"),
                   {"keep": 1, "target": "60%"}),
}
HISTORIES = 10_000  # of each name
A_TURN = 100        # of each name and seed, before the next ones


@dataclass
class Verdict:
    """What came of a name: the laws that it may break and did, and what else went wrong."""

    name: str
    allowed: tuple[int, ...] = ()
    sessions: int = 0
    broken: set[int] = field(default_factory=set)
    fault: str = ""

    @property
    def what(self) -> str:
        """In words."""
        missing = set(self.allowed) - self.broken
        return self.fault or (f"does not break law {sorted(missing)}" if missing else "holds")


def names() -> list[str]:
    """All that there is to try."""
    return [*policy_names(), *(f"+{name}" for name in STRATEGIES), "pipelines"]


def case_of(name: str, seed: int) -> Case:
    """The session of this seed under a policy, a strategy alone, one of `LADDERS`, or a random
    ladder."""
    if name == "pipelines":
        rng = random.Random(seed)
        ladder = tuple(rng.choice(sorted(STRATEGIES)) for _ in range(rng.randint(1, 4)))
        case = random_case(seed, ladder=ladder)
    elif name in LADDERS:
        ladder, settings = LADDERS[name]
        case = random_case(seed, ladder=ladder,
                           **({"settings": tuple(settings.items())} if settings else {}))
    elif name.startswith("+"):
        case = random_case(seed, ladder=(name[1:],))
    else:
        case = random_case(seed, policy=name, settings=())
    case = with_acts(case, seed) if seed % 2 else case
    return with_stages(case, seed) if "stage" in name or name == "pipelines" else case


def try_all(name: str, seeds: Sequence[int]) -> Verdict:
    """Live and judge the sessions of these seeds; stops at the first fault."""
    allowed = find_policy(name).breaks if name in policy_names() else ()
    verdict = Verdict(name, tuple(allowed))
    for seed in seeds:
        verdict.sessions += 1
        case = case_of(name, seed)
        fault = _breach(case, verdict.allowed, seed)
        if fault:
            small = shrink(case, lambda tried: bool(_breach(tried, verdict.allowed, seed)))
            verdict.fault = (f"{name}, seed {seed}: {_breach(small, verdict.allowed, seed)}\n"
                             f"{as_code(small)}")
            break
        if not verdict.broken.issuperset(allowed):
            verdict.broken.update(law for law, _ in broken_laws(live(case)))
    return verdict


def _breach(case: Case, allowed: Sequence[int], seed: int) -> str:
    """The first breach, a crash included."""
    try:
        return first_breach(case, allowed, twice=seed % 10 == 5)  # a session with acts
    except Exception as error:  # whatever it is, the session that does it is wanted
        return f"crash: {error!r}"


def turns(seeds: Sequence[int], histories: int, end: float) -> Iterator[list[range]]:
    """A range of sessions for each seed, and the next, until there are enough or the time,
    in seconds of the clock that never jumps, is up."""
    for start in range(0, histories, A_TURN):
        if time.monotonic() >= end:
            return
        stop = min(start + A_TURN, histories)
        yield [range(seed + start, seed + stop) for seed in seeds]


def judged(chosen: Sequence[str], asked: Iterable[list[range]]) -> dict[str, Verdict]:
    """What came of each name; no turn is taken behind one with a fault."""
    sums = {name: Verdict(name) for name in chosen}
    with ProcessPoolExecutor() as pool:
        for parts in asked:
            for verdict in pool.map(try_all, *zip(*product(chosen, parts))):
                known = sums[verdict.name]
                sums[verdict.name] = replace(
                    verdict, sessions=known.sessions + verdict.sessions,
                    broken=known.broken | verdict.broken, fault=known.fault or verdict.fault)
            total = sum(verdict.sessions for verdict in sums.values())
            print(number_of(total, "session", ","), file=sys.stderr, flush=True)
            if any(verdict.fault for verdict in sums.values()):
                break
    return sums


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """What is asked for; three seeds of chance where a time is given and no seed."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("histories", nargs="?", type=int)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED")
    parser.add_argument("--minutes", type=float, default=math.inf)
    asked = parser.parse_args(arguments)
    timed = asked.minutes < math.inf
    if asked.seeds is None:
        asked.seeds = random.SystemRandom().sample(range(10**9), 3) if timed else [0]
    if asked.histories is None:
        asked.histories = sys.maxsize if timed else HISTORIES
    return asked


def main() -> int:
    """1 if anything fails."""
    asked = options(sys.argv[1:])
    print("seeds:", *asked.seeds, flush=True)
    end = time.monotonic() + 60 * asked.minutes
    verdicts = judged(asked.names or names(), turns(asked.seeds, asked.histories, end)).values()
    for verdict in verdicts:
        print(f"{verdict.name:<24} {verdict.sessions} sessions: {verdict.what}")
    print(f"{len(verdicts)} names, {sum(verdict.sessions for verdict in verdicts):,} sessions")
    return int(any(verdict.what != "holds" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
