"""Milestone 5: how a live model is asked for a summary.

The messages are given as a transcript inside one user message, so that no open
call, no foreign call id and no order of roles can make the request invalid. The
lines between the messages are marked by a fence that stands nowhere in them: no
text in a tool's output can end its own block and play the user. What this module
leaves out: sending (the adapters), bounding the input and checking the answer
(`compression/summariser.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .forms import DRAFTED, heading, instruction, model_sections
from .messages import Message, arguments_text, calls_of, system, user
from .texts import Texts


def summary_request(messages: Sequence[Message], form: str, texts: Texts) -> list[Message]:
    """The request for a summary of `messages` in a form of `forms.FORMS`: two messages.

    No tools go with it. KeyError for a form that is not there.
    """
    return [system(texts("summary_rules")),
            user(f"{transcript(messages, texts)}\n\n{instructions(form, texts)}")]


def instructions(form: str, texts: Texts) -> str:
    """What is asked for in this form: the sections, and a draft before them."""
    sections = model_sections(form)
    if not sections:
        return texts("summary_rolling")
    parts = [texts("summary_sections"), *(
        texts("summary_ask", heading=heading(section, texts), ask=instruction(section, texts))
        for section in sections)]
    if form in DRAFTED:
        parts.append(texts("summary_draft"))
    return "\n\n".join(parts)


def transcript(messages: Sequence[Message], texts: Texts) -> str:
    """The messages as text, each after a line that says whose it is."""
    fence = _fence(messages)
    blocks: list[str] = []
    for number, message in enumerate(messages, 1):
        blocks.append(texts(f"transcript_{message['role']}", fence=fence, number=number,
                            name=message.get("name", "")))
        if message["content"]:
            blocks.append(message["content"])
        for call in calls_of(message):
            blocks.append(texts("transcript_call", fence=fence, name=call["name"],
                                arguments=arguments_text(call)))
    return "\n".join([*blocks, texts("transcript_end", fence=fence)])


def _fence(messages: Sequence[Message]) -> str:
    """Five dashes, or as many more as it takes to stand nowhere in the messages."""
    said = [message["content"] for message in messages]
    said += [arguments_text(call) for message in messages for call in calls_of(message)]
    fence = "-----"
    while any(fence in text for text in said):
        fence += "-"
    return fence
