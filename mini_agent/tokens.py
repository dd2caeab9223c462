"""Milestone 3: how many tokens a message has, without a tokenizer.

    estimator("runs")(messages) -> int

An estimator is a name (it stands beside every number that it made) and a way to
count a text. Around the text all of them count alike: 4 tokens a message, and
8 + the characters of its name for each tool call.

    published            the formula of the M3 figures, for that milestone: 1 a Han
                         character, 1/4 for any other; arguments are not counted
    chars3, chars4       characters / 3, characters / 4: the usual rules of thumb
    runs, runs:PROFILE   the house's own: costs of runs and classes of characters,
                         with an error of 6 % where the others have 14 to 42

Only `runs` needs explaining. A tokenizer cuts a text at changes of class (letters,
digits, punctuation, blanks) and long runs again, so the number of tokens is close
to linear in a few counts: the fields of `Counts`. They are additive but for the
runs that a cut divides; a count a message may be kept. In: text. Out: integers.
What this module leaves out: when to count what (`compression/window.py`), and what
a live endpoint reports.

Sources: the M3 figures (`published`); measured costs against 13 tokenizers
(`runs`); tests/data/tokens has samples with true counts.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add, mul
from typing import Any, NamedTuple, Protocol

from mini_agent.errors import UsageError

PER_MESSAGE = 4  # tokens: role and separators
PER_CALL = 8     # tokens beside the characters of the tool's name: id, type, quotes


class Estimator(Protocol):
    """What the rest of the house knows of an estimator. All results are tokens."""

    @property
    def name(self) -> str:
        """The name under which `estimator` gives it, and which traces carry."""

    def text(self, text: str, /) -> int:
        """Tokens of a bare text."""

    def message(self, message: Mapping[str, Any], /) -> int:
        """Tokens of one message as it is sent: text, calls, opaque reasoning."""

    def declarations(self, tools: Sequence[Mapping[str, Any]], /) -> int:
        """Tokens of the tool declarations that go with every request."""

    def __call__(self, messages: Iterable[Mapping[str, Any]], /) -> int:
        """The sum of `message`."""


class Counts(NamedTuple):
    """What `runs` counts in a text; as `Costs`, what one of each costs.

    The classes are those of the UTF-8 bytes. Punctuation is all other ASCII,
    control characters included. Eight punctuation characters in a row, the same or
    not, count as one, and what is left of a run counts singly: 80 dashes are 10.
    """

    letter_runs: int
    letters: int
    capitals: int           # beside their count as letters
    digit_runs: int
    digits: int
    punctuation_runs: int
    punctuation: int
    gaps: int               # runs of line breaks, and runs of two and more blanks
    blanks: int             # space, tab, carriage return, line feed
    u0080: int = 0          # U+0080-07FF: Latin with accents, Greek, Cyrillic
    u0800: int = 0          # U+0800-1FFF: Indic scripts, Thai
    u2000: int = 0          # U+2000-2FFF: dashes, arrows, frames
    u3040: int = 0          # U+3040-3FFF: kana
    han: int = 0            # U+4000-9FFF
    hangul: int = 0         # U+A000-DFFF, lone surrogates included
    wide: int = 0           # U+3000-303F and U+E000-FFFF: CJK punctuation
    astral: int = 0         # U+10000 and up: emoji


Costs = Counts

# Thousandths of a token. `default`: OpenAI, DeepSeek, GLM, MiniMax, Llama 3;
# `qwen`: Qwen (Gemma x 1.10, Mistral x 1.07); `claude`: 3 to 4.6; `claude4.7`: later.
PROFILES = {
    "default": Costs(680, 83, 250, 1120, 330, 240, 250, 940, 15,
                     480, 850, 900, 700, 690, 750, 1200, 2200),
    "qwen": Costs(670, 82, 250, 730, 980, 300, 210, 920, 15,
                  550, 1100, 850, 650, 690, 820, 1200, 1300),
    "claude": Costs(505, 115, 355, 945, 330, 905, 120, 960, 48,
                    800, 1030, 1100, 780, 1060, 1360, 2400, 2800),
    "claude4.7": Costs(280, 275, 725, 1170, 330, 400, 590, 810, 48,
                       835, 1040, 1100, 800, 1120, 1370, 2300, 2800),
}

# The class of a byte is a bit, so that one integer made of translated bytes holds
# all classes of a piece of text side by side: `value & plane` singles out one.
_LETTER, _CAPITAL, _DIGIT, _PUNCTUATION, _BREAK, _BLANK = (1 << bit for bit in range(6))
_PIECE = 1 << 15  # bytes of text at a time: what is made of them stays in the cache


def _kind(byte: int) -> int:
    """The class bits of a byte; 0 beyond ASCII."""
    character = chr(byte)
    if byte >= 0x80:
        return 0
    if character.isalpha():
        return _LETTER | _CAPITAL if character.isupper() else _LETTER
    if character.isdigit():
        return _DIGIT
    return _BLANK if character in " \t" else _BREAK if character in "\r\n" else _PUNCTUATION


def _plane(bit: int) -> int:
    """A piece that is of one class throughout."""
    return int.from_bytes(bytes([bit]) * _PIECE, "little")


_KINDS = bytes(map(_kind, range(256)))
_LETTERS, _CAPITALS, _DIGITS, _MARKS, _BREAKS, _BLANKS = map(
    _plane, (_LETTER, _CAPITAL, _DIGIT, _PUNCTUATION, _BREAK, _BLANK))
_ONE = bytes([_PUNCTUATION])
_EIGHT = _ONE * 8

_CONTINUATION = bytes(range(0x80, 0xC0))
_NOT_LEAD = bytes(range(0xC0))
_LEADS = tuple(bytes(range(first, last + 1)) for first, last in (
    (0xC2, 0xDF), (0xE0, 0xE1), (0xE2, 0xE2), (0xE3, 0xE3),
    (0xE4, 0xE9), (0xEA, 0xED), (0xEE, 0xEF), (0xF0, 0xF4)))  # u0080 ... astral


def counts(text: str) -> Counts:
    """The counts of a text of any length and content."""
    data = text.encode("utf-8", "surrogatepass")
    kinds = data.translate(_KINDS, _CONTINUATION).replace(_EIGHT, _ONE)
    found = _count_piece(kinds[:_PIECE], 0, 0)
    for start in range(_PIECE, len(kinds), _PIECE):
        last, last_but_one = kinds[start - 1], kinds[start - 2]
        piece = _count_piece(kinds[start:start + _PIECE], last, last & last_but_one)
        found = tuple(map(add, found, piece))
    scripts = () if text.isascii() else _count_scripts(data)
    return Counts(*found, *scripts)


def _count_piece(kinds: bytes, last: int, last_again: int) -> tuple[int, ...]:
    """The ASCII part of `Counts` for one piece of translated bytes.

    `again` keeps the class bits of each byte that follows one of its own class, so
    a class has as many runs as it has bytes that are not in `again`; the same step
    once more gives the runs of two and more. `last` and `last_again` are the bits
    of the byte before the piece: a run may begin there.
    """
    value = int.from_bytes(kinds, "little")
    again = value & (value << 8 | last)
    third = again & (again << 8 | last_again)
    letters = (value & _LETTERS).bit_count()
    digits = (value & _DIGITS).bit_count()
    punctuation = (value & _MARKS).bit_count()
    breaks = (value & _BREAKS).bit_count()
    blanks = (value & _BLANKS).bit_count()
    blanks_again = (again & _BLANKS).bit_count()
    return (letters - (again & _LETTERS).bit_count(), letters,
            (value & _CAPITALS).bit_count(),
            digits - (again & _DIGITS).bit_count(), digits,
            punctuation - (again & _MARKS).bit_count(), punctuation,
            breaks - (again & _BREAKS).bit_count()
            + blanks_again - (third & _BLANKS).bit_count(),
            blanks + breaks)


def _count_scripts(data: bytes) -> list[int]:
    """The part of `Counts` beyond ASCII: each script is sieved out by lead byte."""
    leads = data.translate(None, _NOT_LEAD)
    found = []
    for script in _LEADS:
        rest = leads.translate(None, script)
        found.append(len(leads) - len(rest))
        leads = rest
    marks = data.count(b"\xe3\x80")  # U+3000-303F: punctuation, although E3 is kana
    u0080, u0800, u2000, u3040, han, hangul, wide, astral = found
    return [u0080, u0800, u2000, u3040 - marks, han, hangul, wide + marks, astral]


def _by_runs(costs: Costs, text: str) -> int:
    """Tokens by the runs estimate: the counts times their costs, rounded up."""
    return -(-sum(map(mul, counts(text), costs)) // 1000)


def _by_length(characters: int, text: str) -> int:
    """Tokens when so many characters make one, rounded up."""
    return -(-len(text) // characters)


_HAN = re.compile("[\u4e00-\u9fff]+")


def _by_published_formula(text: str) -> int:
    """Tokens by the M3 figures: Han 1 each, the others a quarter, rounded up."""
    han = 0 if text.isascii() else sum(map(len, _HAN.findall(text)))
    return han - (han - len(text)) // 4


@dataclass(frozen=True)
class _TextEstimator:
    """The estimator that a way to count text makes.

    `all_text` is False for the published formula, which counts of a call only its
    name, and neither opaque reasoning nor declarations.
    """

    name: str
    text: Callable[[str], int]
    all_text: bool = True

    def message(self, message: Mapping[str, Any]) -> int:
        """4, the content, 8 + name and arguments of each call, opaque as JSON."""
        tokens = PER_MESSAGE + self.text(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            tokens += PER_CALL + len(call["name"])
            if self.all_text:
                tokens += self.text(call["invalid"]) if "invalid" in call \
                    else self._json(call["arguments"])
        if self.all_text and message.get("opaque"):
            tokens += self._json(message["opaque"])
        return tokens

    def declarations(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """The JSON of each tool, counted on its own: less tools, less tokens."""
        return sum(map(self._json, tools)) if self.all_text else 0

    def __call__(self, messages: Iterable[Mapping[str, Any]]) -> int:
        return sum(map(self.message, messages))

    def _json(self, value: Any) -> int:
        return self.text(json.dumps(value, ensure_ascii=False))


_BY_NAME: dict[str, Estimator] = {made.name: made for made in (
    _TextEstimator("published", _by_published_formula, all_text=False),
    *(_TextEstimator("runs" if profile == "default" else f"runs:{profile}",
                     partial(_by_runs, costs)) for profile, costs in PROFILES.items()),
    _TextEstimator("chars3", partial(_by_length, 3)),
    _TextEstimator("chars4", partial(_by_length, 4)))}

ESTIMATORS: tuple[str, ...] = tuple(_BY_NAME)


def estimator(name: str = "runs") -> Estimator:
    """The estimator of that name, one of `ESTIMATORS`; else a UsageError."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    close = difflib.get_close_matches(name, ESTIMATORS, n=3, cutoff=0.5) or ESTIMATORS
    raise UsageError(f"no estimator is named {name!r}", value=name,
                     remedy=f"use {' or '.join(close)}")
