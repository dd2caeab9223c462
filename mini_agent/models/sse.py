"""Milestone 5: server-sent events, as far as model endpoints use them.

Lines `event: NAME` and `data: TEXT`; a blank line ends an event, a line with a
colon in front is a sign of life. Source: the HTML standard, section "Server-sent
events". Left out: `id` and `retry`, since a stream of a model cannot be resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """(name, data) of each event that has data.

    A last event without its blank line counts: some servers leave it out behind
    `[DONE]`, and a half one does not parse as JSON.
    """
    name, data = "", []
    for raw in lines:
        line = raw.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        else:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
    if data:
        yield name, "\n".join(data)
