"""Milestone 2: searching for a text, or for a regular expression.

The pattern is taken literally unless `regex` is set. A regular expression can take for ever
even on a short line and cannot be stopped within a process, so it runs in another process
with a time limit. What is left out: reading files in pieces (`pieces.py`).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ..columns import number_of
from ..errors import ToolError
from ..hostile import one_line
from .files import left_out_note, paged
from .output import LIST_LIMIT, line_count, part_of_line
from .pieces import text_pieces
from .schema import PLACE, object_of
from .workspace import Workspace

SECONDS = 10.0           # for all regular expression work of one search
BATCH = 2_000_000        # characters that the other process is given at once

Source = tuple[str, int, str]    # prefix of each hit, number of lines before these, some lines
Hit = tuple[str, int, str, int]  # prefix, line number, line, offset of the match in it

# Reads {"pattern", "texts", "seconds"} and prints {"hits": for each text the [line, offset] of
# each hit, both from 0} or {"fault": what is wrong with the pattern}. It limits its own
# processor time to these seconds, in case nobody is left to end it.
_CHILD = """
import contextlib, json, re, sys, warnings
warnings.simplefilter("ignore")
given = json.load(sys.stdin)
with contextlib.suppress(ImportError, ValueError):  # Windows; a lower limit is set already
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (given["seconds"], given["seconds"]))
try:
    find = re.compile(given["pattern"]).search
except (re.error, OverflowError, RecursionError) as error:
    print(json.dumps({"fault": str(error)}))
    sys.exit()
print(json.dumps({"hits": [
    [[number, match.start()] for number, line in enumerate(text.split("\\n"))
     if (match := find(line))] for text in given["texts"]]}))
"""


@dataclass(frozen=True)
class SearchText:
    """`N matches for 'PATTERN' in PATH`, then `LINE: TEXT`, in a folder `FILE:LINE: TEXT`."""

    workspace: Workspace
    limit: int = LIST_LIMIT
    seconds: float = SECONDS
    name: ClassVar[str] = "search_text"

    @property
    def description(self) -> str:
        """Says that lines of the workspace are searched, a page of hits at a time."""
        return self.workspace.texts("tool_search_text")

    @property
    def parameters(self) -> dict[str, Any]:
        """Words or a pattern, where to look, and the hit to go on from."""
        return object_of({
            "pattern": {"type": "string", "description": self.workspace.texts("arg_pattern")},
            "path": {"type": "string", "description": self.workspace.texts("arg_search_path")},
            "regex": {"type": "boolean", "description": self.workspace.texts("arg_regex")},
            "start": {**PLACE, "description": self.workspace.texts("arg_start")}}, ("pattern",))

    def __call__(self, pattern: str, path: str = ".", regex: bool = False, start: int = 1) -> str:
        if not pattern or "\n" in pattern:
            raise self._bad_pattern(self.workspace.texts("one_line_only"))
        notes: list[str] = []
        sources = self._sources(path, notes)
        hits = self._expression(pattern, sources) if regex else _literal(pattern, sources)
        where = one_line(self.workspace.relative(path))
        return paged(
            (self._line(*hit) for hit in hits), start, self.limit, self.workspace.texts,
            lambda total: f"{number_of(total, 'match', many='matches')} for '{one_line(pattern)}' "
                          f"in {where}{''.join(notes)}")

    def _sources(self, path: str, notes: list[str]) -> Iterator[Source]:
        """The pieces of each file; a note of what was left out is added to `notes`."""
        if not os.path.isdir(self.workspace.resolve(path)):
            yield from _pieces("", self.workspace, path)
            return
        tree = self.workspace.tree(path)
        left_out = list(tree.left_out)
        for name, _ in tree.files:
            try:
                yield from _pieces(f"{one_line(name)}:", self.workspace, name)
            except ToolError:  # binary, too large, not readable: named in the first line
                left_out.append(name)
        notes.append(left_out_note(sorted(left_out), tree.stopped, self.workspace.texts))

    def _line(self, prefix: str, number: int, line: str, at: int) -> str:
        """A hit as it is shown: of a long line the part around its first match."""
        return f"{prefix}{number}: {part_of_line(line, at, self.workspace.texts)}"

    def _expression(self, pattern: str, sources: Iterator[Source]) -> Iterator[Hit]:
        """The hits of a regular expression, found in batches by other processes."""
        left = self.seconds
        for batch in _batches(sources):
            start = time.monotonic()
            found = self._found(pattern, [text for *_, text in batch], max(.01, left))
            left -= time.monotonic() - start  # the time to read the files does not count
            for (prefix, before, text), hits in zip(batch, found):
                lines = text.split("\n") if hits else []
                yield from ((prefix, before + index + 1, lines[index], at) for index, at in hits)

    def _bad_pattern(self, fault: str) -> ToolError:
        return ToolError("BAD_PATTERN", self.workspace.texts("BAD_PATTERN", fault=fault))

    def _found(self, pattern: str, texts: list[str], left: float) -> list[list[tuple[int, int]]]:
        """The (line, offset) of the hits in each text, within `left` seconds."""
        given = json.dumps({"pattern": pattern, "texts": texts, "seconds": math.ceil(left) + 1})
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", _CHILD], input=given.encode("ascii"),
                capture_output=True, process_group=0, check=True, timeout=left)
        except subprocess.TimeoutExpired as error:
            raise ToolError("SEARCH_TIMEOUT", self.workspace.texts(
                "SEARCH_TIMEOUT", seconds=f"{self.seconds:g}")) from error
        except subprocess.CalledProcessError as error:  # it had not the memory, or was killed
            raise self._bad_pattern(f"exit={error.returncode}") from error
        found = json.loads(done.stdout)
        if "fault" in found:
            raise self._bad_pattern(one_line(found["fault"]))
        hits: list[list[tuple[int, int]]] = found["hits"]
        return hits


def _pieces(prefix: str, workspace: Workspace, path: str) -> Iterator[Source]:
    """The lines of a file, some in each source."""
    before = 0
    for piece in text_pieces(workspace, path):
        if lines := line_count(piece):
            yield prefix, before, piece.removesuffix("\n")
            before += lines


def _batches(sources: Iterator[Source]) -> Iterator[list[Source]]:
    """The sources in lists of little more than BATCH characters. Without sources there is one
    empty list, so that the pattern is checked all the same."""
    batch, size = list[Source](), 0
    for source in sources:
        batch.append(source)
        size += len(source[2])
        if size > BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def _literal(pattern: str, sources: Iterator[Source]) -> Iterator[Hit]:
    """The lines that hold `pattern` as it stands."""
    for prefix, before, text in sources:
        if pattern in text:
            for number, line in enumerate(text.split("\n"), before + 1):
                if pattern in line:
                    yield prefix, number, line, line.find(pattern)
