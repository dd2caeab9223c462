"""Milestone 3: `<pin kind="..." protect="...">text</pin>` in what people write.

Such a mark counts in system and user messages; in an assistant message only as an
assumption; in a tool result it is plain text, since a hostile file could pin
itself. What is left out: whether there is room for one more (`pinning.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import UsageError
from ..messages import Message
from .pins import KINDS, Pin

_MARK = re.compile(
    r"<pin((?:\s+[a-z]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*)\s*>(.*?)</pin>", re.DOTALL)
_FIELD = re.compile(r"([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
FIELDS = ("kind", "protect")


def marked(text: str, kind: str = "constraint", protect: str = "", place: str = "pins") -> str:
    """The mark for a pin, as it may stand in a user message.

    `UsageError`, about `place`, where it would end too soon or would not be one.
    """
    quote = "'" if '"' in protect else '"'
    glob = f" protect={quote}{protect}{quote}" if protect else ""
    mark = f'<pin kind="{kind}"{glob}>{text}</pin>'
    found = [pin for pin, wrong in marks(0, {"role": "user", "content": mark}) if not wrong]
    if found != [Pin(0, text.strip(), kind, protect)]:
        raise UsageError("this pin cannot be written as a mark", place=place, value=text,
                         remedy="give a text without </pin>, and a glob without quotes and <>")
    return mark


def marked_or_bare(text: str, kind: str = "constraint", protect: str = "") -> str:
    """`marked`, or the bare text where no mark can hold it, since it has a mark in it, say. For
    the task of a sub-agent, which stays word for word in any case."""
    try:
        return marked(text, kind, protect)
    except UsageError:
        return text


def marked_pins(history: Sequence[Message]) -> list[Pin]:
    """The pins that marks of a history set, where no window keeps them."""
    return [pin for index, message in enumerate(history)
            for pin, wrong in marks(index, message) if not wrong]


def may_mark(message: Message) -> bool:
    """Whether a message may hold a mark: a quick test before `marks`."""
    return message["role"] != "tool" and "<pin" in message["content"]


def marks(index: int, message: Message) -> Iterator[tuple[Pin, str]]:
    """(pin, what is wrong with it or "") of each mark of the history message `index`."""
    if not may_mark(message):
        return
    for match in _MARK.finditer(message["content"]):
        fields = {name: one or other for name, one, other in _FIELD.findall(match[1])}
        kind = fields.get("kind", "constraint")
        bare = Pin(index, match[2].strip(), kind)
        pin = replace(bare, protect=fields.get("protect", ""))
        unknown = [name for name in fields if name not in FIELDS]
        if unknown:
            yield bare, f"no field {unknown[0]!r}"
        elif kind not in KINDS:
            yield bare, f"no kind {kind!r}"
        elif message["role"] != "assistant":
            yield pin, "" if pin.text or pin.protect else "it has no text"
        elif kind == "assumption" and pin.text:
            yield bare, ""
