"""Milestone 6: the content blocks of the Anthropic Messages API.

Claude Code, the wire traces, LangChain dumps and Cline all have them: a content is a
string or a list of blocks `text, thinking{thinking, signature}, redacted_thinking{data},
tool_use{id, name, input}, tool_result{tool_use_id, content, is_error}, image, document`. The
results of server tools stand in the assistant's own message. Signed thinking is kept whole
as `opaque`, unsigned thinking is only counted.
"""

from __future__ import annotations

import re
from typing import Any

from .fields import Flat, dict_of, dicts_of, flat, is_injected, string_of
from .log import Log, RawCall, failed

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_CLINE_RESULT = re.compile(r"\[\w[^\n]{0,2000}\] Result:\s*")
_CLINE_OTHER = re.compile(_CLINE_RESULT.pattern + r"|<environment_details>")


def is_result(block: dict[str, Any]) -> bool:
    """Whether a block is the result of a call, of the client or of a server tool."""
    return string_of(block.get("type")).endswith("tool_result")


def add_assistant(log: Log, content: Any, key: str, *, counted: bool = True) -> None:
    """Add an assistant message; records with the same key are joined into one message."""
    blocks = dicts_of(content)
    rest = [block for block in blocks if not is_result(block)]
    text = flat(content if isinstance(content, str) else rest)
    calls = [RawCall(string_of(block.get("id")), string_of(block.get("name")), block.get("input"))
             for block in rest if block.get("type") in _CALLS]
    log.assistant(text, calls, key=key, counted=counted)
    for block in rest:
        if block.get("signature") or block.get("type") == "redacted_thinking":
            log.assistant(key=key, opaque=("anthropic", block))
        elif block.get("type") == "thinking":
            log.notes["thinking"] += 1
    for block in blocks:
        if is_result(block):
            _result(log, block)


def add_user(log: Log, content: Any, *, injected: bool = False, open_calls: int = 0) -> None:
    """Add the results in a user message, then its text.

    Cline writes results as text, `[tool for 'x'] Result:`, with the output in the same block
    or in the next. At most `open_calls` of these are taken for results.
    """
    parts = content if isinstance(content, list) else [] if content is None else [content]
    in_text = 0 if any(is_result(dict_of(part)) for part in parts) else open_calls
    kept: list[Any] = []
    left = parts[::-1]
    while left:
        part = left.pop()
        head = _CLINE_RESULT.match(_text(part)) if in_text else None
        if is_result(dict_of(part)):
            _result(log, part)
        elif head:
            in_text -= 1
            apart = head.end() == len(_text(part)) and left and not _CLINE_OTHER.match(
                _text(left[-1]))
            log.result("", flat([part, left.pop()] if apart else part))
            log.notes["results_in_text"] += 1
        else:
            kept.append(part)
    text = flat(kept)
    if kept or not parts:
        log.user(text, injected=injected or is_injected(text.text))


def _text(part: Any) -> str:
    return string_of(dict_of(part).get("text"))


def _result(log: Log, block: dict[str, Any]) -> None:
    content = block.get("content")
    text = flat(block.get("text") if content is None else content)
    log.result(string_of(block.get("tool_use_id")), text,
               error=failed() if block.get("is_error") is True else None)


def empty(content: Any) -> bool:
    """Whether a content has no part at all."""
    return flat(content) == Flat()
