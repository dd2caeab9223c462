"""Milestone 6: the messages of an agent that speaks chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..lab.sessions.fields import dict_of, dicts_of, flat, string_of
from ..messages import Call, Message, assistant, system, tool_result, user
from ..models import openai
from ..models.received import received_call
from .given import Given, wrong
from .parts import Calls, Piece, answered_call, declared, error_of, opaque_of, parts_of

REASONING = (*openai.REASONING, "reasoning_details")


class ChatForm:
    """Chat completions: each result is a message of its own."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """One message of ours for each of the agent's."""
        role, content = given.get("role"), self.text(given)
        _refuse_blocks(given, place)
        if role == "tool":
            call = answered_call(given.get("tool_call_id"), waiting, place)
            yield tool_result(call["id"], call["name"], content, error_of(given)), given
        elif role == "assistant":
            kept = {key: given[key] for key in REASONING if given.get(key)}
            calls = [*map(self.call, dicts_of(given.get("tool_calls")))]
            yield assistant(content, calls, opaque_of("openai", kept)), given
        elif role in ("system", "developer"):
            yield system(content), given
        elif role == "user":
            yield user(content), given
        else:
            raise wrong(place, f"no role {role!r}", role,
                        "use system, developer, user, assistant or tool")

    def text(self, part: Given) -> str:
        """The text of the content, be it a string or a list of parts, or of a refusal."""
        return flat(part.get("content") or part.get("refusal")).text

    def user_message(self, text: str) -> Given:
        """A user message whose content is a string."""
        return {"role": "user", "content": text}

    def shortened(self, part: Given, text: str) -> Given:
        """All other fields stay."""
        return {**part, "content": text}

    def joined(self, one: Given, other: Given, apart: bool) -> Given | None:
        """Two user messages become one, unless the agent itself has them in a row: the chat
        templates of many models refuse that."""
        if not apart or not one["role"] == other["role"] == "user":
            return None
        texts = one["content"], other["content"]
        if all(isinstance(text, str) for text in texts):
            return {**one, **other, "content": "\n\n".join(filter(None, texts))}
        return {**one, **other, "content": [part for text in texts for part in parts_of(text)]}

    def declaration(self, tool: Given) -> dict[str, Any]:
        """That of the tool's `function`; a custom tool has no parameters."""
        return declared(_inner(tool) or {"name": tool.get("type")}, "parameters")

    def tool(self, declaration: Mapping[str, Any], own: Given) -> Given:
        """A tool of the type `function`."""
        return {"type": "function", **own, "function": {**_inner(own), **declaration}}

    def call(self, made: Given) -> Call:
        """The arguments are JSON as a string; the input of a custom tool is text, not JSON."""
        inner = _inner(made)
        return received_call(string_of(made.get("id")), string_of(inner.get("name")),
                             inner.get("arguments", inner.get("input")))

    def result(self, result: Message) -> Given:
        """A message of the role `tool`."""
        return {"role": "tool", "tool_call_id": result["tool_call_id"],
                "content": result["content"]}

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """`prompt_tokens` include those that were cached."""
        return openai.usage(counted)


def _refuse_blocks(given: Given, place: str) -> None:
    for block in dicts_of(given.get("content")):
        if block.get("type") in ("tool_use", "tool_result"):
            raise wrong(place, f"a block {block['type']!r} in chat completions", block,
                        'say provider="anthropic" for the messages protocol')


def _inner(given: Given) -> Given:
    return dict_of(given.get("function")) or dict_of(given.get("custom"))
