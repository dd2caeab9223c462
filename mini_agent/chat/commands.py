"""Milestone 5: the commands of a conversation, which begin with `/`.

A command is a function of the conversation and the rest of the line; its docstring is its
help. A mistake of the user raises `UsageError`. What is left out: the conversation itself
(`conversation.py`).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from ..columns import number_of
from ..compression.pins import KINDS, Pin
from ..compression.policies import find_policy, policy_names
from ..compression.settings import nearest
from ..disk import read_file, write_file
from ..errors import UsageError
from ..hostile import escaped
from ..models.base import ParentModel
from ..session import Session
from ..trace import trace_folder
from .contents import contents
from .screen import Screen


class Talk(Protocol):
    """What a command needs of the conversation; it may change `model` and `over`."""

    session: Session | None
    screen: Screen
    model: str
    over: bool
    connect: Callable[[str], ParentModel]
    why: Callable[[Path, str], Iterable[str]]


Command = Callable[[Talk, str], None]


def slash_command(chat: Talk, line: str) -> None:
    """Do what a line that begins with `/NAME` says. Raises `UsageError`."""
    name, *rest = re.split(r"\s", line[1:], maxsplit=1)
    if name not in COMMANDS:
        raise UsageError(f"no command /{name}", place="chat", value=name,
                         remedy=nearest(name, COMMANDS) + " (/help lists them)")
    COMMANDS[name](chat, "".join(rest).strip())


def _context(chat: Talk, rest: str) -> None:
    """/context            what fills the window"""
    session = _session(chat)
    for line in contents(session.window, chat.screen.style):
        chat.screen.tell(line)


def _compact(chat: Talk, rest: str) -> None:
    """/compact [FOCUS]    compress now; keep what has to do with FOCUS"""
    session = _session(chat)
    before, after = session.window.compact(session.step, rest)
    chat.screen.tell(f"{before:,} -> {number_of(after, 'token', ',')}" if after < before else
                     f"nothing gained: still {number_of(before, 'token', ',')}")


def _pin(chat: Talk, rest: str) -> None:
    """/pin [KIND] [TEXT]  keep TEXT, or your last message, word for word"""
    session = _session(chat)
    kind, _, text = rest.partition(" ")
    if kind not in KINDS:
        kind, text = KINDS[0], rest
    text = text.strip()
    history = list(enumerate(session.agent.history))
    if text:
        found = [index for index, message in history if text in message["content"]]
    else:
        found = [index for index, message in history if message["role"] == "user"]
    if not found:
        raise UsageError("no message has this text word for word", place="/pin", value=text,
                         remedy="say it first, then pin it")
    refused = session.window.pin(Pin(found[-1], text, kind), session.step, "user")
    if refused:
        raise UsageError(refused, place="/pin", value=text, remedy="pin less")
    part = "a stretch of " if text else ""
    chat.screen.tell(f"pinned as {kind}: {part}message #{found[-1]}")


def _stage(chat: Talk, rest: str) -> None:
    """/stage NAME         a stage of the work ends here"""
    session = _session(chat)
    if not rest:
        raise UsageError("a stage needs a name", place="/stage", remedy="write /stage NAME")
    session.window.stage_done(session.agent.history, rest, session.step)
    chat.screen.tell(f"stage {rest} has ended")


def _why(chat: Talk, rest: str) -> None:
    """/why TEXT           when could the model see TEXT, and what took it away"""
    session = _session(chat)
    if not rest:
        raise UsageError("an empty text is everywhere", place="/why", remedy="write /why TEXT")
    for line in chat.why(session.path, rest):
        chat.screen.tell(line)


def _undo(chat: Talk, rest: str) -> None:
    """/undo               take back the last compression"""
    session = _session(chat)
    before, after = session.window.undo(session.step)
    chat.screen.tell(f"{before:,} -> {number_of(after, 'token', ',')}")


def _policy(chat: Talk, rest: str) -> None:
    """/policy [NAME]      how the window is kept small; change it"""
    if not rest:
        now = chat.session.window.policy if chat.session else None
        if now is not None and now.data is not None:
            chat.screen.tell(f"{now.name} (now, from a file): {now.about}")
        for name in policy_names():
            mark = " (now)" if now is not None and (now.name, now.data) == (name, None) else ""
            chat.screen.tell(f"{name}{mark}: {find_policy(name).about}")
        return
    session = _session(chat)
    session.use(find_policy(rest), session.window.budget.window)
    chat.screen.tell(f"policy {rest}: {session.window.policy.about}")


def _model(chat: Talk, rest: str) -> None:
    """/model [NAME]       which model answers; change it"""
    if rest:
        _session(chat).use_model(chat.connect(rest), rest)
        chat.model = rest
    chat.screen.tell(f"model {chat.model}")


def _save(chat: Talk, rest: str) -> None:
    """/save [FILE]        where the session is kept; copy it to FILE"""
    session = _session(chat)
    if rest:
        copy_session(session.path, _target(rest))
    chat.screen.tell(f"saved: {escaped(rest or str(session.path))}")


def _help(chat: Talk, rest: str) -> None:
    """/help               this list"""
    wide = chat.screen.style.width() >= WIDE
    for command in COMMANDS.values():
        usage, _, about = (command.__doc__ or "").partition("  ")
        chat.screen.tell(f"{usage:<{USAGE}}{about.strip()}" if wide else
                         f"{usage}: {about.strip()}", whole=wide)
    chat.screen.tell(HELP)


def _quit(chat: Talk, rest: str) -> None:
    """/quit               end; the session can be resumed"""
    chat.over = True


WIDE, USAGE = 72, 22  # columns that the table of /help needs, and those of its first column
HELP = (
    'A line that ends in \\ goes on; a message of many lines stands between lines of """, or is '
    "pasted.\n"
    "What you type while the model works is kept and comes next. An empty line goes on.\n"
    "Ctrl-C ends the step, twice the program.")

COMMANDS: dict[str, Command] = {
    "context": _context, "compact": _compact, "pin": _pin, "stage": _stage, "why": _why,
    "undo": _undo, "policy": _policy, "model": _model, "save": _save, "help": _help,
    "quit": _quit}


def _session(chat: Talk) -> Session:
    if chat.session is None:
        raise UsageError("nothing has been said yet", place="chat", remedy="say something first")
    chat.session.window.take_in(chat.session.agent.history)
    return chat.session


def _target(name: str) -> Path:
    """The path of a copy, where neither a file nor the folder of a run exists yet. Raises
    `UsageError`."""
    try:
        path = Path(name).expanduser()
        if "\0" in name:
            raise ValueError("it has a NUL")
    except (RuntimeError, ValueError) as error:  # of nobody's home, a NUL
        raise UsageError(f"not a name of a file ({error})", place="/save", value=name,
                         remedy="name another one") from error
    if os.path.lexists(path) or os.path.lexists(trace_folder(path)):
        raise UsageError("there is a file already", place=str(path), remedy="name another one")
    return path


def copy_session(source: Path, target: Path) -> None:
    """Copy a trace with its folder. Raises `UsageError`."""
    folder = trace_folder(target)
    try:
        if trace_folder(source).is_dir():
            shutil.copytree(trace_folder(source), folder)
        write_file(target, read_file(source), private=True)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)  # half a copy is none
        raise UsageError(f"it cannot be written ({error.strerror or 'its folder'})",
                         place=str(target),
                         remedy="name a file in a folder that you may write to") from error
