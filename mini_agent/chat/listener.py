"""Milestone 5: what is typed while the model works.

A thread reads the terminal, which does not echo the letters meanwhile. A terminal that hands
over whole lines cuts each at 4,095 bytes (on Linux; elsewhere sooner), so it is set to hand over
single keys, and the lines are made here. What is left out: the line editor of the prompt, in
which a line that was begun is continued (`keyboard.py`).
"""

from __future__ import annotations

import codecs
import os
import re
import selectors
import termios
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from .lines import Lines

LETTER_BACK, WORD_BACK, LINE_BACK = "\b\x7f", "\x17", "\x15"  # Backspace, Ctrl-W, Ctrl-U
END, ESCAPE = "\x04", "\x1b"  # Ctrl-D; what an arrow key begins with
PASTES = {"\x1b[200~": True, "\x1b[201~": False}  # what stands around a paste: whether it begins
_HALF_A_KEY = re.compile(r"\x1b(?:[\[O][ -?]{0,20})?")
CHUNK = 65_536


class Keys:
    """Makes lines of the bytes that keys send; a paste of many is one, where the terminal marks
    it. Keys without a letter (arrows) do nothing here. `ended`: the input was closed with Ctrl-D.
    """

    def __init__(self, begun: str = "") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._letters = list(begun)
        self._key = ""  # what has come of a key that sends several letters
        self._pasting = self.ended = False

    @property
    def begun(self) -> str:
        """The line that was begun and has not ended yet."""
        return "".join(self._letters)

    def add(self, data: bytes) -> Iterator[str]:
        """The lines that `data` completes; a pasted one may end in a carriage return."""
        for letter in self._decoder.decode(data):
            if letter in "\r\n" and not self._pasting:
                line, self._letters, self._key = self.begun, [], ""
                yield line
            elif self._key or letter == ESCAPE:
                self._key = letter if letter == ESCAPE else self._key + letter
                if not _HALF_A_KEY.fullmatch(self._key):
                    self._pasting = PASTES.get(self._key, self._pasting)
                    self._key = ""
            elif letter in "\t\r\n" or unicodedata.category(letter) != "Cc":
                self._letters.append("\n" if letter == "\r" else letter)
            elif not self._pasting:  # what is pasted presses no keys
                self._press(letter)

    def _press(self, key: str) -> None:
        if key in LETTER_BACK:
            del self._letters[-1:]
        elif key == LINE_BACK:
            self._letters = []
        elif key == WORD_BACK:
            words = self.begun.rsplit(maxsplit=1)
            self._letters = list(f"{words[0]} " if len(words) == 2 else "")
        elif key == END:
            self.ended = self.ended or not self._letters


class Listener:
    """Hands each message to `keep`, until `stop`. Raises `termios.error` without a terminal."""

    def __init__(self, descriptor: int, keep: Callable[[str], None], begun: str = "") -> None:
        self._descriptor, self._keep = descriptor, keep
        self._lines, self._keys, self._ended = Lines(), Keys(begun), False
        self._before = termios.tcgetattr(descriptor)
        silent: list[Any] = [*self._before]
        silent[3] &= ~(termios.ECHO | termios.ICANON)
        silent[6] = [*silent[6]]
        silent[6][termios.VMIN], silent[6][termios.VTIME] = 1, 0
        termios.tcsetattr(descriptor, termios.TCSANOW, silent)
        self._waker, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[bool, str]:
        """Stop reading. Returns whether the input has ended, and the line that was begun. A message
        of several lines that was not ended is handed on as it is."""
        os.write(self._wake, b".")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)
        with suppress(termios.error):  # the terminal may have gone
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
        if self._lines.unfinished:
            self._keep(self._lines.end())
        return self._ended, self._keys.begun

    def _listen(self) -> None:
        """Read until told to stop, and also all that is there already then."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            selector.register(self._waker, selectors.EVENT_READ)
            while any(key.fd == self._descriptor for key, _ in selector.select()):
                data = b""
                with suppress(OSError):  # the terminal has gone
                    data = os.read(self._descriptor, CHUNK)
                for line in self._keys.add(data):
                    if message := self._lines.add(line):
                        self._keep(message)
                if not data or self._keys.ended:
                    self._ended = True
                    return
