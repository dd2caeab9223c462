"""Milestone 6: words that were never said to the letter, and where they nearly stand.

Who asks `why` copies what a screen showed: it had wrapped the line, another document has
the name in capitals, and `show` prints the arguments of a call as JSON. So what differs in
capitals and blanks only is looked for, and what stands in the JSON of a call. What is left
out: words that differ in a letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..messages import Message, arguments_text, calls_of, text_of


def nearly_said(text: str, history: Sequence[Message]) -> list[dict[str, Any]]:
    """`message` and `words` as they stand there, of each message that nearly has a text;
    `words` is "" where it stands in a call, spelt as JSON."""
    found: list[dict[str, Any]] = []
    alike = re.compile(r"\s*".join(map(re.escape, "".join(text.split()))), re.IGNORECASE)
    for index, message in enumerate(history):
        stands = alike.search(text_of(message)) if text.strip() else None
        if stands:
            found.append({"message": index, "words": stands[0]})
        elif any(text in f"{made['name']} {arguments_text(made)}" for made in calls_of(message)):
            found.append({"message": index, "words": ""})
    return found
