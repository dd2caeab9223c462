"""Milestone 2: runs a program so that it cannot hang, flood the memory or outlive its call.

The program gets a process group of its own, which is killed as a whole, and no standard
input. The time limit holds even if a grandchild keeps the pipe open, and the output is bounded
while it is being read. What is left out: which commands may run at all (`shell.py`).
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
from typing import Any

from ..data_uris import MARK

CHUNK = 65_536       # bytes that are read, or characters of an endless line kept, at once
HELD = 4_000_000     # the same for a line with a data URI, which has to be measured whole
GRACE = 0.2          # seconds for a background process to end by itself, or after SIGTERM
LAST_WORDS = 0.5     # seconds to read what is still in the pipe after everything was killed
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only SIGTERM


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended: its exit status (None: the time limit was over), head and tail of its
    output, how many characters between them were left out, and whether an interrupt ended it."""

    status: int | None
    head: str
    tail: str
    left_out: int
    interrupted: bool = False


class Capture:
    """The output while it is being read: cleaned line by line, at most `limit` kept.

    `clean` is given whole lines only, so that a line that overwrites itself (a progress bar) is
    measured by what it shows in the end.
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
            whole, self._open = text[:end], text[end:]
            longest = HELD if MARK in self._open else CHUNK
            if len(self._open) > longest:  # a line without end: what shows of it may go on
                self._open = _drawn_last(self._open)
            if len(self._open) > longest:
                whole, self._open = whole + self._open, ""
            self._keep(self._clean(whole))

    def _keep(self, text: str) -> None:
        self._total += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-self._half:]

    def finished(self, status: int | None, interrupted: bool = False) -> ProgramResult:
        """The result, once nothing more comes."""
        self.add(b"", last=True)
        with self._lock:
            left_out = self._total - len(self._head) - len(self._tail)
            return ProgramResult(status, self._head, self._tail, left_out, interrupted)


def _drawn_last(line: str) -> str:
    """What an unfinished line shows: the text after its last carriage return. One at the very end
    may be half of a line break and does not count."""
    return line[line.rfind("\r", 0, -1) + 1:]


class Program:
    """A program that a thread starts and reads.

    Interrupts reach only the main thread, so none can come between the start of the program
    and the moment when its process is known and can be ended.
    """

    def __init__(self, capture: Capture, own_session: bool) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.error: Exception | None = None
        self.started = threading.Event()  # set also if it could not be started
        self.stop = threading.Event()
        self._capture = capture
        self._apart: dict[str, Any] = (
            {"start_new_session": True} if own_session else {"process_group": 0})

    def run(self, command: str | Sequence[str], folder: Path,
            environment: Mapping[str, str]) -> None:
        """Start the program and read its output to the end, or until `stop`."""
        try:
            reading = self._start(command, folder, environment)
        except Exception as error:
            self.error = error  # the main thread raises it
            return
        finally:
            self.started.set()
        try:
            while not self.stop.is_set() and (data := os.read(reading, CHUNK)):
                self._capture.add(data)
        finally:
            os.close(reading)

    def _start(self, command: str | Sequence[str], folder: Path,
               environment: Mapping[str, str]) -> int:
        """The descriptor from which the output is to be read."""
        reading, writing = os.pipe()
        try:
            self.process = subprocess.Popen(
                command, shell=isinstance(command, str), cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.STDOUT,
                **self._apart)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return reading

    def wait(self, timeout: float) -> int:
        """The exit status. TimeoutExpired after `timeout` seconds; OSError: not started."""
        self.started.wait()
        if self.process is None:
            raise self.error or OSError("not started")
        return self.process.wait(timeout)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, where the system has groups."""
        if self.process is None:
            return
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, number)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):
            return  # nobody is left; macOS says "not permitted" of a group of zombies


def run_program(command: str | Sequence[str], *, folder: Path, environment: Mapping[str, str],
                timeout: float, limit: int, clean: Callable[[str], str],
                own_session: bool = True) -> ProgramResult:
    """Run a list of words as a program, or a string in a shell. OSError if it cannot start.

    `timeout` is in seconds. Processes that the program leaves running are killed. An interrupt
    ends it; the result says so, and whoever called has to raise it again. With `own_session` it is
    detached from the terminal; in a sub-agent, whose whole session is killed in the end, it has
    only a process group of its own.
    """
    capture = Capture(limit, clean)
    child = Program(capture, own_session)
    reader = threading.Thread(target=child.run, args=(command, folder, environment), daemon=True)
    try:
        return capture.finished(_status(child, reader, timeout))
    except KeyboardInterrupt:
        return capture.finished(None, interrupted=True)


def _status(child: Program, reader: threading.Thread, timeout: float) -> int | None:
    """The exit status, or None after `timeout` seconds. In the end nothing of it is running."""
    try:
        reader.start()
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        child.signal(signal.SIGTERM)
        return None
    except KeyboardInterrupt:
        child.signal(signal.SIGINT)  # as in a terminal: many say then how far they have come
        raise
    finally:
        _end(child, reader)


def _end(child: Program, reader: threading.Thread) -> None:
    """Kill what is left of the process group, and read its output to the end.

    A program that left the group (a daemon) may live on; only its pipe is closed.
    """
    try:
        child.started.wait(LAST_WORDS)
        if reader.is_alive():  # some process can still write to the pipe
            reader.join(GRACE)
    finally:
        child.signal(KILL)
        if child.process is not None:
            child.process.wait()
        if reader.is_alive():
            reader.join(LAST_WORDS)
        child.stop.set()
