"""Milestone 6: the command `compare`, from its options to its outputs.

At an interrupt the sessions that are done are printed as usual, and the exit status is 130.
A share (`--shard`) is JSON with all results of its files; `--merge` puts all shares together
and prints what one call would have printed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from ..columns import number_of, write_rows
from ..compression.budget import windows_of
from ..compression.policies import policy_names
from ..disk import check_new, read_file, write_file
from ..errors import DONE, FAILED, INTERRUPTED, WRONG_USE, UsageError
from ..hostile import clean
from .bounds import Bounds
from .compare import Plan, compare
from .pagedata import grid, page_data
from .printing import print_results
from .progress import ProgressLine
from .results import Result, UnreadFile
from .shares import merge_shares, share_text
from .sources import find_sources, shard

WINDOW, ESTIMATOR = "32k", "runs"  # where none is given
PLAN_FIELDS = {
    "--policy": "policies", "--window": "windows", "--estimator": "estimator", "--price": "price",
    "--fact": "facts", "--evidence": "misses", "--no-evidence": "evidence",
    "--workspace": "workspace", "--html": "page"}  # the field that each option sets


class Comparison(NamedTuple):
    """What was compared, how, and the results: of an interrupted comparison those so far."""

    paths: Sequence[str]
    plan: Plan
    results: Sequence[Result | UnreadFile]
    interrupted: bool = False


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Exit status 0, 1 (a bound is broken), 2 (a file could not be read) or 130."""
    bounds = _bounds(options)
    if options.verdict and not options.json:
        raise UsageError("for people the verdict is printed in any case", place="--verdict",
                         remedy="give it together with --json")
    if options.shard:
        _check_share(options, bounds)
    elif options.html is not None:
        check_new(Path(options.html), b"<!DOCTYPE html>", "page")
    done = _merged(options) if options.merge else _compared(options, bounds, err)
    bounds.check(done.plan.facts, done.plan.evidence)  # the plan of shares is known only now
    if options.shard:
        out.write(share_text(options.shard, *done))
        return INTERRUPTED if done.interrupted else DONE
    return _report(options, bounds, done, out, err)


def _check_share(options: argparse.Namespace, bounds: Bounds) -> None:
    """Raise `UsageError` for options that a share would silently ignore."""
    if options.merge:
        raise UsageError("a share is not made of shares", place="--shard",
                         remedy="give --shard or --merge")
    if options.csv or options.verdict or bounds != Bounds():
        raise UsageError("a share is JSON, and is not judged", place="--shard",
                         remedy="give bounds, --csv and --verdict to the call with --merge")


def _merged(options: argparse.Namespace) -> Comparison:
    """The comparison that all shares make together. `UsageError` where an option contradicts it."""
    done, asked = Comparison(*merge_shares(options.merge)), _plan(options)
    for option, field in PLAN_FIELDS.items():
        if getattr(options, option[2:].replace("-", "_")) in (None, "", [], False):
            continue  # it is not given
        given = getattr(asked, field)
        if given != getattr(done.plan, field):
            raise UsageError("these shares were made without it, or with another", place=option,
                             value=given, remedy=f"give {option} to the calls with --shard")
    if options.sessions not in ([], done.paths):
        raise UsageError("these shares are of other sessions", place="SESSION",
                         value=options.sessions, remedy="leave it out, the shares have them")
    return done


def _report(options: argparse.Namespace, bounds: Bounds, done: Comparison, out: TextIO,
            err: TextIO) -> int:
    """Print and write everything; returns the exit status."""
    unreadable = _tell_faults(done.results, err)
    good = [result for result in done.results if "rows" in result]
    if not good and not done.interrupted:
        if unreadable:
            return WRONG_USE
        raise UsageError("there is no session in it", place=" ".join(done.paths),
                         remedy="name a recorded session or a folder of them")
    print_results(options, done.plan, good, out)
    if options.html is not None and good:  # else it was interrupted, and an older page may stand
        _write_page(Path(options.html), done, good, err)
    broken = list(bounds.broken([row for result in good for row in result["rows"]],
                                done.plan.policies))
    write_rows((f"mini-agent: {text}" for text in broken), err)
    if done.interrupted:
        err.write(f"mini-agent: interrupted after {number_of(len(good), 'session')}\n")
        return INTERRUPTED
    if unreadable:
        return WRONG_USE
    return FAILED if broken else DONE


def _compared(options: argparse.Namespace, bounds: Bounds, err: TextIO) -> Comparison:
    """The comparison that the options ask for. Raises `UsageError`."""
    if not options.sessions:
        raise UsageError("there is no session to compare", place="SESSION",
                         remedy="name a recorded session or a folder of them")
    plan = _plan(options)
    plan.check()
    bounds.check(plan.facts, plan.evidence)
    sources = find_sources(options.sessions)
    if options.shard:
        sources = shard(sources, options.shard)
    line = ProgressLine(sum(source.size for source in sources), err, time.monotonic)
    results: list[Result | UnreadFile] = []
    interrupted = False
    try:
        for result in compare(sources, plan, options.jobs, line):
            results.append(result)
    except KeyboardInterrupt:
        interrupted = True
    line.end()
    return Comparison(options.sessions, plan, results, interrupted)


