"""A conversation for the tests: typed lines in, what two streams were given out."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mini_agent.assembly import Grant, Setup
from mini_agent.chat.conversation import Conversation
from mini_agent.chat.narrator import Narrator
from mini_agent.chat.permission import Permission
from mini_agent.chat.screen import Screen, Style
from mini_agent.compression.policies import find_policy
from mini_agent.governance import governed_by
from mini_agent.models.base import Model
from mini_agent.session import Session, begin, resume
from mini_agent.texts import Texts
from mini_agent.tools import NAMES, READERS
from mini_agent.tools.workspace import Workspace
from mini_agent.trace import TraceFile
from tests.sessions import Counter, Speaker


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Typist:
    """A keyboard with lines to type; an exception among them is raised in its place, and one
    with an argument has thrown away what was begun to be typed."""

    def __init__(self, lines: Sequence[Any], interactive: bool = True) -> None:
        self.lines, self.interactive = deque(lines), interactive
        self.asked: list[str] = []
        self.begun = False

    def message(self, prompt: str) -> str:
        return self._next()

    def ask(self, prompt: str) -> str:
        self.asked.append(prompt)
        if not self.interactive:
            raise EOFError
        return self._next()

    def _next(self) -> str:
        if not self.lines:
            raise EOFError
        line = self.lines.popleft()
        if isinstance(line, BaseException) or isinstance(line, type):
            self.begun = not isinstance(line, type) and bool(line.args)
            raise line
        return line

    def typed(self) -> list[str]:
        return []

    @contextmanager
    def listening(self) -> Iterator[None]:
        yield


class Talk:
    """Runs a conversation in a folder, with `again` one that goes on with the last one's session;
    `out` and `err` are what a person saw."""

    def __init__(self, folder: Path, replies: Sequence[Any], lines: Sequence[Any], *,
                 columns: int = 80, plain: bool = False, terminal: bool = True,
                 policy: str = "clip_errors_summary", window: int | None = 32_000,
                 yes: bool = False, read_only: bool = False, again: bool = False,
                 **options: Any) -> None:
        self.model = Speaker(list(replies))
        self.out = Terminal() if terminal else io.StringIO()
        self.err = Terminal() if terminal else io.StringIO()
        self.screen = Screen(self.out, self.err, Style(plain=plain, columns=columns))
        self.keyboard = Typist(lines, terminal)
        self.counter = Counter()
        narrator = Narrator(self.screen, clock=lambda: 0.0)
        self.permission = Permission(Workspace(folder), self.keyboard, self.screen, narrator,
                                     Texts, yes, read_only, {"count"})
        setup = Setup(folder, self.model, Grant(READERS if read_only else NAMES, shell=True),
                      sinks=[narrator], extra=[self.counter], permit=self.permission,
                      incoming=self.keyboard.typed)
        self.session: Session | None = None

        def opened(said: str) -> Session:
            self.session = begin(setup, file, governed_by(find_policy(policy), window), said)
            return self.session

        options = {"connect": self._connect, "why": lambda path, text: [f"why {text}"], **options}
        with TraceFile(folder / "s.jsonl", fresh=not again) as file:
            if again:
                self.session = resume(setup, file)
            self.talk = Conversation(self.screen, self.keyboard, opened, model="one",
                                     session=self.session, **options)
            self.status = self.talk.run()
        self.told = self.err.getvalue()

    def _connect(self, name: str) -> Model:
        self.model = Speaker([*self.model.replies], self.model.asked)
        return self.model
