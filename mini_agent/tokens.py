"""Milestone 3: how many tokens a message has, without a tokenizer.

    estimator("runs")(messages) -> int

An estimator is a name, which stands beside every number that it made, and a way to
count a text. Beyond the text all add 4 tokens a message, 8 + len(name) a tool call.

    published            the formula of the M3 figures, for that milestone: 1 a Han
                         character, 1/4 any other; arguments are not counted
    chars3, chars4       characters / 3, characters / 4: the usual rules of thumb
    runs, runs:PROFILE   the house's own, for a family of tokenizers: off by 6 % on
                         agent messages, where the others are off by 14 to 42

Only `runs` needs explaining. A tokenizer cuts a text where its class changes (from
letters to digits, to punctuation, to blanks) and cuts long runs once more; so the
tokens are close to a weighted sum of a few counts, the fields of `Counts`. Counted
in parts, a text differs from the whole only by the runs that were cut.

What this module leaves out: when to count, and against what (`compression/`), and
the usage that a live endpoint reports.

Sources: the M3 figures (`published`); costs fitted to 13 tokenizers (`runs`). Check
them with the samples and true counts in tests/data/tokens.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add, mul
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, NamedTuple, Protocol

from .errors import UsageError

PER_MESSAGE = 4  # tokens: the role and what separates messages
PER_CALL = 8     # tokens beside the characters of the tool's name: id, type, quotes


class Estimator(Protocol):
    """What the rest of the house knows of an estimator. All results are tokens."""

    @property
    def name(self) -> str:
        """The name by which `estimator` gives it, and which traces carry."""

    def text(self, text: str, /) -> int:
        """Tokens of a bare text."""

    def message(self, message: Mapping[str, Any], /) -> int:
        """Tokens of one message as it is sent: text, calls, opaque reasoning."""

    def declarations(self, tools: Sequence[Mapping[str, Any]], /) -> int:
        """Tokens of the tool declarations that go with every request."""

    def __call__(self, messages: Iterable[Mapping[str, Any]], /) -> int:
        """The sum of `message`."""


class Counts(NamedTuple):
    """What `runs` counts in a text; as `Costs`, thousandths of a token for each.

    Classes are those of the UTF-8 bytes; beyond ASCII the lead byte tells the
    script. Punctuation is all ASCII that is nothing else, control characters too.
    Eight punctuation characters in a row, the same or not, count as one, and what
    is left of their run counts singly: 83 dashes are 10 + 3.
    """

    letter_runs: int
    letters: int
    capitals: int          # once more, beside their count as letters
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


Costs = Counts

# `default`: OpenAI, DeepSeek, GLM, MiniMax, Llama 3. `qwen`: a token a digit (Gemma is
# 1.10 times that, Mistral 1.07). `claude`: Claude 3 to 4.6; `claude4.7`: later.
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


def _by_runs(costs: Costs, text: str) -> int:
    """The counts times their costs, rounded up to tokens."""
    thousandths: int = sum(map(mul, counts(text), costs))
    return -(-thousandths // 1000)


def _by_length(characters: int, text: str) -> int:
    """So many characters a token, rounded up."""
    return -(-len(text) // characters)


def _by_published_formula(text: str) -> int:
    """A token a Han character, and a quarter for each of the others, rounded up."""
    han = 0 if text.isascii() else sum(map(len, re.findall("[\u4e00-\u9fff]+", text)))
    return han + -(-(len(text) - han) // 4)


@dataclass(frozen=True)
class _TextEstimator:
    """The estimator that a way to count text makes.

    `whole` is False for the published formula: of a call it counts the name only,
    and neither opaque reasoning nor declarations.
    """

    name: str
    text: Callable[[str], int]
    whole: bool = True

    def message(self, message: Mapping[str, Any]) -> int:
        """4, the content, 8 + name and arguments of each call, opaque as JSON."""
        tokens = PER_MESSAGE + self.text(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            tokens += PER_CALL + len(call["name"])
            if self.whole:
                tokens += (self.text(call["invalid"]) if "invalid" in call
                           else self._json(call["arguments"]))
        if self.whole and message.get("opaque"):
            tokens += self._json(message["opaque"])
        return tokens

    def declarations(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """The JSON of each tool, counted by itself so that each has its price."""
        return sum(map(self._json, tools)) if self.whole else 0

    def __call__(self, messages: Iterable[Mapping[str, Any]]) -> int:
        return sum(map(self.message, messages))

    def _json(self, value: Any) -> int:
        return self.text(json.dumps(value, ensure_ascii=False))


_BY_NAME: dict[str, Estimator] = {made.name: made for made in (
    _TextEstimator("published", _by_published_formula, whole=False),
    *(_TextEstimator("runs" if profile == "default" else f"runs:{profile}",
                     partial(_by_runs, costs)) for profile, costs in PROFILES.items()),
    _TextEstimator("chars3", partial(_by_length, 3)),
    _TextEstimator("chars4", partial(_by_length, 4)))}
ESTIMATORS: tuple[str, ...] = tuple(_BY_NAME)


def estimator(name: str = "runs") -> Estimator:
    """The estimator of that name, one of `ESTIMATORS`; else a UsageError."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    close = difflib.get_close_matches(name, ESTIMATORS, cutoff=0.5) or ESTIMATORS
    raise UsageError(f"no estimator is named {name!r}", value=name,
                     remedy=f"use {' or '.join(close)}")
