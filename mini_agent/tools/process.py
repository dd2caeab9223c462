"""Milestone 2: running a program so that it cannot hang, flood or outlive its call.

Its own process group, ended whole; no standard input; a time limit that holds even
when a grandchild keeps the pipe open; output bounded while it is being read. What
this module leaves out: which commands may run at all (`shell.py`).
"""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHUNK = 65_536       # bytes, or characters of a line without end, handled at once
GRACE = 0.2          # seconds for a background process to end by itself, or after SIGTERM
LAST_WORDS = 0.5     # seconds to read what is still in the pipe after everything was killed
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the second


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (None: the time limit), its output's head
    and tail, and how many characters between them were left out."""

    status: int | None
    head: str
    tail: str
    left_out: int


class Capture:
    """The output while it is being read: cleaned line by line, at most `limit` kept.

    `clean` is given whole lines only, so that a line drawn over itself is measured
    as what it shows in the end.
    """

    def __init__(self, limit: int, clean: Callable[[str], str]) -> None:
        self._half = limit // 2
        self._clean = clean
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._open = ""  # the last line, as long as its newline has not come
        self._head = self._tail = ""
        self._total = 0

    def add(self, data: bytes, last: bool = False) -> None:
        """Take in the next bytes; `last` closes the last line."""
        with self._lock:
            text = self._open + self._decoder.decode(data, last)
            end = len(text) if last else text.rfind("\n") + 1
            if len(text) - end > CHUNK:  # a line without end: what shows of it may go on
                text = text[:end] + text[max(end, text.rfind("\r", end, len(text) - 1) + 1):]
                end = end if len(text) - end <= CHUNK else len(text)
            self._open = text[end:]
            self._keep(self._clean(text[:end]))

    def _keep(self, text: str) -> None:
        self._total += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-self._half:]

    def finished(self, status: int | None) -> Finished:
        """What was kept, once nothing more comes."""
        self.add(b"", last=True)
        with self._lock:
            left_out = self._total - len(self._head) - len(self._tail)
            return Finished(status, self._head, self._tail, left_out)

    def drain(self, descriptor: int, stop: threading.Event) -> None:
        """Read to the end, or until `stop`, and close; runs in a thread of its own."""
        try:
            while not stop.is_set() and (data := os.read(descriptor, CHUNK)):
                self.add(data)
        finally:
            os.close(descriptor)


def run_program(command: str | Sequence[str], *, folder: Path, environment: Mapping[str, str],
                timeout: float, limit: int, clean: Callable[[str], str]) -> Finished:
    """Run words as a program, a string in a shell. Raises OSError if it cannot start.

    `timeout` is in seconds. What the program leaves running is ended with it. An
    interrupt ends it too, and passes through.
    """
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            command, shell=isinstance(command, str), cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.STDOUT,
            start_new_session=True)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    capture, stop = Capture(limit, clean), threading.Event()
    reader = threading.Thread(target=capture.drain, args=(reading, stop), daemon=True)
    status: int | None = None
    try:
        reader.start()
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGTERM)
    except BaseException:
        _signal(process, KILL)
        raise
    finally:
        _end(process, reader, stop)
    return capture.finished(status)


def _end(process: subprocess.Popen[bytes], reader: threading.Thread,
         stop: threading.Event) -> None:
    """Nothing of the process group is left, and its output has been read.

    A program that left the group (a daemon) may live on; it only loses its pipe.
    """
    try:
        if reader.is_alive():  # the end of the pipe is the end of all who could write to it
            reader.join(GRACE)
    finally:
        _signal(process, KILL)
        process.wait()
        if reader.is_alive():
            reader.join(LAST_WORDS)
        stop.set()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the whole group, where the system has groups."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        return  # nobody is left; macOS says "not permitted" of a group of zombies
