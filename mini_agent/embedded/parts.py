"""Milestone 6: what both forms of an agent's messages have in common."""

from __future__ import annotations

from typing import Any

from ..lab.sessions.fields import dict_of, string_of
from ..lab.sessions.log import failed
from ..messages import Call, Message, is_clean
from .given import Given, wrong

Piece = tuple[Message, Given]  # a message of ours, and the part of the agent's that it stands for
Calls = list[Call]             # those without a result; ids may repeat


def waiting_for(call_id: object, waiting: Calls) -> Call | None:
    """The first of the calls that has this id, taken out; None where there is none."""
    found = next((at for at, call in enumerate(waiting) if call["id"] == string_of(call_id)), None)
    return None if found is None else waiting.pop(found)


def answered_call(call_id: object, waiting: Calls, place: str) -> Call:
    """`waiting_for`, and `UsageError` where there is none."""
    call = waiting_for(call_id, waiting)
    if call is None:
        raise wrong(place, f"a result of no open call ({call_id!r})", call_id,
                    "append the message that makes the call first, and one result of each")
    return call


def opaque_of(provider: str, kept: dict[str, Any]) -> dict[str, Any] | None:
    """Reasoning as the history keeps it, None where there is none, or where no trace could give
    it back as it is."""
    return {provider: kept} if any(kept.values()) and is_clean(kept) else None


def error_of(result: Given) -> dict[str, str] | None:
    """The error of a result that is marked as one."""
    return failed() if result.get("is_error") is True else None


def declared(tool: Given, schema: str) -> dict[str, Any]:
    """A declaration in our form; `schema` is what the tool calls its parameters."""
    return {"name": string_of(tool.get("name")), "description": string_of(tool.get("description")),
            "parameters": dict_of(tool.get(schema))}


def parts_of(content: Any) -> list[Any]:
    """Content as the parts that it has, or is."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
