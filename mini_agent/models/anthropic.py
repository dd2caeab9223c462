"""Milestone 5: the Messages API, in which a message is a list of content blocks.

Results of calls are blocks of a user's turn, the system prompt is a field of its own, and the
request marks what is to be cached. Source: the API reference of `/v1/messages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..hostile import clean
from ..messages import Call
from .base import Reply
from .live import Request
from .received import count, joined, received_call, without_doubles
from .turns import Turn

VERSION = "2023-06-01"
OFFICIAL = "api.anthropic.com"
CUT = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}
DELTAS = {"text_delta": "text", "input_json_delta": "partial_json",
          "thinking_delta": "thinking", "signature_delta": "signature"}
IN_PIECES = {"text": ("text",), "tool_use": ("partial_json",),
             "thinking": ("thinking", "signature")}
CACHE = {"cache_control": {"type": "ephemeral"}}
Block = dict[str, Any]


class Messages:
    """Requests to, and answers of, one host.

    Anthropic itself accepts text after results in one message. Servers that translate the API
    for a local model move that text before the results, and strict templates refuse it.
    """

    name = "anthropic"
    path = "/v1/messages"

    def __init__(self, host: str = "") -> None:
        self.bridged = host != OFFICIAL

    def headers(self, key: str) -> dict[str, str]:
        """The version, and the key where there is one."""
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: Request) -> dict[str, Any]:
        """The request, with cache marks on what stays.

        They stand on the system prompt, which covers the tools before it, and on the last two
        turns of the user: the older one is read from the cache, the newer one is written to it
        for the next request.
        """
        body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens,
                                "stream": request.stream}
        tools = [{"name": tool["name"], "description": tool["description"],
                  "input_schema": tool["parameters"]} for tool in request.tools]
        head = [_text(text) for turn in request.turns if turn.role == "system"
                for text in turn.texts]
        messages = _messages(request.turns)
        marked = [message["content"] for message in messages if message["role"] == "user"][-2:]
        for blocks in (head or tools, *marked):
            if blocks:
                blocks[-1] |= CACHE
        return {**body, **({"tools": tools} if tools else {}),
                **({"system": head} if head else {}), "messages": messages}

    def assembly(self) -> _Assembly:
        """A fresh answer."""
        return _Assembly()


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _messages(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Turns as messages; results stand at the head of the user's turn that follows."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn.role == "assistant":
            messages.append({"role": "assistant", "content": list(_assistant_blocks(turn))})
            if turn.calls:
                messages.append({"role": "user", "content": list(_result_blocks(turn))})
        elif turn.role == "user":
            blocks = [_text(text) for text in turn.texts]
            if messages and messages[-1]["role"] == "user":
                messages[-1]["content"] += blocks
            else:
                messages.append({"role": "user", "content": blocks})
    return messages


def _assistant_blocks(turn: Turn) -> Iterator[Block]:
    """The blocks of an assistant's turn, reasoning at its old place among them."""
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
             for call in turn.calls]
    text = "".join(turn.texts)
    layout: Any = turn.opaque.get("layout")
    if len(turn.texts) > 1 or not _layout_fits(layout, len(text), len(calls)):
        yield from (_text(text) for text in turn.texts)
        yield from calls
        return
    at = 0
    for kind, value in layout:
        if kind == "text":
            piece, at = text[at:at + value], at + value
            if piece.strip():
                yield _text(piece)
        else:
            yield calls[value] if kind == "call" else dict(value)


def _layout_fits(layout: Any, characters: int, calls: int) -> bool:
    """Whether a layout is one of this many characters and calls."""
    return bool(layout) and sum(n for kind, n in layout if kind == "text") == characters \
        and [n for kind, n in layout if kind == "call"] == list(range(calls))


def _result_blocks(turn: Turn) -> Iterator[Block]:
    for call in turn.calls:
        yield {"type": "tool_result", "tool_use_id": call.id, "content": call.result,
               **({"is_error": True} if call.failed else {})}


