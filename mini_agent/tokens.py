"""Milestone 3: how many tokens a message has, without a tokenizer.

    estimator("runs")(messages) -> int

An estimator has a name, which is recorded with every number it makes, and a way to count
a text. On top of the text all add 4 tokens per message and 8 + len(name) per tool call.

    published            the formula of the M3 figures, for that milestone: 1 per Han
                         character, 1/4 per other; arguments are not counted
    chars3, chars4       characters / 3, characters / 4: the usual rules of thumb
    runs, runs:PROFILE   this project's own, for a family of tokenizers: off by 6 % on
                         agent messages, where the others are off by 14 to 42

Only `runs` needs explaining. A tokenizer cuts a text where the class of its characters
changes (letters, digits, punctuation, blanks) and cuts long runs once more, so the number
of tokens is close to a weighted sum of a few counts (`counts.py`). A text counted in
parts differs from the whole only by the runs that were cut.

What this module leaves out: how runs are counted (`counts.py`), how long a value would be
as JSON (`json_length.py`), when to count and against what (`compression/`), and the usage
that a live endpoint reports.

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
from operator import mul
from typing import Any, Protocol

from .counts import Counts, counts
from .errors import UsageError
from .json_length import json_length

PER_MESSAGE = 4  # tokens: the role and what separates messages
PER_CALL = 8     # tokens besides the characters of the tool's name: id, type, quotes
_BREAKS = re.compile(r"([\r\n]+)")


class Estimator(Protocol):
    """What the rest of the program knows of an estimator. All results are tokens."""

    @property
    def name(self) -> str:
        """The name that `estimator` takes and that traces record."""

    @property
    def parts(self) -> int:
        """How many units of `weigh` make one token: 1000 where it weighs in thousandths."""

    def weigh(self, text: str, /) -> int:
        """The size of a text in units smaller than a token, so that sizes can be added up
        before they are rounded."""

    def text(self, text: str, /) -> int:
        """Tokens of a bare text: its weight, rounded up."""

    def message(self, message: Mapping[str, Any], /) -> int:
        """Tokens of one message as it is sent: text, calls, opaque reasoning."""

    def declarations(self, tools: Sequence[Mapping[str, Any]], /) -> int:
        """Tokens of the tool declarations that go with every request."""

    def __call__(self, messages: Iterable[Mapping[str, Any]], /) -> int:
        """The sum of `message`."""


def weight_by_lines(estimate: Estimator, text: str) -> int:
    """`estimate.weigh(text)`, computed line by line. The sum is the same, since no run goes
    across a line break, and an estimator with a cache (`lab/recording.py`) knows most lines."""
    return sum(map(estimate.weigh, _BREAKS.split(text)))


def by_lines(estimate: Estimator, text: str) -> int:
    """`estimate.text(text)`, computed line by line like `weight_by_lines`."""
    return -(-weight_by_lines(estimate, text) // estimate.parts)


Costs = Counts  # thousandths of a token for each thing counted

# `default`: OpenAI, DeepSeek, GLM, MiniMax, Llama 3. `qwen`: a token for each digit (Gemma is
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


def _by_runs(costs: Costs, text: str) -> int:
    """The counts times their costs, in thousandths of a token."""
    return sum(map(mul, counts(text), costs))


def _by_published_formula(text: str) -> int:
    """Four quarters of a token for each Han character, one for any other."""
    han = 0 if text.isascii() else sum(map(len, re.findall("[\u4e00-\u9fff]+", text)))
    return len(text) + 3 * han


@dataclass(frozen=True)
class _TextEstimator:
    """An estimator made from a way to weigh text.

    `weigh` measures a text in units of which `parts` make one token. `json` weighs the JSON
    of a value without writing it, where that is possible. `whole` is False for the published
    formula: of a call it counts only the name, and neither opaque reasoning nor declarations.
    """

    name: str
    weigh: Callable[[str], int]
    parts: int
    json: Callable[[Any], int] | None = None
    whole: bool = True

    def text(self, text: str) -> int:
        """The weight, rounded up to tokens."""
        return -(-self.weigh(text) // self.parts)

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
        return (-(-self.json(value) // self.parts) if self.json else self.text(
            json.dumps(value, ensure_ascii=False)))


_BY_NAME: dict[str, Estimator] = {made.name: made for made in (
    _TextEstimator("published", _by_published_formula, 4, whole=False),
    *(_TextEstimator("runs" if profile == "default" else f"runs:{profile}",
                     partial(_by_runs, costs), 1000) for profile, costs in PROFILES.items()),
    *(_TextEstimator(f"chars{characters}", len, characters, json_length)
      for characters in (3, 4)))}
ESTIMATORS: tuple[str, ...] = tuple(_BY_NAME)


def estimator(name: str = "runs") -> Estimator:
    """The estimator of that name, one of `ESTIMATORS`; raises UsageError for any other."""
    name = str(name)  # in a record this may be anything
    if name in _BY_NAME:
        return _BY_NAME[name]
    close = difflib.get_close_matches(name, ESTIMATORS, cutoff=0.5) or ESTIMATORS
    raise UsageError(f"no estimator is named {name!r}", value=name,
                     remedy=f"use {' or '.join(close)}")
