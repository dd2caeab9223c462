"""Milestone 6: pieces of work side by side, each in a process of its own.

What a piece comes to passes through a pipe of its own, so that a process can be killed
at any byte of it and only that piece is known to be lost. What this module leaves out:
what the pieces are (`compare.py`).
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import UsageError

Piece = Callable[[], list[Any]]


def side_by_side(pieces: Sequence[Piece], jobs: int) -> Iterator[list[Any]]:
    """What each piece comes to, in their order; `jobs` processes at a time.

    Whoever ends early ends them all. Raises `UsageError` where one was killed.
    """
    waiting = list(enumerate(pieces))[::-1]
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    ready: dict[int, list[Any]] = {}
    try:
        for at in range(len(pieces)):
            while at not in ready:
                while waiting and len(running) < jobs:
                    number, following = waiting.pop()
                    reader, process = _begin(following)
                    running[reader] = number, process
                come = wait(running)
                for reader in [reader for reader in running if reader in come]:
                    ready[running[reader][0]] = _received(reader, jobs)
                    running.pop(reader)[1].join()
                    reader.close()
            yield ready.pop(at)
    finally:
        for reader, (_, process) in running.items():
            process.terminate()
            process.join()
            reader.close()


def _begin(piece: Piece) -> tuple[Connection, BaseProcess]:
    """A process that works on a piece, and what it comes to comes through."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_work, args=(writer, piece), daemon=True)
    process.start()
    writer.close()  # so that its end is the end of all that can come
    return reader, process


def _received(reader: Connection, jobs: int) -> list[Any]:
    """What came through a pipe; `UsageError` where nothing did, or half of it."""
    try:
        results: list[Any] = reader.recv()
    except (EOFError, OSError) as error:
        raise UsageError("a process that read sessions was killed", place="--jobs", value=jobs,
                         remedy="give fewer jobs, so that there is enough memory") from error
    return results


def _work(writer: Connection, piece: Piece) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    writer.send(piece())
