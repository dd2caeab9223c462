"""A live session for the tests: a scripted model whose requests are kept, a folder to work in."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mini_agent import extract
from mini_agent.assembly import Setup
from mini_agent.compression.policies import find_policy
from mini_agent.errors import ModelError
from mini_agent.governance import governed_by
from mini_agent.messages import Message, call
from mini_agent.models.base import Reply
from mini_agent.session import Session, begin, resume
from mini_agent.texts import Texts
from mini_agent.trace import TraceFile


class Stop(ModelError):
    """The script has no more to say: a turn ends here, as if an endpoint had failed."""


@dataclass
class Speaker:
    """A model that gives the replies of a script and keeps what it was asked."""

    replies: list[Any] = field(default_factory=list)
    asked: list[list[Message]] = field(default_factory=list)

    def complete(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Reply:
        self.asked.append(copy.deepcopy(list(messages)))
        if not self.replies:
            raise Stop("nothing more to say")
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply() if callable(reply) else reply

    def summarize(self, messages: Sequence[Message], form: str) -> str:
        return extract.summary(form, messages, Texts())


@dataclass
class Counter:
    """A tool that counts how often it ran; its result is long and always another."""

    runs: list[int] = field(default_factory=list)
    lines: int = 30
    name: str = "count"
    description: str = "Counts."

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"n": {"type": "integer"}}}

    def __call__(self, n: int = 0) -> str:
        self.runs.append(n)
        return "\n".join(f"count {n} line {line} of the result" for line in range(self.lines))


def counting(*numbers: int, said: str = "", usage: dict[str, int] | None = None) -> Reply:
    """A reply that calls `count` once for each number, with ids that repeat."""
    return Reply(said, tuple(call(f"c{at}", "count", {"n": number})
                             for at, number in enumerate(numbers)), usage)


def started(folder: Path, model: Speaker, said: str, *, policy: str = "clip_errors_summary",
            window: int | None = 4_000, **options: Any) -> tuple[Session, TraceFile]:
    """A new session in a folder, its trace open. Nothing was asked yet."""
    file = TraceFile(folder / "s.jsonl")
    setup = Setup(folder, model, **options)
    return begin(setup, file, governed_by(find_policy(policy), window), said), file


def taken_up(path: Path, model: Speaker, **options: Any) -> tuple[Session, TraceFile]:
    """The session of a trace, which is open then."""
    file = TraceFile(path, fresh=False)
    try:
        return resume(Setup(path.parent, model, **options), file), file
    except BaseException:
        file.close()
        raise
