"""Milestone 6: what the program around a window hands it, checked before anything is kept.

A mistake is reported where it was made, with what is there and what to do, and not some
requests later. What is left out: whether calls and results belong together (`forms.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableSequence, Sequence
from pathlib import Path, PurePath
from typing import Any

from ..compression.budget import MOST
from ..errors import UsageError
from ..lab.sessions.fields import flat
from ..strict_json import too_deep
from ..texts import language_of

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


def checked_list(value: object, place: str, remedy: str = "give a list of dicts",
                 exact: bool = False) -> Sequence[Any]:
    """The value. `UsageError` where it is no list; a tuple is one, unless it is to be `exact`."""
    if isinstance(value, str) or not isinstance(value, Sequence) or (
            exact and not isinstance(value, list)):
        raise wrong(place, f"not a list but {type(value).__name__}", value, remedy)
    return value


def checked_messages(value: object) -> Sequence[Given]:
    """The list of an agent. `UsageError` where it is none, or cannot grow."""
    if not isinstance(value, MutableSequence):
        checked_list(value, "messages")
        raise wrong("messages", f"a {type(value).__name__} does not grow", value,
                    "give the list that you append to")
    return value


def check_json(value: object, place: str) -> None:
    """`UsageError` for what no request can hold: a set, a date, an object of a class."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise wrong(place, f"it cannot be written as JSON ({error})", value,
                    "use texts, numbers, lists and dicts only") from error


def checked_message(value: object, place: str) -> Given:
    """A message whose parts and calls can be read: texts and dicts. `UsageError`."""
    message = checked_dict(value, place)
    content, calls = message.get("content"), message.get("tool_calls")
    if not (content is None or isinstance(content, str)):
        for number, part in enumerate(checked_list(
                content, f"{place}.content", "give a text, or a list of parts", exact=True)):
            at = f"{place}.content[{number}]"
            if not isinstance(part, str) and too_deep(
                    [checked_dict(part, at).get(key) for key in ("content", "output", "source")]):
                raise wrong(at, "nested too deep", part, "give a text, or parts of text")
    for number, call in enumerate(checked_list(calls or [], f"{place}.tool_calls", exact=True)):
        checked_dict(call, f"{place}.tool_calls[{number}]")
    return message


def check_window(window: object) -> None:
    """`UsageError` unless it is a whole number of tokens, or None for a window not known."""
    if window is not None and not (type(window) is int and window <= MOST):
        raise wrong("window", f"no window {window!r}", window,
                    "give a whole number of tokens, or None where it is not known")


def checked_trace(path: object) -> Path | None:
    """The path of a trace, None for none. `UsageError` for what is no path of a file."""
    if path is None:
        return None
    if not isinstance(path, (str, PurePath)) or not Path(path).name or "\0" in str(path):
        raise wrong("trace", f"no file {path!r}", path, "give the path of a .jsonl file")
    return Path(path)


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
    tools = checked_list(value, "tools")
    for number, tool in enumerate(tools):
        if foreign in checked_dict(tool, f"tools[{number}]"):
            raise wrong(f"tools[{number}]", f"{foreign!r} in a tool for provider {provider!r}",
                        tool, "give tools and messages in the form of the provider")
        check_json(tool, f"tools[{number}]")
    return list(tools)


def check_apart(names: Iterable[str], ours: Iterable[str]) -> None:
    """`UsageError` where a tool stands twice, or has the name of one of `ours`."""
    known = {name: "it is declared by the window: give yours another name" for name in ours}
    for number, name in enumerate(names):
        if name in known:
            raise wrong(f"tools[{number}]", f"a second tool {name!r}", name, known[name])
        known[name] = "declare each tool once"


def language(messages: Iterable[Given], beside: str) -> str:
    """The language of the first user message; if there is none, that of the system prompt."""
    for role in ("user", "system", "developer"):
        for at, given in enumerate(messages):
            if checked_message(given, f"messages[{at}]").get("role") == role:
                return language_of(flat(given.get("content")).text)
    return language_of(beside)
