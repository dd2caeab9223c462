"""Milestone 5: which of the lines that a person types form one message.

A message is one line; a line that ends in a backslash is continued by the next, and between
two lines of three quotes a message may have many. A paste of many lines comes as one line
(`keyboard.py`); of the quotes in it only those around it count. What is left out: reading them.
"""

from __future__ import annotations

import re

FENCE = '"""'
_COMMAND = re.compile(r"/[^\s/*]*(?!\S)")


def is_command(message: str) -> bool:
    """Whether a message is for the program: it begins with `/NAME`, which is neither a path
    (`/etc/hosts is wrong`) nor a comment of a program."""
    return _COMMAND.match(message) is not None


class Lines:
    """Joins lines to messages."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._fenced = False

    @property
    def unfinished(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self._kept) or self._fenced

    def add(self, line: str) -> str | None:
        """The message that this line completes, None while it goes on."""
        first, _, rest = line.partition("\n")
        if rest and first.strip() == FENCE and not self._fenced:
            self._fenced = True
            return self.add(rest)
        body, newline, last = line.rstrip().rpartition("\n")
        if newline and last.strip() == FENCE and self._fenced:
            self._kept.append(body)
            return self.add(last)
        if line.strip() == FENCE:
            self._fenced = not self._fenced
            return None if self._fenced else self.end()
        if self._fenced:
            self._kept.append(line)
            return None
        if line.endswith("\\"):
            self._kept.append(line[:-1])
            return None
        self._kept.append(line)
        return self.end()

    def end(self) -> str:
        """The message as far as it came; the next line begins a new one."""
        message, self._kept, self._fenced = "\n".join(self._kept), [], False
        return message
