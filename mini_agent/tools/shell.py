"""Milestone 2: runs a command, without a shell unless one is asked for.

Commands are the most dangerous tool of an agent. A setting decides whether a shell may be used,
and no key of the user's reaches the environment of a command. What is left out: the process
itself (`process.py`), and a sandbox: a command runs with the user's rights, and the workspace
does not confine it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import call
from pathlib import Path
from typing import Any, ClassVar

from ..data_uris import without_data
from ..errors import ToolError, ToolInterrupted
from ..hostile import clean_output, one_line
from .output import HEADER_ROOM, LIMIT
from .process import ProgramResult, run_program
from .schema import object_of
from .workspace import Workspace

Watch = Callable[[Callable[[], str]], str]  # does some work, and may add to its result
SECONDS = 60.0       # time limit for a command that names none
LONGEST = 600.0      # the highest limit that a call may ask for
SECRETS = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "COOKIE")  # in a variable's name
SECRET_PARTS = ("PAT", "PW", "PWD", "JWT", "DSN", "SAS", "BEARER", "WEBHOOK",
                "AUTHORIZATION")  # as a part of it, between underscores
SECRET_ENDS = ("_AUTH", "_AUTH_CONFIG", "_CONNECTION_STRING", "_BASE_URL")
# A value that is secret: a URL with a password (with any user for http), a key, a login.
_SECRET_VALUE = re.compile(r"://[^/\s@]*:[^/\s@]+@|https?://[^/\s@]+@|PRIVATE KEY-----"
                           r"|\b(?:bearer|basic)\s+\w", re.IGNORECASE)
# What providers begin their keys with, so that one is known by any name.
_KEY = re.compile(r"(?:sk|pk|rk|xai|gsk|glpat|xox[abeprs])[-_][\w-]{16,}|gh[opsur]_\w{20,}"
                  r"|github_pat_\w+|(?:hf|npm)_\w{20,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{20,}"
                  r"|eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*")
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_OPERATOR = re.compile(r"&&|\|\||>>|2>&1|[|&;<>]")


def command_environment(inherited: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables that a command gets: the user's, without secrets and without PYTHON...

    Names are left out if they, in upper case, contain one of SECRETS, have one of SECRET_PARTS,
    end in one of SECRET_ENDS (the URL of an endpoint may contain a key) or begin with PYTHON
    (settings of this interpreter, not of the project); and so are values that contain a
    password or a private key, or are a key themselves. PWD is the workspace.
    """
    kept = {name: value for name, value in inherited.items()
            if not (_is_secret(name.upper()) or _SECRET_VALUE.search(value)
                    or _KEY.fullmatch(value.strip()))}
    return kept | {"PWD": str(root)}


def _is_secret(name: str) -> bool:
    return (any(word in name for word in SECRETS) or any(
        part in SECRET_PARTS for part in name.split("_"))
        or name.endswith(SECRET_ENDS) or name.startswith("PYTHON"))


