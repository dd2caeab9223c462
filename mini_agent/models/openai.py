"""Milestone 5: the Chat Completions API, which most endpoints speak.

Source: the API reference of `/v1/chat/completions`, and the ways in which servers have been
seen to differ from it: calls without an index or an id, reasoning in fields of its own, usage
in the last part or in none. What is left out: asking over a network (`http.py`), and what all
protocols have in common (`live.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .base import Reply
from .live import Request
from .received import count, joined, received_call, without_doubles
from .turns import Turn

REASONING = ("reasoning_content", "reasoning")  # text; kept, and sent back under its name
IN_PIECES = ("text", "summary", "data")  # of a reasoning block
CUT = {"length": "length", "content_filter": "refusal"}
OFFICIAL = ("api.openai.com", ".openai.azure.com")  # refuse `max_tokens` for newer models


class ChatCompletions:
    """Requests to, and answers of, one host."""

    name = "openai"
    path = "/chat/completions"
    bridged = False

    def __init__(self, host: str = "") -> None:
        self._limit = "max_completion_tokens" if host.endswith(OFFICIAL) else "max_tokens"

    def headers(self, key: str) -> dict[str, str]:
        """A bearer token, where there is a key."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: Request) -> dict[str, Any]:
        """The request; what stays the same comes first, so that the prefix keeps its bytes."""
        body: dict[str, Any] = {"model": request.model, self._limit: request.max_tokens,
                                "stream": request.stream}
        if request.stream:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(tool)}
                             for tool in request.tools]
        body["messages"] = [message for turn in request.turns for message in _messages(turn)]
        return body

    def assembly(self) -> _Assembly:
        """A fresh answer."""
        return _Assembly()


def _messages(turn: Turn) -> Iterator[dict[str, Any]]:
    """A turn, and after it the results of its calls."""
    content = "\n\n".join(turn.texts)
    if turn.role != "assistant":
        yield {"role": turn.role, "content": content}
        return
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    message |= {key: value for key, value in turn.opaque.items() if key != "calls"}
    if turn.calls:
        extras = turn.opaque.get("calls") or [{}] * len(turn.calls)
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {
                "name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
             **extra} for call, extra in zip(turn.calls, extras)]
    yield message
    for call in turn.calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": call.result}


class _Pieces(list[str]):
    """The pieces of a text, joined once at the end, since adding to a string copies it."""


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[Any] = field(default_factory=list)  # pieces of text, or one object
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def raw(self) -> Any:
        """The arguments as they came: the pieces of a text joined, or an object as it is."""
        if len(self.arguments) == 1 and not isinstance(self.arguments[0], str):
            return self.arguments[0]
        return joined([piece for piece in self.arguments if isinstance(piece, str)])


class _Assembly:
    """Puts the parts of one answer together; what follows its end is ignored."""

    trails = True

    def __init__(self) -> None:
        self.complete = False
        self._finish = ""
        self._texts: list[str] = []
        self._calls: list[_Call] = []
        self._newest: dict[int | None, _Call] = {}  # by index
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._usage: dict[str, int] | None = None

    def take(self, body: dict[str, Any]) -> None:
        """Take an answer in one piece as a stream of one part whose calls are numbered."""
        for index, call in enumerate(body["choices"][0]["message"].get("tool_calls") or ()):
            call["index"] = index
        self.add(body)
        self.complete = True

    def add(self, data: dict[str, Any]) -> str:
        """Take one part; only the first choice counts, until it has a finish reason."""
        if isinstance(data.get("usage"), Mapping):
            self._usage = usage(data["usage"]) or self._usage
        said = ""
        for choice in data.get("choices") or ():
            if not choice.get("index") and not self.complete:
                said += self._delta(choice.get("delta") or choice.get("message") or {})
                self._finish = choice.get("finish_reason") or ""
                self.complete = bool(self._finish)
        if self._finish == "error":
            raise ValueError("the model failed in the middle")
        return said

    def _delta(self, delta: dict[str, Any]) -> str:
        for key in REASONING:
            if isinstance(delta.get(key), str):
                self._reasoning.setdefault(key, []).append(delta[key])
        for detail in delta.get("reasoning_details") or ():
            self._detail(detail)
        for part in delta.get("tool_calls") or ():
            self._call(part)
        text = _text(delta.get("content")) + _text(delta.get("refusal"))
        self._texts.append(text)
        return text

    def _call(self, part: dict[str, Any]) -> None:
        """Take a piece of a call: of the newest call with its index, or of a new call if its id is
        new, or if it has neither index nor id but a name."""
        index, made_id, function = part.get("index"), part.get("id") or "", part["function"]
        found = self._newest.get(index)
        fresh = made_id and found and found.id and made_id != found.id
        unmarked = index is None and not made_id and function.get("name")
        if found is None or fresh or unmarked:
            found = self._newest[index] = _Call()
            self._calls.append(found)
        found.id = found.id or made_id
        found.name = found.name or function.get("name") or ""
        if function.get("arguments") is not None:
            found.arguments.append(function["arguments"])
        if isinstance(part.get("extra_content"), Mapping):  # the thought signature of Gemini
            found.extra["extra_content"] = part["extra_content"]

    def _detail(self, detail: dict[str, Any]) -> None:
        """Take a piece of reasoning; pieces of one block have the same index and type."""
        last = self._details[-1] if self._details else None
        goes_on = last is not None and "index" in detail and all(
            last.get(key) == detail.get(key) for key in ("index", "type"))
        if last is None or not goes_on:
            self._details.append(last := {})
        for key, value in detail.items():
            if key in IN_PIECES and isinstance(value, str):
                if not isinstance(last.get(key), _Pieces):
                    last[key] = _Pieces()
                last[key].append(value)
            elif value is not None or not goes_on:
                last[key] = value

    def reply(self) -> Reply:
        """The answer. Reasoning, if there was any, is opaque."""
        calls = [received_call(call.id or f"call_{number}", call.name, call.raw)
                 for number, call in enumerate(self._calls)]
        kept = without_doubles(calls)
        opaque: dict[str, Any] = {key: joined(parts) for key, parts in self._reasoning.items()
                                  if any(parts)}
        if self._details:
            opaque["reasoning_details"] = [
                {key: joined(value) if isinstance(value, _Pieces) else value
                 for key, value in detail.items()} for detail in self._details]
        extras = [call.extra for call in self._calls]
        if any(extras) and len(kept) == len(calls):
            opaque["calls"] = extras
        return Reply(joined(self._texts), kept, self._usage, opaque or None,
                     cut=CUT.get(self._finish, ""))


def _text(content: Any) -> str:
    """The text of a content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or ""


def usage(reported: Mapping[str, Any]) -> dict[str, int] | None:
    """Tokens as `Reply.usage` has them; here `prompt_tokens` include what was cached."""
    details = reported.get("prompt_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    prompt, answer = count(reported.get("prompt_tokens")), count(reported.get("completion_tokens"))
    if not prompt:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": answer,
            "cached_tokens": cached or count(reported.get("prompt_cache_hit_tokens"))}
