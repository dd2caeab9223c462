"""Milestone 6: the second half of a session, as a session of its own.

What a policy has to carry there differs from the whole: all that the first half had
is unknown, and a view that was full at the middle begins empty. What is left out: any
other cut, which the same few sessions would not make worth more.
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
