"""Milestone 3: whether a pin may be set, whoever asks for it.

A pin has to stand in the message that it names, to be of a known kind, and to fit:
all pins together take at most 10 % of the window. What is refused is told with its
numbers and recorded like what is set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..tokens import Estimator
from .pins import KINDS, SHARE, Pin, Pins, marks, may_mark
from .state import WindowState
from .view import Change, manual_payload


def whole(pin: Pin, state: WindowState) -> Pin:
    """The pin; if it has neither a text nor a glob, it is one of its whole message."""
    if pin.text or pin.protect or not 0 <= pin.index < len(state.history):
        return pin
    return replace(pin, text=state.history[pin.index]["content"])


def pin_refusal(pin: Pin, state: WindowState, window: int | None) -> str:
    """Why `pin` may not be set, "" if it may. `window` in tokens, None without a limit."""
    texts, index = state.texts, pin.index
    if not 0 <= index < len(state.history):
        return texts("pin_no_message", index=index, last=len(state.history) - 1)
    if pin.kind not in KINDS:
        return texts("pin_no_kind", kind=pin.kind, kinds=", ".join(KINDS))
    if not pin.text and not pin.protect:
        return texts("pin_no_text", index=index)
    if pin.text not in state.history[index]["content"]:
        return texts("pin_not_said", index=index)
    if not any(index in entry.stands_for for entry in state.view.entries):
        return texts("pin_left", index=index)
    return too_large(pin, state.pins, state.estimate, window)


def too_large(pin: Pin, pins: Pins, estimate: Estimator, window: int | None) -> str:
    """Why there is no room for one more pin beside `pins`, with the numbers; "" if there is."""
    taken = sum(estimate.text(pins.line(old)) for old in pins.pins)
    more = estimate.text(pins.line(pin))
    if window is None or (taken + more) * 100 <= window * SHARE:
        return ""
    return pins.texts("pin_no_room", more=more, taken=taken, limit=window * SHARE // 100,
                      share=SHARE, window=window)


def put_back(pin: Pin, state: WindowState) -> Change | None:
    """The change that adds a pin to the entry that stands for its message; None if that entry
    says it already."""
    for at, old in enumerate(state.view.entries):
        if pin.index not in old.stands_for or old.message == state.history[pin.index] \
                or state.pins.stands_in(pin, old.message["content"]):
            continue
        pins = replace(state.pins, pins=(*state.pins.pins, pin))
        text = pins.carry(old.message["content"], old.stands_for)
        message = {**old.message, "content": text}
        entry = old._replace(message=message, tokens=state.estimate.message(message))
        return Change("pin", (at,), ((at, entry),))
    return None


def record_of(pin: Pin, step: int, by: str, refused: str, state: WindowState) -> dict[str, Any]:
    """The payload of a `pin` record, with the change that puts the pin back where it needs one."""
    fields = {"index": pin.index, "text": pin.text, "kind": pin.kind, "protect": pin.protect,
              "by": by}
    if refused:
        return {"step": step, **fields, "refused": refused}
    change = put_back(pin, state)
    return {"step": step, **fields, **(
        {} if change is None else manual_payload(step, state.view, change))}


def new_marks(state: WindowState) -> list[tuple[Pin, str]]:
    """(pin, what is wrong with it) of each mark that came in since the last request, once."""
    new = state.history[state.asked:]
    if not any(map(may_mark, new)):  # the usual case
        return []
    found = {pin: wrong for index, message in enumerate(new, state.asked)
             for pin, wrong in marks(index, message)}
    return [(pin, wrong) for pin, wrong in found.items() if pin not in state.marks]