class _Assembly:
    """Puts the blocks of one answer together."""

    trails = False

    def __init__(self) -> None:
        self.complete = False
        self._blocks: dict[int, Block] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}  # of each block, by key
        self._stop = ""
        self._usage: dict[str, Any] = {}
        self._begun = False

    def take(self, body: dict[str, Any]) -> None:
        """Take an answer in one piece, which has all that the events of a stream bring."""
        self._blocks = dict(enumerate(body["content"]))
        self._stop = body["stop_reason"] or ""
        self._count(body)
        self.complete = True

    def add(self, data: dict[str, Any]) -> str:
        """Take one event; those after the end are ignored. ValueError for a second beginning."""
        kind = data["type"]
        if self.complete:
            return ""
        if kind == "message_start":
            if self._begun:
                raise ValueError("the answer begins twice")
            self._begun = True
            self._count(data["message"])
        elif kind == "content_block_start":
            return self._open(data["index"], data["content_block"])
        elif kind == "content_block_delta":
            return self._delta(data["index"], data["delta"])
        elif kind == "message_delta":
            self._stop = data["delta"].get("stop_reason") or self._stop
            self._count(data)
        elif kind == "message_stop":
            self.complete = True
        return ""

    def _count(self, data: Mapping[str, Any]) -> None:
        """Take the reported usage; later numbers replace earlier ones."""
        reported = data.get("usage")
        if isinstance(reported, Mapping):
            self._usage |= {name: value for name, value in reported.items() if count(value)}

    def _open(self, index: int, block: Block) -> str:
        if index in self._blocks:
            raise ValueError(f"block {index} begins twice")
        self._blocks[index] = dict(block)
        self._pieces[index] = {key: [block[key]] for key in DELTAS.values() if block.get(key)}
        return joined(self._pieces[index].get("text", ()))  # what is not a text fails here

    def _delta(self, index: int, delta: dict[str, Any]) -> str:
        pieces, key = self._pieces[index], DELTAS.get(delta["type"])
        if key is None:
            return ""
        pieces.setdefault(key, []).append(delta[key])
        return str(delta[key]) if key == "text" else ""

    def _joined_block(self, index: int) -> Block:
        """A block with its pieces joined, those that belong to its type."""
        block, pieces = self._blocks[index], self._pieces.get(index, {})
        return block | {key: joined(pieces[key])
                        for key in IN_PIECES.get(str(block.get("type")), ())
                        if key in pieces}

    def reply(self) -> Reply:
        """The answer. Reasoning with a signature is opaque, the rest of it dropped."""
        texts: list[str] = []
        calls: list[Call] = []
        layout: list[list[Any]] = []
        for block in map(self._joined_block, sorted(self._blocks)):
            kind = block.get("type")
            if kind == "text":
                texts.append(clean(block.get("text")))
                layout.append(["text", len(texts[-1])])
            elif kind == "tool_use":
                raw = block.get("partial_json") or block.get("input")
                calls.append(received_call(block.get("id") or f"call_{len(calls)}",
                                           block.get("name") or "", raw))
                layout.append(["call", len(calls) - 1])
            elif kind == "redacted_thinking" or kind == "thinking" and block.get("signature"):
                layout.append(["block", block])
        kept = without_doubles(calls)
        reasoned = any(kind == "block" for kind, _ in layout) and len(kept) == len(calls)
        return Reply("".join(texts), kept, usage(self._usage),
                     {"layout": layout} if reasoned else None, cut=CUT.get(self._stop, ""))


def usage(reported: Mapping[str, Any]) -> dict[str, int] | None:
    """Tokens as `Reply.usage` has them; here `input_tokens` leave out what was cached."""
    cached = count(reported.get("cache_read_input_tokens"))
    prompt = (count(reported.get("input_tokens")) + cached
              + count(reported.get("cache_creation_input_tokens")))
    if not prompt:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": count(reported.get("output_tokens")),
            "cached_tokens": cached}
