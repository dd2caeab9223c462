"""Milestone 2: paths that may not be written, whoever tries.

A pin may carry `protect: GLOB`. A tool that writes a file is refused with
PROTECTED_PATH; what a command does cannot be held back here, so its result says
what it changed. `*` crosses folders, a folder stands for all that is in it, and a
glob without a slash holds in every folder: in doubt a path is protected.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..errors import ToolError
from ..texts import Texts
from .base import Tool
from .output import one_line
from .workspace import Workspace

WRITERS = ("write_file", "edit_file")
MAX_NAMED = 20  # paths that a report names
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Guard:
    """The `permit` of a tool box: it asks for the globs anew each time."""

    globs: Callable[[], Sequence[str]]
    workspace: Workspace
    texts: Texts

    def __call__(self, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raise PROTECTED_PATH where a tool would write what is protected."""
        path = arguments.get("path")
        if tool.name not in WRITERS or not isinstance(path, str):
            return
        real = self.workspace.relative(path)  # links followed
        named = posixpath.normpath(path)
        for glob in self.globs():
            if protects(glob, real) or protects(glob, named):
                raise ToolError("PROTECTED_PATH", self.texts(
                    "PROTECTED_PATH", path=one_line(path), glob=one_line(glob)))

    def watched(self, tool: Tool) -> Tool:
        """The same tool; its result also says what it changed of what is protected."""
        return Watched(tool, self)

    def snapshot(self) -> dict[str, str]:
        """The hash of each file that is protected now, by its path from the root."""
        return {path: self._hash(path) for glob in self.globs() for path in self._files(glob)}

    def _files(self, glob: str) -> Iterator[str]:
        """The files under the folder that a glob names before its first wild card."""
        plain = _plain(glob)
        fixed = _WILD.split(plain, maxsplit=1)[0]
        folder = plain if fixed == plain and "/" in plain else posixpath.dirname(fixed)
        for place in dict.fromkeys((folder or ".", posixpath.dirname(folder) or ".")):
            with suppress(ToolError):  # there is no such folder, or it is a file
                files = [path for path, _ in self.workspace.tree(place).files]
                yield from (path for path in files if protects(glob, path))

    def _hash(self, path: str) -> str:
        try:
            return hashlib.sha256(self.workspace.read(path)).hexdigest()
        except ToolError as error:  # too large, or gone in between: that much can be compared
            return str(error)


@dataclass(frozen=True)
class Watched:
    """A tool of which it cannot be known beforehand what it will write."""

    tool: Tool
    guard: Guard

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def parameters(self) -> dict[str, Any]:
        return self.tool.parameters

    def __call__(self, **arguments: Any) -> str:
        if not self.guard.globs():
            return self.tool(**arguments)
        before = self.guard.snapshot()
        try:
            result = self.tool(**arguments)
        except ToolError as error:
            raise ToolError(error.code, error.message, "\n".join(
                part for part in (self._note(before), error.details) if part)) from error
        return "\n".join(part for part in (self._note(before), result) if part)

    def _note(self, before: dict[str, str]) -> str:
        after = self.guard.snapshot()
        changed = sorted(path for path in before.keys() | after.keys()
                         if before.get(path) != after.get(path))
        if not changed:
            return ""
        more = ", ..." if len(changed) > MAX_NAMED else ""
        return self.guard.texts("protected_changed", count=len(changed),
                                paths=one_line(", ".join(changed[:MAX_NAMED])) + more)


def protects(glob: str, path: str) -> bool:
    """Whether `glob` covers a path from the root, in `/` and without `.` or `..`."""
    glob = _plain(glob)
    names = (glob, f"{glob}/*") if "/" in glob else (
        glob, f"{glob}/*", f"*/{glob}", f"*/{glob}/*")
    return any(fnmatchcase(path, name) for name in names) or glob == "."


def _plain(glob: str) -> str:
    """A glob without the parts that change nothing here: `./`, a last `/`, `**/` in front."""
    return posixpath.normpath(glob.strip() or ".").removeprefix("**/")
