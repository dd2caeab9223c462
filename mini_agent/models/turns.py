"""Milestone 5: what goes out is legal, whatever the history holds.

Providers refuse a result without its call, a call without its result, two turns of
one role in a row, an id that stands twice, a name with a blank in it, an empty
text. `legal` makes turns of messages in which none of this can be, and each adapter
writes them down in its own form. Nothing is edited: the history and the view stay
as they are. Left out: the forms themselves (`openai.py`, `anthropic.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..messages import Call, Message, answered, call, calls_of, groups
from ..texts import Texts

DEEPEST = 100  # levels of arguments; each Python gives up at another depth
_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class SentCall:
    """A call with its one result, as they go out. The id is new: 9 letters and digits."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool = False


@dataclass(frozen=True)
class Turn:
    """All that one side says in a row; `calls` carry their results with them.

    `opaque` is what the message had of that name, if it was not merged with another.
    """

    role: str
    texts: tuple[str, ...] = ()
    calls: tuple[SentCall, ...] = ()
    opaque: dict[str, Any] = field(default_factory=dict)


def legal(messages: Sequence[Message], texts: Texts, bridged: bool = False) -> list[Turn]:
    """Turns that begin with at most one of the system, go on with the user, and alternate.

    Behind an assistant's turn with calls its own next turn may follow at once, or the
    user's; if `bridged`, the assistant says between results and user that it had not
    answered yet. A result without its call becomes the user's text and says what it
    is; a call without its result gets one that says so. Ids are numbered through a
    request.
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
    """A turn a group, and one more for each result that nobody asked for."""
    number = 0
    for group in groups(messages):
        first = messages[group.start]
        results = messages[group.start + 1:group.stop]
        if first["role"] == "assistant":
            found = answered(first, results)
            calls = tuple(_sent(made, None if at is None else results[at], number + index, texts)
                          for index, (made, at) in enumerate(zip(calls_of(first), found)))
            number += len(calls)
            if calls or first["content"].strip():
                yield Turn("assistant", _said(first), calls, first.get("opaque") or {})
            results = [result for at, result in enumerate(results) if at not in found]
        elif first["role"] == "tool":
            results = [first]
        else:
            leading = first["role"] == "system" and all(
                message["role"] == "system" for message in messages[:group.start])
            yield Turn("system" if leading else "user",
                       _said(first) or (texts("turns_empty"),))
        for result in results:
            yield Turn("user", (texts("turns_orphan", name=result.get("name", ""),
                                      content=result["content"]),))


def _said(message: Message) -> tuple[str, ...]:
    return (message["content"],) if message["content"].strip() else ()


def _sent(made: Mapping[str, Any], result: Message | None, number: int,
          texts: Texts) -> SentCall:
    content = texts("turns_no_result") if result is None else result["content"]
    return SentCall(f"c{number:08d}", _NAME.sub("_", made["name"])[:64] or "_",
                    sendable(made["arguments"]), content if content.strip()
                    else texts("turns_empty"), result is None or "error" in result)


def sendable(arguments: dict[str, Any]) -> dict[str, Any]:
    """`arguments` if they are JSON; NaN and infinity, which Python reads, become text."""
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        return json.loads(json.dumps(arguments), parse_constant=str)
    return arguments


def received_call(call_id: str, name: str, raw: Any) -> Call:
    """A call as it may enter the history.

    Nothing at all means no arguments; an object inside a string is taken out. What is
    no object then, or nested more than `DEEPEST`, stays as it came, marked `invalid`.
    """
    if raw is None or isinstance(raw, str) and raw.strip() in ("", "null"):
        return call(call_id, name, {})
    value = raw
    for _ in range(2):
        if isinstance(value, str):
            value = _parsed(value)
    if not isinstance(value, Mapping):
        return call(call_id, name, raw)
    if _deeper(value, DEEPEST):
        return call(call_id, name, raw if isinstance(raw, str) else "{...} nested too deep")
    return call(call_id, name, value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists stand in one another more than so many levels deep."""
    if not isinstance(value, (Mapping, list)):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_deeper(item, levels - 1) for item in inner)


def without_doubles(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The calls, each once: a proxy that repeats a part would run a command twice."""
    return tuple(made for at, made in enumerate(calls) if made not in calls[:at])


def joined(parts: Sequence[str]) -> str:
    """Text that came in pieces; a character that a cut went through is whole again."""
    text = "".join(parts)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
