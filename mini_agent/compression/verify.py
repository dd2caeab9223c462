"""Milestone 3: is it a summary, and does it say anything that its originals do not?

What is not a summary is refused: an empty text, or just a tool call. Paths,
identifiers, numbers and quoted strings in a text must occur in what it covers.
What is left out: whether the sentences are true; a word that occurs may still be
in the wrong role.
"""

from __future__ import annotations

import json
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence

from ..errors import SummaryRefused
from ..messages import Message, calls_of
from ..words import numbers, quoted, rows_of, words
from .rising import holds, meet

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


FINDERS = (words, numbers, quoted)  # what a text names: paths and identifiers, numbers, quotes


def unsupported(names: Iterable[str], messages: Sequence[Message]) -> list[str]:
    """The names that these few messages do not support, each once, in order."""
    sizes = {size for message in messages for size in _sizes(message)}
    source = "\n".join(part for message in messages for part in _parts(message))

    def supported(name: str) -> bool:
        return (_is_count(name) and (name in sizes or 1 <= int(name) <= len(messages))
                or _stands(name, source))

    return [name for name in dict.fromkeys(names) if not supported(name)]


class Support:
    """Where the names in the summaries of a session occur in its history.

    Later summaries cover what earlier ones covered, so where a name occurs is found
    once and then known, and for one not found so far only what is new is searched;
    the newest messages are looked through first.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self._places: dict[str, list[int]] = {}  # messages known to have a name, rising
        self._searched: dict[str, int] = {}      # before this one all that have it are known
        self._sizes: dict[str, list[int]] = {}   # messages by characters, lines
        self._measured = 0
        self._chars: list[int] = []

    def longer(self, chars: int, covered: Sequence[int]) -> bool:
        """Whether a summary has as many characters as the messages that it covers, or more."""
        for index in covered:
            while index >= len(self._chars):
                self._chars.append(sum(map(len, _parts(self._history[len(self._chars)]))))
            chars -= self._chars[index]
            if chars < 0:
                return False
        return True

    def unsupported(self, names: Iterable[str], covered: Sequence[int],
                    more: Sequence[Message] = ()) -> list[str]:
        """The names that neither the `covered` messages (rising) nor `more` support.

        Counts that can be taken from the originals (how many messages, how many
        lines or characters a message has) are supported. Each once, in order.
        """
        def supported(name: str) -> bool:
            return (_is_count(name) and self._counts(name, covered, len(more))
                    or self._found(name, covered)
                    or any(_said(name, message) for message in more))

        return [name for name in dict.fromkeys(names) if not supported(name)]

    def _counts(self, count: str, covered: Sequence[int], more: int) -> bool:
        """Whether it can be a count of some of these messages, or of what is in one."""
        return 1 <= int(count) <= len(covered) + more or meet(
            self._measure().get(count, ()), covered)

    def _found(self, name: str, covered: Sequence[int]) -> bool:
        places = self._places.setdefault(name, [])
        if meet(places, covered):
            return True
        searched, stop = self._searched.get(name, 0), covered[-1] + 1 if covered else 0
        for index in range(stop - 1, searched - 1, -1):
            if not holds(places, index) and _said(name, self._history[index]):
                insort(places, index)
                if holds(covered, index):
                    return True
        self._searched[name] = max(searched, stop)
        return False

    def _measure(self) -> dict[str, list[int]]:
        for index in range(self._measured, len(self._history)):
            for size in dict.fromkeys(_sizes(self._history[index])):
                self._sizes.setdefault(size, []).append(index)
            self._measured = index + 1
        return self._sizes


def _is_count(name: str) -> bool:
    """Whether it may say how many there are of something."""
    return name.isdecimal() and len(name) <= 12 and name == str(int(name))


def _sizes(message: Message) -> tuple[str, str]:
    """How many characters, and how many lines, a message has."""
    content = message["content"]
    return str(len(content)), str(len(rows_of(content)))


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
    for call in calls_of(message):
        yield call["name"]
        yield call.get("invalid", "")
        yield from _strings(call["arguments"])
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
