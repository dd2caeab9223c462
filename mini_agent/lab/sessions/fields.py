"""Milestone 6: taking fields out of JSON that nobody has checked.

A log is written by another program, perhaps by an enemy: any field may be missing or of the
wrong type. These functions return a value of the type asked for, or the empty value of that
type. `flat` makes one text of the content parts that all formats have in some spelling; an
image becomes `[image TYPE, N bytes]`. Calls, results and reasoning among the parts are left
to the readers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...data_uris import bytes_spelt
from ...strict_json import loads

INJECTED = (  # beginnings of user messages that a host wrote, not a person
    "<command-", "<local-command-", "<bash-", "<task-notification", "<environment_context>",
    "<user_instructions>", "<permissions instructions>", "<collaboration_mode>",
    "<skills_instructions>", "<turn_aborted>",
    "# AGENTS.md instructions", "[Request interrupted by user", "Caveat: The messages below",
)
_REMINDER = ("<system-reminder>", "</system-reminder>")
_APART = ("thinking", "redacted_thinking", "reasoning", "tool_use", "tool_call", "toolCall",
          "tool_result", "function_call", "server_tool_use", "mcp_tool_use")


@dataclass(slots=True)
class Flat:
    """A content as one text. `chars` is its size without the stand-ins for images and files;
    `images` and `others` count the parts that are not text."""

    text: str = ""
    chars: int = 0
    images: int = 0
    others: int = 0


def string_of(value: Any) -> str:
    """The value if it is a string, the digits if it is a whole number, else ""."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    """The value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value if it is a list, else []."""
    return value if isinstance(value, list) else []


def dicts_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in list_of(value) if isinstance(item, dict)]


def int_of(value: Any) -> int | None:
    """The value if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dumped(value: Any) -> str:
    """JSON as most logs write it: a blank after `,` and `:`, characters not escaped."""
    return json.dumps(value, ensure_ascii=False)


def arguments_of(raw: Any) -> Any:
    """The arguments of a call: an object, parsed if it came as a string; {} for nothing; the
    value as it is where it is no object."""
    if not isinstance(raw, str):
        return {} if raw is None else raw
    try:
        value = loads(raw) if raw.strip() else {}
    except ValueError:
        return raw
    return value if isinstance(value, dict) else raw


def glue(parts: Iterable[str]) -> str:
    """The texts joined, with a newline between two where there is none yet."""
    made: list[str] = []
    for part in parts:
        if made and part and not made[-1].endswith("\n"):
            made.append("\n")
        if part:
            made.append(part)
    return "".join(made)


def is_injected(text: str) -> bool:
    """Whether the host wrote all of a user message: reminders, or a text that begins as one of
    `INJECTED`."""
    rest = between_all(text, *_REMINDER)[0].strip() if _REMINDER[0] in text else text.strip()
    return bool(text) and (not rest or rest.startswith(INJECTED))


def between_all(text: str, opening: str, closing: str) -> tuple[str, list[str]]:
    """The text without its `opening...closing` stretches, and what stands inside them."""
    kept, inside, at = [], [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[at:start])
        inside.append(text[start + len(opening):end])
        at = end + len(closing)
    return "".join(kept) + text[at:], inside


def flat(content: Any) -> Flat:
    """A text, a list of parts, or one part, as one text."""
    if isinstance(content, str):
        return Flat(content, len(content))
    parts = content if isinstance(content, list) else [] if content is None else [content]
    texts: list[str] = []
    counted: list[str] = []
    made = Flat()
    for part in parts:
        text = _plain(part)
        if text is not None:
            counted.append(text)
        elif _kind(part) in _APART:
            continue
        else:
            text = _stand_in(dict_of(part))
            made.images += text.startswith("[image")
            made.others += not text
        texts.append(text)
    made.text, made.chars = glue(texts), len(glue(counted))
    return made


def _kind(part: Any) -> str:
    return string_of(dict_of(part).get("type"))


def _plain(part: Any) -> str | None:
    """The text of a part, None if it is not one of text."""
    if isinstance(part, str):
        return part
    if _kind(part) in _APART:
        return None
    for key in ("text", "refusal", "output", "content"):
        value = dict_of(part).get(key)
        if isinstance(value, str):
            return value
        if key in ("output", "content") and isinstance(value, list):
            return flat(value).text
    source = dict_of(dict_of(part).get("source"))  # a document may be text, or parts
    field = {"text": "data", "content": "content"}.get(string_of(source.get("type")))
    return flat(source.get(field)).text if field else None


def _source(part: dict[str, Any]) -> tuple[str, str, str]:
    """(media type, data, link) of an image or a file, "" for what is not there."""
    source = dict_of(part.get("source")) or dict_of(part.get("inlineData")) or part
    link = part.get("image_url") or source.get("url") or part.get("image")
    link = string_of(dict_of(link).get("url") if isinstance(link, dict) else link)
    if link.startswith("data:"):
        head, _, data = link.partition(",")
        return head[5:].partition(";")[0], data, link
    media = string_of(source.get("media_type") or source.get("mimeType") or part.get("mime"))
    return media, string_of(source.get("data")), link


def _stand_in(part: dict[str, Any]) -> str:
    """What stands in the history for an image, a file or a reference; "" for others."""
    kind = string_of(part.get("type"))
    if kind == "tool_reference":
        return f"[tool reference {string_of(part.get('tool_name'))}]"
    if kind == "web_search_result":
        return f"{string_of(part.get('title'))} {string_of(part.get('url'))}".strip()
    media, data, link = _source(part)
    if "image" not in kind + media and "image_url" not in part:
        what = media or string_of(part.get("filename") or part.get("name")) or kind
        if data:
            return f"[file {what}, {bytes_spelt(data)} bytes]"
        return f"[file {what}]" if kind in ("file", "document", "input_file") else ""
    if data:
        return f"[image {media or 'image'}, {bytes_spelt(data)} bytes]"
    return f"[image at {link[:200]}]" if link else "[image of unknown size]"
