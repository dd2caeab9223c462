"""Milestone 3: what a call did to which file, read off its name and arguments.

Agents name their tools differently (`read_file`, `Read`, `str_replace_editor` with
a command), so a call is judged by the words in it. What this module leaves out:
commands of a shell, whose effect nobody can read off their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .hostile import one_line
from .messages import Call, Message, calls_of, groups, result_positions

READ, CHANGED = "read", "changed"
_PATHS = ("path", "file_path", "filepath", "filename", "file", "absolute_path", "notebook_path")
_TELLING = (*_PATHS, "command", "cmd", "pattern", "query", "url", "handle")
TARGET_CHARS = 100  # of the argument that tells what a call was about
NAME_CHARS = 40     # of the name of an argument
MOST_LINES = 10**9  # a larger number is none of a line
_READS = {"read", "view", "open", "cat"}
_CHANGES = {"write", "edit", "multiedit", "create", "replace", "insert", "append", "patch"}
_LOOKS = {"search", "list", "grep", "find", "glob", "tree"}
_WORD = re.compile(r"[A-Z]?[a-z]+")


class FileAccess(NamedTuple):
    """A file that a call has read or changed, by `what`; `result` is the position of the result."""

    path: str
    what: str
    result: int


def target(call: Call) -> str:
    """The path that a call names, "" if it names none."""
    arguments = call["arguments"]
    return next((value for key in _PATHS
                 if isinstance(value := arguments.get(key), str) and value), "")


def access(call: Call) -> str:
    """`READ`, `CHANGED`, or "" for a call that does neither to a named file."""
    command = call["arguments"].get("command")
    said = f"{call['name']} {command}" if isinstance(command, str) and len(command) < 20 \
        else call["name"]
    words = {word.lower() for word in _WORD.findall(said)}
    if not target(call) or words & _LOOKS:
        return ""
    if "view" in words:
        return READ
    return CHANGED if words & _CHANGES else READ if words & _READS else ""


def part_asked(call: Call) -> str:
    """Which part of a file a call asks for, "" for no part: its arguments that are numbers, or
    lists of numbers, such as `start_line=6, end_line=20` or `view_range=[6, 20]`."""
    return ", ".join(f"{one_line(name, NAME_CHARS)}={json.dumps(value)}"
                     for name, value in call["arguments"].items() if _is_numbers(value))


def _is_numbers(value: Any) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return 0 < len(numbers) <= 2 and all(
        type(number) is int and abs(number) < MOST_LINES for number in numbers)


def described(name: str, call: Call | None) -> str:
    """A tool and what it was called for, on one line: its telling argument, or the raw text
    where the arguments are not an object."""
    arguments, raw = (call["arguments"], call.get("invalid")) if call else ({}, None)
    known = [arguments[key] for key in _TELLING if key in arguments]
    values = [value for value in (*known, *arguments.values(), raw)
              if isinstance(value, (str, int))]
    about = " ".join(str(values[0]).split()) if values else ""
    if len(about) > TARGET_CHARS:
        about = about[:TARGET_CHARS] + "..."
    return f"{name} {about}".strip()


def answers(messages: Sequence[Message]) -> Iterator[tuple[int, Call]]:
    """(index of its result, call) of each answered call, in the order of the calls."""
    for group in groups(messages):
        if calls := calls_of(messages[group.start]):
            results = messages[group.start + 1:group.stop]
            for call, position in zip(calls, result_positions(messages[group.start], results)):
                if position is not None:
                    yield group.start + 1 + position, call


def call_of(history: Sequence[Message], index: int) -> Call | None:
    """The call that the result at `index` answers, None where there is none. Of many results,
    ask `answers` once."""
    start = index
    while start > 0 and history[start]["role"] == "tool":
        start -= 1
    return dict(answers(history[start:index + 1])).get(index - start)


def file_accesses(messages: Sequence[Message]) -> Iterator[FileAccess]:
    """Every file read or changed without an error, in order."""
    for result, call in answers(messages):
        if not messages[result].get("error") and (what := access(call)):
            yield FileAccess(target(call), what, result)
