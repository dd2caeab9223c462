"""Generated sessions for measurements: the same messages for the same seed and sources.

The texts are parts of this project's own files, so that they have the quotes, backslashes,
tabs and Chinese that recorded sessions have; code that is fast on plain letters need not be
fast on these. As in recorded sessions, arguments of calls are a third of the text, and results
of reads and commands are most of the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from fresh import ROOT

from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.trace import TraceFile, Tracer

KINDS = {"read": 4, "run": 3, "edit": 3}  # of ten rounds


def session(messages: int, seed: int = 1, size: int = 4_700) -> list[Message]:
    """A seeded session of reads, commands and edits; `size` is the characters of a round."""
    dice = random.Random(seed)
    files = list(_files())
    made = [system("You are a careful agent."), user("Find out why the nightly build fails.")]
    for number in range((messages - 2) // 2):
        kind = dice.choices(list(KINDS), KINDS.values())[0]
        name, lines = dice.choice(files)
        made += _round(f"c{number}", kind, name, lines, dice.randrange(len(lines)), size)
    return made


def write_trace(path: Path, messages: Sequence[Message]) -> None:
    """Write a trace that has only these messages."""
    with TraceFile(path) as file:
        tracer = Tracer(file)
        for message in messages:
            tracer.message(0, message)


def _round(key: str, kind: str, name: str, lines: list[str], start: int,
           size: int) -> list[Message]:
    """A call with its result."""
    said = f"Looking at {name} from line {start} on next."
    if kind == "edit":
        arguments = {"path": name, "old_text": lines[start], "new_text": _stretch(
            lines, start, size, "{line}")}
        return [assistant(said, [call(key, "edit_file", arguments)]),
                tool_result(key, "edit_file", f"The file {name} has been edited.")]
    if kind == "read":
        return [assistant(said, [call(key, "read_file", {"path": name, "start": start})]),
                tool_result(key, "read_file", _stretch(lines, start, size, "{at:>6}\t{line}"))]
    return [assistant(said, [call(key, "run_command", {"command": f"git diff main -- {name}"})]),
            tool_result(key, "run_command", _stretch(lines, start, size, "+{line}"))]


def _files() -> Iterator[tuple[str, list[str]]]:
    """(name, lines) of the texts of this project."""
    for path in sorted([*ROOT.glob("mini_agent/**/*.py"), ROOT / "README.zh-CN.md"]):
        if lines := path.read_text(encoding="utf-8").splitlines():
            yield path.relative_to(ROOT).as_posix(), lines


def _stretch(lines: list[str], start: int, size: int, form: str) -> str:
    """Lines in this form from `start` on, again from the first one after the last, until there
    are `size` characters."""
    taken = list[str]()
    while size > 0:
        at = (start + len(taken)) % len(lines)
        taken.append(form.format(at=at + 1, line=lines[at]))
        size -= len(taken[-1]) + 1
    return "\n".join(taken)
