"""Milestone 2: files that are there whole or not at all, and written by one process.

A write can fail half-way (a full disk, an interrupt), so it goes to a new file beside the
old one, which then takes its place in one step; until then the old one is untouched. Only
a trace grows line by line (`trace.py`). Reading is bounded: a stranger's file may be a
hole of sixty gigabytes, or a device. What is left out: a power failure; the system is not
asked to flush its own buffers.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

from .errors import MiniAgentError, UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DEEPEST = 100      # folders in one another that are looked into
LARGEST = 1 << 30  # bytes of a file that is read whole; a larger one, or one without end, is not
CHUNK = 1 << 20    # bytes read at a time, where the size is not known before
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def read_file(path: str | Path, most: int = LARGEST) -> bytes:
    """All bytes of a file or a pipe. Raises `OSError`, also for more than `most` bytes."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if 0 < size <= most:
            return file.read()
        data = bytearray()  # a pipe, a device, or one of the system's files
        while size <= most and (more := file.read(CHUNK)):
            data += more
            size = max(size, len(data))
    if size > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return bytes(data)


def check_new(path: Path, opening: bytes, what: str) -> None:
    """`UsageError` where a new file, `what` begins with `opening`, would replace one of another
    kind: a slip in a command must not cost a task file or a recorded session."""
    try:
        with open(path, "rb") if path.is_file() or path.is_dir() else BytesIO() as file:
            alike = opening.startswith(file.read(len(opening)))
    except OSError as error:
        raise UsageError(f"the {what} cannot be written ({error.strerror})", place=str(path),
                         remedy="name a file in a folder that you may write to") from error
    if not alike:
        raise UsageError(f"this file is no {what}, and would be replaced by one",
                         place=str(path), remedy="name another file")


@contextmanager
def readable_again(path: str) -> Iterator[str]:
    """A path that can be read more than once. A pipe (`show <(gunzip -c t.jsonl.gz)`) is copied
    to a temporary file, which is removed at the end; errors name the pipe. Raises `OSError`."""
    try:
        once = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # the error is reported by whoever reads the path
        once = False
    if not once:
        yield path
        return
    from tempfile import TemporaryDirectory  # rarely needed, slow to import

    with TemporaryDirectory(prefix="mini-agent-") as folder:
        copy = Path(folder, Path(path).name)
        copy.write_bytes(read_file(path))
        try:
            yield str(copy)
        except MiniAgentError as error:  # nobody can look into the copy any more
            error.place = error.place.replace(str(copy), path)
            raise


def walk(folder: str | Path, onerror: Callable[[OSError], object] = lambda error: None,
         ) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, for a stranger's folders: those that lie deeper than `DEEPEST`, where
    some versions of Python break off, are not entered, and reported to `onerror`."""
    for here, folders, names in os.walk(folder, onerror=onerror):
        if here[len(str(folder)):].count(os.sep) >= DEEPEST:
            for name in folders:
                onerror(OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG),
                                os.path.join(here, name)))
            folders.clear()
        yield here, folders, names


def open_folder(root: Path, below: str, make: bool = False) -> int:
    """A descriptor of the folder `below` the root, reached from there folder by folder without
    following a link. `make`: those that are missing are made. Raises `OSError`."""
    here = os.open(root, _FOLDER)
    for part in Path(below).parts:
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            inside = os.open(part, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = inside
    return here


def entries(root: Path, below: str) -> list[tuple[str, os.stat_result]]:
    """(name, status) of all that is in the folder `below` the root, no link followed on the way
    there or behind a name. Raises `OSError`."""
    if os.scandir not in os.supports_fd:  # Windows
        with os.scandir(root / below) as found:
            return [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
    folder = open_folder(root, below)
    try:
        return [(name, status) for name in os.listdir(folder)
                if (status := _status(name, folder)) is not None]
    finally:
        os.close(folder)


def _status(name: str, folder: int) -> os.stat_result | None:
    """The status of a name in a folder; None if it was removed since the folder was read."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def real_path(path: str | Path) -> str:
    """The path with every link followed. Raises `OSError` for more of them than the system
    follows: Python would go on, in some versions until it breaks off."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
    return os.path.realpath(path)


def make_folder(path: Path, private: bool = False) -> None:
    """Make a folder and those above it, where they are missing. Raises `OSError`.

    `private`: a new one is its owner's alone.
    """
    try:
        path.mkdir(0o700 if private else 0o777, parents=True, exist_ok=True)
    except FileExistsError as error:  # what is wrong is not that it is there
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error


def make_private(folder: Path) -> Path:
    """Make a folder that only its owner may look into (mode 0700).

    Raises `OSError`, also for a link: in a stranger's folder it may lead anywhere.
    """
    refuse_link(folder)
    make_folder(folder, private=True)
    os.chmod(folder, 0o700)
    return folder


def refuse_link(path: Path) -> None:
    """Raise `OSError` if the path is a symbolic link."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def lock(descriptor: int) -> bool:
    """Take the file of an open descriptor for this process. False if another one has it.

    Only a regular file is taken: a device may be written by many. The lock is the system's
    and ends with the process, however that ends. Where there is none (Windows) all is taken.
    """
    if fcntl is None or not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def replace_file(name: str, data: bytes, *, mode: int | None = None, new: int = 0o666,
                 folder: int | None = None) -> None:
    """Put `data` in the place of the file `name`, which may not be there yet.

    It gets the permission bits `mode`, or, where that is None, `new` less the umask. `folder`
    is the descriptor that `name` is relative to. If it raises `OSError`, the old file is intact.
    """
    spare = os.path.join(os.path.dirname(name), f".{os.urandom(8).hex()}.tmp")
    descriptor = os.open(spare, _CREATE, new if mode is None else mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        os.replace(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):  # an interrupt just after the replace
            os.unlink(spare, dir_fd=folder)
        raise


def write_file(path: Path, data: str | bytes, private: bool = False) -> None:
    """Write a file whole, its folders too; text is UTF-8, its newlines as they are.

    A link stays a link, a file keeps its mode, a device or a pipe is written to as it is.
    `private`: a new file, or folder, is its owner's alone.
    Raises `OSError` with the path as its `filename`.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        make_folder(path.parent, private)
        status = os.stat(path) if os.path.exists(path) else None
        if status is None or stat.S_ISREG(status.st_mode):
            replace_file(real_path(path), raw, new=0o600 if private else 0o666,
                         mode=None if status is None else stat.S_IMODE(status.st_mode))
        else:  # its real path may be none: /dev/stdout leads to pipe:[NUMBER]
            path.write_bytes(raw)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
