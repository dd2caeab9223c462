"""Milestone 6: pieces of work side by side, each in a process of its own.

What a piece comes to passes through a pipe of its own, so that a process can be killed
at any byte of it and only that piece is known to be lost. What went wrong in a piece
comes the same way and is raised here. What this module leaves out: what the pieces are
(`compare.py`).
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MiniAgentError, UsageError


class Errand(NamedTuple):
    """A piece of work, and where it is done: the file that it reads."""

    place: str
    do: Callable[[], list[Any]]


def side_by_side(errands: Sequence[Errand], jobs: int) -> Iterator[list[Any]]:
    """What each errand comes to, in their order; `jobs` processes at a time.

    A caller that stops early ends them all. Raises `UsageError` where one was killed, and what
    an errand has raised, in the form that `_told` gives it.
    """
    waiting = list(enumerate(errands))[::-1]
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    ready: dict[int, list[Any]] = {}
    try:
        for at in range(len(errands)):
            while at not in ready:
                while waiting and len(running) < jobs:
                    number, following = waiting.pop()
                    reader, process = _begin(following)
                    running[reader] = number, process
                answering = wait(running)
                for reader in [reader for reader in running if reader in answering]:
                    ready[running[reader][0]] = _received(reader, jobs)
                    running.pop(reader)[1].join()
                    reader.close()
            yield ready.pop(at)
    finally:
        for reader, (_, process) in running.items():
            process.terminate()
            process.join()
            reader.close()


def _begin(errand: Errand) -> tuple[Connection, BaseProcess]:
    """A process on this errand, and the pipe through which its results come."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_work, args=(writer, errand), daemon=True)
    process.start()
    writer.close()  # so that its end is the end of all that can come
    return reader, process


def _received(reader: Connection, jobs: int) -> list[Any]:
    """What came through a pipe; `UsageError` where nothing did, or half of it."""
    try:
        result: list[Any] | Exception = reader.recv()
    except (EOFError, OSError) as error:
        raise UsageError("a process that read sessions was killed", place="--jobs", value=jobs,
                         remedy="give fewer jobs, so that there is enough memory") from error
    if isinstance(result, Exception):
        raise result
    return result


def _work(writer: Connection, errand: Errand) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    result: list[Any] | Exception
    try:
        result = errand.do()
    except Exception as error:  # of whatever kind: nobody but the parent can tell it
        result = _told(error, errand.place)
    writer.send(result)


def _told(error: Exception, place: str) -> Exception:
    """An error that can pass through a pipe and makes one line, even where it is a bug of ours."""
    if isinstance(error, (OSError, MemoryError)):
        return error
    if isinstance(error, MiniAgentError):
        kind = UsageError if isinstance(error, UsageError) else MiniAgentError
        return kind(error.message, place=error.place or place, remedy=error.remedy)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return MiniAgentError(
        f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}: {error}",
        place=place, remedy="this is a fault of mini-agent; --jobs 1 shows all of it")
