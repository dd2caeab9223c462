"""Milestone 6: the two forms in which agents keep their messages.

A form takes a message of the agent apart into ours, each with the part of it that it came
from, and builds requests of such parts: what no policy has touched goes out as it came,
with its images, its reasoning and its ids. What is left out: which of it (`window.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Protocol

from ..errors import UsageError
from ..lab.sessions.fields import dict_of, dicts_of, flat, string_of
from ..messages import Call, Message, assistant, system, tool_result, user
from ..models import anthropic, openai
from ..models.received import received_call

THOUGHT = ("thinking", "redacted_thinking")
Given = dict[str, Any]         # a message, a call or a tool in the agent's own form
Piece = tuple[Message, Given]  # a message of ours, and the part of the agent's that it stands for
Calls = dict[str, Call]        # those without a result, by id


class Form(Protocol):
    """How an agent keeps its messages: as the endpoints of one protocol take them."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """A message of the agent, taken apart. `waiting` are the calls that have no result yet;
        those that it answers are taken out. `UsageError` with the place where it is of no known
        role, or a result of none of them."""

    def made(self, text: str) -> Given:
        """A text of ours, as the user's."""

    def shortened(self, part: Given, text: str) -> Given:
        """A result or a user's message with a text in place of its own."""

    def both(self, one: Given, other: Given, made: bool) -> Given | None:
        """Two neighbours as one message; None where they stay two. `made`: one is ours."""

    def declaration(self, tool: Given) -> dict[str, Any]:
        """A tool of the agent in our form."""

    def tool(self, declaration: Mapping[str, Any]) -> Given:
        """A tool of ours, as it is sent."""

    def call(self, made: Given) -> Call:
        """A call of the model."""

    def result(self, call_id: str, text: str) -> Given:
        """The result of a call."""

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """What an endpoint has counted, None where it says nothing."""


class ChatForm:
    """Chat completions: a result is a message of its own."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """One message of ours for each of the agent's."""
        role, content = given.get("role"), flat(given.get("content")).text
        if role == "tool":
            call = _waiting_for(given.get("tool_call_id"), waiting, place)
            yield tool_result(call["id"], call["name"], content), given
        elif role == "assistant":
            kept = {key: given[key] for key in openai.REASONING if isinstance(given.get(key), str)}
            calls = [*map(self.call, dicts_of(given.get("tool_calls")))]
            yield assistant(content, calls, {"openai": kept} if kept else None), given
        elif role in ("system", "developer"):
            yield system(content), given
        elif role == "user":
            yield user(content), given
        else:
            raise wrong(place, "no such role", role,
                        "use system, developer, user, assistant or tool")

    def made(self, text: str) -> Given:
        """A message."""
        return {"role": "user", "content": text}

    def shortened(self, part: Given, text: str) -> Given:
        """The same message, its content replaced."""
        return {**part, "content": text}

    def both(self, one: Given, other: Given, made: bool) -> Given | None:
        """Ours joins the user's beside it, since many templates refuse two in a row."""
        if not made or not one["role"] == other["role"] == "user":
            return None
        texts = one["content"], other["content"]
        if all(isinstance(text, str) for text in texts):
            return {**one, **other, "content": "\n\n".join(texts)}
        return {**one, **other, "content": [part for text in texts for part in _parts(text)]}

    def declaration(self, tool: Given) -> dict[str, Any]:
        """The function of a tool."""
        return _declaration(dict_of(tool.get("function")) or dict_of(tool.get("custom")),
                            "parameters")

    def tool(self, declaration: Mapping[str, Any]) -> Given:
        """A tool that is a function."""
        return {"type": "function", "function": dict(declaration)}

    def call(self, made: Given) -> Call:
        """Its arguments are a text."""
        function = dict_of(made.get("function"))
        return received_call(string_of(made.get("id")), string_of(function.get("name")),
                             function.get("arguments"))

    def result(self, call_id: str, text: str) -> Given:
        """A message."""
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """By `prompt_tokens`."""
        return openai.usage(counted)


