"""Milestone 2: paths that no tool may write.

A pin may have `protect: GLOB`. A tool that would write such a file is refused with
PROTECTED_PATH. What a command writes cannot be prevented here, so its result says which
protected files it changed. A sub-agent (milestone 4) may write the paths that it was given and
no others: WRITE_NOT_GIVEN. `*` also matches slashes, a folder stands for all that is in it, and
a glob without a slash applies in every folder: in doubt a path is protected.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from unicodedata import normalize

from ..disk import real_path
from ..errors import ToolError, ToolInterrupted
from ..hostile import one_line
from .base import Tool
from .workspace import Workspace

WRITERS = ("write_file", "edit_file")
MAX_NAMED = 20  # paths that a report names
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Guard:
    """The `permit` of a tool box. `globs` is called for each check, since pins may be added.
    `given` are the paths that may be written, None for all. `own` are the paths of the session's
    own trace and folder, which no agent may write."""

    globs: Callable[[], Sequence[str]]
    workspace: Workspace
    given: Sequence[str] | None = None
    own: Sequence[str] = ()

    def __call__(self, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raise PROTECTED_PATH where a tool would write what is protected."""
        path = arguments.get("path")
        if tool.name not in WRITERS or not isinstance(path, str):
            return
        real = self.workspace.relative(path)  # links followed
        named = posixpath.normpath(path)
        closed = [own for own in self.own if covers(folded(own), folded(real))]
        closed += [glob for glob in self.globs() if protects(glob, real) or protects(glob, named)]
        if closed:
            raise ToolError("PROTECTED_PATH", self.workspace.texts(
                "PROTECTED_PATH", path=one_line(path), glob=one_line(closed[0])))
        if not self.is_given(real):
            raise ToolError("WRITE_NOT_GIVEN", self.workspace.texts(
                "WRITE_NOT_GIVEN", path=one_line(path)))

    def is_given(self, path: str) -> bool:
        """Whether a path from the root may be written: it was given, or all are."""
        return self.given is None or any(covers(own, path) for own in self.given)

    def watched(self, work: Callable[[], str]) -> str:
        """What `work` returns or raises, after a note of the protected files that it changed."""
        return self.reporting(self.snapshot(), work)

    def snapshot(self) -> dict[str, str]:
        """By path, a mark of the state of each file that is protected or was not given."""
        marks = {} if self.given is None else {
            path: self._stamp(path) for path, _ in self.workspace.tree(".").files
            if not self.is_given(path)}
        return marks | {path: self._hash(path) for glob in self.globs()
                        for path in self._files(glob)}

    def reporting(self, before: dict[str, str], work: Callable[[], str],
                  key: str = "protected_changed") -> str:
        """What `work` returns or raises, after a note of what has changed since `before`."""
        def noted(text: str) -> str:
            return "\n".join(part for part in (self._note(before, key), text) if part)

        def failed(error: ToolError) -> ToolError:
            return ToolError(error.code, error.message, noted(error.details))

        try:
            result = work()
        except ToolError as error:
            raise failed(error) from error
        except ToolInterrupted as interrupt:
            raise ToolInterrupted(failed(interrupt.error)) from interrupt
        return noted(result)

    def _note(self, before: dict[str, str], key: str) -> str:
        after = self.snapshot()
        changed = sorted(path for path in before.keys() | after.keys()
                         if before.get(path) != after.get(path))
        globs = self.globs() if changed else ()
        closed = [path for path in changed if any(protects(glob, path) for glob in globs)]
        others = [path for path in changed if path not in closed]
        return "\n".join(self._named(said, paths) for said, paths in (
            (key, closed), ("not_given_changed", others)) if paths)

    def _named(self, key: str, paths: Sequence[str]) -> str:
        more = ", ..." if len(paths) > MAX_NAMED else ""
        return self.workspace.texts(key, count=len(paths),
                                    paths=one_line(", ".join(paths[:MAX_NAMED])) + more)

    def _files(self, glob: str) -> Iterator[str]:
        """The files under the folder that a glob names before its first wild card."""
        plain = _plain(glob)
        fixed = _WILD.split(plain, maxsplit=1)[0]
        folder = plain if fixed == plain and "/" in plain else posixpath.dirname(fixed)
        for place in dict.fromkeys((folder or ".", posixpath.dirname(folder) or ".")):
            with suppress(ToolError):  # there is no such folder, or it is a file
                files = [path for path, _ in self.workspace.tree(place).files]
                yield from (path for path in files if protects(glob, path))

    def _stamp(self, path: str) -> str:
        """Size and time of a file, which are enough to see a change and quick for many files."""
        try:
            status = (self.workspace.root / path).stat()
        except OSError as error:  # gone in between
            return str(error.strerror)
        return f"{status.st_size} {status.st_mtime_ns}"

    def _hash(self, path: str) -> str:
        try:
            return hashlib.sha256(self.workspace.read(path)).hexdigest()
        except ToolError as error:  # too large, or gone in between: that much can be compared
            return str(error)


def covers(given: str, path: str) -> bool:
    """Whether `given` is `path`, or a folder above it."""
    return PurePosixPath(os.path.normcase(path)).is_relative_to(os.path.normcase(given))


def own_paths(folder: Path | None, root: Path) -> list[str]:
    """The paths of a run's own `folder` and trace, and for a sub-agent those of its parents too.
    They are relative to the root; what lies outside it is left out."""
    found: list[Path] = []
    here = None if folder is None else Path(real_path(folder))
    while here is not None and here.suffix == ".d":
        trace = here.with_suffix("")
        found += [here, here.with_suffix(".jsonl"), *([trace] if trace.is_file() else [])]
        here = here.parent.parent if here.parent.name == "children" else None
    return [path.relative_to(root).as_posix() for path in found if path.is_relative_to(root)]


def protects(glob: str, path: str) -> bool:
    """Whether `glob` covers a path relative to the root, with `/` and without `.` or `..`.

    Letters that some file systems take for the same are the same here.
    """
    glob, path = folded(_plain(glob)), folded(path)
    own = (glob, glob.replace("/**/", "/")) if "/" in glob else (glob, f"*/{glob}")
    return glob == "." or any(fnmatchcase(path, name) for found in own
                              for name in (found, f"{found}/*"))


def folded(path: str) -> str:
    """A path without the differences that some file systems ignore: case, composed letters."""
    return normalize("NFC", path).casefold()


def _plain(glob: str) -> str:
    """A glob without `./`, a leading or trailing `/`, and a leading `**/`: they change nothing."""
    return posixpath.normpath(glob.strip().lstrip("/") or ".").removeprefix("**/")
