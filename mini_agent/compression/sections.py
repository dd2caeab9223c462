"""Milestone 3: the text of a summary as sections: taken apart, put together, bounded.

Sections map a heading (a line that begins with `## `; "" for what is before
the first) to its lines. What is too long loses its oldest lines, and says so: the later
something happened, the more of it is kept. What is left out: how the parts of a long
summary are merged (`summary_text.py`), and what the lines say.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from ..errors import SummaryRefused
from ..forms import MARK

Sections = dict[str, list[str]]
_DRAFT = re.compile(r"\s*<(analysis|think)>(?:.*?</\1>\s*|.*)", re.DOTALL)
_FRAME = re.compile(r"<summary>\n?(.*?)(?:\n?</summary>\s*)?", re.DOTALL)


def without_draft(text: str, place: str) -> str:
    """The final text alone: without a draft before it, and without a frame around it.

    Only what is at the start is a draft; further on it is a quotation. A draft that
    never ends was cut off, so nothing is left: `SummaryRefused`.
    """
    draft = _DRAFT.match(text)
    if draft and not draft[0].rstrip().endswith(f"</{draft[1]}>"):
        raise SummaryRefused("the summary broke off in its draft", place=place,
                             remedy="the messages stay as they are")
    final = text[draft.end():] if draft else text
    frame = _FRAME.fullmatch(final)
    return frame[1] if frame else final


def parse(text: str) -> Sections:
    """The sections of a text; lines under the same heading come together."""
    sections: Sections = {}
    lines = sections.setdefault("", [])
    for line in text.split("\n"):
        if line.startswith(MARK):
            lines = sections.setdefault(line.rstrip(), [])
        else:
            lines.append(line)
    return sections if sections[""] else {head: body for head, body in sections.items() if head}


def render(sections: Sections) -> str:
    """The text of sections; `parse` gives them back."""
    lines: list[str] = []
    for head, body in sections.items():
        lines += [head, *body] if head else body
    return "\n".join(lines)


class SectionLines:
    """The lines of a section, the oldest first; `chars` and tokens with their line breaks."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.chars = 0
        self._ends: list[int] = []
        self.extend(lines)

    def extend(self, lines: Iterable[str]) -> None:
        """Put lines under those that are there."""
        before = len(self.lines)
        self.lines += lines
        self.chars += sum(map(len, self.lines[before:])) + len(self.lines) - before

    def shorten(self, length: int) -> None:
        """Keep the first `length` lines."""
        self.chars -= sum(map(len, self.lines[length:])) + len(self.lines) - length
        del self.lines[length:], self._ends[length:]

    def ends(self, count: Callable[[str], int]) -> list[int]:
        """Tokens up to and with each line; each is counted once."""
        end = self._ends[-1] if self._ends else 0
        for line in self.lines[len(self._ends):]:
            end += count(line) + 1
            self._ends.append(end)
        return self._ends


def bound(sections: Mapping[str, SectionLines | Sequence[str]], limit: int,
          count: Callable[[str], int], mark: Callable[[int], str]) -> Sections:
    """The sections with at most `limit` tokens, by `count`; only their headings always stay.

    The section with the most tokens loses its oldest line, again and again; its last
    line is halved. `mark(n)` is the line that says that n lines are left out. A text has
    no more tokens than its lines plus one for each, so no text is counted as a whole.
    Lines that go in any case are not looked at: the cost depends on what is kept.
    """
    bodies = [body if isinstance(body, SectionLines) else SectionLines(body)
              for body in sections.values()]
    ends = [body.ends(count) for body in bodies]
    left = [_Left(body.lines, all_ends, gone) for body, all_ends, gone in zip(
        bodies, ends, _gone_in_any_case(ends, limit))]
    note = count(mark(max(map(len, ends), default=0))) + 1
    limit -= sum(count(head) + 1 for head in sections if head)
    while sum(body.tokens + note * (body.gone > 0) for body in left) > limit:
        largest = max(left, key=lambda body: body.tokens)
        if not largest.body:
            break
        largest.shrink(count)
    return {head: body.kept(mark) for head, body in zip(sections, left)}


def _gone_in_any_case(sections: Sequence[list[int]], limit: int) -> list[int]:
    """How many of the oldest lines of each section go before `limit` can be reached. Each
    section is given as the tokens up to and with each line.

    Since the largest is cut again and again, all that are cut end at about the same number
    of tokens: this looks for the smallest such number that is still too much. The last
    line of each section stays.
    """
    low = max((ends[-1] - (ends[-2] if len(ends) > 1 else 0)
               for ends in sections if ends), default=0)
    high = max((ends[-1] for ends in sections if ends), default=0)
    gone = [0] * len(sections)
    while low < high:
        level = (low + high) // 2
        tried = [bisect_left(ends, ends[-1] - level) + 1 if ends and ends[-1] > level else 0
                 for ends in sections]
        left = sum(ends[-1] - (ends[cut - 1] if cut else 0)
                   for ends, cut in zip(sections, tried) if ends)
        if left > limit:
            gone, high = tried, level
        else:
            low = level + 1
    return gone


class _Left:
    """What is left of a section while it is made smaller, with its tokens."""

    def __init__(self, lines: Sequence[str], ends: Sequence[int], gone: int) -> None:
        self.body = list(lines[gone:])
        before = ends[gone - 1] if gone else 0
        self._sizes = [end - start - 1 for start, end in pairwise([before, *ends[gone:]])]
        self.tokens = (ends[-1] if ends else 0) - before
        self.gone = gone

    def shrink(self, count: Callable[[str], int]) -> None:
        """Take the oldest line away, or half of the last one."""
        line = self.body.pop(0)
        self.tokens -= self._sizes.pop(0) + 1
        whole = line.rstrip("…")
        half = whole[:len(whole) // 2]
        if not self.body and half and len(half) + 1 < len(line):  # each time it gets shorter
            self.body, self._sizes = [half + "…"], [count(half + "…")]
            self.tokens += self._sizes[0] + 1
        else:
            self.gone += 1

    def kept(self, mark: Callable[[int], str]) -> list[str]:
        """The lines that stay, under a mark of how many are gone, if any."""
        return [mark(self.gone), *self.body] if self.gone else self.body
