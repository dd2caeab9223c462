"""Milestone 2: what a tool is, and how its calls become results.

A tool has a name, a description and a JSON schema of its arguments; calling it returns text
or raises `ToolError`. The registry turns either into the one result message of a call, so
that no tool can end the run. What is left out: the tools themselves (`files.py`, `search.py`,
`shell.py`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

from ..data_uris import without_data
from ..errors import ToolError, ToolInterrupted, UsageError
from ..hostile import clean_output, one_line
from ..messages import Call, Message, tool_result
from ..texts import Texts
from .schema import json_type, schema_faults, with_numbers, without_nulls

Answer = Callable[[Message], None]  # is called with the one result of a call
MESSAGE_LIMIT = 2_000  # characters of an error's message; its details are bounded by the tool


class Tool(Protocol):
    """One thing that the model can do. Calling it returns the text of the result."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""

    @property
    def description(self) -> str:
        """What the model is told about it."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments, an object."""

    def __call__(self, *_: Any, **arguments: Any) -> str: ...


@dataclass(frozen=True)
class FunctionTool:
    """A tool that is a function, which is called with the arguments."""

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., str]

    def __call__(self, *values: Any, **arguments: Any) -> str:
        return self.function(*values, **arguments)


@runtime_checkable
class Checked(Tool, Protocol):
    """A tool that knows before some calls that they will fail, so that nobody is asked first."""

    def check(self, **arguments: Any) -> None:
        """Raises the `ToolError` that the call would end in."""


@runtime_checkable
class SideBySide(Tool, Protocol):
    """A tool whose calls run side by side where a reply has several (milestone 4)."""

    def together(self, tools: ToolBox, calls: Sequence[Call], step: int, answer: Answer) -> None:
        """Give `answer` the one result of each call, in order. Nothing is left running, even if
        this raises."""


class Tools(Protocol):
    """What the loop needs of a registry of tools."""

    def declarations(self) -> list[dict[str, Any]]:
        """What the model is told about each tool."""

    def batches(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        """The calls of a reply, in order, in lists of those that are run together."""

    def run_batch(self, batch: Sequence[Call], step: int, answer: Answer) -> None:
        """Give `answer` the one result of each call of a batch, in order."""

    def failure(self, call: Call, error: ToolError) -> Message:
        """The result of a call that was not run."""


Permit = Callable[[Tool, dict[str, Any]], None]  # may raise `ToolError`


class ToolBox:
    """The registry: it knows the tools, checks arguments and makes the results.

    `permit` is asked before a tool runs and may raise `ToolError` (code DENIED).
    `scrub` removes the workspace's root from what an exception says.
    """

    def __init__(self, tools: Sequence[Tool], texts: Texts,
                 permit: Permit | None = None,
                 scrub: Callable[[str], str] = str) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise UsageError("two tools have the same name",
                             value=[tool.name for tool in tools])
        self._texts = texts
        self._permit = permit
        self._scrub = scrub

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which they were given."""
        return tuple(self._tools)

    def declarations(self) -> list[dict[str, Any]]:
        """What the model is told about each tool, in the order of `names`."""
        return [{"name": tool.name, "description": tool.description,
                 "parameters": tool.parameters} for tool in self._tools.values()]

    def run(self, call: Call) -> Message:
        """The one result of a call. A failure is a result with `error`, never a raise.

        Only an interrupt passes through; even a tool that calls `sys.exit` does not.
        """
        return self.result_of(call, lambda: self._called(call))

    def batches(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        """The calls of a reply in order: each alone, or with its neighbours of the same tool if
        that tool runs its calls side by side."""
        for name, batch in groupby(calls, key=lambda call: call["name"]):
            if isinstance(self._tools.get(name), SideBySide):
                yield list(batch)
            else:
                yield from ([call] for call in batch)

    def run_batch(self, batch: Sequence[Call], step: int, answer: Answer) -> None:
        """Give `answer` the one result of each call of a batch, in order."""
        tool = self._tools.get(batch[0]["name"])
        if isinstance(tool, SideBySide):
            tool.together(self, batch, step, answer)
            return
        for call in batch:
            try:
                answer(self.run(call))
            except ToolInterrupted as interrupt:
                answer(self.failure(call, interrupt.error))
                raise

    def result_of(self, call: Call, work: Callable[[], str]) -> Message:
        """The one result of a call: what `work` returns, or how it failed."""
        try:
            content = without_data(clean_output(work()))
        except ToolError as error:
            return self.failure(call, error)
        except (Exception, SystemExit) as error:
            return self.failure(call, ToolError("TOOL_CRASHED", _described(error)))
        return tool_result(call["id"], call["name"], content)

    def _called(self, call: Call) -> str:
        """What the tool of a call returns."""
        tool, arguments = self.checked(call)
        content = tool(**arguments)
        if not isinstance(content, str):
            raise TypeError(f"{tool.name} returned {type(content).__name__}, not str")
        return content

    def checked(self, call: Call) -> tuple[Tool, dict[str, Any]]:
        """The tool and the arguments of a call, known to be good. Raises `ToolError`."""
        tool = self._tool(call["name"])
        if "invalid" in call:
            raise ToolError("INVALID_JSON", self._texts(
                "invalid_json", fault=_json_fault(call["invalid"], self._texts)))
        arguments = with_numbers(tool.parameters, without_nulls(tool.parameters, call["arguments"]))
        found = [words for _, words in schema_faults(tool.parameters, arguments, self._texts)]
        if found:
            raise ToolError("BAD_ARGUMENTS", "; ".join(found))
        if isinstance(tool, Checked):
            tool.check(**arguments)
        if self._permit is not None:
            self._permit(tool, arguments)
        return tool, arguments

    def _tool(self, name: str) -> Tool:
        """The tool of that name, or UNKNOWN_TOOL with the names that come close."""
        if name in self._tools:
            return self._tools[name]
        close = difflib.get_close_matches(name[:100], list(self._tools), 3)
        hint = self._texts("did_you_mean", names=", ".join(close)) if close else ""
        raise ToolError("UNKNOWN_TOOL", self._texts(
            "unknown_tool", name=one_line(name), hint=hint, names=", ".join(self._tools)))

    def failure(self, call: Call, error: ToolError) -> Message:
        """The result of a call that failed: `ERROR CODE: message`, then the details."""
        said = str(error) if error.place or error.remedy else error.message
        message = one_line(self._scrub(said), MESSAGE_LIMIT)
        content = f"ERROR {error.code}: {message}"
        if error.details:
            content += "\n" + without_data(clean_output(self._scrub(error.details)))
        return tool_result(call["id"], call["name"], content,
                           {"code": error.code, "message": message})


def _json_fault(raw: str, texts: Texts) -> str:
    """What is wrong with arguments that are not a JSON object, with the position."""
    try:
        value = json.loads(raw)
    except json.JSONDecodeError as error:
        return f"line {error.lineno} column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:  # an endless number or nesting
        return _described(error)
    found = json_type(value)
    return texts("json_string") if found == "object" else texts("json_type", found=found)


def _described(error: BaseException) -> str:
    """Class and message of an exception, even of one whose `str` raises."""
    try:
        words = str(error)
    except Exception:  # the class alone then says what happened
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
