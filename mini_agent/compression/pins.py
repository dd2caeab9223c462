"""Milestone 3: pins, texts that no strategy may remove or reword.

A pin is a stretch of a history message (or all of it). Whatever takes the place
of that message has to carry the stretch word for word: `carry` sees to it for
every strategy alike, and the laws check it. An assumption stays marked as not
verified wherever it is carried. What is left out here: who may pin (`marks.py`,
`pin_tools.py`), and what `protect` keeps from being written (`tools/guard.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..texts import Texts

KINDS = ("constraint", "parameter", "error_fix", "assumption")
SHARE = 10  # hundredths of the window that pins may take together
_LETTER = r"[^\W\u2e80-\U0010ffff]"  # of a word that has ends; Chinese has none
_BEFORE, _BEHIND = f"(?<!{_LETTER})(?<!{_LETTER}[./-])", f"(?!{_LETTER}|[./-]{_LETTER})"


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
