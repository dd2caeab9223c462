"""Milestone 4: a child process that can neither hang nor flood nor outlive its parent.

The child is sent one line and answers with one line. Its standard input stays open as long as
the parent lives; when the kernel closes it, however the parent died, the child ends all that
it has started and exits. A child leads a session of its own and its commands stay in that
session, so they are found even when the child itself is dead. What is left out: the content
of the lines (`starting.py`, `endings.py`).
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..hostile import clean_output
from ..tools.process import CHUNK, KILL, LAST_WORDS, Capture

LINE_BYTES = 1_000_000  # of an answer; a child that writes more is ended
ERROR_CHARS = 2_000     # of standard error that are kept, to report its last line
EXIT_SECONDS = 1.0      # that a child has to exit after it has closed its output
ROUNDS = 100            # of looking for new processes while others are killed
LEFT = 70               # exit status of a child whose parent is gone


@dataclass(frozen=True)
class ChildOutput:
    """The output of a child: the line that it wrote, b"" if none; its exit status, None if it
    closed its output but did not exit; the last line of its standard error."""

    line: bytes = b""
    status: int | None = None
    last_words: str = ""
    timed_out: bool = False
    flooded: bool = False


class ChildProcess:
    """One child. One thread starts it and waits for it; any thread may call `end`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False
        self._answer = bytearray()
        self._stays = False  # whether it closed its output without an answer and did not exit

    def converse(self, request: bytes, seconds: float) -> ChildOutput:
        """Send the line `request`, wait `seconds` for the answer, and end the child.

        Raises OSError where it cannot be started.
        """
        process = self._start()
        if process is None:
            return ChildOutput()
        errors = Capture(ERROR_CHARS, clean_output)
        talk = threading.Thread(target=self._talk, args=(process, request), daemon=True)
        drain = threading.Thread(target=_drain, args=(process, errors), daemon=True)
        timed_out = False
        try:
            talk.start()
            drain.start()
            process.wait(seconds)  # until it exits, or is ended because it has answered
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            self._leave_nothing(process)
        talk.join(LAST_WORDS)
        drain.join(LAST_WORDS)
        return self._output(process.returncode, timed_out, errors)

    def _output(self, status: int, timed_out: bool, errors: Capture) -> ChildOutput:
        """The output; a complete answer counts, whatever happened after it."""
        line, newline, _ = bytes(self._answer).partition(b"\n")
        said = errors.finished(None)
        last_words = (said.head + said.tail).strip().rpartition("\n")[2]
        if newline:
            return ChildOutput(line, status, last_words)
        return ChildOutput(status=None if self._stays else status, last_words=last_words,
                           timed_out=timed_out, flooded=len(self._answer) > LINE_BYTES)

    def end(self) -> None:
        """End the child and all that it has started; if it was not started, it never will be."""
        with self._lock:
            self._over = True
            if self._process is not None:
                _kill(self._process)

    def _start(self) -> subprocess.Popen[bytes] | None:
        """The process, or None where it was ended before it began."""
        with self._lock:
            if not self._over:
                self._process = subprocess.Popen(
                    self._command, env=self._environment, start_new_session=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            return self._process

    def _talk(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        """Send the request, read the answer, and end the child."""
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):  # it has left already, and its status says why
            process.stdin.write(request + b"\n")
            process.stdin.flush()
        with process.stdout as stream:
            while data := os.read(stream.fileno(), CHUNK):
                self._answer += data
                if b"\n" in data or len(self._answer) > LINE_BYTES:
                    break
        if not self._answer:
            self._stays = not _exits(process)
        self.end()

    def _leave_nothing(self, process: subprocess.Popen[bytes]) -> None:
        """End and reap the child, and close its standard input."""
        self.end()
        with self._lock:
            process.wait()
            self._process = None  # from here on its number may be another's
        with suppress(BrokenPipeError):
            if process.stdin is not None:
                process.stdin.close()


def _exits(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child that has closed its output exits."""
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _drain(process: subprocess.Popen[bytes], errors: Capture) -> None:
    """Read standard error to its end, however much comes."""
    assert process.stderr is not None
    with process.stderr as stream:
        while data := os.read(stream.fileno(), CHUNK):
            errors.add(data)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "getsid"):  # Windows: no sessions, and the pipe does the rest
        process.kill()
    elif process.returncode is None or _session(process.pid) is None:
        end_session(process.pid)   # not where its number has become another process


def end_session(leader: int, spare: Collection[int] = ()) -> None:
    """Kill every process of a session but `spare`, and those that appear meanwhile; where
    processes cannot be listed, its leader alone."""
    ended: set[int] = set(spare)
    for _ in range(ROUNDS):
        found = {pid for pid in _processes() or [leader]
                 if pid not in ended and _session(pid) == leader}
        if not found:
            return
        for pid in sorted(found):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, KILL)
        ended |= found


def _session(pid: int) -> int | None:
    """The session of a process; None if it is gone, or none of ours."""
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _processes() -> list[int]:
    """The numbers of all processes; none where the system has neither `/proc` nor `ps`."""
    if os.path.isdir("/proc/self"):
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    try:
        listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True)
    except FileNotFoundError:
        return []
    return [int(word) for word in listed.stdout.split()]


def leave_with_parent(descriptor: int) -> None:
    """From now on, end this process and its commands when this pipe is closed."""
    threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()


def _watch(descriptor: int) -> None:
    with suppress(OSError):
        while os.read(descriptor, CHUNK):
            continue  # nothing is sent after the request
    own = os.getpid()
    if hasattr(os, "getsid") and os.getsid(0) == own:
        end_session(own, {own})
    os._exit(LEFT)
