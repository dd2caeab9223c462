"""Milestone 3: tools over the window: `pin` and `stage_done`.

With them the model itself says what must not be lost, and when a piece of work is
finished. What is left out: how both are kept (`pinning.py`, `state.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ToolError
from ..messages import Message
from ..texts import Texts
from ..tools.schema import COUNT, object_of, one_of
from .pins import KINDS, Pin
from .window import ContextWindow


@dataclass(frozen=True)
class PinTool:
    """`pin(handle, text, kind)`: the text stays word for word; without one the whole message.

    `window` gives the session's window, which is made after the tools, since it counts them.
    """

    window: Callable[[], ContextWindow | None]
    history: Sequence[Message]
    texts: Texts
    name: ClassVar[str] = "pin"

    @property
    def description(self) -> str:
        """Says that words which have to stay can be pinned."""
        return self.texts("tool_pin")

    @property
    def parameters(self) -> dict[str, Any]:
        """A message, words that stand in it (or all of it), and the kind of pin."""
        return object_of({
            "handle": {**COUNT, "description": self.texts("arg_handle")},
            "text": {"type": "string", "description": self.texts("arg_pin_text")},
            "kind": {**one_of(KINDS), "description": self.texts("arg_pin_kind")}}, ("handle",))

    def __call__(self, handle: int, text: str = "", kind: str = "constraint") -> str:
        window = _there(self.window())
        window.take_in(self.history)
        refused = window.pin(Pin(handle, text, kind), window.state.step, "tool")
        if refused:
            raise ToolError("PIN_REFUSED", refused)
        return self.texts("pin_set", handle=handle, count=len(window.pins.pins))


@dataclass(frozen=True)
class StageDoneTool:
    """`stage_done(name)`: what was done so far is a finished stage of the work."""

    window: Callable[[], ContextWindow | None]
    history: Sequence[Message]
    texts: Texts
    name: ClassVar[str] = "stage_done"

    @property
    def description(self) -> str:
        """Says when it is to be called: where a stage of the work is finished."""
        return self.texts("tool_stage_done")

    @property
    def parameters(self) -> dict[str, Any]:
        """The name of the stage."""
        return object_of({"name": {
            "type": "string", "description": self.texts("arg_stage")}}, ("name",))

    def __call__(self, name: str) -> str:
        window = _there(self.window())
        window.stage_done(self.history, name, window.state.step)
        return self.texts("stage_ended", name=name)


def _there(window: ContextWindow | None) -> ContextWindow:
    assert window is not None  # it is made before the first call
    return window
