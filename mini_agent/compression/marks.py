"""Milestone 3: `<pin kind="..." protect="...">text</pin>` in what people write.

Such a mark counts in system and user messages; in an assistant message only as an
assumption; in a tool result it is plain text, since a hostile file could pin
itself. What is left out: whether there is room for one more (`window.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..messages import Message
from .pins import KINDS, Pin

_MARK = re.compile(r"<pin((?:\s+[a-z]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*)\s*>(.*?)</pin>", re.DOTALL)
_FIELD = re.compile(r"([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
FIELDS = ("kind", "protect")


def marks(index: int, message: Message) -> Iterator[tuple[Pin, str]]:
    """(pin, what is wrong with it or "") of each mark of the history message `index`."""
    if message["role"] == "tool" or "<pin" not in message["content"]:
        return
    for match in _MARK.finditer(message["content"]):
        fields = {name: one or other for name, one, other in _FIELD.findall(match[1])}
        kind = fields.get("kind", "constraint")
        pin = Pin(index, match[2].strip(), kind, fields.get("protect", ""))
        unknown = [name for name in fields if name not in FIELDS]
        if kind not in KINDS or unknown:
            yield replace(pin, protect=""), f"no kind {kind!r}" if not unknown else (
                f"no field {unknown[0]!r}")
        elif message["role"] != "assistant":
            yield pin, "" if pin.text or pin.protect else "it has no text"
        elif kind == "assumption" and pin.text:
            yield replace(pin, protect=""), ""
