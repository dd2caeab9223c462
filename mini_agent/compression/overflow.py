"""Milestone 3: naming what cannot be moved, when nothing fits any more."""

from __future__ import annotations

from .laws import Protection
from .view import Entry, View


def immovable(view: View, protection: Protection, declared: int) -> list[tuple[str, int]]:
    """(name, tokens) of the parts of a view that is over the limit, largest first."""
    sizes: dict[str, int] = {"tool declarations": declared}
    for at, entry in enumerate(view.entries):
        name = _part(at, entry, protection)
        sizes[name] = sizes.get(name, 0) + entry.tokens
    return sorted(((name, size) for name, size in sizes.items() if size),
                  key=lambda part: (-part[1], part[0]))


def _part(at: int, entry: Entry, protection: Protection) -> str:
    if entry.message["role"] == "system":
        return "system message"
    if entry.how in ("summary", "attached"):
        return "summaries"
    if not protection.verbatim.isdisjoint(entry.stands_for):
        return "user messages"
    return "the newest messages" if at >= protection.tail else "older messages"
