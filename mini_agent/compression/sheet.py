"""Milestone 3: the text of a summary as sections: taken apart, merged, bounded.

A sheet maps a heading (a line that begins with `## `; "" for what stands before
the first) to its lines. The parts of a long summary are merged section by section,
and what is too long loses its oldest lines, with a word that says so: the later
something happened, the more of it is kept. What is left out: what the lines say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..errors import SummaryRefused
from ..forms import MARK

Sheet = dict[str, list[str]]
_DRAFT = re.compile(r"\s*<(analysis|think)>(?:.*?</\1>\s*|.*)", re.DOTALL)
_FRAME = re.compile(r"<summary>\n?(.*?)(?:\n?</summary>\s*)?", re.DOTALL)


def without_draft(text: str, place: str) -> str:
    """The final text alone: without a draft before it, and without a frame around it.

    Only what stands at the start is a draft; further on it is a quotation. A draft
    that never ends was cut off, so that nothing is left: `SummaryRefused`.
    """
    draft = _DRAFT.match(text)
    if draft and not draft[0].rstrip().endswith(f"</{draft[1]}>"):
        raise SummaryRefused("the summary broke off in its draft", place=place,
                             remedy="the messages stay as they are")
    final = text[draft.end():] if draft else text
    frame = _FRAME.fullmatch(final)
    return frame[1] if frame else final


def parse(text: str) -> Sheet:
    """The sections of a text; lines under the same heading come together."""
    sheet: Sheet = {}
    lines = sheet.setdefault("", [])
    for line in text.split("\n"):
        if line.startswith(MARK):
            lines = sheet.setdefault(line.rstrip(), [])
        else:
            lines.append(line)
    return sheet if sheet[""] else {head: body for head, body in sheet.items() if head}


def render(sheet: Sheet) -> str:
    """The text of a sheet; `parse` gives the sheet back."""
    return "\n".join(line for head, body in sheet.items()
                     for line in ((head, *body) if head else body))


def merge(texts: Iterable[str], none: str) -> str:
    """One text of several, oldest first, section by section; `none` lines give way."""
    merged: Sheet = {}
    for text in texts:
        for head, body in parse(text).items():
            merged.setdefault(head, []).extend(body)
    return render({head: [line for line in body if line != none] or [none]
                   if none in body else body for head, body in merged.items()})


def bound(sheet: Sheet, limit: int, count: Callable[[str], int],
          mark: Callable[[int], str]) -> Sheet:
    """The sheet with at most `limit` tokens, by `count`; only its headings always stay.

    The section with the most tokens loses its oldest line, again and again; its last
    line is halved. `mark(n)` is the line that says that n lines are left out.
    """
    pile = {head: _Pile(body, [count(line) for line in body]) for head, body in sheet.items()}
    while (over := count(render(bounded := {head: lines.kept(mark)
                                            for head, lines in pile.items()})) - limit) > 0:
        while over > 0:
            largest = max(pile.values(), key=lambda lines: lines.tokens)
            if not largest.body:
                return bounded
            over -= largest.shrink(count)
    return bounded


class _Pile:
    """The lines of a section while it is made smaller, with their tokens."""

    def __init__(self, body: list[str], sizes: list[int]) -> None:
        self.body, self._sizes = list(body), sizes
        self.tokens = sum(sizes) + len(sizes)  # a line break is a token
        self._gone = 0

    def shrink(self, count: Callable[[str], int]) -> int:
        """Take the oldest line away, or half of the last one. The tokens that are saved."""
        line, size = self.body.pop(0), self._sizes.pop(0)
        whole = line.rstrip("…")
        left = whole[:len(whole) // 2]
        saved = size + 1
        if not self.body and left and len(left) + 1 < len(line):  # each time it gets shorter
            self.body, self._sizes = [left + "…"], [count(left + "…")]
            saved -= self._sizes[0] + 1
        else:
            self._gone += 1
        self.tokens -= saved
        return saved

    def kept(self, mark: Callable[[int], str]) -> list[str]:
        return [mark(self._gone), *self.body] if self._gone else self.body
