"""Milestone 5: what a person types, also while the model works.

What is typed while the model works is kept (`listener.py`) and given out later, once. What is
left out: which lines form one message (`lines.py`), and what it means (`commands.py`).
"""

from __future__ import annotations

import errno
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ..interrupts import Interrupts
from .lines import Lines, is_command

try:
    import termios

    from .listener import Listener
except ImportError:
    termios = None  # type: ignore[assignment]

HISTORY = 1_000  # lines that are remembered


class Keyboard:
    """Standard input. `on_kept` is called with each message that is kept for later, `on_turn`
    when it is given out.

    `remember` adds a message to the history of the line editor, `line` returns the line that is
    being typed, `prefill` puts a text into the next one (`line_editing` sets them). `begun`:
    whether the last Ctrl-C discarded a message that had been begun. `pastes`: the terminal marks
    them if asked to, and then the line editor itself ends the line of the prompt at Ctrl-D.
    """

    def __init__(self, source: TextIO, interrupts: Interrupts, prompts: TextIO,
                 on_kept: Callable[[str], None], on_turn: Callable[[str], None]) -> None:
        self._source, self._interrupts, self._prompts = source, interrupts, prompts
        self._on_kept, self._on_turn = on_kept, on_turn
        self.remember: Callable[[str], None] = lambda line: None
        self.line: Callable[[], str] = str
        self.prefill: Callable[[str], None] | None = None
        self.begun = self.pastes = False
        self._half = ""  # a line that was begun while the model worked
        self._kept: deque[str] = deque()
        self._ended = False
        self._listener: Listener | None = None
        self.interactive = source.isatty()

    def typed(self) -> list[str]:
        """The messages that were kept, up to the first command. Each is given once."""
        messages = []
        while self._kept and not is_command(self._kept[0]):
            messages.append(self._next())
        return messages

    def _next(self) -> str:
        message = self._kept.popleft()
        self._on_turn(message)
        return self._remembered(message)

    def _remembered(self, message: str) -> str:
        """The message, which the line editor now knows."""
        if self.interactive and message.strip():
            with suppress(ValueError):  # it has a letter that the locale lacks, or a NUL
                self.remember(message)
        return message

    def message(self, prompt: str) -> str:
        """The next message: one that was kept, else what is typed now.

        EOFError at the end of the input; KeyboardInterrupt discards what is half typed.
        """
        self.begun = False
        if self._kept:
            return self._next()
        lines = Lines()
        message = None
        while message is None:
            try:
                half, self._half = self._half, ""
                message = lines.add(self._line("... " if lines.unfinished else prompt, half))
            except EOFError:
                gone = self.interactive and not self._source.isatty()  # the terminal
                if gone or not lines.unfinished:
                    raise
                message = lines.end()
            except KeyboardInterrupt:
                self.begun = self.begun or lines.unfinished
                raise
        return self._remembered(message)

    def ask(self, prompt: str) -> str:
        """The answer to a question; what was typed before it is discarded. EOFError where nobody
        can answer."""
        if not self.interactive:
            raise EOFError
        with self._not_listening():
            if termios is not None:
                with suppress(termios.error):  # the terminal may have gone
                    termios.tcflush(self._source.fileno(), termios.TCIFLUSH)
            try:
                return self._line(prompt)
            except KeyboardInterrupt:
                self._end_line()
                raise

    def _end_line(self) -> None:
        """What is told next begins on a line of its own, where a prompt was left."""
        with suppress(OSError):  # the terminal may have gone
            self._prompts.write("\n")

    def _line(self, prompt: str, half: str = "") -> str:
        """The next line, of which `half` was typed already."""
        if self._ended:
            raise EOFError
        try:
            line = self._read(prompt, half)
        except EOFError:
            if self.interactive and not (self.pastes and self._edited):
                self._end_line()
            raise
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise EOFError from error  # the terminal has gone
        return line.removesuffix("\n").removesuffix("\r").removeprefix("\ufeff")  # CRLF, a mark

    @property
    def _edited(self) -> bool:
        """Whether `input` reads, and with it the line editor, if there is one."""
        return self.interactive and self._source is sys.stdin and sys.stdout.isatty()

    def _read(self, prompt: str, half: str) -> str:
        with self._interrupts.waiting:
            if self._edited and self.prefill is not None:
                self.prefill(half)
                return self._waited(input, prompt)
            if self.interactive:
                self._prompts.write(prompt + half)
                self._prompts.flush()
            line = self._waited(self._source.readline, -1)
        if not line:
            raise EOFError
        return half + line

    def _waited(self, read: Callable[[Any], str], argument: Any) -> str:
        """What `read` returns. Ctrl-C ends the wait, but if the line is there already it is put
        off until the next wait."""
        got: list[str] = []
        try:
            got.extend(map(read, (argument,)))  # read and kept in one call: no Ctrl-C between
        except (KeyboardInterrupt, SystemError) as error:  # `input` raises this for two of them
            if not got:
                self.begun = bool(self.line())
                raise KeyboardInterrupt from error
            self._interrupts.put_off()
        return got[0]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is typed during this block. A pipe is not read ahead, since its lines wait."""
        if not self.interactive or termios is None or self._ended:
            yield
            return
        self._listen()
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def _not_listening(self) -> Iterator[None]:
        """Do not keep what is typed during this block, since it answers a question."""
        if self._listener is None:
            yield
            return
        self._stop()
        try:
            yield
        finally:
            self._listen()

    def _listen(self) -> None:
        try:
            self._listener = Listener(self._source.fileno(), self._keep, self._half)
            self._half = ""
            self._mark_pastes("h")
        except termios.error:  # the terminal has gone
            self._ended = True

    def _stop(self) -> None:
        if self._listener is not None:
            self._mark_pastes("l")
            ended, self._half = self._listener.stop()
            self._ended = self._ended or ended
            self._listener = None

    def _mark_pastes(self, on: str) -> None:
        """Ask the terminal to mark where a paste begins and ends ("h"), or no longer ("l")."""
        if self.pastes:
            with suppress(OSError):  # the terminal may have gone
                self._prompts.write(f"\x1b[?2004{on}")
                self._prompts.flush()

    def _keep(self, message: str) -> None:
        self._kept.append(message)
        self._on_kept(message)


@contextmanager
def line_editing(keyboard: Keyboard, history: Path | None,
                 pastes: bool = False) -> Iterator[None]:
    """Editing and history of lines, where Python has `readline`. `pastes`: the terminal says
    where a paste begins and ends, so that one of many lines is one message."""
    try:
        import readline
    except ImportError:
        yield
        return
    if history is not None:
        with suppress(OSError):  # there is none yet
            readline.read_history_file(history)
    readline.set_history_length(HISTORY)
    readline.set_auto_history(False)
    readline.parse_and_bind("set convert-meta off")  # in the locale C, a Chinese letter is no Alt-x
    if pastes:
        readline.parse_and_bind("set enable-bracketed-paste on")  # Python turns it off
        keyboard.pastes = True
    keyboard.remember, keyboard.line = readline.add_history, readline.get_line_buffer
    keyboard.prefill = lambda text: readline.set_startup_hook(
        partial(readline.insert_text, text) if text else None)
    try:
        yield
    finally:
        if history is not None:
            with suppress(OSError):  # a folder that cannot be written: the lines are lost, no more
                history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                for at in reversed(range(readline.get_current_history_length())):
                    if "\n" in readline.get_history_item(at + 1):  # a paste would fill the file
                        readline.remove_history_item(at)
                readline.write_history_file(history)
                os.chmod(history, 0o600)
