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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ToolError
from ..messages import Message, calls_of
from ..texts import Texts
from ..tokens import Estimator
from ..trace import Tracer
from .budget import Budget
from .clear import first_sentence
from .scene import Scene
from .view import Change, View

Declaration = Mapping[str, Any]
DESCRIBE = "describe_tool"
SHORT, OUT = "short", "out"


@dataclass(frozen=True)
class InputBudget:
    """Declarations may have `share` of the window; those in `always` are sent whole.

    On a ladder it says so; it proposes nothing, since declarations are no messages.
    """

    name: ClassVar[str] = "input_budget"
    asks_model: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = (DESCRIBE,)
    share: float = 0.02
    always: tuple[str, ...] = ()

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """Nothing: see `Inputs`."""
        return None


class Inputs:
    """The declarations of a session, each whole, short or left out. `tokens` is what is sent."""

    def __init__(self, declarations: Sequence[Declaration], estimate: Estimator, texts: Texts,
                 settings: InputBudget | None = None) -> None:
        self._whole = {tool["name"]: tool for tool in declarations}
        self._estimate, self._texts = estimate, texts
        self._settings = settings
        self._forms: dict[str, str] = {}  # of those that are not sent whole
        self._judged = settings is None
        self._seen = 0                    # messages of the history that were looked at
        self.tokens = self._count()

    def settle(self, step: int, history: Sequence[Message], budget: Budget,
               tracer: Tracer) -> None:
        """Before a request: judge once, then give what was asked for since. Both are recorded."""
        before = self.tokens
        if not self._judged and budget.window is not None and self._settings is not None:
            self._judged = True
            self._judge(int(budget.window * self._settings.share), history)
            if self._forms:
                tracer.event("settings", step=step, strategy=InputBudget.name,
                             before_tokens=before, after_tokens=self.tokens,
                             system_tokens=sum(self._estimate.message(message) for message in history
                                               if message["role"] == "system"),
                             short=self._named(SHORT), left_out=self._named(OUT))
        before = self.tokens
        if wanted := self._asked_for(history):
            for name in wanted:
                del self._forms[name]
            self.tokens = self._count()
            tracer.event("settings", step=step, strategy=InputBudget.name, expanded=wanted,
                         before_tokens=before, after_tokens=self.tokens)

    def sent(self, declarations: Sequence[Declaration]) -> list[dict[str, Any]]:
        """These declarations as they are to be sent."""
        return [self._form(tool) for tool in declarations if self._forms.get(tool["name"]) != OUT]

    def _judge(self, limit: int, history: Sequence[Message]) -> None:
        """Make the declarations smaller from the last one on, until they are within `limit`."""
        told = "\n".join(message["content"] for message in history)
        spared = {DESCRIBE, *(self._settings.always if self._settings else ())}
        free = [name for name in reversed(self._whole) if name not in spared and name not in told]
        left_out = [OUT] if DESCRIBE in self._whole else []
        for form in [SHORT, *left_out]:
            for name in free:
                if self.tokens <= limit:
                    return
                self._forms[name] = form
                self.tokens = self._count()

    def _asked_for(self, history: Sequence[Message]) -> list[str]:
        """The tools that were called or asked for since the last look, and are not sent whole."""
        found: dict[str, None] = {}
        for message in history[self._seen:]:
            for made in calls_of(message):
                name = made["arguments"].get("name") if made["name"] == DESCRIBE else made["name"]
                if isinstance(name, str) and name in self._forms:
                    found[name] = None
        self._seen = len(history)
        return list(found)

    def _named(self, form: str) -> list[str]:
        return [name for name in self._whole if self._forms.get(name) == form]

    def _count(self) -> int:
        sent = self.sent(list(self._whole.values()))
        return self._estimate.declarations(sent) if sent else 0

    def _form(self, tool: Declaration) -> dict[str, Any]:
        if tool["name"] in self._forms:
            return {"name": tool["name"], "description": first_sentence(tool["description"]),
                    "parameters": _bare(tool["parameters"])}
        if tool["name"] == DESCRIBE and (names := self._named(OUT)):
            more = self._texts("tools_left_out", names=", ".join(names))
            return {**tool, "description": f"{tool['description']} {more}"}
        return dict(tool)


def _bare(schema: Any) -> Any:
    """A schema without its descriptions; a property that is called so stays."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: {name: _bare(inner) for name, inner in value.items()} if key == "properties"
            else _bare(value) for key, value in schema.items() if key != "description"}


@dataclass(frozen=True)
class DescribeTool:
    """`describe_tool(name)`: the whole declaration of a tool that was sent short or left out."""

    declarations: Sequence[Declaration]
    texts: Texts
    name: str = DESCRIBE

    @property
    def description(self) -> str:
        return self.texts("tool_describe_tool")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "required": ["name"], "additionalProperties": False,
                "properties": {"name": {"type": "string",
                                        "description": self.texts("arg_tool_name")}}}

    def __call__(self, name: str) -> str:
        for tool in self.declarations:
            if tool["name"] == name:
                return json.dumps(tool, ensure_ascii=False, indent=1)
        known = ", ".join(str(tool["name"]) for tool in self.declarations)
        raise ToolError("UNKNOWN_TOOL", self.texts("unknown_tool", name=name[:100], hint="",
                                                   names=known))
