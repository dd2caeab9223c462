"""Milestone 3: the fixed part of every request: the tool declarations.

They stand before the history, so they are cheap while they stay and break the whole
prefix when they change. They are judged once, before the first request: what the task
does not name is sent short, or left out and only named, until the declarations are
within a share of the window. A tool that is called, or asked for with
`describe_tool`, is declared whole from then on; that is the one growth that law 3
allows. What is left out: the system prompt, which is counted and never cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ToolError
from ..extract import first_sentence
from ..messages import Message, calls_of
from ..texts import Texts
from ..tokens import Estimator
from ..tools.base import FunctionTool
from ..tools.schema import TEXT, object_of
from .scene import Scene
from .state import WindowState
from .view import Change, View

Declaration = Mapping[str, Any]
Recorder = Callable[..., None]  # writes an event: its name, then the fields of its payload
DESCRIBE = "describe_tool"
NAMED = (DESCRIBE, "read_result", "recall")  # our own texts speak of them
SHORT, OUT = "short", "out"


@dataclass(frozen=True)
class InputBudget:
    """Declarations may have `share` of the window; those in `always` are sent whole.

    As a rung it proposes nothing: declarations are not messages (see `Inputs`).
    """

    name: ClassVar[str] = "input_budget"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = (DESCRIBE,)
    share: float = 0.02
    always: tuple[str, ...] = ()

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """None: `Inputs` does the work, before a request is measured."""
        return None


def input_budget_of(rungs: Iterable[Any]) -> InputBudget | None:
    """The input budget among the rungs of a ladder, None where there is none."""
    return next((rung.strategy for rung in rungs if isinstance(rung.strategy, InputBudget)), None)


class Inputs:
    """The declarations of an agent, and in which form each is sent.

    The forms are state of the session and stand in its `settings` under "inputs": a dict
    from the name of each tool that is not sent whole to "short" or "out".
    """

    def __init__(self, declarations: Sequence[Declaration], estimate: Estimator, texts: Texts,
                 settings: InputBudget | None = None) -> None:
        self._whole = {tool["name"]: tool for tool in declarations}
        self._estimate, self._texts, self._settings = estimate, texts, settings
        self._counted = False  # whether the forms of the session have been counted

    def of(self, declarations: Sequence[Declaration], settings: InputBudget | None) -> Inputs:
        """The same for other tools, under another policy."""
        return Inputs(declarations, self._estimate, self._texts, settings)

    def settle(self, step: int, state: WindowState, window: int | None, record: Recorder) -> None:
        """Before a request: judge the declarations once, then declare whole what was asked for
        since. Both are recorded."""
        forms = _forms(state)
        if forms:
            self._expand(step, state, forms, record)
        elif self._settings is not None and window is not None and not state.asked:
            judged = self._judge(int(window * self._settings.share), state.history)
            if judged:
                self._send(step, state, record, judged, system_tokens=sum(
                    state.estimate.message(state.history[index]) for index in state.systems))

    def _expand(self, step: int, state: WindowState, forms: Mapping[str, str],
                record: Recorder) -> None:
        """Declare the tools whole that were asked for since the last request."""
        wanted = [name for name in _asked_for(state) if name in forms]
        if wanted:
            kept = {name: form for name, form in forms.items() if name not in wanted}
            self._send(step, state, record, kept, expanded=wanted)
        elif not self._counted:
            self._counted = True
            state.declared = self._tokens(forms)  # of a session that is resumed

    def sent(self, declarations: Sequence[Declaration], state: WindowState) -> list[dict[str, Any]]:
        """These declarations as they are to be sent."""
        return self._formed(declarations, _forms(state))

    def _send(self, step: int, state: WindowState, record: Recorder, forms: dict[str, str],
              **facts: Any) -> None:
        """Send the tools in these forms from now on, and record it."""
        self._counted = True
        after = self._tokens(forms)
        record("settings", step=step, strategy=InputBudget.name, inputs=forms,
               before_tokens=state.declared, after_tokens=after, **facts)
        state.declared = after

    def _judge(self, limit: int, history: Sequence[Message]) -> dict[str, str]:
        """The tools that are sent short or left out, the last one first, until all have `limit`
        tokens."""
        said = "\n".join(message["content"] for message in history)
        spared = {*NAMED, *(self._settings.always if self._settings else ())}
        free = [name for name in reversed(self._whole) if name not in spared and name not in said]
        forms: dict[str, str] = {}
        for form in (SHORT, OUT) if DESCRIBE in self._whole else (SHORT,):
            for name in free:
                if self._tokens(forms) <= limit:
                    return forms
                forms[name] = form
        return forms

    def _tokens(self, forms: Mapping[str, str]) -> int:
        return self._estimate.declarations(self._formed(list(self._whole.values()), forms))

    def _formed(self, declarations: Sequence[Declaration],
                forms: Mapping[str, str]) -> list[dict[str, Any]]:
        left_out = ", ".join(name for name in self._whole if forms.get(name) == OUT)
        made = []
        for tool in declarations:
            if forms.get(tool["name"]) == SHORT:
                made.append({"name": tool["name"], "parameters": _bare(tool["parameters"]),
                             "description": first_sentence(tool["description"])})
            elif tool["name"] == DESCRIBE and left_out:
                more = self._texts("tools_left_out", names=left_out)
                made.append({**tool, "description": f"{tool['description']} {more}"})
            elif tool["name"] not in forms:
                made.append(dict(tool))
        return made


def _forms(state: WindowState) -> dict[str, str]:
    forms: dict[str, str] = state.settings.get("inputs", {})
    return forms


def _asked_for(state: WindowState) -> list[str]:
    """The tools that were called, or asked for by name, since the last request."""
    calls = [call for message in state.history[state.asked:] for call in calls_of(message)]
    return list(dict.fromkeys(
        str(call["arguments"].get("name")) if call["name"] == DESCRIBE else call["name"]
        for call in calls))


def _bare(schema: Any) -> Any:
    """A schema without its descriptions; a property of the name `description` stays."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: {name: _bare(inner) for name, inner in value.items()} if key == "properties"
            else _bare(value) for key, value in schema.items() if key != "description"}


def describe_tool(declarations: Sequence[Declaration], texts: Texts) -> FunctionTool:
    """`describe_tool(name)`: the whole declaration of a tool that was sent short or left out."""
    def describe(name: str) -> str:
        for tool in declarations:
            if tool["name"] == name:
                return json.dumps(tool, ensure_ascii=False, indent=1)
        known = ", ".join(str(tool["name"]) for tool in declarations)
        raise ToolError("UNKNOWN_TOOL", texts("unknown_tool", name=name[:100], hint="",
                                              names=known))

    return FunctionTool(DESCRIBE, texts("tool_describe_tool"), object_of({
        "name": {**TEXT, "description": texts("arg_tool_name")}}, ("name",)), describe)
