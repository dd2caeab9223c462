"""Milestone 3: the text of a long summary, made of parts, that grows with them.

A session is summarised again and again, each time from all its messages, but most parts
are those of the last time. So they are not put together again: a new part is added under
its headings, one that is gone is removed, and what is known of a line (its tokens, which of
its names its own part does not support) is found once. The outcome is the same as if all
were made anew. What is left out: who writes the parts (`summariser.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from operator import eq

from ..messages import Message
from .sections import SectionLines, parse, render
from .verify import FINDERS, unsupported

Names = list[list[str]]  # for each of `verify.FINDERS` the names that it finds
_NO_NAMES: Names = [[] for _ in FINDERS]


@dataclass
class _Part:
    """A text about some history messages. By heading: `places` says which lines of the section
    are its own, `doubts` which names in them its messages do not have (None: not looked for
    yet). `nothing`: the headings under which it says "nothing"."""

    indexes: Sequence[int]
    text: str
    places: dict[str, range] = field(default_factory=dict)
    nothing: list[str] = field(default_factory=list)
    doubts: dict[str, Names] | None = None


class SummaryText:
    """Sections by heading, the oldest line first.

    `none` is the line that says "nothing": it gives way to any other. Lines in `own` are
    worded by the harness, so nothing in them has to be supported.
    """

    def __init__(self, none: str = "", own: frozenset[str] = frozenset()) -> None:
        self._none, self._own = none, own
        self._given: list[tuple[Sequence[int], str]] = []
        self._parts: list[_Part] = []
        self._sections: dict[str, SectionLines] = {}
        self._nothing: Counter[str] = Counter()  # how many parts say so, by heading

    @classmethod
    def of(cls, *texts: str, none: str = "", own: frozenset[str] = frozenset()) -> SummaryText:
        """The summary that is these texts, the oldest first. It is about no messages, so all its
        names are doubtful."""
        return cls(none, own).become([((), text) for text in texts])

    def become(self, parts: Sequence[tuple[Sequence[int], str]]) -> SummaryText:
        """Hold these (history indexes, text) and no others, in this order; returns itself."""
        same = sum(takewhile(bool, map(eq, self._given, parts)))
        self._given = []  # until all is done: what an interrupt leaves half-done is made anew
        if not same:
            self._parts, self._sections, self._nothing = [], {}, Counter()
        while len(self._parts) > same:
            self._take_off()
        for indexes, text in parts[same:]:
            self._add(_Part(indexes, text))
        self._given = list(parts)
        return self

    def _add(self, part: _Part) -> None:
        for head, body in parse(part.text).items():
            said = [line for line in body if line != self._none] if self._none else body
            if len(said) < len(body):
                part.nothing.append(head)
                self._nothing[head] += 1
            section = self._sections.setdefault(head, SectionLines())
            part.places[head] = range(len(section.lines), len(section.lines) + len(said))
            section.extend(said)
        self._parts.append(part)

    def _take_off(self) -> None:
        part = self._parts.pop()
        for head in part.nothing:
            self._nothing[head] -= 1
        for head, lines in part.places.items():
            self._sections[head].shorten(lines.start)
            if not any(head in other.places for other in reversed(self._parts)):
                del self._sections[head]

    def sections(self) -> dict[str, SectionLines]:
        """Heading to lines; what is under no heading comes first."""
        nothing = SectionLines([self._none])
        found = {head: nothing if not section.lines and self._nothing[head] else section
                 for head, section in self._sections.items()}
        return {"": found.pop(""), **found} if "" in found else found

    def text(self) -> str:
        """All of it."""
        return render({head: section.lines for head, section in self.sections().items()})

    def chars(self) -> int:
        """How many characters `text` has, without writing it."""
        return sum(section.chars + (len(head) + 1 if head else 0)
                   for head, section in self.sections().items()) - 1  # the last line has no break

    def doubtful(self, history: Sequence[Message], without: str) -> Iterator[str]:
        """The names in the text that their own part does not support, in the order of
        `verify.FINDERS`; those of its headings too. `without`: a section left out."""
        for part in self._parts:
            if part.doubts is None:
                part.doubts = self._doubts(part, history)
        parts = [part.doubts for part in self._parts if part.doubts]
        sections = self.sections()
        sections.pop(without, None)
        for number, finder in enumerate(FINDERS):
            for head, section in sections.items():
                if head not in self._own:
                    yield from finder(head)
                if section is not self._sections[head] and self._none not in self._own:
                    yield from finder(self._none)  # all that stands there
                for doubts in parts:
                    yield from doubts.get(head, _NO_NAMES)[number]

    def _doubts(self, part: _Part, history: Sequence[Message]) -> dict[str, Names]:
        """By heading, names in a part's lines that its messages do not have."""
        names: dict[str, Names] = {}
        for head, lines in part.places.items():
            text = "\n".join(line for line in self._sections[head].lines[lines.start:lines.stop]
                             if line not in self._own)
            names[head] = [list(finder(text)) for finder in FINDERS]
        missing = set(unsupported(chain.from_iterable(chain.from_iterable(names.values())),
                                  [history[index] for index in part.indexes]))
        return {head: [[name for name in each if name in missing] for each in found]
                for head, found in names.items()
                if any(not missing.isdisjoint(each) for each in found)}
