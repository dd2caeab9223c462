"""Milestone 6: the second half of a session, as a session of its own.

It tests a policy on another history: nothing of the first half is known, and the view, which
would have been full by then, begins empty. What is left out: other cuts, since they would
only use the same few sessions again.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import Message, model_calls


def second_half(messages: Sequence[Message]) -> list[Message]:
    """All up to the first user message, and from the first model call after the middle on."""
    opening = next((at + 1 for at, message in enumerate(messages)
                    if message["role"] == "user"), 0)
    middle = max(opening, len(messages) // 2)
    start = next((call.start for call in model_calls(messages) if call.start >= middle),
                 len(messages))
    return [*messages[:opening], *messages[start:]]
