"""Every strategy, every policy and random pipelines on random sessions: `make fuzz`.

    python3 -m tests.fuzz [HISTORIES] [NAME ...]

For each name (a policy, `+strategy` alone, `pipelines`) so many seeded sessions are
lived and judged by `lawbook`; a failing one is made small and printed as code. Every
other one has pins, undos, stages and refusals in them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat

from mini_agent.compression.policies import STRATEGIES, find_policy, policy_names

from .histories import Case, as_code, random_case, shrink, with_acts, with_stages
from .lawbook import broken_laws, first_breach, live

HISTORIES = 10_000


@dataclass
class Verdict:
    """What came of a name: the laws that it may break and did, and what else went wrong."""

    name: str
    allowed: tuple[int, ...] = ()
    broken: set[int] = field(default_factory=set)
    fault: str = ""


def names() -> list[str]:
    """All that there is to try."""
    return [*policy_names(), *(f"+{name}" for name in STRATEGIES), "pipelines"]


def case_of(name: str, seed: int) -> Case:
    """The session of this seed under a policy, a strategy alone, or a random ladder."""
    if name == "pipelines":
        rng = random.Random(seed)
        ladder = tuple(rng.choice(sorted(STRATEGIES)) for _ in range(rng.randint(1, 4)))
        case = random_case(seed, ladder=ladder)
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
        return first_breach(case, allowed, twice=seed % 10 == 0)
    except Exception as error:  # whatever it is, the session that does it is wanted
        return f"crash: {error!r}"


def report(histories: int, chosen: Sequence[str]) -> Iterator[Verdict]:
    """A line for each name, in their order; every core works on a name of its own."""
    with ProcessPoolExecutor() as pool:
        for verdict in pool.map(try_all, chosen, repeat(range(histories))):
            yield told(verdict, histories)


def told(verdict: Verdict, histories: int) -> Verdict:
    """Say what came of a name."""
    missing = set(verdict.allowed) - verdict.broken
    what = verdict.fault or (f"does not break law {sorted(missing)}" if missing else "holds")
    print(f"{verdict.name:<24} {histories} sessions: {what}", flush=True)
    return verdict


def main() -> int:
    """1 if anything fails."""
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else HISTORIES
    verdicts = list(report(histories, sys.argv[2:] or names()))
    return int(any(verdict.fault or set(verdict.allowed) - verdict.broken
                   for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
