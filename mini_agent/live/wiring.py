"""Milestone 5: builds the parts of a live session from options and environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..assembly import Grant, Setup
from ..chat.contents import status
from ..chat.conversation import Conversation
from ..chat.keyboard import Keyboard, line_editing
from ..chat.narrator import Narrator
from ..chat.permission import Permission
from ..chat.screen import Screen, joined_to_fit, style_of
from ..columns import number_of
from ..compression.budget import window_tokens
from ..compression.catalogue import DEFAULT_POLICY
from ..compression.policies import find_policy, unmodified
from ..errors import UsageError
from ..governance import check_child_scripts, governed_by, with_room
from ..interrupts import Interrupts
from ..lab.session_steps import steps_at
from ..lab.why import explain
from ..lab.whywords import why_lines
from ..meter import Prices, prices
from ..models.base import Model, ParentModel
from ..models.connect import Options, connect
from ..session import Session, begin, resume
from ..subagents.orders import ChildLimits
from ..tasks import load_task
from ..texts import Texts
from ..tools import NAMES, READERS
from ..tools.workspace import Workspace
from ..trace import TraceFile


class Wiring:
    """All parts of a live session except the session itself, which begins with the first message
    or comes from a trace. Raises `UsageError` for whatever is wrong in options or environment.
    """

    def __init__(self, options: argparse.Namespace, environ: Mapping[str, str]) -> None:
        _check(options)
        self._options, self._environ = options, environ
        self.session: Session | None = None
        self.interrupts = Interrupts()
        once = options.request is not None
        self._screen = screen = Screen(sys.stderr if once else sys.stdout, sys.stderr,
                                       style_of(sys.stderr, environ, options.plain))
        self._keyboard = Keyboard(sys.stdin, self.interrupts, sys.stderr, self._kept,
                                  self._given)
        narrator = Narrator(screen, final=not once)
        permission = Permission(Workspace(options.workspace), self._keyboard, screen, narrator,
                                self._texts, options.yes, options.read_only)
        grant = Grant(READERS if options.read_only else NAMES, shell=True, steps=options.max_steps,
                      children=ChildLimits(depth=options.depth) if options.sub_agents else None)
        self._setup = Setup(options.workspace, self._model(""), grant, [narrator],
                            permit=permission, incoming=self._keyboard.typed,
                            interrupts=self.interrupts)

    def begin(self, file: TraceFile, said: str) -> Session:
        """A new session that begins with the message `said`."""
        policy = find_policy(self._options.policy or DEFAULT_POLICY)
        window = _window_of(self._options)
        return self._opened(begin(self._setup, file, governed_by(with_room(policy, window), window),
                                  said))

    def resume(self, file: TraceFile) -> Session:
        """The session of a trace, under the policy and window of the options, if any."""
        session = self._opened(resume(self._setup, file))
        now = session.window
        if self._options.policy or self._options.window:
            policy = self._options.policy
            session.use(find_policy(policy) if policy else unmodified(now.policy),
                        _window_of(self._options) or now.budget.window)
        messages = number_of(len(session.agent.history), "message")
        self._screen.row(f"resumed: {messages}, step {session.step}", "dim")
        return session

    def talk(self, open_: Callable[[str], Session], session: Session | None,
             history: Path) -> int:
        """Hold a conversation to its end; returns the exit status."""
        with line_editing(self._keyboard, history if self._keyboard.interactive else None,
                          pastes=self._environ.get("TERM") != "dumb"):
            return Conversation(
                self._screen, self._keyboard, open_, session=session,
                model=_model_name(self._setup.model), prices=self._prices(),
                connect=self._model, why=explained).run()

    def tell_status(self) -> None:
        """Show the status line, which otherwise the conversation shows."""
        if self.session is not None:
            parts = status(self.session.window, self.session.meter, self._prices(),
                           _model_name(self._setup.model))
            self._screen.tell(joined_to_fit(parts, self._screen.style.width()), "dim")

    def _prices(self) -> Prices | None:
        return prices(self._options.price) if self._options.price else None

    def _opened(self, session: Session) -> Session:
        """Keep the session, and give it a model made for its language and window."""
        self.session = session
        session.model.model = self._model("")
        return session

    def _model(self, name: str) -> ParentModel:
        """The model of this name, or of the options. Nothing is sent yet."""
        options, screen = self._options, self._screen
        if options.script is not None:
            task, session = load_task(options.script), self.session
            check_child_scripts(task)
            return task.model(session.agent.history, session.step) if session else task.model()
        asked = Options(options.provider, options.base_url, name or options.model,
                        window=self._window(), max_tokens=options.max_tokens)
        return connect(asked, self._environ, texts=self._texts(), on_retry=self._retried,
                       on_text=screen.answer if screen.streams else None,
                       on_summary=self._summarised)

    def _window(self) -> int | None:
        """The window in tokens: that of the session, which an endpoint may have named, or before
        there is one that of the options; None if not known."""
        return _window_of(self._options) if self.session is None else (
            self.session.window.budget.window)

    def _texts(self) -> Texts:
        return Texts() if self.session is None else self.session.texts

    def _kept(self, message: str) -> None:
        self._screen.row(f"(kept, comes next: {message})", "dim")

    def _given(self, message: str) -> None:
        self._screen.tell(self._screen.style.prompt + message)

    def _summarised(self, usage: dict[str, int]) -> None:
        """Record the tokens of a summary, under names of their own, since they predict nothing."""
        if self.session is not None:
            self.session.tracer.event("model_usage", step=self.session.step, **{
                f"summary_{name}": tokens for name, tokens in usage.items()})

    def _retried(self, *, attempt: int, status: int | str, wait: float) -> None:
        if self.session is not None:
            self.session.tracer.event("model_retry", step=self.session.agent.step,
                                      attempt=attempt, status=status, wait=wait)


def _check(options: argparse.Namespace) -> None:
    """Raise `UsageError` at once for what would be found only later: wrong prices, window or
    policy, an empty request or none to be told of, two options that exclude each other."""
    if options.price:
        prices(options.price)
    _window_of(options)
    if options.request is not None and not options.request.strip():
        raise UsageError("the request is empty", place="REQUEST",
                         remedy="say what is to be done, or leave it out to talk")
    if options.json and options.request is None:
        raise UsageError("only the outcome of a REQUEST is printed as JSON", place="--json",
                         remedy="give one, or read the trace of the session")
    if options.policy:
        find_policy(options.policy)
    if options.yes and options.read_only:
        raise UsageError("they exclude each other", place="--yes --read-only",
                         remedy="leave one out")


def _window_of(options: argparse.Namespace) -> int | None:
    """The window in tokens that the options name, None if they name none."""
    return window_tokens(options.window) if options.window else None


def _model_name(model: Model) -> str:
    """The name of the model that answers."""
    http = getattr(model, "http", None)
    return http.endpoint.model if http is not None else "script"


def explained(path: Path, text: str) -> Iterator[str]:
    """Why a text is not known, from a trace."""
    for _, steps, history in steps_at(str(path)):
        yield from why_lines(explain(text, steps, history))
