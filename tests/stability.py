"""How much of each request a provider's cache can keep, judged from a trace alone.

A cache keeps the leading part of a request that is byte for byte the last one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mini_agent.compression.state import WindowState
from mini_agent.compression.view import Entry, same_prefix
from mini_agent.texts import Texts
from mini_agent.tokens import Estimator
from mini_agent.trace import Record


@dataclass(frozen=True)
class Request:
    """One request: its step, its tokens, how many of them the last one began with too.

    `promised` is the least `prefix_kept` of the changes since the last request, and
    all of that request where nothing was changed.
    """

    step: int
    tokens: int
    kept: int
    promised: int

    @property
    def share(self) -> float:
        """The share of this request, 0 to 1, that is unchanged from the last one."""
        return self.kept / self.tokens if self.tokens else 1.0


def requests(records: Iterable[Record], estimate: Estimator) -> Iterator[Request]:
    """Each request of a trace. Tokens are those of the view, without declarations.

    Raises `TraceError` where a record does not fit.
    """
    state = WindowState(estimate, Texts())
    last: list[Entry] = []
    kept: list[int] = []
    for record in records:
        state.fold(record)
        if record["type"] == "message":
            continue
        payload = record["payload"]
        if "prefix_kept" in payload:
            kept.append(payload["prefix_kept"])
        if record["event"] == "model_call":
            whole = sum(entry.tokens for entry in last)
            yield Request(payload["step"], state.view.tokens,
                          same_prefix(last, state.view.entries), min([whole, *kept]))
            last, kept = list(state.view.entries), []
