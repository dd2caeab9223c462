"""Milestone 6: the messages of an agent that speaks the messages protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from ..lab.sessions.fields import dict_of, dicts_of, flat, string_of
from ..messages import Call, Message, assistant, tool_result, user
from ..models import anthropic
from ..models.received import received_call
from .given import Given, wrong
from .parts import Calls, Piece, answered_call, declared, error_of, opaque_of, parts_of

THOUGHT = ("thinking", "redacted_thinking")


class BlockForm:
    """Messages of blocks: results are blocks of the user's message, the system is beside them."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """Of a user's message each result, and what stands between results."""
        role, content = given.get("role"), given.get("content")
        if role == "assistant":
            blocks = dicts_of(content)
            thought = [block for block in blocks if block.get("type") in THOUGHT]
            calls = [self.call(block) for block in blocks if block.get("type") == "tool_use"]
            yield assistant(self.text(given), calls,
                            opaque_of("anthropic", {"blocks": thought})), given
        elif role != "user":
            raise wrong(place, f"no role {role!r}", role,
                        "use user or assistant, and give the system beside the messages; or "
                        'say provider="openai" for chat completions')
        elif not isinstance(content, list):
            yield user(self.text(given)), given
        else:
            for is_result, group in groupby(content, lambda block: dict_of(block).get(
                    "type") == "tool_result"):
                for blocks in ([block] for block in group) if is_result else [list(group)]:
                    part = given if len(blocks) == len(content) else {**given, "content": blocks}
                    yield self._result(part, waiting, place) if is_result else user(
                        self.text(part)), part

    def _result(self, part: Given, waiting: Calls, place: str) -> Message:
        block = part["content"][0]
        call = answered_call(block.get("tool_use_id"), waiting, place)
        return tool_result(call["id"], call["name"], self.text(part), error_of(block))

    def text(self, part: Given) -> str:
        """That of the content, or of the result that is all of it."""
        content = part.get("content")
        result = _result_of(part)
        return flat(content if result is None else result.get("content")).text

    def made(self, text: str) -> Given:
        """A message of one block."""
        return {"role": "user", "content": parts_of(text)}

    def shortened(self, part: Given, text: str) -> Given:
        """The same result with another text; of a user's message, the text alone."""
        result = _result_of(part)
        return {**part, "content": parts_of(text) if result is None else [
            {**result, "content": text}]}

    def both(self, one: Given, other: Given, apart: bool) -> Given | None:
        """All that one side says in a row is one message."""
        if one["role"] != other["role"]:
            return None
        return {**one, **other, "content": [*parts_of(one["content"]), *parts_of(other["content"])]}

    def declaration(self, tool: Given) -> dict[str, Any]:
        """A server's own tool has no schema, and those of a whole server have its name."""
        name = tool.get("name") or tool.get("mcp_server_name") or tool.get("type")
        return declared({**tool, "name": name}, "input_schema")

    def tool(self, declaration: Mapping[str, Any], own: Given) -> Given:
        """The schema is called another name."""
        return {**own, "name": declaration["name"], "description": declaration["description"],
                "input_schema": declaration["parameters"]}

    def call(self, made: Given) -> Call:
        """Its input is an object."""
        return received_call(string_of(made.get("id")), string_of(made.get("name")),
                             made.get("input"))

    def result(self, result: Message) -> Given:
        """A block, for the user's message that follows."""
        return {"type": "tool_result", "tool_use_id": result["tool_call_id"],
                "content": result["content"], **({"is_error": True} if "error" in result else {})}

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """By `input_tokens`, and what of the cache goes with them."""
        return anthropic.usage(counted)


def _result_of(part: Given) -> Given | None:
    """The block of a part that is a result; it has no other."""
    content = part.get("content")
    first = dict_of(content[0]) if isinstance(content, list) and content else {}
    return first if first.get("type") == "tool_result" else None
