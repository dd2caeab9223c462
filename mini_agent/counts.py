"""Milestone 3: the runs and characters of a text, counted in bits.

The estimator `runs` weighs these counts. Each byte becomes the bit of its class, and a
text one integer, so that a class is counted by `bit_count` and no loop in Python looks
at a character. What this module leaves out: what a count costs in tokens (`tokens.py`).
"""

from __future__ import annotations

from operator import add
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple


class Counts(NamedTuple):
    """What is counted in a text: runs of a class, and characters.

    Classes are those of the UTF-8 bytes; beyond ASCII the lead byte tells the
    script. Punctuation is all ASCII that is nothing else, control characters too.
    Eight punctuation characters in a row, the same or not, count as one, and what
    is left of their run counts singly: 83 dashes are 10 + 3.
    """

    letter_runs: int
    letters: int
    capitals: int          # once more, besides their count as letters
    digit_runs: int
    digits: int
    punctuation_runs: int
    punctuation: int
    gaps: int              # runs of line breaks, and runs of two and more blanks
    white: int             # blanks (space, tab) and line breaks (CR, LF)
    u0080: int = 0         # U+0080-07FF: Latin with accents, Greek, Cyrillic
    u0800: int = 0         # U+0800-1FFF: Indic scripts, Thai
    u2000: int = 0         # U+2000-2FFF: dashes, arrows, frames
    u3040: int = 0         # U+3040-3FFF: kana
    han: int = 0           # U+4000-9FFF
    hangul: int = 0        # U+A000-DFFF, lone surrogates with them
    wide: int = 0          # U+3000-303F, U+E000-FFFF: CJK and full-width punctuation
    astral: int = 0        # U+10000 and up: emoji


_PIECE = 1 << 15  # bytes at a time, so that what is made of them stays in the cache
_LETTER, _CAPITAL, _DIGIT, _MARK, _BREAK, _BLANK = (1 << bit for bit in range(6))


def _kinds() -> bytes:
    """The class of each byte as a bit, one more for capitals; 0 beyond ASCII."""
    kinds = bytearray(128 * [_MARK] + 128 * [0])
    for bits, characters in ((_LETTER, ascii_lowercase), (_LETTER | _CAPITAL, ascii_uppercase),
                             (_DIGIT, digits), (_BREAK, "\r\n"), (_BLANK, " \t")):
        for character in characters:
            kinds[ord(character)] = bits
    return bytes(kinds)


_KINDS = _kinds()
_CONTINUATION = bytes(range(0x80, 0xC0))
_ONE, _EIGHT = bytes([_MARK]), bytes(8 * [_MARK])
# Where a piece of kinds is read as one integer, `value & plane` keeps a single class.
_LETTERS, _CAPITALS, _DIGITS, _MARKS, _BREAKS, _BLANKS = (
    int.from_bytes(bytes(_PIECE * [1 << bit]), "little") for bit in range(6))

_NOT_LEAD = bytes(range(0xC0))
_LEADS = tuple(bytes(range(first, last + 1)) for first, last in (
    (0xC2, 0xDF), (0xE0, 0xE1), (0xE2, 0xE2), (0xE3, 0xE3),
    (0xE4, 0xE9), (0xEA, 0xED), (0xEE, 0xEF), (0xF0, 0xF4)))  # u0080 ... astral


def counts(text: str) -> Counts:
    """The counts of a text, whatever is in it."""
    data = text.encode("utf-8", "surrogatepass")
    kinds = data.translate(_KINDS, _CONTINUATION).replace(_EIGHT, _ONE)
    found = _count_piece(kinds[:_PIECE], 0, 0)
    for start in range(_PIECE, len(kinds), _PIECE):
        before, last = kinds[start - 2:start]
        piece = _count_piece(kinds[start:start + _PIECE], last, last & before)
        found = tuple(map(add, found, piece))
    return Counts(*found) if text.isascii() else Counts(*found, *_count_scripts(data))


def _count_piece(kinds: bytes, last: int, last_again: int) -> tuple[int, ...]:
    """The ASCII part of `Counts`, for one piece of a text.

    One integer holds all bytes. `again` keeps the class bit of each byte that follows
    one of its class: a class has as many runs as bits that are not in `again`. A step
    further, `third` does so for runs of two and more. `last`, `last_again`: the bits
    before the piece, where a run may have begun.
    """
    value = int.from_bytes(kinds, "little")
    again = value & (value << 8 | last)
    third = again & (again << 8 | last_again)
    letters = (value & _LETTERS).bit_count()
    figures = (value & _DIGITS).bit_count()
    marks = (value & _MARKS).bit_count()
    breaks = (value & _BREAKS).bit_count()
    blanks = (value & _BLANKS).bit_count()
    line_gaps = breaks - (again & _BREAKS).bit_count()
    blank_gaps = (again & _BLANKS).bit_count() - (third & _BLANKS).bit_count()
    return (letters - (again & _LETTERS).bit_count(), letters,
            (value & _CAPITALS).bit_count(),
            figures - (again & _DIGITS).bit_count(), figures,
            marks - (again & _MARKS).bit_count(), marks,
            line_gaps + blank_gaps, blanks + breaks)


def _count_scripts(data: bytes) -> list[int]:
    """The rest of `Counts`: each script in turn is sieved out of the lead bytes."""
    leads, found = data.translate(None, _NOT_LEAD), []
    for script in _LEADS:
        rest = leads.translate(None, script)
        found.append(len(leads) - len(rest))
        leads = rest
    marks = data.count(b"\xe3\x80")  # U+3000-303F: the lead of kana, but punctuation
    u0080, u0800, u2000, u3000, han, hangul, wide, astral = found
    return [u0080, u0800, u2000, u3000 - marks, han, hangul, wide + marks, astral]
