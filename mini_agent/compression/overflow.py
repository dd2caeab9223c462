"""Milestone 3: what may not be moved out of a view, and the error for a view that is too large."""

from __future__ import annotations

from ..errors import ContextOverflowError
from .budget import Budget
from .laws import Protection, protected_users, start_of_last
from .policies import Policy
from .state import WindowState
from .view import Entry, View


def protection(state: WindowState, policy: Policy, window: int | None) -> Protection:
    """What strategies may not touch in this state under a policy; `window` in tokens."""
    users = protected_users(state.users, int(policy.user_share * (window or 0)))
    return Protection(frozenset(users.union(state.systems)),
                      start_of_last(state.view, policy.protect_last),
                      policy.shorten_tail, state.pins, state.history)


def immovable(view: View, protection: Protection, declared: int) -> list[tuple[str, int]]:
    """(name, tokens) of the parts of a view that is over the limit, largest first.

    The names are those of the record, in every language.
    """
    sizes: dict[str, int] = {"tool declarations": declared}
    for at, entry in enumerate(view.entries):
        name = _part(at, entry, protection)
        sizes[name] = sizes.get(name, 0) + entry.tokens
    return sorted(((name, size) for name, size in sizes.items() if size),
                  key=lambda part: (-part[1], part[0]))


def least_tokens(view: View, protection: Protection, declared: int) -> int:
    """The tokens that will be there whatever is done: protected messages, declarations."""
    return declared + sum(entry.tokens for entry in view.entries
                          if entry.covers(protection.verbatim))


def overflow_error(state: WindowState, step: int, tokens: int, budget: Budget,
                   parts: list[tuple[str, int]], movable: bool) -> ContextOverflowError:
    """The error that names what cannot be moved, how many tokens it has, and a window for it.

    Parts are estimated; where the endpoint counts more than that, their sum is named as well.
    Where the summariser, or a store, has failed, more could be moved, and the remedy says so
    first, unless what nobody may move is too large by itself: then nothing is `movable`.
    """
    texts = state.texts
    named = ", ".join(f"{texts(f'part_{name}'.replace(' ', '_'))} {size}" for name, size in parts)
    if tokens > state.tokens:
        named += texts("end_overflow_estimated", estimated=state.tokens)
    return ContextOverflowError(
        texts("end_overflow", tokens=tokens, limit=budget.hard, step=step, parts=named),
        tokens=tokens, limit=budget.hard, immovable=parts, place=texts("end_window"),
        remedy=(_failed(state) if movable else "")
        + texts("end_overflow_remedy", window=budget.window_for(tokens)))


def _failed(state: WindowState) -> str:
    """What could be mended so that more could be moved, "" if nothing."""
    if failures := state.breaker.failures:
        return state.texts("end_overflow_failed", count=failures)
    names = sorted(name for name, reason in state.skips.seen if reason == "failed")
    return state.texts("end_overflow_undone", names=", ".join(names)) if names else ""


def _part(at: int, entry: Entry, protection: Protection) -> str:
    if entry.message["role"] == "system":
        return "system message"
    if entry.made:
        return "summaries"
    if entry.covers(protection.verbatim):
        return "user messages"
    return "the newest messages" if at >= protection.tail else "older messages"
