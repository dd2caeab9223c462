"""Milestone 5: server-sent events, as far as model endpoints use them.

An event is one or more lines `data: TEXT`, ended by a blank line; a line that begins with a
colon only keeps the connection alive. Source: the HTML standard, section "Server-sent
events". What is left out: `event`, since the data says what it is, and `id` and `retry`, since
the stream of a model cannot be resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def events(lines: Iterable[bytes]) -> Iterator[str]:
    """The data of each event that has data.

    A last event without its blank line counts: some servers leave it out after
    `[DONE]`, and a half one does not parse as JSON.
    """
    data: list[str] = []
    for line in _ended(lines):
        if line:
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
        elif data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _ended(lines: Iterable[bytes]) -> Iterator[str]:
    """The lines as text, split also at a lone `\\r`, which ends a line by the standard."""
    for raw in lines:
        text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
        yield from text.removesuffix("\n").removesuffix("\r").split("\r")
