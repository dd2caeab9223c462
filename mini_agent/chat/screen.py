"""Milestone 5: writes to the terminal, and keeps control characters away from it.

Text of a model or a tool is hostile: an escape sequence in it could overwrite what was said,
make the terminal type, or hide half of a command. So control characters are removed here from
every text that is written (`hostile.py`). Answers go to standard output, everything else to
standard error, which may be the same terminal. What is left out: what is told (`narrator.py`,
`commands.py`).
"""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from ..columns import fitted, terminal_columns, width
from ..hostile import without_controls
from ..interrupts import leave_terminals
from .wrap import Wrap, wrapped

NEVER = sys.maxsize


@dataclass(frozen=True)
class Style:
    """How a screen looks. `plain`: for a screen reader, only whole lines of words."""

    color: bool = False
    plain: bool = False
    columns: int = 0  # 0: as many as the terminal has

    @property
    def prompt(self) -> str:
        """The prompt before what the user types."""
        return "you: " if self.plain else "> "

    def width(self) -> int:
        """The columns of the terminal, which may be resized."""
        return self.columns or terminal_columns()


def style_of(err: TextIO, environ: Mapping[str, str], plain: bool) -> Style:
    """The style for this stream and the wishes of the user (NO_COLOR, TERM, `plain`)."""
    live = err.isatty() and not plain and environ.get("TERM") != "dumb"
    return Style(live and not environ.get("NO_COLOR"), plain=not live)


COLORS = {"": "", "dim": "\x1b[2m", "red": "\x1b[31m", "green": "\x1b[32m", "bold": "\x1b[1m"}


class Screen:
    """Writes to two streams, under a lock, since the thread of the keyboard writes too."""

    def __init__(self, out: TextIO, err: TextIO, style: Style = Style()) -> None:
        self.out, self.err, self.style = out, err, style
        self.streams = out.isatty()
        self._lock = threading.RLock()
        self._said = False       # whether pieces of this answer were shown
        self._wrap = Wrap()
        self._open = False       # whether the last line of an answer has no newline yet
        self._transient = False  # whether the last line is wiped before the next

    def begin_answer(self) -> None:
        """Show that the model is being asked."""
        self._said = False
        self.transient_row("...")

    def answer(self, text: str) -> None:
        """Show a piece of an answer, as it comes."""
        with self._lock:
            shown = without_controls(text) if self._said else without_controls(text).lstrip()
            if shown:
                self._said = True
                self._write(self._wrap.feed(shown, self._columns()))

    def whole_answer(self, text: str) -> None:
        """Show a whole answer, unless it was shown in pieces."""
        if not self._said:
            self.answer(text)
        self.end_answer()

    def end_answer(self) -> None:
        """End the last line of an answer, so that what comes next begins a new one."""
        with self._lock:
            self._write(self._wrap.end(self._columns()))
            if self._open:
                self._write("\n")

    def tell(self, text: str, color: str = "", whole: bool = False) -> None:
        """Show lines about what happens; with `whole` the terminal breaks them, not we."""
        with self._lock:
            if self._open and self.streams:
                self._write("\n")
                self._wrap.new_line()
            shown = without_controls(text) if whole or self.style.plain else wrapped(
                without_controls(text), self.style.width())
            self._put(self.err, self.painted(shown, color) + "\n")

    def row(self, text: str, color: str = "") -> None:
        """Show one line, cut to the width of the screen."""
        self.tell(fitted(without_controls(text), self.style.width()), color, whole=True)

    def transient_row(self, text: str) -> None:
        """Show a line that the next one wipes; nothing in plain style, where lines stay."""
        with self._lock:
            if not self.style.plain and not self._open:
                self._put(self.err, self.painted(
                    fitted(without_controls(text), self.style.width() - 1), "dim"))
                self._transient = True

    def painted(self, text: str, color: str) -> str:
        """Text in a colour, where there are colours."""
        if not self.style.color or not color:
            return text
        return "\n".join(f"{COLORS[color]}{line}\x1b[0m" for line in text.split("\n"))

    def _columns(self) -> int:
        """Where an answer is wrapped: on a terminal, and not for a screen reader."""
        return self.style.width() if self.streams and not self.style.plain else NEVER

    def _write(self, text: str) -> None:
        if text:
            self._open = not text.endswith("\n")  # before: Ctrl-C may fall between the two
            self._put(self.out, text)

    def _put(self, stream: TextIO, text: str) -> None:
        if self._transient:
            self._transient = False
            _write_to(self.err, "\r\x1b[K")
        encoding = stream.encoding or "utf-8"
        _write_to(stream, text.encode(encoding, "replace").decode(encoding))


def _write_to(stream: TextIO, text: str) -> None:
    """Write and flush. If the terminal has gone without a signal (`nohup`), the work goes on."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        leave_terminals([stream.fileno()])


def joined_to_fit(parts: Sequence[str], columns: int) -> str:
    """As many of the parts as fit, the first ones first."""
    line = ""
    for part in parts:
        longer = f"{line} | {part}" if line else part
        if line and width(longer) > columns:
            continue
        line = longer
    return fitted(line, columns)
