"""Milestone 6: what the program around a window hands it, checked before anything is kept.

A mistake is reported where it was made, with what is there and what to do, and not some
requests later. What is left out: whether calls and results belong together (`forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import UsageError
from ..lab.sessions.fields import flat

Given = dict[str, Any]  # a message, a call or a tool in the agent's own form
DUMP = "give it as a dict, as model_dump() of a client's object does"


def wrong(place: str, what: str, value: object, remedy: str) -> UsageError:
    """The error for an argument, or a part of one, that cannot be used."""
    return UsageError(what, place=place, value=value, remedy=remedy)


def checked_dict(value: object, place: str) -> Given:
    """The value. `UsageError` where it is no dict."""
    if not isinstance(value, dict):
        raise wrong(place, f"not a dict but {type(value).__name__}", value, DUMP)
    return value


def checked_list(value: object, place: str, remedy: str = "give a list of dicts") -> Sequence[Any]:
    """The value. `UsageError` where it is no list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong(place, f"not a list but {type(value).__name__}", value, remedy)
    return value


def checked_message(value: object, place: str) -> Given:
    """A message whose parts and calls can be read: texts and dicts. `UsageError`."""
    message = checked_dict(value, place)
    content, calls = message.get("content"), message.get("tool_calls")
    if not (content is None or isinstance(content, str)):
        for number, part in enumerate(checked_list(content, f"{place}.content",
                                                   "give a text, or a list of parts")):
            if not isinstance(part, str):
                checked_dict(part, f"{place}.content[{number}]")
    for number, call in enumerate(checked_list(calls or [], f"{place}.tool_calls")):
        checked_dict(call, f"{place}.tool_calls[{number}]")
    return message


def check_window(window: object) -> None:
    """`UsageError` unless it is a whole number of tokens, or None for a window not known."""
    if window is not None and (isinstance(window, bool) or not isinstance(window, int)):
        raise wrong("window", f"no window {window!r}", window,
                    "give a whole number of tokens, or None where it is not known")


def checked_system(value: object, provider: str) -> str:
    """The text of a system prompt given beside the messages, as a text or as blocks. `UsageError`
    where it is neither, and in chat completions, where it has to be a message."""
    if value and provider == "openai":
        raise wrong("system", "nothing stands beside the messages in chat completions", value,
                    "make it the first message")
    if value and not isinstance(value, str):
        value = [checked_dict(block, "system") for block in checked_list(value, "system")]
    return flat(value).text


def checked_tools(value: object, provider: str) -> list[Given]:
    """The tools of an agent. `UsageError` where one is no dict, or in another provider's form."""
    foreign = {"openai": "input_schema", "anthropic": "function"}[provider]
    for number, tool in enumerate(checked_list(value, "tools")):
        if foreign in checked_dict(tool, f"tools[{number}]"):
            raise wrong(f"tools[{number}]", f"{foreign!r} in a tool for provider {provider!r}",
                        tool, "give tools and messages in the form of the provider")
    return list(checked_list(value, "tools"))


def check_apart(names: Iterable[str], ours: Iterable[str]) -> None:
    """`UsageError` where a tool stands twice, or has the name of one of `ours`."""
    known = {name: "it is declared by the window: give yours another name" for name in ours}
    for number, name in enumerate(names):
        if name in known:
            raise wrong(f"tools[{number}]", f"a second tool {name!r}", name, known[name])
        known[name] = "declare each tool once"
