"""Milestone 3: does a summary say anything that its originals do not?

Paths, identifiers, numbers and quoted strings of the text must occur in what it
covers. What is left out: whether the sentences are true; a word that occurs may
still be in the wrong role.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..messages import Message, calls_of
from ..words import numbers, quoted, words


def unsupported(summary: str, originals: Sequence[Message]) -> list[str]:
    """What `summary` names and `originals` do not, each once, in order.

    Counts that can be taken from the originals (how many messages, how many
    lines or characters a message has) are supported.
    """
    source = "\n".join(part for message in originals for part in _parts(message))
    counts = set(_counts(originals))
    found = dict.fromkeys(name for finder in (words, numbers, quoted) for name in finder(summary))
    return [name for name in found if name not in counts and name not in source]


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


def _counts(originals: Sequence[Message]) -> Iterator[str]:
    yield str(len(originals))
    for number, message in enumerate(originals, 1):
        yield str(number)  # the number of a point in a list
        yield str(len(message["content"]))
        yield str(len(message["content"].splitlines()))
