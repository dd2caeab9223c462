"""Milestone 6: jobs side by side, each in a process of its own.

The result of a job comes back through a pipe of its own, so a process that is killed while
it writes loses only its own job. An exception in a job comes back the same way and is raised
in the caller. What is left out: what the jobs are (`compare.py`).
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MiniAgentError, UsageError


class Job(NamedTuple):
    """A piece of work; `place` is the file that it reads, for error messages."""

    place: str
    do: Callable[[], list[Any]]


def side_by_side(jobs: Sequence[Job], at_once: int) -> Iterator[list[Any]]:
    """The result of each job, in their order; at most `at_once` processes run at a time.

    A caller that stops early ends them all. Raises `UsageError` where a process was killed, and
    the exception of a job, in the form that `_as_one_line` gives it.
    """
    waiting = iter(enumerate(jobs))
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    ready: dict[int, list[Any]] = {}
    try:
        for at in range(len(jobs)):
            while at not in ready:
                for number, job in islice(waiting, at_once - len(running)):
                    reader, process = _begin(job)
                    running[reader] = number, process
                answering = wait(running)
                for reader in [reader for reader in running if reader in answering]:
                    ready[running[reader][0]] = _received(reader, at_once)
                    running.pop(reader)[1].join()
                    reader.close()
            yield ready.pop(at)
    finally:
        for reader, (_, process) in running.items():
            process.terminate()
            process.join()
            reader.close()


def _begin(job: Job) -> tuple[Connection, BaseProcess]:
    """A process on this job, and the pipe through which its results come."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_work, args=(writer, job), daemon=True)
    process.start()
    writer.close()  # so that its end is the end of all that can come
    return reader, process


def _received(reader: Connection, at_once: int) -> list[Any]:
    """The result that came through a pipe; `UsageError` where it did not come whole."""
    try:
        result: list[Any] | Exception = reader.recv()
    except (EOFError, OSError) as error:
        raise UsageError("a process that read sessions was killed", place="--jobs", value=at_once,
                         remedy="give fewer jobs, so that there is enough memory") from error
    if isinstance(result, Exception):
        raise result
    return result


def _work(writer: Connection, job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    result: list[Any] | Exception
    try:
        result = job.do()
    except Exception as error:  # of whatever kind: nobody but the parent can tell it
        result = _as_one_line(error, job.place)
    writer.send(result)


def _as_one_line(error: Exception, place: str) -> Exception:
    """The exception in a form that a pipe can carry and that prints as one line, even a bug."""
    if isinstance(error, (OSError, MemoryError)):
        return error
    if isinstance(error, MiniAgentError):
        kind = UsageError if isinstance(error, UsageError) else MiniAgentError
        return kind(error.message, place=error.place or place, remedy=error.remedy)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return MiniAgentError(
        f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}: {error}",
        place=place, remedy="this is a fault of mini-agent; --jobs 1 shows all of it")
