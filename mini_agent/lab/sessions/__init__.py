"""Milestone 6: recorded sessions of any known agent, found by content, in one form.

    for session in open_sessions("rollout.jsonl"):
        session.messages, session.steps, session.host_compressions, session.notes

`document.py` reads the file, the reader of its format finds the pieces (`log.py`), and
`join.py` makes a history of them. Start with `base.py`, then any reader.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...hostile import escaped
from ...subagents.traces import children_of, find_trace
from .anthropic import Anthropic
from .atif import Atif
from .base import HostCompression, LogSession, LogSize, MendedFault, Reader, left_out
from .claude_code import ClaudeCode
from .codex import Codex
from .copilot import Copilot
from .document import Document, Unreadable, type_in_words
from .gemini import Gemini
from .mini_swe import MiniSwe
from .openai_chat import OpenAIChat
from .opencode import OpenCode
from .openhands import OpenHands
from .pi import Pi
from .responses import Responses
from .swe_agent import SweAgent
from .task_file import TaskFile
from .trace_file import OwnTrace

__all__ = ["READERS", "Document", "HostCompression", "LogSession", "LogSize", "Reader",
           "Unreadable", "left_out", "open_sessions"]

READERS: tuple[Reader, ...] = (  # the most specific first; the first that detects the file reads it
    TaskFile(), OwnTrace(), ClaudeCode(), Codex(), Copilot(), Pi(), OpenCode(), SweAgent(),
    MiniSwe(), OpenHands(), Atif(), Gemini(), Anthropic(), Responses(),
    OpenAIChat(),
)


def open_sessions(path: str | Path,
                  run: Callable[[str], list[LogSession]] | None = None) -> list[LogSession]:
    """All sessions of a file, in its order; at least one, each with messages.

    After the session of a trace come those of its sub-agents, `NAME#1` and so on. A task file
    has sessions only when it is run, which `run` does; without `run` it is refused. Lines that
    could not be read are in `unreadable` of the first session. Raises `UsageError` for a file
    without a session: missing, a folder, empty, binary, not JSON, of no known format, with
    nothing but unreadable lines, or without messages.
    """
    path = find_trace(str(path))
    document = Document.open(path)
    reader = next((reader for reader in READERS if reader.detects(document)), None)
    if reader is None:
        raise UsageError(f"no reader for this format: {_shape(document)}", place=str(path),
                         value=_shape(document),
                         remedy="known are " + ", ".join(reader.name for reader in READERS)
                         + "; a list of chat messages, or one a line, will do")
    found = run(str(path)) if run and isinstance(reader, TaskFile) else reader.read(document)
    sessions = [session for session in found if session.messages]
    if not sessions:
        broken = "".join(f", {len(document.unreadable)} unreadable, the first in line "
                         f"{first.line}: {first.what}" for first in document.unreadable[:1])
        raise UsageError(f"no message is in this {reader.name} file{broken}", place=str(path),
                         value=0, remedy="give a recorded session")
    _note_what_was_lost(sessions[0], document, len(found) - len(sessions))
    _name_apart(sessions)
    return sessions + (_children(path, sessions[0]) if isinstance(reader, OwnTrace) else [])


def _note_what_was_lost(first: LogSession, document: Document, silent: int) -> None:
    """Put into the first session what was wrong with the file, and how many of its sessions
    were left out for having no message."""
    first.unreadable = sorted(document.unreadable, key=lambda lost: lost.line)
    if document.bad_lines:
        first.notes["lines_with_bad_bytes"] = len(document.bad_lines)
        first.mended += [MendedFault(f"line {line}", "lines_with_bad_bytes")
                         for line in document.bad_lines]
    if silent:
        first.notes["sessions_without_messages"] = silent


def _children(path: Path, parent: LogSession) -> list[LogSession]:
    """The sessions of the sub-agents of a trace; those without messages are only counted."""
    found: list[LogSession] = []
    for number, trace in children_of(path):
        try:
            sessions = open_sessions(trace)
        except UsageError:
            parent.notes["children_without_messages"] = parent.notes.get(
                "children_without_messages", 0) + 1
            continue
        for session in sessions:
            session.name = f"{parent.name}#{number}{session.name.removeprefix(trace.name)}"
        found += sessions
    return found


def _name_apart(sessions: list[LogSession]) -> None:
    """Make the names of the sessions of a file differ."""
    names: dict[str, int] = {}
    for session in sessions:
        names[session.name] = names.get(session.name, 0) + 1
        if names[session.name] > 1:
            session.name += f" ({names[session.name]})"


def _shape(document: Document) -> str:
    """What a file of no known format looks like, in a few words."""
    first: Any = document.head[0] if document.head else None
    what = type_in_words(first)
    if isinstance(first, dict):
        keys = ", ".join(escaped(key[:24]) for key in list(first)[:6])
        what = f"objects with {keys or 'no keys'}"
    if document.value is None:
        return f"JSON lines, {what}"
    return f"a JSON list, {what}" if isinstance(document.value, list) else f"one JSON value, {what}"
