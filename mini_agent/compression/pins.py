"""Milestone 3: pins, texts that no strategy may remove or reword.

A pin is a stretch of a history message (or all of it). Whatever takes the place
of that message has to carry the stretch word for word: `carry` sees to it for
every strategy alike, and the laws check it. An assumption stays marked as not
verified wherever it is carried.

People set one by a mark in what they write: `<pin kind="..." protect="...">text</pin>`. It
counts in system and user messages; in an assistant message only as an assumption; in a tool
result it is plain text, since a hostile file could pin itself. What is left out here: whether
there is room for one more (`pinning.py`), and what `protect` keeps from being written
(`tools/guard.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import UsageError
from ..messages import Message
from ..texts import Texts

KINDS = ("constraint", "parameter", "error_fix", "assumption")
SHARE = 10  # hundredths of the window that pins may take together
_LETTER = r"[^\W\u2e80-\U0010ffff]"  # of a word that has ends; Chinese has none
_BEFORE, _BEHIND = f"(?<!{_LETTER})(?<!{_LETTER}[./-])", f"(?!{_LETTER}|[./-]{_LETTER})"
_MARK = re.compile(
    r"<pin((?:\s+[a-z]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*)\s*>(.*?)</pin>", re.DOTALL)
_FIELD = re.compile(r"([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
FIELDS = ("kind", "protect")


@dataclass(frozen=True)
class Pin:
    """`text` stands in the history message `index`; `protect` is a glob of paths."""

    index: int
    text: str
    kind: str = "constraint"
    protect: str = ""


@dataclass(frozen=True)
class Pins:
    """The pins of a session in the order in which they were set, in its language."""

    pins: tuple[Pin, ...] = ()
    texts: Texts = Texts()

    def within(self, indexes: Iterable[int]) -> list[Pin]:
        """The pins whose message is one of these, in order."""
        if not self.pins:
            return []
        wanted = set(indexes)
        return [pin for pin in self.pins if pin.index in wanted]

    def carry(self, text: str, indexes: Iterable[int]) -> str:
        """`text`, with every pin of these messages that it lacks put under it."""
        here = self.within(indexes)
        missing = [pin for pin in here if not self.stands_in(pin, text)]
        if not missing:
            return text
        header = self.texts("pins_header")
        begun = any(f"\n{header}\n{self.line(pin)}" in text for pin in here)
        return "\n".join([text, *([] if begun else [header]), *map(self.line, missing)])

    def stands_in(self, pin: Pin, text: str) -> bool:
        """Whether `text`, which took the place of the pin's message, still says it."""
        return _stands(self.line(pin) if pin.kind == "assumption" else pin.text, text)

    def line(self, pin: Pin) -> str:
        """The pin with its kind, as it is carried."""
        return self.texts(f"pin_{pin.kind}", text=pin.text)


def _stands(words: str, text: str) -> bool:
    """Whether words stand in a text and are not part of longer ones: `port 80` does not stand
    in `port 8080`, nor `config/prod` in `config/prod.yaml`."""
    if words not in text:
        return False
    before = _BEFORE if re.match(_LETTER, words) else ""
    behind = _BEHIND if re.search(_LETTER + r"\Z", words) else ""
    return re.search(before + re.escape(words) + behind, text) is not None


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
