"""Milestone 5: the parts of a live session, put together from options and environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..chat.conversation import Conversation
from ..chat.keyboard import Keyboard, line_editing
from ..chat.narrator import Narrator
from ..chat.permission import Permission
from ..chat.screen import Screen, style_of
from ..compression.policies import find_policy, policy_names
from ..errors import UsageError
from ..interrupts import Interrupts
from ..lab.look import steps_at, tokens_of
from ..lab.why import explain, lines
from ..meter import prices
from ..models.base import Model
from ..models.connect import Options, connect
from ..models.scripted import ScriptedModel
from ..runner import governed_by
from ..session import Session, Setup, begin, resume
from ..tasks import load_task
from ..texts import Texts
from ..tools.workspace import Workspace
from ..trace import TraceFile


@dataclass
class Wired:
    """All parts but the session, which comes with the first message or from a trace."""

    options: argparse.Namespace
    screen: Screen
    keyboard: Keyboard
    interrupts: Interrupts
    setup: Setup
    connect: Callable[[str], Model]
    session: Session | None = None

    def begin(self, file: TraceFile, said: str) -> Session:
        """A new session for what is said first."""
        policy = find_policy(self.options.policy or default_policy())
        governance = governed_by(policy, _window(self.options))
        self.session = begin(self.setup, file, governance, said)
        return self.session

    def resume(self, file: TraceFile) -> Session:
        """The session of a trace, under the policy and window of the options, if any."""
        self.session = session = resume(self.setup, file)
        now = session.window
        if self.options.policy or self.options.window:
            session.use(find_policy(self.options.policy or now.policy.name),
                        _window(self.options) or now.budget.window)
        self.screen.row(f"resumed: {len(session.agent.history)} messages, step {session.step}", "dim")
        return session

    def talk(self, open_: Callable[[str], Session] | None, session: Session | None,
             history: Path | None) -> int:
        """A conversation until its end; the exit status."""
        asked = self.options.price
        with line_editing(self.keyboard, history if self.keyboard.interactive else None):
            return Conversation(
                self.screen, self.keyboard, open_ or _never, session=session,
                model=model_name(self.setup.model), prices=prices(asked) if asked else None,
                connect=self.connect, why=explained).run()


def wire(options: argparse.Namespace, environ: Mapping[str, str]) -> Wired:
    """The parts. Raises `UsageError` for whatever is wrong in options or environment."""
    if not options.workspace.is_dir():
        raise UsageError("the workspace is not a folder", place=str(options.workspace),
                         remedy="name a folder that is there with --workspace")
    _check(options)
    once = options.request is not None
    screen = Screen(sys.stderr if once else sys.stdout, sys.stderr,
                    style_of(sys.stderr, environ, options.plain))
    interrupts = Interrupts()
    keyboard = Keyboard(sys.stdin, interrupts, sys.stderr,
                        lambda message: screen.row(f"(kept, comes next: {message})", "dim"))
    narrator = Narrator(screen, final=not once)
    wired: Wired | None = None  # the model is made before it, and speaks of it later

    def texts() -> Texts:
        return wired.session.texts if wired and wired.session else Texts()

    def retried(**retry: object) -> None:
        if wired is not None and wired.session is not None:
            wired.session.tracer.event("model_retry", step=wired.session.agent.step, **retry)

    def made(name: str) -> Model:
        if options.script is not None:
            task = load_task(options.script)
            return ScriptedModel(task.replies, task.summaries, Texts(task.language))
        asked = Options(options.provider, options.base_url, name or options.model,
                        window=_window(options), max_tokens=options.max_tokens,
                        stream=screen.streams)
        return connect(asked, environ, texts=texts(), on_retry=retried,
                       on_text=screen.answer if screen.streams else None)

    permission = Permission(Workspace(options.workspace), keyboard, screen, narrator, texts,
                            options.yes, options.read_only)
    setup = Setup(options.workspace, made(""), interrupts, permission, keyboard.typed,
                  (narrator,), options.read_only, max_steps=options.max_steps)
    wired = Wired(options, screen, keyboard, interrupts, setup, made)
    return wired


def _check(options: argparse.Namespace) -> None:
    """What would only be found later: prices, window, policy, numbers below 1."""
    if options.price:
        prices(options.price)
    _window(options)
    if options.policy:
        find_policy(options.policy)
    for name in ("max_tokens", "max_steps"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"{value} is no limit", place=f"--{name.replace('_', '-')}",
                             value=value, remedy="give a positive number")
    if options.yes and options.read_only:
        raise UsageError("both at once cannot be", place="--yes --read-only",
                         remedy="leave one out")


def default_policy() -> str:
    """The policy of a session for which none is named."""
    return "digest" if "digest" in policy_names() else "clip_errors_summary"


def _window(options: argparse.Namespace) -> int | None:
    return tokens_of(options.window) if options.window else None


def model_name(model: Model) -> str:
    """How the model is called that answers."""
    http = getattr(model, "http", None)
    return http.endpoint.model if http is not None else "script"


def explained(path: Path, text: str) -> Iterator[str]:
    """Why a text is not known, from a trace."""
    for _, steps, history in steps_at(str(path)):
        yield from lines(explain(text, steps, history))


def _never(said: str) -> Session:
    raise UsageError("a resumed session is there already", value=said)
