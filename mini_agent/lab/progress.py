"""Milestone 6: one line on standard error that says how far long work is."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO

PATIENCE = 2.0   # seconds of work before the line appears
EVERY = .5       # seconds between two lines


class ProgressLine:
    """Called with the bytes, or messages, that are done; writes only to a terminal.

    `clock` gives seconds; the time left is what the rest takes at the speed so far.
    """

    def __init__(self, total: int, stream: TextIO, clock: Callable[[], float]) -> None:
        self._total, self._stream, self._clock = max(1, total), stream, clock
        self._start = self._last = clock()
        self._shown = 0

    def __call__(self, done: int) -> None:
        """Show that so much is done; it may be more than the total, if a file has grown."""
        now, done = self._clock(), min(done, self._total)
        if not self._stream.isatty() or now - self._start < PATIENCE or now - self._last < EVERY:
            return
        self._last = now
        left = (now - self._start) * (self._total - done) / max(1, done)
        text = f"{100 * done // self._total:3d} %, {_duration(left)} left"
        self._write(text.ljust(self._shown))
        self._shown = len(text)

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()

    def end(self) -> None:
        """Wipe the line."""
        if self._shown:
            self._write(" " * self._shown + "\r")
            self._shown = 0


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def quiet(total: int) -> ProgressLine:
    """A line that is never shown; its clock stands still at 0."""
    return ProgressLine(total, io.StringIO(), float)