class BlockForm:
    """Messages of blocks: results are blocks of the user's message, the system is beside them."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """Of a user's message each result, and what stands between results."""
        role, content = given.get("role"), given.get("content")
        if role == "assistant":
            blocks = dicts_of(content)
            thought = [block for block in blocks if block.get("type") in THOUGHT]
            calls = [self.call(block) for block in blocks if block.get("type") == "tool_use"]
            yield assistant(flat(content).text, calls,
                            {"anthropic": {"blocks": thought}} if thought else None), given
        elif role != "user":
            raise wrong(place, "no such role", role,
                        "use user or assistant; the system is given beside the messages")
        elif not isinstance(content, list):
            yield user(flat(content).text), given
        else:
            for is_result, group in groupby(content, lambda block: dict_of(block).get(
                    "type") == "tool_result"):
                for blocks in ([block] for block in group) if is_result else [list(group)]:
                    part = given if len(blocks) == len(content) else {**given, "content": blocks}
                    yield (self._result(blocks[0], waiting, place) if is_result else user(
                        flat(blocks).text)), part

    def _result(self, block: Given, waiting: Calls, place: str) -> Message:
        call = _waiting_for(block.get("tool_use_id"), waiting, place)
        return tool_result(call["id"], call["name"], flat(block.get("content")).text)

    def made(self, text: str) -> Given:
        """A message of one block."""
        return {"role": "user", "content": _parts(text)}

    def shortened(self, part: Given, text: str) -> Given:
        """The same result with another text; of a user's message, the text alone."""
        first = part["content"][0] if isinstance(part["content"], list) else {}
        if first.get("type") != "tool_result":
            return {**part, "content": _parts(text)}
        return {**part, "content": [{**first, "content": text}]}

    def both(self, one: Given, other: Given, made: bool) -> Given | None:
        """All that one side says in a row is one message."""
        if one["role"] != other["role"]:
            return None
        return {**one, **other, "content": [*_parts(one["content"]), *_parts(other["content"])]}

    def declaration(self, tool: Given) -> dict[str, Any]:
        """A server's own tool has no schema."""
        return _declaration(tool, "input_schema")

    def tool(self, declaration: Mapping[str, Any]) -> Given:
        """The schema is called another name."""
        return {"name": declaration["name"], "description": declaration["description"],
                "input_schema": declaration["parameters"]}

    def call(self, made: Given) -> Call:
        """Its input is an object."""
        return received_call(string_of(made.get("id")), string_of(made.get("name")),
                             made.get("input"))

    def result(self, call_id: str, text: str) -> Given:
        """A block, for the user's message that follows."""
        return {"type": "tool_result", "tool_use_id": call_id, "content": text}

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """By `input_tokens`, and what of the cache goes with them."""
        return anthropic.usage(counted)


def form_of(provider: str) -> Form:
    """The form of a provider's protocol, named as in live use. `UsageError` for another name."""
    forms: dict[str, Form] = {"openai": ChatForm(), "anthropic": BlockForm()}
    if provider not in forms:
        raise UsageError(f"no provider {provider!r}", place="provider", value=provider,
                         remedy=f"use {' or '.join(forms)}")
    return forms[provider]


def wrong(place: str, what: str, value: object, remedy: str) -> UsageError:
    """The error for a message that no endpoint would take where it stands."""
    return UsageError(what, place=place, value=value, remedy=remedy)


def _waiting_for(call_id: object, waiting: Calls, place: str) -> Call:
    call = waiting.pop(string_of(call_id), None)
    if call is None:
        raise wrong(place, "a result of no open call", call_id,
                    "append the message that makes the call first, and one result of each")
    return call


def _declaration(tool: Given, schema: str) -> dict[str, Any]:
    return {"name": string_of(tool.get("name")), "description": string_of(tool.get("description")),
            "parameters": dict_of(tool.get(schema))}


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
