"""Milestone 6, reader: Codex CLI, `~/.codex/sessions/.../rollout-*.jsonl`.

A line is `{timestamp, type, payload}`; what the model saw are the `response_item`s.
Quirks:
- every text stands a second time in an `event_msg`: those are not read, but for the
  token counts and aborts;
- text, reasoning and calls of one model request are items in a row; they are one
  message here, up to the first result;
- a shell result is JSON in a string, `{"output", "metadata": {"exit_code"}}`, later a
  text with `Exit code: N` on top; there is no error flag beside them;
- `custom_tool_call` has free text as input: it becomes the argument `input`;
- some calls of the host's own (`web_search_call`) have no output item;
- the first user messages are injected (AGENTS.md, environment);
- `compacted` carries the host's new history: a second copy, left out;
- the first version wrote items without an envelope, some with `message` for content.
"""

from __future__ import annotations

import re
from typing import Any

from .base import LogSession
from .document import Document
from .fields import arguments_of, dict_of, dicts_of, dumped, flat, int_of, is_injected, string_of
from .join import finish
from .log import Error, Log, RawCall, exit_error

_EXIT = re.compile(r"Exit code: (-?\d{1,6})\b")
_ENVELOPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted",
              "world_state")


class Codex:
    """Records of `type` and `payload` with the names that only Codex has."""

    name = "codex"

    def detects(self, document: Document) -> bool:
        """Whether one of the first records has an envelope of Codex."""
        return any(isinstance(value, dict) and value.get("type") in _ENVELOPES
                   and isinstance(value.get("payload"), dict) for value in document.head)

    def read(self, document: Document) -> list[LogSession]:
        """One session; a resumed one may have several `session_meta`."""
        log = Log(self.name)
        reading = Reading(log)
        for record in document.objects():
            payload = record.get("payload")
            if isinstance(payload, dict) and record.get("type") in _ENVELOPES:
                reading.record(string_of(record["type"]), payload)
            else:
                reading.item(record)
        return [finish(log, document)]


class Reading:
    """Adds items, and remembers the assistant message that is open and the last token count."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.request = 0
        self.open = False     # whether the next item of the assistant joins the last one
        self.started = False  # whether a `session_meta` was there
        self.tokens: int | None = None

    def record(self, kind: str, payload: dict[str, Any]) -> None:
        """Add the payload of a line; `kind` is the type of its envelope."""
        if kind == "response_item":
            self.item(payload)
        elif kind == "compacted":
            self._compacted(string_of(payload.get("message")))
        elif kind == "session_meta":
            self._start(payload)
        elif payload.get("type") == "token_count":
            usage = dict_of(dict_of(payload.get("info")).get("last_token_usage"))
            self.tokens = int_of(usage.get("input_tokens")) or self.tokens
        elif payload.get("type") == "turn_aborted":
            self.log.notes["aborts"] += 1
        else:
            self.log.notes["bookkeeping"] += 1

    def _start(self, payload: dict[str, Any]) -> None:
        if self.started:
            self.log.notes["resumes"] += 1
            return
        self.started = True
        base = dict_of(payload.get("base_instructions")).get("text")
        self.log.system(string_of(base or payload.get("instructions")), counted=False)

    def _compacted(self, summary: str) -> None:
        self.log.compression("summary", self.tokens)
        self.open = False
        if summary:
            with self.log.aside("summaries"):
                self.log.message()
                self.log.user(summary)

    def item(self, item: dict[str, Any]) -> None:
        """Add a message, a call, a result or reasoning."""
        kind = string_of(item.get("type"))
        if kind == "message" or "role" in item:
            self._message(item)
        elif kind == "reasoning":
            self._reasoning(item)
        elif kind.endswith(("_output", "_result")):
            self._result(item)
        elif kind.endswith("_call"):
            self._call(kind, item)
        elif kind == "agent_message":
            self.log.notes["subagent_records"] += 1
        else:
            self.log.notes["bookkeeping"] += 1

    def _message(self, item: dict[str, Any]) -> None:
        text = flat(item.get("content", item.get("message")))
        if item.get("role") == "assistant":
            self.log.assistant(text, key=self._key())
            return
        self.open = False
        self.log.message()
        if item.get("role") in ("developer", "system"):
            self.log.system(text)
        else:
            self.log.user(text, injected=is_injected(text.text))

    def _key(self) -> str:
        """The key of the assistant message to which consecutive items belong."""
        if not self.open:
            self.open = True
            self.request += 1
            self.log.message()
        return f"request {self.request}"

    def _reasoning(self, item: dict[str, Any]) -> None:
        if item.get("encrypted_content"):
            key = self._key()
            self.log.assistant(key=key, opaque=("openai", item))
        else:
            self.log.notes["thinking"] += 1

    def _call(self, kind: str, item: dict[str, Any]) -> None:
        name = item.get("name") or dict_of(item.get("function")).get("name")
        raw = item.get("arguments", item.get("action"))
        free = item.get("input")
        key = self._key()
        made = string_of(item.get("call_id")), string_of(name) or kind.removesuffix("_call")
        if isinstance(free, str):
            self.log.count(calls=1, chars=len(free))
            self.log.assistant(calls=[RawCall(*made, {"input": free})], key=key, counted=False)
        else:
            self.log.assistant(calls=[RawCall(*made, raw)], key=key)

    def _result(self, item: dict[str, Any]) -> None:
        self.open = False
        self.log.message()
        text, error = _unwrapped(item.get("output", item.get("result", item.get("tools"))))
        self.log.result(string_of(item.get("call_id")), text, name=string_of(item.get("name")),
                        error=error)


def _unwrapped(output: Any) -> tuple[Any, Error | None]:
    """The text of an output, and its error if the exit status says so."""
    if isinstance(output, str):
        inner = arguments_of(output) if output.startswith('{"output"') else None
        if isinstance(inner, dict) and isinstance(inner.get("output"), str):
            status = int_of(dict_of(inner.get("metadata")).get("exit_code"))
            return inner["output"], exit_error(status)
        found = _EXIT.match(output)
        return output, exit_error(int(found[1])) if found else None
    text = flat(output)
    if not text.text and dicts_of(output):
        return dumped(output), None
    return text, None
