"""Milestone 6: what both forms of an agent's messages have in common."""

from __future__ import annotations

from typing import Any

from ..lab.sessions.fields import dict_of, string_of
from ..lab.sessions.log import failed
from ..messages import Call, Message, is_clean
from .given import Given, wrong

Piece = tuple[Message, Given]  # a message of ours, and the part of the agent's that it stands for
Calls = list[Call]             # calls that have no result yet; ids may repeat


def waiting_for(call_id: object, waiting: Calls) -> Call | None:
    """Remove the first call with this id from `waiting` and return it; None if there is none."""
    sought = string_of(call_id)
    found = next((at for at, call in enumerate(waiting) if call["id"] == sought), None)
    return None if found is None else waiting.pop(found)


def answered_call(call_id: object, waiting: Calls, place: str) -> Call:
    """As `waiting_for`, but `UsageError` if there is none."""
    call = waiting_for(call_id, waiting)
    if call is None:
        raise wrong(place, f"a result of no open call ({call_id!r})", call_id,
                    "append the message that makes the call first, and one result of each")
    return call


def opaque_of(provider: str, kept: dict[str, Any]) -> dict[str, Any] | None:
    """Reasoning as a message of ours keeps it. None if there is none, or if it would not come
    back unchanged from a trace."""
    return {provider: kept} if any(kept.values()) and is_clean(kept) else None


def error_of(result: Given) -> dict[str, str] | None:
    """The error of a result that is marked as failed, else None."""
    return failed() if result.get("is_error") is True else None


def declared(tool: Given, schema: str) -> dict[str, Any]:
    """A declaration in our form; `schema` is the key under which the tool has its parameters."""
    return {"name": string_of(tool.get("name")), "description": string_of(tool.get("description")),
            "parameters": dict_of(tool.get(schema))}


def parts_of(content: Any) -> list[Any]:
    """Content as a list of parts: a string becomes one part."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
