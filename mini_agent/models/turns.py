"""Milestone 5: requests that providers accept, whatever the history holds.

Providers refuse a result without its call, a call without its result, two turns of one role
in a row, an id that occurs twice, a name with a blank in it, an empty text. `legal` turns
messages into turns that have none of these, and each adapter writes the turns in the form of
its API. History and view are not changed. What is left out: the APIs (`openai.py`,
`anthropic.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..messages import Message, calls_of, groups, result_positions
from ..texts import Texts

_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class SentCall:
    """A call with its one result, as they are sent. The id is new: 9 letters and digits."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool = False


@dataclass(frozen=True)
class Turn:
    """All that one role says in a row; `calls` include their results.

    `opaque` is that of the message, empty if the turn was merged from several.
    """

    role: str
    texts: tuple[str, ...] = ()
    calls: tuple[SentCall, ...] = ()
    opaque: dict[str, Any] = field(default_factory=dict)


def legal(messages: Sequence[Message], texts: Texts, bridged: bool = False) -> list[Turn]:
    """At most one turn of the system, then turns of user and assistant that alternate.

    After a turn with calls (and their results) the assistant may go on at once, or the user;
    if `bridged`, a turn of the assistant that says it had not answered yet is put between
    results and user. A result without its call becomes a text of the user that says what it
    is; a call without its result gets one that says so. Ids are numbered anew.
    """
    turns: list[Turn] = []
    for turn in _turns(messages, texts):
        if turns and turns[-1].role == turn.role and not turns[-1].calls:
            last = turns.pop()
            turn = replace(turn, texts=last.texts + turn.texts, opaque={})
        elif turn.role == "assistant" and (not turns or turns[-1].role == "system"):
            turns.append(Turn("user", (texts("turns_opening"),)))
        elif bridged and turn.role == "user" and turns and turns[-1].calls:
            turns.append(Turn("assistant", (texts("turns_bridge"),)))
        turns.append(turn)
    if not turns or turns[-1].role == "system" or (
            turns[-1].role == "assistant" and not turns[-1].calls):
        turns.append(Turn("user", (texts("turns_go_on"),)))
    return turns


def _turns(messages: Sequence[Message], texts: Texts) -> Iterator[Turn]:
    """One turn per group, and one more for each result that nobody asked for."""
    number = 0
    for group in groups(messages):
        first = messages[group.start]
        results = messages[group.start + 1:group.stop]
        if first["role"] == "assistant":
            found = result_positions(first, results)
            calls = tuple(
                _sent_call(call, None if at is None else results[at], number + index, texts)
                for index, (call, at) in enumerate(zip(calls_of(first), found)))
            number += len(calls)
            if calls or first["content"].strip():
                yield Turn("assistant", _texts_of(first), calls, first.get("opaque") or {})
            results = [result for at, result in enumerate(results) if at not in found]
        elif first["role"] == "tool":
            results = [first]
        else:
            leading = first["role"] == "system" and all(
                message["role"] == "system" for message in messages[:group.start])
            yield Turn("system" if leading else "user",
                       _texts_of(first) or (texts("turns_empty"),))
        for result in results:
            yield Turn("user", (texts("turns_orphan", name=result.get("name", ""),
                                      content=result["content"]),))


def _texts_of(message: Message) -> tuple[str, ...]:
    return (message["content"],) if message["content"].strip() else ()


def _sent_call(call: Mapping[str, Any], result: Message | None, number: int,
          texts: Texts) -> SentCall:
    content = texts("turns_no_result") if result is None else result["content"]
    return SentCall(f"c{number:08d}", _NAME.sub("_", call["name"])[:64] or "_",
                    call["arguments"], content if content.strip()
                    else texts("turns_empty"), result is None or "error" in result)
