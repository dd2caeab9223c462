"""Milestone 1: text from outside, made harmless on its way to whoever reads it next.

Text from a user, a model, a file, a command or an endpoint may hold lone surrogates, escapes
that a terminal obeys, marks that turn the direction of writing, letters that cannot be
seen. What must be done with these depends on where the text goes:

| goes to | function | what cannot be shown |
|---|---|---|
| history, trace, page | `clean` | lone surrogates are U+FFFD, everything else stays |
| a model, as a tool's result | `clean_output` | is removed, as a terminal would have drawn it |
| into a sentence of ours | `one_line` | the same, on one line and cut |
| a terminal, while a model speaks | `without_controls` | is removed, piece by piece |
| a terminal, as a row of ours | `escaped` | is shown as its escape, so it can be found |
| a person, who has to judge | `exposed` | the same, with all that is drawn as nothing |
| HTML, SVG | `html.escape` | (only what would be markup matters there) |
| JSON inside a script element | `lab.page.embedded` | (only what would end the element) |

Left out: JSON that is not valid (`strict_json.py`), keys (`models/endpoint.py`), the path of the
workspace (`tools/workspace.py`).
"""

from __future__ import annotations

import os
import re
import sys

SHOWN_LIMIT = 200  # characters of somebody else's text that a sentence repeats

_SURROGATE = re.compile("[\ud800-\udfff]")
# Every escape is removed, a broken one too: up to the end of its line at most,
# so that an escape without an end cannot hide the rest of the output.
_ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"                       # colours, cursor
    "|\x1b[\\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links
    "|\x1b[ -/]*[0-~]?")
_OVERSTRIKE = re.compile("[^\n]\b")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIRECTION = re.compile("[\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_BREAK = re.compile("[\r\n\t\u2028\u2029]+")
# Letters that are drawn as nothing, and what picks a variant.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
                     "\U000e0100-\U000e01ef]")


def clean(text: str | None) -> str:
    """Text as it may enter a history: None is "", lone surrogates are U+FFFD."""
    if text is None:
        return ""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean_output(text: str | None) -> str:
    """Text as a reader of a terminal would have seen it; cleaning twice is cleaning once.

    Escapes and control characters are removed (tab and newline stay), and a line
    drawn over itself with carriage returns is kept in its last state.
    """
    text = clean(text)
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPE.sub("", text)
    if "\b" in text:
        text = _OVERSTRIKE.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _last_state(line: str) -> str:
    """What is left on the screen of a line with carriage returns."""
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""


def one_line(text: str, limit: int | None = SHOWN_LIMIT) -> str:
    """`clean_output` without line breaks, at most `limit` characters and a mark."""
    text = clean_output(_BREAK.sub(" ", text))
    return text if limit is None or len(text) <= limit else text[:limit] + "..."


def without_controls(text: str) -> str:
    """Text that a terminal can only show: without escapes, control characters and marks
    that turn the direction of writing. Tab and newline stay."""
    if text.isascii() and text.isprintable():
        return text
    return _DIRECTION.sub("", _CONTROL.sub("", _ESCAPE.sub("", text)))


def escaped(text: str) -> str:
    """A row with each control character shown as its escape, newlines too. Tab stays."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\t\u3000" else _escape(letter)
                   for letter in text)


def exposed(text: str) -> str:
    """`escaped` for each line, and for every letter that cannot be seen; a tab is 4 blanks.

    For what a person has to judge before it is done.
    """
    rows = "\n".join(map(escaped, text.replace("\t", "    ").split("\n")))
    return _UNSEEN.sub(lambda found: _escape(found[0]), rows)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def prepare_streams() -> None:
    """Make the standard streams usable. A closed one reads as empty, or writes nowhere; bytes
    that are not text come in as U+FFFD, and what a stream cannot encode goes out escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # its number is free: no file of ours may get it
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"),
                           (sys.stderr, "backslashreplace")):
        if reconfigure := getattr(stream, "reconfigure", None):  # a test may have put a StringIO
            reconfigure(errors=errors)