@dataclass(frozen=True)
class RunCommand:
    """`exit=0` and the output; a command with another exit status is a COMMAND_FAILED.

    `timeout` is in seconds, `limit` in characters; `own_session`: see `process.run_program`.
    `watch` is given the work of each call, since nobody can know beforehand what it writes.
    """

    workspace: Workspace
    allow_shell: bool = False
    timeout: float = SECONDS
    limit: int = LIMIT
    own_session: bool = True
    watch: Watch = call
    name: ClassVar[str] = "run_command"

    @property
    def description(self) -> str:
        """Says that a command is run in the workspace, for how long, and whether by a shell."""
        return self.workspace.texts(
            "tool_run_command_or_shell" if self.allow_shell else "tool_run_command")

    @property
    def parameters(self) -> dict[str, Any]:
        """A command line, whether a shell reads it, and its time in seconds."""
        return object_of({
            "command": {"type": "string", "description": self.workspace.texts("arg_command")},
            "shell": {"type": "boolean", "description": self.workspace.texts("arg_shell")},
            "timeout": {"type": "number", "minimum": 0.1, "maximum": LONGEST,
                        "description": self.workspace.texts(
                            "arg_timeout", seconds=f"{self.timeout:g}")}}, ("command",))

    def check(self, command: str, shell: bool = False, timeout: float | None = None) -> None:
        """Raises `ToolError` for a command line that cannot be run as it is."""
        self._prepared(command, shell)

    def __call__(self, command: str, shell: bool = False, timeout: float | None = None) -> str:
        return self.watch(lambda: self._run(command, shell, timeout or self.timeout))

    def _run(self, command: str, shell: bool, seconds: float) -> str:
        prepared = self._prepared(command, shell)
        try:
            done = run_program(
                prepared, folder=self.workspace.root, timeout=seconds, clean=self._clean,
                environment=command_environment(os.environ, self.workspace.root),
                limit=self.limit - HEADER_ROOM, own_session=self.own_session)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._error("COMMAND_NOT_FOUND", command) from error
        except OSError as error:
            raise self._error("COMMAND_NOT_STARTED", command, reason=error.strerror) from error
        return self._result(done, seconds)

    def _clean(self, text: str) -> str:
        """Cleaned output, without the paths of workspace and interpreter, which differ between
        machines."""
        text = without_data(self.workspace.scrub(clean_output(text)))
        return text.replace(sys.executable, "python3") if sys.executable else text

    def _result(self, done: ProgramResult, seconds: float) -> str:
        """The result; its first line says what was left out. A failure is raised as `ToolError`."""
        output, note = done.head + done.tail, ""
        if done.left_out:
            gap = self.workspace.texts("output_gap", count=done.left_out)
            output = done.head + gap + done.tail
            note = self.workspace.texts("output_cut", head=len(done.head), tail=len(done.tail),
                                        total=len(done.head) + len(done.tail) + done.left_out)
        output = output.removesuffix("\n")
        if done.interrupted:
            raise ToolInterrupted(ToolError(
                "INTERRUPTED", self.workspace.texts("interrupted") + note, output))
        if done.status is None:
            raise ToolError("COMMAND_TIMEOUT", self.workspace.texts(
                "COMMAND_TIMEOUT", seconds=f"{seconds:g}") + note, output)
        if done.status:
            raise ToolError("COMMAND_FAILED", f"exit={done.status}{note}", output)
        return f"exit=0{note}\n{output}"

    def _prepared(self, command: str, shell: bool) -> str | list[str]:
        return self._shell(command) if shell else self._words(command)

    def _shell(self, command: str) -> str:
        """The command for a shell. Raises `ToolError` if the settings allow none."""
        if not self.allow_shell:
            raise ToolError("COMMAND_NOT_ALLOWED", self.workspace.texts("no_shell"))
        if not command.strip() or "\0" in command:
            raise self._error("bad_command", command, reason=self.workspace.texts("empty_command"))
        return command

    def _words(self, command: str) -> list[str]:
        """The words of a command that runs without a shell."""
        operator = _OPERATOR.search(_QUOTED.sub("", command))
        if operator:  # it would reach the program as an argument, unnoticed
            hint = self.workspace.texts("ask_for_shell" if self.allow_shell else "no_shell")
            raise ToolError("COMMAND_NOT_ALLOWED", self.workspace.texts(
                "needs_shell", operator=operator[0], hint=hint))
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise self._error("bad_command", command, reason=str(error)) from error
        if not words or not words[0] or "\0" in command:
            raise self._error("bad_command", command, reason=self.workspace.texts("empty_command"))
        if words[0] in ("python", "python3"):
            # -B: a test run leaves no bytecode behind, which could hide the next edit.
            words[:1] = [sys.executable, "-B"]
        return words

    def _error(self, code: str, command: str, **fields: object) -> ToolError:
        text = self.workspace.texts(code, command=one_line(command), **fields)
        return ToolError("BAD_ARGUMENTS" if code == "bad_command" else code, text)
