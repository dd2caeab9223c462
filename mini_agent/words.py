"""Milestone 3: what in a text is worth naming: identifiers, lines, numbers, quotes.

One definition for all who ask: the check of summaries (`compression/verify.py`),
the clipping that keeps the point of an output, and later the digest and the
measure of evidence. What it leaves out: any judgement of what a word is worth.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

WORD = re.compile(r"(?:~?/|\.{1,2}/)?[A-Za-z0-9_][A-Za-z0-9_./\-]*[A-Za-z0-9_]"
                  r"|[\u3400-\u9fff]{4,}")
_JOINS = string.ascii_letters + string.digits + "_./~-"  # what a word may have before its end
_TELLING = re.compile(r"[_./]|[0-9]|[a-z0-9][A-Z]|[\u3400-\u9fff]")
_NUMBER = re.compile(r"[0-9][0-9.,]*")
_QUOTED = re.compile(r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"|「([^」\n]{2,200})」|“([^”\n]{2,200})”")

MIN_WORD, MAX_WORD, MAX_HAN = 3, 200, 24
MIN_LINE, MAX_LINE = 12, 400

# Telling by their form, but general knowledge: nobody has to look them up.
GENERAL = frozenset("""
    e.g i.e a.m p.m U.S No.1 utf-8 UTF-8 utf8 UTF8 utf_8 ascii-8bit latin-1 iso-8859-1
    base64 sha1 sha256 md5 x86_64 arm64 amd64 int32 int64 uint8 float32 float64 HTTP/1.1
    /dev/null /dev/stdin /dev/stdout /dev/stderr /tmp /usr /bin /etc /home /root /bin/sh
    /bin/bash /usr/bin /usr/bin/env /usr/local /usr/local/bin 0.0.0.0 127.0.0.1
    __init__ __init__.py __main__ __name__ __file__ __dict__ __doc__ __class__
    __str__ __repr__ os.path os.environ sys.argv sys.path sys.exit self.assertEqual
    JavaScript TypeScript GitHub python3 Python3 node.js Node.js package.json README.md
    console.log null_value is_null JSON.stringify JSON.parse I/O TCP/IP 0000 1000
""".split())


def words(text: str) -> Iterator[str]:
    """Paths, identifiers, long numbers and runs of four and more CJK characters.

    3 to 200 characters; numbers only from 4 digits on; a word of plain letters
    counts only with `_ . /`, a digit or an inner capital; CJK is cut at 24. Another
    letter ends a word: of `笔记/a.md` it is `/a.md`, as no blank says where in a Chinese
    sentence a path begins. The rule is that of the evidence measure, so that all parts
    mean the same.
    """
    for word in filter(_tells, WORD.findall(text)):
        yield word[:MAX_HAN] if word[0] >= "\u3400" else word


def _tells(word: str) -> bool:
    return (MIN_WORD <= len(word) <= MAX_WORD and _TELLING.search(word) is not None
            and not (word.isdigit() and len(word) < 4))


def stands_at(word: str, text: str, at: int) -> bool:
    """Whether `word` stands in `text` at `at` as a whole word, as `words` would find it.

    `src` and `app.py` do not stand in `src/app.py`, which is one word.
    """
    end = at + len(word)
    if word[0] >= "\u3400":
        around = text[max(0, at - 1):at], "" if len(word) == MAX_HAN else text[end:end + 1]
        return not any("\u3400" <= sign <= "\u9fff" for sign in around)
    before = text[max(0, at - MAX_WORD):at]
    start = at - len(before) + len(before.rstrip(_JOINS))
    return any(found.span() == (at, end) for found in WORD.finditer(text, start, end + MAX_WORD))


def names(stretch: str) -> tuple[str, ...]:
    """The `words` of a short text without blanks, each once, less those in `GENERAL`."""
    return tuple(piece for piece in pieces(stretch) if _tells(piece) and piece not in GENERAL)


def pieces(text: str) -> set[str]:
    """Everything that `words` would find in a text, and also plain words and short numbers.

    Faster than `words`; enough to look up which of some known words a text has.
    """
    found = set(WORD.findall(text))
    return found if text.isascii() else {
        word[:MAX_HAN] if word[0] >= "\u3400" else word for word in found}


def lines(text: str) -> Iterator[str]:
    """Stripped lines of 12 to 400 characters that have a blank in them."""
    for line in text.splitlines():
        line = line.strip()
        if MIN_LINE <= len(line) <= MAX_LINE and " " in line:
            yield line


def numbers(text: str) -> Iterator[str]:
    """Every number of two and more digits, as it is written."""
    for match in _NUMBER.finditer(text):
        number = match.group().rstrip(".,")
        if len(number) > 1:
            yield number


def quoted(text: str) -> Iterator[str]:
    """Every string of 2 to 200 characters that stands in quotes or backticks."""
    for match in _QUOTED.finditer(text):
        yield next(part for part in match.groups() if part is not None)


def rows_of(text: str) -> list[str]:
    """The lines of a text without their ends, called rows since `lines` gives only some of
    them. Only "\\n" ends one, as in every editor's count."""
    rows = text.split("\n")
    return rows[:-1] if rows[-1] == "" else rows
