"""Milestone 2: listing, reading, writing and editing files.

Each tool bounds what it returns; if something was cut, the first line says how much is shown
and how to get the rest. What is left out: which paths are allowed (`workspace.py`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..columns import number_of
from ..data_uris import pieces_without_data
from ..errors import ToolError
from ..hostile import clean_output, one_line
from ..texts import Texts
from .base import FunctionTool
from .edit import (
    as_seen, changed_at, closest, line_number, occurrences, replaced, unified_diff)
from .output import (
    HEADER_ROOM, LIMIT, LINE_LIMIT, LIST_LIMIT, first_lines, line_count, page, part_of_line)
from .pieces import Passage, passage, refuse_binary, text_pieces
from .schema import PLACE, TEXT, object_of
from .workspace import MAX_FILES, Workspace

MAX_NAMES = 10  # how many left-out files and folders the first line names


def paged(lines: Iterable[str], start: int, limit: int, texts: Texts,
          head: Callable[[int], str]) -> str:
    """`head(total)`, then as many lines as fit; the head also says which, and what comes next.

    BAD_RANGE where `start` is after the last line.
    """
    shown, total = page(lines, start, limit - HEADER_ROOM)
    if start > max(1, total):
        raise ToolError("BAD_RANGE", texts("bad_start", start=start, total=total))
    last = start - 1 + len(shown)
    first_line = head(total)
    if last < total:
        first_line += texts("page_next", first=start, last=last, next=last + 1)
    elif start > 1:
        first_line += texts("page_last", first=start, last=last)
    return "\n".join([first_line, *shown])


def left_out_note(names: Sequence[str], stopped: bool, texts: Texts) -> str:
    """The note in the first line of a listing or search about what it left out."""
    note = ""
    if names:
        more = ", ..." if len(names) > MAX_NAMES else ""
        note = texts("left_out", names=one_line(", ".join(names[:MAX_NAMES])) + more)
    return note + (texts("stopped", count=MAX_FILES) if stopped else "")


def list_files_tool(workspace: Workspace, limit: int = LIST_LIMIT) -> FunctionTool:
    """`list_files(path, start)`: `total N under PATH`, then `FILE  SIZE bytes` for each file,
    recursively."""
    texts = workspace.texts

    def list_files(path: str = ".", start: int = 1) -> str:
        tree = workspace.tree(path)
        note = left_out_note(tree.left_out, tree.stopped, texts)
        under = one_line(workspace.relative(path))
        lines = (f"{one_line(name, LINE_LIMIT)}  {number_of(size, 'byte')}"
                 for name, size in tree.files)
        return paged(lines, start, limit, texts, lambda total: f"total {total} under {under}{note}")

    return FunctionTool("list_files", texts("tool_list_files"), object_of({
        "path": {**TEXT, "description": texts("arg_folder")},
        "start": {**PLACE, "description": texts("arg_start")}}), list_files)


@dataclass(frozen=True)
class ReadFile:
    """The raw text of a file or of some of its lines, whole where it fits `limit`."""

    workspace: Workspace
    limit: int = LIMIT
    name: ClassVar[str] = "read_file"

    @property
    def description(self) -> str:
        """Says that a file is read, a page at a time."""
        return self.workspace.texts("tool_read_file")

    @property
    def parameters(self) -> dict[str, Any]:
        """A path, and the lines to read or, of a long line, the first character."""
        path = {"type": "string", "description": self.workspace.texts("arg_path")}
        numbers = {name: {**PLACE, "description": self.workspace.texts(f"arg_{name}")}
                   for name in ("start_line", "end_line", "start_char")}
        return object_of({"path": path, **numbers}, ("path",))

    def __call__(self, path: str, start_line: int = 1, end_line: int | None = None,
                 start_char: int = 1) -> str:
        text = pieces_without_data(text_pieces(self.workspace, path))
        found = passage(text, start_line, end_line, start_char, self.limit + 1)
        last = found.lines if end_line is None else end_line
        if start_line > max(1, found.lines) or (found.lines and last < start_line):
            raise ToolError("BAD_RANGE", self.workspace.texts(
                "BAD_RANGE", first=start_line, last=last, lines=found.lines))
        if start_char > max(1, found.width):
            raise ToolError("BAD_RANGE", self.workspace.texts(
                "bad_char", line=start_line, char=start_char, chars=found.width))
        whole = len(found.text) <= self.limit
        return found.text if whole else self._part(found, start_line, start_char)

    def _part(self, found: Passage, line: int, char: int) -> str:
        """The first part of a text that is over the limit, after a line that says so."""
        texts = self.workspace.texts
        shown, _ = first_lines(found.text, self.limit - HEADER_ROOM)
        if shown.endswith("\n"):
            following = line + shown.count("\n")
            head = texts("read_lines", first=line, last=following - 1, lines=found.lines,
                         chars=len(shown), total=found.chars, next=following)
        else:
            head = texts("read_chars", line=line, lines=found.lines, first=char,
                         last=char - 1 + len(shown), total=found.width,
                         next=char + len(shown))
        return f"{head}\n{shown}"


def write_file_tool(workspace: Workspace) -> FunctionTool:
    """`write_file(path, content)`: creates or replaces a whole file, in one step."""
    texts = workspace.texts

    def write_file(path: str, content: str) -> str:
        workspace.write(path, content.encode("utf-8"))
        return texts("written", path=one_line(workspace.relative(path)), chars=len(content),
                     lines=line_count(content))

    return FunctionTool("write_file", texts("tool_write_file"), object_of({
        "path": {**TEXT, "description": texts("arg_path")},
        "content": {**TEXT, "description": texts("arg_content")}}, ("path", "content")), write_file)


@dataclass(frozen=True)
class EditFile:
    """Replaces the one place where a text occurs, and returns the diff."""

    workspace: Workspace
    limit: int = LIMIT
    name: ClassVar[str] = "edit_file"

    @property
    def description(self) -> str:
        """Says that one place in a file is replaced, and that it has to be unique."""
        return self.workspace.texts("tool_edit_file")

    @property
    def parameters(self) -> dict[str, Any]:
        """A path, the text to be replaced, and what takes its place."""
        return object_of({
            name: {"type": "string", "description": self.workspace.texts(f"arg_{name}")}
            for name in ("path", "old", "new")}, ("path", "old", "new"))

    def __call__(self, path: str, old: str, new: str) -> str:
        if not old:
            raise ToolError("BAD_ARGUMENTS", self.workspace.texts("empty_old"))
        data = self.workspace.read(path)
        refuse_binary(self.workspace, path, io.BytesIO(data))
        # Bytes that are not UTF-8 pass through unchanged, and so does a BOM.
        before = data.decode("utf-8", "surrogateescape")
        found = occurrences(before, old)
        if len(found) != 1:
            raise self._refusal(path, before, old, found)
        if as_seen(old) == as_seen(new):
            raise ToolError("BAD_ARGUMENTS", self.workspace.texts("same_new"))
        after = replaced(before, found[0], new)
        self.workspace.write(path, after.encode("utf-8", "surrogateescape"))
        diff = self._diff(before, after, path)
        shown, left_out = first_lines(diff, self.limit - HEADER_ROOM)
        return shown if not left_out else self.workspace.texts(
            "diff_cut", chars=len(shown), total=len(diff)) + "\n" + shown

    def _diff(self, before: str, after: str, path: str) -> str:
        """The diff; of a long line the part around the change."""
        diff = clean_output(unified_diff(before, after, self.workspace.relative(path)))
        at = changed_at(before, after)
        return "\n".join(line[:1] + part_of_line(line[1:], at, self.workspace.texts)
                         for line in diff.split("\n"))

    def _refusal(self, path: str, text: str, old: str, found: list[tuple[int, int]]) -> ToolError:
        """NO_MATCH with the lines that come close, or SEVERAL_MATCHES with their numbers."""
        if found:
            numbers = ", ".join(str(line_number(text, start)) for start, _ in found)
            return self.workspace.error("SEVERAL_MATCHES", path, count=len(found), numbers=numbers)
        near = dict(closest(text, old))
        key = ("nothing_close", "closest_one")[len(near)] if len(near) < 2 else "closest"
        hint = self.workspace.texts(key, numbers=", ".join(map(str, near)))
        error = self.workspace.error("NO_MATCH", path, lines=line_count(as_seen(text)), hint=hint)
        return ToolError(error.code, error.message,
                         "\n".join(f"{number}: {line}" for number, line in near.items()))
