"""Milestone 6: where a text nearly stands that no message has to the letter.

Whoever asks `why` copies from a screen, which may have wrapped the line, or from a document
that writes the name in capitals; and `show` prints the arguments of a call as JSON. So a text
is also found where only capitals and blanks differ, in the JSON of a call, and in the thinking
that is sent back to a provider, none of which is text of a message. What is left out: words
that differ in a letter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..messages import Message, arguments_text, calls_of, text_of
from .whyform import NearMiss


def nearly_said(text: str, history: Sequence[Message]) -> list[NearMiss]:
    """The messages that nearly have a text, and where in each (`whyform.NearMiss`)."""
    found: list[NearMiss] = []
    for index, message in enumerate(history):
        if words := _like(text, text_of(message)):
            found.append({"message": index, "where": "text", "words": words})
        elif any(text in f"{call['name']} {arguments_text(call)}" for call in calls_of(message)):
            found.append({"message": index, "where": "call", "words": ""})
        elif text in json.dumps(message.get("opaque", ""), ensure_ascii=False):
            found.append({"message": index, "where": "thinking", "words": ""})
    return found


def _like(text: str, said: str) -> str:
    """The first words in `said` that differ from `text` in capitals and blanks only, or ""."""
    wanted, bare = _bare(text), _bare(said)
    start = bare.find(wanted) if wanted else -1
    if start < 0:
        return ""
    places = [at for at, sign in enumerate(said) if not sign.isspace() for _ in sign.lower()]
    return said[places[start]:places[start + len(wanted) - 1] + 1]


def _bare(text: str) -> str:
    return "".join(text.split()).lower()
