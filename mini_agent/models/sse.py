"""Milestone 5: server-sent events, as far as model endpoints use them.

Lines of `data: TEXT`; a blank line ends an event, a line with a colon in front is a
sign of life. Source: the HTML standard, section "Server-sent events". Left out:
`event`, since the data says what it is, and `id` and `retry`, since a stream of a
model cannot be resumed.
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
    """The lines of lines that end in `\\n`: by the standard `\\r` alone ends one too."""
    for raw in lines:
        text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
        yield from text.removesuffix("\n").removesuffix("\r").split("\r")
