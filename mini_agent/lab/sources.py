"""Milestone 6: which files a comparison is about, and what they are called.

A name is the file's path below the deepest folder that all of them share, so that
the same sessions have the same names wherever they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from ..disk import real_path, walk
from ..errors import UsageError
from ..subagents.traces import find_trace


@dataclass(frozen=True)
class Source:
    """A file to read, number `at` of all, `size` in bytes. `asked`: the user named it, so it is
    an error if it cannot be read; a file found in a folder may be no session at all."""

    at: int
    path: str
    name: str
    size: int
    asked: bool


def find_sources(paths: Sequence[str]) -> list[Source]:
    """The files at `paths`, folders searched through, each file once.

    In a folder, names that begin with a dot are left out, and so are the folders of runs: the
    sub-agents in them are reached through the trace of their parent. Raises `UsageError` if a
    path is not there or a folder has no file.
    """
    found: dict[str, bool] = {}
    known: dict[str, str] = {}  # what a file is called here, by its real path

    def add(path: str, asked: bool) -> None:
        name = known.setdefault(_real(path), path)
        found[name] = asked or found.get(name, False)

    for path in paths:
        if not os.path.isdir(path):
            add(str(find_trace(path)), True)
            continue
        inside = _files_in(Path(path))
        if not inside:
            raise UsageError("there is no file in this folder", place=path,
                             remedy="name a folder with recorded sessions")
        for file in inside:
            add(file, False)
    top = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in found])
    return [Source(at, path, Path(os.path.relpath(os.path.abspath(path), top)).as_posix(),
                   _size(path, asked), asked) for at, (path, asked) in enumerate(found.items())]


def _real(path: str) -> str:
    try:
        return real_path(path)
    except OSError:  # a circle of links, which its reader will report
        return path


def _files_in(top: Path) -> list[str]:
    """The files below a folder that may be sessions, sorted."""
    files = (Path(here, name) for here, _, names in walk(top) for name in names)
    return sorted(str(file) for file in files if file.is_file() and _is_wanted(file, top))


def _is_wanted(file: Path, top: Path) -> bool:
    """Neither hidden nor in a run's own folder, `x.d` beside `x.jsonl`."""
    folders = list(takewhile(lambda folder: folder != top, file.parents))
    return not any(place.name.startswith(".") for place in (file, *folders)) and not any(
        folder.suffix == ".d" and folder.with_suffix(".jsonl").is_file() for folder in folders)


def _size(path: str, asked: bool) -> int:
    """The bytes of a file; 0 if it was found in a folder and has gone since, which its reader
    will report."""
    try:
        return os.stat(path).st_size
    except OSError as error:
        if not asked:
            return 0
        raise UsageError(f"the file cannot be read ({error.strerror})", place=path,
                         remedy="name a recorded session or a folder of them") from error


def shard(sources: Sequence[Source], text: str) -> list[Source]:
    """The share "K/N" of the sources: every Nth, from the Kth on; K from 1 to N."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(f"no share {text!r}", place="--shard", value=text,
                         remedy="give K/N with K from 1 to N, as 1/4")
    return list(sources[int(number) - 1::int(of)])
