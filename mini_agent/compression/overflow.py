"""Milestone 3: naming what cannot be moved, when nothing fits any more."""

from __future__ import annotations

from ..errors import ContextOverflowError
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


def least(view: View, protection: Protection, declared: int) -> int:
    """The tokens that will be there whatever is done: protected messages, declarations."""
    return declared + sum(entry.tokens for entry in view.entries
                          if entry.covers(protection.verbatim))


def overflow_error(step: int, tokens: int, hard: int,
                   parts: list[tuple[str, int]]) -> ContextOverflowError:
    """The error that names what cannot be moved, and how many tokens it has."""
    named = ", ".join(f"{name} {size}" for name, size in parts)
    return ContextOverflowError(
        f"{tokens} tokens are over the limit of {hard} at step {step} and "
        f"cannot be moved: {named}", tokens=tokens, limit=hard, immovable=parts, place="window",
        remedy=f"raise the window to {tokens} or more, or protect less")


def _part(at: int, entry: Entry, protection: Protection) -> str:
    if entry.message["role"] == "system":
        return "system message"
    if entry.how in ("summary", "attached"):
        return "summaries"
    if entry.covers(protection.verbatim):
        return "user messages"
    return "the newest messages" if at >= protection.tail else "older messages"
