"""Milestone 2: the one folder in which tools may read and write.

A path from a model is hostile. It is resolved, with every link followed, and checked; then the
file is opened from the root down, folder by folder, without following any link. So a link
that is made between the check and the use has no effect. What is left out: commands
(`shell.py`), which run with the user's rights and are not confined by this.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from ..disk import DEEPEST, NOFOLLOW, entries, open_folder, real_path, replace_file
from ..errors import ToolError, UsageError
from ..hostile import one_line
from ..texts import Texts

MAX_BYTES = 50_000_000  # a larger file is not read at all
MAX_FILES = 50_000      # a walk through the folders stops here and says so
MAX_PATH = 4_096        # characters of a path
LEFT_OUT = (".git", "__pycache__")  # folders that listings and searches do not enter

# Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
_READ = NOFOLLOW | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Tree:
    """The files under a folder as (path from the root, bytes), sorted.

    `left_out` names the folders and links that were not entered, sorted; `stopped`
    says that there are more files than MAX_FILES.
    """

    files: list[tuple[str, int]]
    left_out: list[str]
    stopped: bool = False


@dataclass(frozen=True)
class Workspace:
    """The folder `root`. Raises `UsageError` where it is not a folder."""

    root: Path
    texts: Texts = field(default=Texts())

    def __post_init__(self) -> None:
        resolved = Path(real_path(self.root))
        if not os.path.isdir(resolved):
            raise UsageError("the workspace is not a folder", place=str(self.root),
                             remedy="name a folder that is there with --workspace")
        object.__setattr__(self, "root", resolved)

    def resolve(self, path: str) -> Path:
        """The real path of `path`, relative or absolute, every link followed.

        OUTSIDE_WORKSPACE where it is not inside; it need not exist.
        """
        if len(path) > MAX_PATH:
            raise self.error("FILE_ERROR", path, reason=os.strerror(errno.ENAMETOOLONG))
        try:
            resolved = Path(real_path(self.root / path))
            inside = "\0" not in path and resolved.is_relative_to(self.root)
        except (OSError, ValueError):  # a NUL, a name that no file can have, too many links
            inside = False
        if not inside:
            raise self.error("OUTSIDE_WORKSPACE", path)
        return resolved

    def relative(self, path: str | Path) -> str:
        """A path inside as results show it: from the root, with `/`; the root is `.`."""
        return self.resolve(str(path)).relative_to(self.root).as_posix()

    def scrub(self, text: str) -> str:
        """`text` with `.` for the path of the workspace, unless it is part of another path.

        This is for the output of commands and the messages of errors. The content of a file is
        not scrubbed, since the model must see what it edits.
        """
        root = str(self.root)
        if len(root) <= 1 or root not in text:
            return text
        # Not inside another path: with the root /app, lib/app and /app2 stay.
        return re.sub(rf"(?<![A-Za-z0-9_.~@]){re.escape(root)}(?![A-Za-z0-9_-]|\.\w)", ".", text)

    def error(self, code: str, path: str, **fields: object) -> ToolError:
        """The error `code` about a path, as the model gave it."""
        return ToolError(code, self.texts(code, path=one_line(self.scrub(path)), **fields))

    def tree(self, path: str) -> Tree:
        """Every regular file under a folder; links that lead outside are left out.

        FILE_NOT_FOUND, NOT_A_FOLDER.
        """
        top = self.relative(path)
        base = "" if top == "." else f"{top}/"
        files: list[tuple[str, int]] = []
        left_out: set[str] = set()
        waiting = [base]
        while waiting and len(files) <= MAX_FILES:
            here = waiting.pop()
            below: list[str] = []
            for name, status in self._entries(path, here, here == base, left_out):
                if stat.S_ISDIR(status.st_mode) and name not in LEFT_OUT:
                    below.append(f"{here}{name}/")
                elif (size := self._size(here + name, status)) is None:
                    left_out.add(name)
                else:
                    files.append((here + name, size))
            if here.count("/") - base.count("/") >= DEEPEST:
                left_out.update(folder.removesuffix("/") for folder in below)
            else:
                waiting += reversed(below)
        return Tree(sorted(files)[:MAX_FILES], sorted(left_out), len(files) > MAX_FILES)

    def _entries(self, path: str, here: str, asked: bool,
                 left_out: set[str]) -> list[tuple[str, os.stat_result]]:
        """The entries of the folder `here`. A folder that cannot be read is added to `left_out`;
        if it is the one `asked` for as `path` and not there, that is an error."""
        try:
            return sorted(entries(self.root, here), key=itemgetter(0))
        except OSError as error:
            if asked and isinstance(error, (FileNotFoundError, NotADirectoryError)):
                with self._named(path):
                    raise
            left_out.add(here.removesuffix("/") or ".")
            return []

    def _size(self, name: str, status: os.stat_result) -> int | None:
        """The bytes of a regular file, or of one inside the workspace that a link leads to; None
        for anything else."""
        if stat.S_ISLNK(status.st_mode):
            try:
                real = Path(real_path(self.root / name))
                if not real.is_relative_to(self.root):
                    return None
                with self._at(real) as (last, folder):
                    status = os.stat(last, dir_fd=folder, follow_symlinks=False)
            except OSError:  # a broken link, or gone since its folder was read
                return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def read(self, path: str) -> bytes:
        """The bytes of a regular file. Raises as `opened` does."""
        with self.opened(path) as file:
            return file.read(os.fstat(file.fileno()).st_size + 1)  # bounds the buffer of `read`

    @contextmanager
    def opened(self, path: str) -> Iterator[BinaryIO]:
        """A regular file, to be read.

        FILE_NOT_FOUND, NOT_A_FILE, FILE_TOO_LARGE (over MAX_BYTES), FILE_ERROR.
        """
        resolved = self.resolve(path)
        with self._named(path), self._at(resolved) as (name, folder):
            with open(name, "rb", opener=partial(_opened, folder=folder)) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise self.error("NOT_A_FILE", path)
                if status.st_size > MAX_BYTES:
                    raise self.error("FILE_TOO_LARGE", path, size=status.st_size, limit=MAX_BYTES)
                yield file

    def write(self, path: str, data: bytes) -> None:
        """Replace or make a file in one step, its folders too; the mode stays.

        A write that fails leaves the old file. NOT_A_FILE, NOT_A_FOLDER, FILE_ERROR.
        """
        resolved = self.resolve(path)
        with self._named(path), self._at(resolved, make=True) as (name, folder):
            replace_file(name, data, mode=self._mode(path, name, folder), folder=folder)

    def _mode(self, path: str, name: str, folder: int | None) -> int | None:
        """The permission bits of the file to be replaced, None if there is none yet."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise self.error("NOT_A_FILE", path)
        if not os.access(name, os.W_OK, dir_fd=folder):  # a replacement would ignore it
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return stat.S_IMODE(status.st_mode)

    @contextmanager
    def _at(self, resolved: Path, make: bool = False) -> Iterator[tuple[str, int | None]]:
        """(name, folder descriptor) of a resolved path, for the functions of `os`.

        Where the system has no such functions (Windows): (whole path, None).
        """
        if os.open not in os.supports_dir_fd:
            if make:
                resolved.parent.mkdir(parents=True, exist_ok=True)
            yield str(resolved), None
            return
        inside = resolved if resolved == self.root else resolved.parent
        folder = open_folder(self.root, inside.relative_to(self.root).as_posix(), make)
        try:
            yield resolved.name if resolved != self.root else ".", folder
        finally:
            os.close(folder)

    @contextmanager
    def _named(self, path: str) -> Iterator[None]:
        """Turn an OSError of this block into a `ToolError` about `path`."""
        try:
            yield
        except FileNotFoundError as error:
            raise self.error("FILE_NOT_FOUND", path) from error
        except IsADirectoryError as error:
            raise self.error("NOT_A_FILE", path) from error
        except NotADirectoryError as error:
            raise self.error("NOT_A_FOLDER", path) from error
        except OSError as error:
            code = "OUTSIDE_WORKSPACE" if error.errno == errno.ELOOP else "FILE_ERROR"
            raise self.error(code, path, reason=error.strerror) from error


def _opened(name: str, flags: int, folder: int | None) -> int:
    """An `opener` for `open` that opens a name in the folder of a descriptor."""
    return os.open(name, flags | _READ, dir_fd=folder)
