"""Milestone 5: the conversation: a message or command of the user, a turn of the model, and so on.

Ctrl-C once ends the step, or discards a line that is half typed; twice in a row it ends the
program. A fault in a turn is reported, and the session can go on. What is left out: how a
session is kept (`session.py`), how things look (`screen.py`), the commands (`commands.py`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import DONE, FAILED, INTERRUPTED, MiniAgentError, TraceError
from ..loop import Outcome
from ..meter import Prices
from ..models.base import ParentModel
from ..session import Session
from .commands import slash_command
from .contents import status
from .keyboard import Keyboard
from .lines import is_command
from .screen import Screen, joined_to_fit


class Conversation:
    """`open_` begins a session with the first message; `session` is one to continue instead.

    `why` explains a text from a trace, `connect` makes a model from its name; `model` is the
    name of the model that answers now.
    """

    def __init__(self, screen: Screen, keyboard: Keyboard, open_: Callable[[str], Session], *,
                 session: Session | None = None, model: str = "", prices: Prices | None = None,
                 connect: Callable[[str], ParentModel],
                 why: Callable[[Path, str], Iterable[str]]) -> None:
        self.screen, self.keyboard, self.session, self.model = screen, keyboard, session, model
        self.connect, self.why = connect, why
        self.over = False
        self._open, self._prices = open_, prices
        self._outcome = Outcome("closed")
        self._interrupted = False  # whether the last thing was a Ctrl-C

    def run(self) -> int:
        """Talk until the end; returns the exit status. `TraceError` if nothing can be kept."""
        if self.session is not None and self.session.due:
            if self.session.meter.stopped and self.keyboard.interactive:
                self.screen.tell("(the last turn was interrupted; an empty line goes on)")
            else:
                self._turn()
        while not self.over:
            self._next()
        return self._close()

    def _next(self) -> None:
        """Read and do one message or command."""
        try:
            said = self.keyboard.message(self._prompt())
            self._interrupted = False
            if is_command(said):
                slash_command(self, said)
            elif said.strip():
                self._turn(said)
            elif self.session is not None and self.session.due:
                self._turn()
        except EOFError:
            self.over = True
        except KeyboardInterrupt:
            again = self._interrupted and not self.keyboard.begun
            self.over = again or not self.keyboard.interactive
            self.screen.tell("" if self.over else "\n(Ctrl-C again ends the program)")
            self._interrupted = True
        except TraceError:
            raise
        except MiniAgentError as error:
            self.screen.tell(f"mini-agent: {error}", "red")

    def _turn(self, *said: str) -> None:
        """Let the model work until it is the user's turn again."""
        if self.session is None:
            self.session = self._open(said[0])
        with self.keyboard.listening():
            self._outcome = outcome = self.session.turn(*said)
        self.screen.end_answer()
        if outcome.reason == "trace_failed":
            raise TraceError(outcome.detail)
        self._interrupted = outcome.reason == "interrupted"
        self.over = self._interrupted and not self.keyboard.interactive
        if not outcome.done and outcome.reason != "interrupted":
            self.screen.tell(f"mini-agent: {outcome.reason}: {outcome.detail}", "red")
            if self.keyboard.interactive and self.session.due:
                self.screen.tell("(an empty line tries again)")

    def _prompt(self) -> str:
        """Show the status line; returns the prompt below it."""
        if not self.keyboard.interactive:
            return ""
        if self.session is not None:
            self.session.window.take_in(self.session.agent.history)
            parts = status(self.session.window, self.session.meter, self._prices, self.model)
            self.screen.tell(joined_to_fit(parts, self.screen.style.width()), "dim")
        return self.screen.style.prompt

    def _close(self) -> int:
        """Record the end, and say how the session can be resumed."""
        if self.session is None:
            return INTERRUPTED if self._interrupted else DONE
        ended = self.session.finish(self._outcome)
        if ended.reason == "trace_failed":
            raise TraceError(ended.detail)
        if self.keyboard.interactive:
            self.screen.tell("resume with: mini-agent resume "
                             f"{shlex.quote(str(self.session.path))}", whole=True)
        if self._interrupted:
            return INTERRUPTED
        well = self._outcome.done or self._outcome.reason == "closed"
        return DONE if well or self.keyboard.interactive else FAILED
