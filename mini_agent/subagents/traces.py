"""Milestone 4: finds the traces of children from the trace of their parent.

A child's trace is in the folder of its parent's run and named by its number:
`m4-trace.d/children/2.jsonl`. Users write `m4-trace.jsonl#2`, and `#2#1` for a child of that
child; the model has the tool `read_child`. What is left out: reading a trace (`trace.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..compression.tools import PAGE_CHARS, read_result_tool
from ..disk import read_file, real_path
from ..errors import MiniAgentError, ToolError, UsageError
from ..models.received import count
from ..texts import Texts
from ..tools.base import FunctionTool
from ..tools.schema import COUNT, PLACE, object_of
from ..trace import Tracer, parse_record, read_trace, trace_folder
from .endings import Ending, numbers_of


USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens")


def child_trace(folder: Path, number: int) -> Path:
    """Where the trace of a child lies; `folder` is that of its parent's run."""
    return folder / "children" / f"{number}.jsonl"


def is_log(trace: Path) -> bool:
    """Whether this is the trace of a child, and not a link or a pipe that one of its commands has
    put in its place."""
    return trace.is_file() and not trace.is_symlink()


def _with_counts(ending: Ending, folder: Path, number: int) -> Ending:
    """The ending with its numbers, taken from the child's trace if it did not report them."""
    trace = child_trace(folder, number)
    if not ending.numbers.steps and is_log(trace):
        with suppress(MiniAgentError):
            return replace(ending, numbers=numbers_of(read_trace(trace).records))
    return ending


def sent_by_family(trace: Path) -> int:
    """The tokens of all requests of a child and of all below it, by their traces.

    Raises OSError or `MiniAgentError` where one cannot be read.
    """
    return sum(numbers_of(read_trace(path).records).sent_tokens
               for _, path in family_of(trace)) if is_log(trace) else 0


def used_by_family(trace: Path) -> dict[str, int]:
    """The tokens that endpoints have counted for a child and all below it, summaries included,
    under the names of `model_usage`; {} where none has.

    Raises OSError or `MiniAgentError` where a trace cannot be read.
    """
    total = dict.fromkeys(USAGE, 0)
    for _, path in family_of(trace) if is_log(trace) else ():
        for _, payload in events_in(read_file(path), "model_usage"):
            for name in USAGE:
                total[name] += count(payload.get(name)) + count(payload.get(f"summary_{name}"))
    return total if any(total.values()) else {}


def record_end(tracer: Tracer, folder: Path, step: int, call_id: str, number: int,
               ending: Ending) -> Ending:
    """Write how a child has ended; the ending with its numbers. `folder` is that of the parent's
    run."""
    ending, used = _with_counts(ending, folder, number), {}
    with suppress(MiniAgentError, OSError):  # what cannot be read has no price
        used = used_by_family(child_trace(folder, number))
    tracer.event("subagent_end", step=step, id=call_id, child=number, status=ending.status,
                 **asdict(ending.numbers), chars=ending.chars, **used,
                 **({"detail": ending.detail} if ending.detail else {}))
    return ending


def children_of(trace: Path) -> list[tuple[int, Path]]:
    """(number, trace) of each child that was started in a trace and has a trace, in order.

    Lines that cannot be read are skipped. Raises OSError.
    """
    begun = (payload.get("child") for _, payload in events_in(read_file(trace), "subagent_start"))
    numbers = {number for number in begun if isinstance(number, int)}
    found = [(number, child_trace(trace_folder(trace), number)) for number in sorted(numbers)]
    return [(number, path) for number, path in found if path.is_file()]


def events_in(raw: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of its line, payload) of each event of this name in the bytes of a trace.

    Only lines that contain the name are parsed; those that cannot be are skipped.
    """
    mark = f'"{name}"'.encode()
    for number, text in enumerate(raw.split(b"\n"), 1):
        if mark in text:
            with suppress(ValueError):
                record = parse_record(text)
                if record.get("event") == name:
                    yield number, record["payload"]


def family_of(trace: Path) -> Iterator[tuple[str, Path]]:
    """("", the trace itself), ("#1", the trace of its first child), ("#1#1", ...) and so on.

    Each file comes once, even if links in a stranger's folder lead round in a circle.
    """
    seen: set[str] = set()

    def below(name: str, path: Path) -> Iterator[tuple[str, Path]]:
        real = real_path(path)
        if real not in seen:
            seen.add(real)
            yield name, path
            for number, child in children_of(path):
                yield from below(f"{name}#{number}", child)

    return below("", trace)


def find_trace(text: str) -> Path:
    """The file of this name or, if the name ends in `#N`, the trace of child N.

    Raises `UsageError` where there is no such child.
    """
    above, mark, number = text.rpartition("#")
    if not (mark and Path(above).name and number.isascii() and number.isdecimal()) \
            or os.path.exists(text):
        return Path(text)
    parent = find_trace(above)
    path = child_trace(trace_folder(parent), int(number))
    if not os.path.isfile(path):
        known = children_of(parent) if os.path.isfile(parent) else []
        raise UsageError(f"there is no log of sub-agent {number}", place=above, value=number,
                         remedy="it has " + (", ".join(str(other) for other, _ in known) or "none"))
    return path


def read_child_tool(folder: Path, started: Callable[[], int], texts: Texts,
                    limit: int = PAGE_CHARS) -> FunctionTool:
    """`read_child(child, message, start, end, unit)`: a part of a message of a child's log.

    `folder` is that of the parent's run, in which so many children have `started`.
    """
    def read_child(child: int, message: int | None = None, **part: Any) -> str:
        trace = child_trace(folder, child)
        missing = ToolError("NO_SUCH_CHILD", texts("NO_SUCH_CHILD", child=child))
        if child > started() or not is_log(trace):
            raise missing
        try:
            history = read_trace(trace).messages()
        except MiniAgentError as error:
            raise missing from error
        if not history:
            raise missing
        return read_result_tool(history, texts, limit)(
            len(history) - 1 if message is None else message, **part)

    inherited = read_result_tool((), texts).parameters["properties"]
    return FunctionTool("read_child", texts("tool_read_child"), object_of({
        "child": {**PLACE, "description": texts("arg_child")},
        "message": {**COUNT, "description": texts("arg_child_message")},
        **{name: inherited[name] for name in ("start", "end", "unit")}}, ("child",)), read_child)
