"""Milestone 5: a model behind an endpoint.

One class serves all protocols. What differs between them is a `Wire`: the path, the body of
a request, and how an answer is assembled from its parts. What is left out: retries
(`http.py`), making requests legal (`turns.py`), and the two wires (`openai.py`,
`anthropic.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, Protocol, TypeVar

from ..columns import number_of
from ..errors import EndpointError, ModelError, PromptTooLongError
from ..hostile import clean
from ..messages import Message, is_clean
from ..prompts import summary_request
from ..texts import Texts
from .base import Reply, longest_answer
from .faults import broken, refusal_inside
from .http import Answer, Http
from .sse import events
from .turns import Turn, legal

T = TypeVar("T")
OnText = Callable[[str], None]
OnSummary = Callable[[dict[str, int]], None]
BAD_DATA = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # from a wrong form


@dataclass(frozen=True)
class Request:
    """A request before it takes the form of a protocol. `max_tokens` bounds the answer."""

    model: str
    turns: Sequence[Turn]
    tools: Sequence[Mapping[str, Any]]
    max_tokens: int
    stream: bool


class Assembly(Protocol):
    """An answer that is being put together."""

    complete: bool  # its end mark has been seen
    trails: bool    # more that matters (usage) may follow the end mark

    def add(self, data: dict[str, Any]) -> str:
        """Take in a part of a stream; returns the text in it. May raise any of `BAD_DATA`."""

    def take(self, body: dict[str, Any]) -> None:
        """Take in an answer that came in one piece."""

    def reply(self) -> Reply:
        """The answer; `opaque` does not name its provider and model yet."""


class Wire(Protocol):
    """A protocol. `name` marks the opaque parts that it can read again.

    `bridged`: between results and a user's turn there has to be an assistant's turn
    (`turns.legal`).
    """

    name: str
    path: str
    bridged: bool

    def headers(self, key: str) -> dict[str, str]:
        """The headers of a request, among them the key."""

    def body(self, request: Request) -> dict[str, Any]:
        """The body to be posted as JSON."""

    def assembly(self) -> Assembly:
        """A new assembly, for one answer."""


@dataclass(frozen=True)
class Options:
    """What a user may choose; "" and None leave it to the environment or the default.

    `window` in tokens bounds the answer (`base.longest_answer`) where `max_tokens` does not,
    `timeout` in seconds each silence of the endpoint. `extra` is added to the body of every
    request (temperature, thinking).
    """

    provider: str = ""
    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    window: int | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    stream: bool = True
    keep_reasoning: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


class LiveModel:
    """Implements `Model`. `on_text` is called with the text of an answer as it comes.

    After a retry the text begins anew; `Http.on_retry` is called before that. `on_summary` is
    called with the tokens that the endpoint counted for a summary.
    """

    def __init__(self, http: Http, wire: Wire, options: Options, texts: Texts,
                 on_text: OnText | None, on_summary: OnSummary | None) -> None:
        self.http, self.wire, self.options, self.on_text = http, wire, options, on_text
        self._texts, self._on_summary = texts, on_summary
        self._window = options.window  # or what a refusal has said it is

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        """The endpoint's answer. Raises `EndpointError` or `PromptTooLongError`."""
        return self._ask(messages, tools, self.on_text or _unheard)

    def for_child(self, _: str) -> dict[str, Any]:
        """The model of a sub-agent: the same endpoint, with the key if one was given."""
        return {"live": asdict(self.options)}

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        """A summary; if it was cut off, it says so. `ModelError` if the answer is none."""
        reply = self._ask(summary_request(messages, form, self._texts), (), _unheard)
        if reply.usage and self._on_summary is not None:
            self._on_summary(reply.usage)
        if reply.tool_calls or not reply.content.strip():
            raise ModelError("the model gave no summary", place=form,
                             value=[call["name"] for call in reply.tool_calls])
        return f"{reply.content}\n{self._texts('summary_cut')}" if reply.cut else reply.content

    def _ask(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]],
             show: OnText) -> Reply:
        endpoint = self.http.endpoint
        turns = [replace(turn, opaque=self._own_opaque(turn.opaque))
                 for turn in legal(messages, self._texts, self.wire.bridged)]
        request = Request(endpoint.model, turns, tools,
                          self.options.max_tokens or longest_answer(self._window),
                          self.options.stream)
        body = {**self.wire.body(request), **self.options.extra}
        try:
            reply = self.http.ask(self.wire.path, self.wire.headers(endpoint.key), body,
                                  lambda answer: self._read(answer, show))
        except PromptTooLongError as error:
            self._window = error.window or self._window
            raise
        return replace(reply, content=clean(reply.content), opaque=self._marked(reply.opaque))

    def _own_opaque(self, opaque: Mapping[str, Any]) -> dict[str, Any]:
        """The opaque parts that this model made; the endpoint could not read others."""
        mine = opaque.get(self.wire.name, {})
        if not isinstance(mine, Mapping) or not self.options.keep_reasoning or (
                mine.get("model") != self.http.endpoint.model):
            return {}
        return {key: value for key, value in mine.items() if key != "model"}

    def _marked(self, opaque: dict[str, Any] | None) -> dict[str, Any] | None:
        """Opaque parts as they enter the history, marked with provider and model; None if they
        are not to be kept, or could not be kept byte for byte."""
        if not opaque or not self.options.keep_reasoning or not is_clean(opaque):
            return None
        return {self.wire.name: {"model": self.http.endpoint.model, **opaque}}

    def _read(self, answer: Answer, show: OnText) -> Reply:
        """The reply in an answer, streamed or whole. `EndpointError` if it is incomplete."""
        endpoint = self.http.endpoint
        made = self.wire.assembly()
        first, lines = _peek(answer.lines)
        if first.startswith(b"<"):
            raise EndpointError("a web page answers there", status="broken", place=endpoint.url,
                                remedy=f"check the path in {endpoint.url_name}")
        if first.startswith(b"{"):
            self._whole(b"".join(lines), made)
        else:
            self._stream(lines, made, show)
        if not made.complete:
            raise broken(endpoint, "the answer breaks off before its end")
        return self._guarded(made.reply)

    def _whole(self, body: bytes, made: Assembly) -> None:
        value = self._object(body.decode("utf-8-sig", "replace"))
        try:
            made.take(value)
        except BAD_DATA as error:
            endpoint = self.http.endpoint
            raise EndpointError(f"what answers there speaks another protocol ({error!r})",
                                status="broken", place=endpoint.url,
                                remedy=f"check {endpoint.url_name} and the provider") from error

    def _stream(self, lines: Iterable[bytes], made: Assembly, show: OnText) -> None:
        try:
            for data in events(lines):
                if data.strip() == "[DONE]":
                    made.complete = True
                    return
                if text := self._guarded(made.add, self._object(data)):
                    show(clean(text))
                if made.complete and not made.trails:
                    return
        except EndpointError:
            if not made.complete:  # after the end a broken connection takes nothing away
                raise

    def _guarded(self, take: Callable[..., T], *parts: Any) -> T:
        """The result of `take(*parts)`; `EndpointError` where they have another form."""
        try:
            return take(*parts)
        except BAD_DATA as error:
            raise broken(self.http.endpoint, f"a part of the answer is wrong ({error!r})"
                         ) from error

    def _object(self, text: str) -> dict[str, Any]:
        """A JSON object of the answer. If it reports an error, that error is raised."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise broken(self.http.endpoint, "a part of the answer is not JSON "
                         f"({number_of(len(text), 'character')})") from error
        if not isinstance(value, dict):
            raise broken(self.http.endpoint, "a part of the answer is not a JSON object")
        if value.get("error"):
            raise refusal_inside(self.http.endpoint, value)
        return value


def _peek(lines: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first line that is not blank, and all lines with it."""
    for line in lines:
        if line.strip():
            return line.strip().removeprefix(b"\xef\xbb\xbf"), chain([line], lines)
    return b"", iter(())


def _unheard(_: str) -> None:
    """Nobody listens."""
