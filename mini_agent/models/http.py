"""Milestone 5: asking an endpoint until it answers, or until asking again makes no sense.

`ask` posts one request and reads the answer; after a transient fault (`faults.py` decides) it
asks again, with growing waits. An answer counts only once `read` has taken all of it in.
Clock, sleep and chance are handed in. What is left out: the sockets (`transport.py`) and the
content of requests and answers (`openai.py`, `anthropic.py`).
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..columns import number_of
from ..errors import BUILT_WITH_IT, EndpointError
from .endpoint import Endpoint
from .faults import refusal

T = TypeVar("T")
HEADERS = {"Content-Type": "application/json", "User-Agent": "mini-agent",
           "Accept": "text/event-stream, application/json"}
REFUSAL = 100_000  # bytes of a refusal that are read


@dataclass(frozen=True)
class RequestLimits:
    """What a request may take, in seconds and bytes. `retries` are tries after the first one.

    `read` is the longest silence before the first byte or between two, `whole` the time for a
    whole answer. Waits double from `first_wait` up to `longest_wait`; an endpoint that asks for
    more than that is not asked again. A line may have `line` bytes, an answer `answer` bytes
    and `ends` line ends (three for each token of the longest); `piece` bytes are read at once.
    """

    connect: float = 15.0
    read: float = 300.0
    whole: float = 1_800.0
    retries: int = 4
    first_wait: float = 1.0
    longest_wait: float = 60.0
    line: int = 16_000_000
    piece: int = 65_536
    answer: int = 64_000_000
    ends: int = 2_000_000


@dataclass(frozen=True)
class Answer:
    """An answer that is not an error: its media type, and its raw lines.

    Taking a line may raise `EndpointError`.
    """

    kind: str
    lines: Iterator[bytes]


class OnRetry(Protocol):
    """Called before each retry: `attempt` counts from 1, `wait` is in seconds."""

    def __call__(self, *, attempt: int, status: int | str, wait: float) -> None: ...


def silent(*, attempt: int, status: int | str, wait: float) -> None:
    """Nobody listens."""


class Http:
    """An endpoint to post to."""

    def __init__(self, endpoint: Endpoint, limits: RequestLimits = RequestLimits(), *,
                 clock: Callable[[], float] = time.monotonic,
                 date: Callable[[], float] = time.time,
                 sleep: Callable[[float], None] = time.sleep,
                 chance: Callable[[], float] = random.random,
                 on_retry: OnRetry = silent) -> None:
        self.endpoint, self.limits, self.on_retry = endpoint, limits, on_retry
        self._clock, self._date, self._sleep, self._chance = clock, date, sleep, chance
        self._reached = False  # an endpoint never reached may be mistyped: no retry

    def ask(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any],
            read: Callable[[Answer], T]) -> T:
        """Post `body` as JSON; returns what `read` makes of the answer.

        Raises `EndpointError` or `PromptTooLongError` when there is nothing to wait for.
        """
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._once(path, headers, data, read)
            except EndpointError as error:
                wait, status = self._wait(error, attempt), error.status
                if wait is None:
                    raise
            self.on_retry(attempt=attempt, status=status, wait=wait)
            self._sleep(wait)

    def _once(self, path: str, headers: Mapping[str, str], data: bytes,
              read: Callable[[Answer], T]) -> T:
        try:
            from .transport import FAULTS, breakdown, post  # not before the first request
        except ImportError as error:
            raise EndpointError(f"this Python has no module {error.name!r}", status="unreachable",
                                place=self.endpoint.url, remedy=BUILT_WITH_IT) from error

        deadline = self._clock() + self.limits.whole
        try:
            response = post(self.endpoint.url + path, data, {**HEADERS, **headers},
                            self.limits.connect, self.limits.read)
        except FAULTS as error:
            raise breakdown(self.endpoint, error) from error
        self._reached = True
        with response:
            lines = self._lines(response, deadline)
            if not 200 <= response.status < 300:
                named = {name.lower(): value for name, value in response.headers.items()}
                raise refusal(self.endpoint, response.status, named, _start(lines), self._date())
            return read(Answer(response.headers.get_content_type(), lines))

    def _lines(self, response: Any, deadline: float) -> Iterator[bytes]:
        """The lines of a body, without the key. Raises `EndpointError` over a limit."""
        rest = bytearray()  # the line so far, from pieces that may be a byte each
        for piece in self._pieces(response, deadline):
            head, *lines = piece.split(b"\n")
            rest += head
            if len(rest) >= self.limits.line:
                raise self._endless()
            for line in lines:
                yield self.endpoint.hide(bytes(rest) + b"\n")
                rest = bytearray(line)
        if rest:
            yield self.endpoint.hide(bytes(rest))

    def _pieces(self, response: Any, deadline: float) -> Iterator[bytes]:
        """The body as it comes, checked against the limits piece by piece, since a body that
        trickles in may have no line before its end."""
        from .transport import body_pieces

        size = ends = 0
        for piece in body_pieces(self.endpoint, response, self.limits.piece):
            size += len(piece)
            ends += piece.count(b"\n") + piece.count(b"\r")  # each may be an event to parse
            if size > self.limits.answer or ends > self.limits.ends:
                raise self._endless()
            if self._clock() > deadline:
                longest = number_of(self.limits.whole, "second", "g")
                raise EndpointError(f"the answer took longer than {longest}",
                                    status="timeout", place=self.endpoint.url,
                                    remedy="ask for less at once")
            yield piece

    def _endless(self) -> EndpointError:
        return EndpointError("the answer has no end", status="broken", place=self.endpoint.url,
                             remedy="check what answers there")

    def _wait(self, error: EndpointError, attempt: int) -> float | None:
        """Seconds before the next try; None if there is to be none."""
        if not error.transient or attempt > self.limits.retries:
            return None
        if error.status == "unreachable" and not self._reached:
            return None
        if error.wait:  # not 0 (at once, a date in the past): that would never grow
            asked = error.wait * (1 + self._chance() / 10)  # not before the time it asked for
            return round(asked, 3) if error.wait <= self.limits.longest_wait else None
        wait: float = min(self.limits.longest_wait, self.limits.first_wait * 2 ** (attempt - 1))
        return round(wait * (1 + self._chance()) / 2, 3)  # half is certain, half is chance


def _start(lines: Iterator[bytes]) -> bytes:
    """The first `REFUSAL` bytes of a body, or those that came before it broke off; the status
    alone would do."""
    body = bytearray()
    try:
        for line in lines:
            body += line
            if len(body) >= REFUSAL:
                break
    except EndpointError as error:
        body += f" (then: {error.message})".encode()
    return bytes(body)
