"""Milestone 3: summaries that copy and never invent.

The scripted model has no mind to summarise with, so it quotes: of every step the
action as it was said and the first line of each result. The same messages give
the same text. What is left out: judgement, which is what a live model adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from .messages import Message
from .texts import Texts


def rolling(messages: Sequence[Message], texts: Texts) -> str:
    """One numbered line an action or user message, one line a result.

    Runs of white space in an action are made one; of a result the first line
    stands, with the number of its lines where it has more than one.
    """
    said = 0
    out: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            out.append(_result(message, texts))
            continue
        said += 1
        key = "rolling_action" if message["role"] == "assistant" else "rolling_user"
        out.append(texts(key, number=said, text=" ".join(message["content"].split())))
    return "\n".join(out)


def _result(message: Message, texts: Texts) -> str:
    rows = message["content"].splitlines()
    line = texts("rolling_result", name=message["name"], line=rows[0] if rows else "")
    return line + texts("rolling_lines", lines=len(rows)) if len(rows) > 1 else line
