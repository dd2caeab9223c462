"""Milestone 3: tools over the window: `pin` and `stage_done`.

With them the model itself says what must not be lost, and when a piece of work is
finished. Each is given a function that returns the session's window, which is made after
the tools, since it counts them. What is left out: how both are kept (`pinning.py`,
`state.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ToolError
from ..messages import Message
from ..texts import Texts
from ..tools.base import FunctionTool
from ..tools.schema import COUNT, TEXT, object_of, one_of
from .pins import KINDS, Pin
from .window import ContextWindow

Window = Callable[[], ContextWindow | None]


def pin_tool(window: Window, history: Sequence[Message], texts: Texts) -> FunctionTool:
    """`pin(handle, text, kind)`: the text stays word for word; without one the whole message."""
    def pin(handle: int, text: str = "", kind: str = "constraint") -> str:
        made = _there(window())
        made.take_in(history)
        refused = made.pin(Pin(handle, text, kind), made.state.step, "tool")
        if refused:
            raise ToolError("PIN_REFUSED", refused)
        return texts("pin_set", handle=handle, count=len(made.pins.pins))

    return FunctionTool("pin", texts("tool_pin"), object_of({
        "handle": {**COUNT, "description": texts("arg_handle")},
        "text": {**TEXT, "description": texts("arg_pin_text")},
        "kind": {**one_of(KINDS), "description": texts("arg_pin_kind")}}, ("handle",)), pin)


def stage_done_tool(window: Window, history: Sequence[Message], texts: Texts) -> FunctionTool:
    """`stage_done(name)`: what was done so far is a finished stage of the work."""
    def stage_done(name: str) -> str:
        made = _there(window())
        made.stage_done(history, name, made.state.step)
        return texts("stage_ended", name=name)

    return FunctionTool("stage_done", texts("tool_stage_done"), object_of({
        "name": {**TEXT, "description": texts("arg_stage")}}, ("name",)), stage_done)


def _there(window: ContextWindow | None) -> ContextWindow:
    assert window is not None  # it is made before the first call
    return window
