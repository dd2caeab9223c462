"""Milestone 3: pins, texts that no strategy may remove or reword.

A pin is a stretch of a history message (or all of it). Whatever takes the place
of that message has to carry the stretch word for word: `carry` sees to it for
every strategy alike, and the laws check it. What is left out here: who may pin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..texts import Texts

KINDS = ("constraint", "parameter", "error_fix", "assumption")


@dataclass(frozen=True)
class Pin:
    """`text` stands in the history message `index`; `protect` is a glob of paths."""

    index: int
    text: str
    kind: str = "constraint"
    protect: str = ""


@dataclass(frozen=True)
class Pins:
    """The pins of a session, in the order in which they were set."""

    pins: tuple[Pin, ...] = ()

    def within(self, indexes: Iterable[int]) -> list[Pin]:
        """The pins whose message is one of these, in order."""
        if not self.pins:
            return []
        wanted = set(indexes)
        return [pin for pin in self.pins if pin.index in wanted]

    def carry(self, text: str, indexes: Sequence[int], texts: Texts) -> str:
        """`text`, with every pin of these messages that it lacks put under it."""
        missing = [pin for pin in self.within(indexes) if pin.text not in text]
        if not missing:
            return text
        kept = (texts(f"pin_{pin.kind}", text=pin.text) for pin in missing)
        return "\n".join([text, texts("pins_header"), *kept])
