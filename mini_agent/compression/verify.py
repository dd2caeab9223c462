"""Milestone 3: is it a summary, and does it say anything that its originals do not?

Refused is a text that is none: empty, or a tool call in place of one. Paths,
identifiers, numbers and quoted strings of a text must occur in what it covers.
What is left out: whether the sentences are true; a word that occurs may still be
in the wrong role.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..errors import SummaryRefused
from ..messages import Message, calls_of
from ..words import numbers, quoted, words

_CALL_MARKUP = re.compile(
    r"\s*<\|?(tool_calls?|function_calls?|invoke|tool_use|function|parameter)\b.*", re.DOTALL)
_FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_DIGITS = frozenset("0123456789")
_CALL_KEYS = {"arguments", "parameters", "input", "tool_calls", "function"}


def refuse_no_text(text: str, place: str) -> None:
    """Raise `SummaryRefused` for an empty text and for a tool call in its place."""
    if not text.strip():
        fault = "the summary is empty"
    elif is_call(text):
        fault = "a tool call stands in place of the summary"
    else:
        return
    raise SummaryRefused(fault, place=place, value=text[:200],
                         remedy="the messages stay as they are")


def is_call(text: str) -> bool:
    """Whether a text is nothing but a tool call, as markup or as JSON."""
    if _CALL_MARKUP.fullmatch(text):
        return True
    bare = match[1] if (match := _FENCE.fullmatch(text)) else text
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and bool(_CALL_KEYS.intersection(first))


def longer(summary: str, originals: Sequence[Message]) -> bool:
    """Whether a summary has as many characters as what it covers, or more."""
    room = len(summary)
    for part in (part for message in originals for part in _parts(message)):
        room -= len(part)
        if room < 0:
            return False
    return True


def unsupported(summary: str, originals: Sequence[Message]) -> list[str]:
    """What `summary` names and `originals` do not, each once, in order."""
    return Support().missing(summary, originals, range(len(originals)))


class Support:
    """Where the names in the summaries of a session stand in its history.

    Later summaries cover what earlier ones have covered, so where a name stands, or does
    not, is found once and then known; the newest messages are looked through first.
    """

    def __init__(self) -> None:
        self._where: dict[str, int] = {}
        self._not_in: dict[str, frozenset[int]] = {}
        self._sizes: dict[str, set[int]] = {}  # the messages that have so many characters, or lines
        self._measured: set[int] = set()

    def missing(self, summary: str, history: Sequence[Message], covered: Sequence[int],
                more: Sequence[Message] = ()) -> list[str]:
        """What `summary` names and neither the `covered` messages do nor `more`.

        Counts that can be taken from the originals (how many messages, how many
        lines or characters a message has) are supported.
        """
        inside = frozenset(covered)
        self._measure(history, inside)
        found = dict.fromkeys(name for finder in (words, numbers, quoted)
                              for name in finder(summary))
        return [name for name in found
                if not self._is_count(name, inside, len(covered) + len(more))
                and not self._stands(name, history, covered, inside)
                and not any(_said(name, message) for message in more)]

    def _stands(self, name: str, history: Sequence[Message], covered: Sequence[int],
                inside: frozenset[int]) -> bool:
        if self._where.get(name) in inside:
            return True
        looked = self._not_in.get(name, frozenset())
        for index in reversed(covered):
            if index not in looked and _said(name, history[index]):
                self._where[name] = index
                return True
        self._not_in[name] = inside
        return False

    def _is_count(self, name: str, inside: frozenset[int], size: int) -> bool:
        """Whether it numbers the messages, or is the size of one."""
        if not name.isdecimal() or len(name) > 12 or name != str(int(name)):
            return False
        return 1 <= int(name) <= size or not inside.isdisjoint(self._sizes.get(name, ()))

    def _measure(self, history: Sequence[Message], inside: frozenset[int]) -> None:
        for index in inside - self._measured:
            content = history[index]["content"]
            for size in (len(content), len(content.splitlines())):
                self._sizes.setdefault(str(size), set()).add(index)
        self._measured |= inside


def _said(name: str, message: Message) -> bool:
    return any(_stands(name, part) for part in _parts(message))


def _stands(name: str, source: str) -> bool:
    """Whether `name` occurs, and not as a part of a longer number: 80 is not in 8080."""
    at = source.find(name)
    while at >= 0:
        if not _goes_on(source, at - 1, name[0]) and not _goes_on(
                source, at + len(name), name[-1]):
            return True
        at = source.find(name, at + 1)
    return False


def _goes_on(source: str, at: int, edge: str) -> bool:
    """Whether a number whose last digit is `edge` has another one at `at`."""
    return edge in _DIGITS and 0 <= at < len(source) and source[at] in _DIGITS


def _parts(message: Message) -> Iterator[str]:
    """A message's texts: content, names, and every string in its arguments."""
    yield message["content"]
    yield message.get("name", "")
    for made in calls_of(message):
        yield made["name"]
        yield made.get("invalid", "")
        yield from _strings(made["arguments"])
    if message.get("error"):
        yield from message["error"].values()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    else:
        yield json.dumps(value)
