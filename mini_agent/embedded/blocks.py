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
SAID = ("text", "tool_use")


class BlockForm:
    """Messages of blocks: results are blocks of the user's message, the system is beside them."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """One for an assistant message; of a user's message one for each result, and one for
        whatever stands between two results."""
        role, content = given.get("role"), given.get("content")
        if role == "assistant":
            blocks = dicts_of(content)
            sealed = [*filter(_is_sealed, blocks)]
            calls = [self.call(block) for block in blocks if block.get("type") == "tool_use"]
            yield assistant(self.text(given), calls,
                            opaque_of("anthropic", {"blocks": sealed})), given
        elif role != "user":
            raise wrong(place, f"no role {role!r}", role,
                        "use user or assistant, and give the system beside the messages; or "
                        'say provider="openai" for chat completions')
        elif not isinstance(content, list) or not content:
            yield user(self.text(given)), given
        else:
            for blocks in _apart(content):
                part = given if len(blocks) == len(content) else {**given, "content": blocks}
                yield (self._result(part, waiting, place) if _is_result(blocks[0])
                       else user(self.text(part))), part

    def _result(self, part: Given, waiting: Calls, place: str) -> Message:
        block = part["content"][0]
        call = answered_call(block.get("tool_use_id"), waiting, place)
        return tool_result(call["id"], call["name"], self.text(part), error_of(block))

    def text(self, part: Given) -> str:
        """The text of the content; where the part is a result, that of the result's content."""
        content = part.get("content")
        result = _result_of(part)
        return flat(content if result is None else result.get("content")).text

    def user_message(self, text: str) -> Given:
        """A user message of one block."""
        return {"role": "user", "content": parts_of(text)}

    def shortened(self, part: Given, text: str) -> Given:
        """A result keeps its other fields; of a user's message all blocks are replaced."""
        result = _result_of(part)
        return {**part, "content": parts_of(text) if result is None else [
            {**result, "content": text}]}

    def joined(self, one: Given, other: Given, apart: bool) -> Given | None:
        """Messages of the same role in a row become one: the protocol wants roles to alternate."""
        if one["role"] != other["role"]:
            return None
        return {**one, **other, "content": [*parts_of(one["content"]), *parts_of(other["content"])]}

    def declaration(self, tool: Given) -> dict[str, Any]:
        """A tool that the endpoint runs itself has no schema, and perhaps no name: its type, or
        the name of the MCP server, is taken."""
        name = tool.get("name") or tool.get("mcp_server_name") or tool.get("type")
        return declared({**tool, "name": name}, "input_schema")

    def tool(self, declaration: Mapping[str, Any], own: Given) -> Given:
        """The protocol calls the parameters `input_schema`."""
        return {**own, "name": declaration["name"], "description": declaration["description"],
                "input_schema": declaration["parameters"]}

    def call(self, made: Given) -> Call:
        """The arguments are the object under `input`."""
        return received_call(string_of(made.get("id")), string_of(made.get("name")),
                             made.get("input"))

    def result(self, result: Message) -> Given:
        """A block, to be put into the next user message."""
        return {"type": "tool_result", "tool_use_id": result["tool_call_id"],
                "content": result["content"], **({"is_error": True} if "error" in result else {})}

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """`input_tokens`, together with those that were read from the cache or written to it."""
        return anthropic.usage(counted)


def _is_sealed(block: Given) -> bool:
    """Whether a block of an answer is sent back of which the text says nothing: thinking, what a
    tool of the endpoint was asked and gave. What is encrypted counts as it is spelt."""
    kind = block.get("type")
    return kind in THOUGHT or kind not in SAID and (not flat([block]).text or any(
        "encrypted_content" in part for part in dicts_of(block.get("content"))))


def _result_of(part: Given) -> Given | None:
    """The only block of a part that is a result; None for any other part."""
    content = part.get("content")
    return content[0] if isinstance(content, list) and content and _is_result(content[0]) else None


def _apart(content: list[Any]) -> Iterator[list[Any]]:
    """Blocks in order: each result by itself, and what stands between results together."""
    for is_result, group in groupby(content, _is_result):
        yield from ([block] for block in group) if is_result else [list(group)]


def _is_result(block: object) -> bool:
    return dict_of(block).get("type") == "tool_result"