def _plan(options: argparse.Namespace) -> Plan:
    policies = tuple(filter(None, _listed(options.policy))) or tuple(policy_names())
    windows = windows_of(WINDOW if options.window is None else options.window)
    if options.no_evidence and options.evidence is not None:
        raise UsageError("--evidence and --no-evidence contradict each other", place="--evidence",
                         remedy="give one of them")
    if options.evidence is not None and options.evidence < 1:
        raise UsageError(f"{options.evidence} is not a length", place="--evidence",
                         value=options.evidence, remedy="give a positive number")
    page = options.html is not None
    return Plan(policies, windows, options.estimator or ESTIMATOR, _facts(options.fact),
                evidence=not options.no_evidence, misses=options.evidence is not None,
                page=page, grid=grid(windows) if page else (), workspace=options.workspace,
                price=options.price)


def _listed(text: str) -> tuple[str, ...]:
    """What stands between commas, blanks around it left out."""
    return tuple(map(str.strip, text.split(",")))


def _facts(given: Sequence[str]) -> tuple[str, ...]:
    """The probes; @FILE stands for the lines of a file, @@ for a text that begins with @.
    Raises `UsageError`."""
    facts: list[str] = []
    for text in given:
        if not text.startswith("@") or text.startswith("@@"):
            facts.append(text.removeprefix("@"))
            continue
        try:
            found = read_file(text[1:]).decode("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("the file of facts cannot be read", place=text[1:],
                             remedy="give a text file with one fact per line") from error
        if not any(map(str.strip, found)):
            raise UsageError("there is no fact in this file", place=text[1:],
                             remedy="give a text file with one fact per line")
        facts += found
    return tuple(dict.fromkeys(fact for fact in facts if fact.strip()))


def _bounds(options: argparse.Namespace) -> Bounds:
    fail_on = () if options.fail_on is None else _listed(options.fail_on)
    return Bounds(options.max_peak, options.min_recall, fail_on)


def _tell_faults(results: Sequence[Result | UnreadFile], err: TextIO) -> bool:
    """Say which files could not be read, those of a folder once for each reason, and what to
    give instead once for all that it holds for; True if one was asked for by name."""
    left_out: dict[str, dict[str, list[str]]] = {}  # remedy: reason: places
    unread = [result for result in results if "error" in result]
    for result in unread:
        place, _, reason = result["error"].partition(": ")
        if result["asked"]:
            write_rows([f"mini-agent: {result['error']}"], err)
        else:
            reason, _, remedy = reason.partition("; ")
            left_out.setdefault(remedy, {}).setdefault(reason, []).append(place)
    for remedy, reasons in left_out.items():
        said = [f"mini-agent: left out: {places[0]}"
                + f" and {len(places) - 1} more" * (len(places) > 1) + f": {reason}"
                for reason, places in reasons.items()]
        write_rows([*said[:-1], f"{said[-1]}; {remedy}" if remedy else said[-1]], err)
    return any(result["asked"] for result in unread)


def _write_page(path: Path, done: Comparison, results: Sequence[Result], err: TextIO) -> None:
    from .page import render_page

    command = _command_of(done.paths, done.plan, str(path))
    if done.interrupted:
        command += f", interrupted after {number_of(len(results), 'session')}"
    page = render_page(page_data(command, done.plan.estimator, done.plan.facts, results))
    try:
        write_file(path, clean(page))
    except OSError as error:
        raise UsageError(f"the page cannot be written ({error.strerror})", place=str(path),
                         remedy="name a file in a folder that you may write to") from error
    err.write(f"mini-agent: the page is {path} ({os.stat(path).st_size // 1024} KB)\n")


def _command_of(paths: Sequence[str], plan: Plan, page: str) -> str:
    """The command line that makes a page again, without the options that split the work."""
    plain = Plan(plan.policies, plan.windows)
    words = ["mini-agent", "compare", *paths, "--policy", ",".join(plan.policies),
             "--window", ",".join(map(str, plan.windows))]
    if plan.estimator != plain.estimator:
        words += ["--estimator", plan.estimator]
    for fact in plan.facts:
        text = "@" * fact.startswith("@") + fact  # as `_facts` reads it
        words += [f"--fact={text}"] if text.startswith("-") else ["--fact", text]
    if not plan.evidence:
        words.append("--no-evidence")
    if plan.workspace:
        words += ["--workspace", plan.workspace]
    if plan.price:
        words += ["--price", plan.price]
    return shlex.join([*words, "--html", page])
