"""Milestone 5: nothing is written and no command runs before a person has allowed it.

Reading inside the workspace needs no permission. For anything else the whole command, or the
diff, is shown with every character visible. The person answers yes, always for this tool, or
no with a reason, which the model gets as DENIED. What is left out: a sandbox; nothing confines
a command that was allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..columns import number_of
from ..compression.inputs import DESCRIBE
from ..errors import ToolError
from ..hostile import exposed
from ..texts import Texts
from ..tools import READERS
from ..tools.base import Tool
from ..tools.edit import occurrences, replaced, unified_diff
from ..tools.workspace import Workspace
from .narrator import Narrator
from .screen import Screen

FREE = (*READERS, "read_result", "recall", "pin", "stage_done", "read_child", DESCRIBE)
MOST_GONE = 1_000_000  # bytes of an old file that a diff shows as removed
YES, ALWAYS, NO = ("y", "yes"), ("a", "always"), ("n", "no")


class Asker(Protocol):
    """Asks for one line. EOFError where nobody can be asked."""

    def ask(self, prompt: str) -> str:
        """The line that is typed after `prompt`."""


@dataclass
class Permission:
    """The `permit` of a tool box, after the guard for pinned paths.

    `always` are the names of tools that are allowed without asking from now on; `yes` allows
    everything. `texts` returns the texts of the session, in its language.
    """

    workspace: Workspace
    asker: Asker
    screen: Screen
    narrator: Narrator
    texts: Callable[[], Texts]
    yes: bool = False
    read_only: bool = False
    always: set[str] = field(default_factory=set)

    def __call__(self, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises `ToolError` DENIED where the call is not allowed."""
        if tool.name in FREE or _only_reads(tool.name, arguments):
            return
        if self.read_only:
            raise ToolError("DENIED", self.texts()("denied_read_only"))
        if self.yes or tool.name in self.always:
            return
        shown = self._shown(tool.name, arguments)
        if shown is None:  # the call will fail on its own, and changes nothing
            return
        with self.narrator.paused():
            self._ask(tool.name, shown)

    def _ask(self, name: str, shown: str) -> None:
        self.screen.tell("\n".join(f"  {line}" for line in exposed(shown).split("\n")), whole=True)
        while True:
            try:
                answer = self.asker.ask(f"{name}? y(es), a(lways), n(o) [reason]: ").strip()
            except EOFError:
                raise ToolError("DENIED", self.texts()("denied_nobody")) from None
            word, _, reason = answer.partition(" ")
            if answer.lower() in YES:
                return
            if answer.lower() in ALWAYS:
                self.always.add(name)
                return
            if word.lower().rstrip(",:") in NO:
                texts = self.texts()
                raise ToolError("DENIED", texts("denied_because", reason=reason.strip())
                                if reason.strip() else texts("denied"))
            self.screen.tell("answer y, a, or n; after n you may give a reason")

    def _shown(self, name: str, arguments: dict[str, Any]) -> str | None:
        """The call as it is shown to the person; None for an edit that will fail anyway."""
        if name == "run_command":
            shell = " (in a shell)" if arguments.get("shell") else ""
            limit = f" (at most {arguments['timeout']:g} s)" if "timeout" in arguments else ""
            return f"run{shell}{limit}:\n{arguments['command']}"
        if name not in ("write_file", "edit_file"):
            return f"{name} {json.dumps(arguments, ensure_ascii=False, indent=1)}"
        try:
            shown = self._diff(name, arguments)
        except ToolError:  # it leads outside, or to nothing that could be edited
            return None
        return None if shown is None else f"{name} {shown}"

    def _diff(self, name: str, arguments: dict[str, Any]) -> str | None:
        path = self.workspace.relative(arguments["path"])
        if name == "write_file":
            return self._whole_file(path, arguments["content"])
        before = self.workspace.read(path).decode("utf-8", "replace")
        found = occurrences(before, arguments["old"]) if arguments["old"] else []
        if len(found) != 1:
            return None
        after = replaced(before, found[0], arguments["new"])
        return f"{path}:\n{_changes(before, after, path)}"

    def _whole_file(self, path: str, content: str) -> str:
        """The diff of a file that is replaced; only the new content, if the old file cannot be read
        or so much of it would go that nobody could look through the diff."""
        try:
            data = self.workspace.read(path)
        except ToolError as error:
            what = "a new file" if error.code == "FILE_NOT_FOUND" else error.message
        else:
            if len(data) - len(content) <= MOST_GONE:
                return f"{path}:\n{_changes(data.decode('utf-8', 'replace'), content, path)}"
            what = f"in place of {number_of(len(data), 'byte', ',')}"
        return f"{path} ({what}):\n{unified_diff('', content, path)}"


def _changes(before: str, after: str, path: str) -> str:
    """The diff, or a note that there is none."""
    return unified_diff(before, after, path) or (
        "(nothing changes)" if before == after else "(only the ends of lines change)")


def _only_reads(name: str, arguments: dict[str, Any]) -> bool:
    """Whether a call starts a sub-agent that can neither write nor run commands."""
    return name == "delegate" and not arguments.get("writes") and (
        "run_command" not in arguments.get("tools", ()))
