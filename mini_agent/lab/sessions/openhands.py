"""Milestone 6, reader: OpenHands, the events of both generations.

V0, `output.jsonl` with one line per instance and its events in `history`, or the events
alone: an event has `source` and `action` with `args`, or `observation` with `content`.
V1, `events/event-*.json`, one after the other: an event has a `kind`. Quirks:
- V0: action and observation carry the same `tool_call_metadata` with the whole model
  response: what the model wrote is taken from the action's; `thought` stands once more
  among the `args`; the observation `error` has no id and answers what is open;
- V0: ids restart (`toolu_01`) with each session; a gap in `id` is normal;
- V0: `recall` is the host's own search and was shown outside the messages;
- V1: parallel calls are several `ActionEvent`s with one `llm_response_id`;
- `Condensation` (V1) and the action `condensation` (V0) are the host's compression.
"""

from __future__ import annotations

from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, dumped, flat, int_of, list_of, string_of
from .join import finish
from .log import Log, RawCall, exit_error, failed

_KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent")
_SILENT = ("recall", "change_agent_state", "agent_state_changed", "null")


class OpenHands:
    """Events of either generation, or instances with a `history` of them."""

    name = "openhands"

    def detects(self, document: Document) -> bool:
        """Whether the head holds events or instances."""
        return any(_is_v1(value) or _is_v0(value) or _history(value) for value in document.head)

    def read(self, document: Document) -> list[LogSession]:
        """One session per instance, or one for all loose events."""
        loose = Log(self.name)
        sessions: list[LogSession] = []
        for number, record in enumerate(document.objects(), start=1):
            history = _history(record)
            if not history:
                _event(loose, record)
                continue
            log = Log(self.name)
            for event in history:
                _event(log, event)
            sessions.append(finish(log, document, string_of(record.get("instance_id"))
                                   or str(number)))
        return sessions if loose.empty else [finish(loose, document), *sessions]


def _is_v0(value: Any) -> bool:
    return isinstance(value, dict) and "source" in value and (
        ("action" in value and isinstance(value.get("args"), dict)) or "observation" in value
        and "extras" in value)


def _is_v1(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in _KINDS and "source" in value


def _history(value: Any) -> list[dict[str, Any]]:
    """The events of an instance; the oldest files have pairs of them."""
    items: list[Any] = []
    for item in list_of(dict_of(value).get("history")):
        items.extend(item if isinstance(item, list) else [item])
    return dicts_of(items) if any(_is_v0(item) for item in items[:5]) else []


def _event(log: Log, event: dict[str, Any]) -> None:
    if "kind" in event:
        _v1(log, event, string_of(event.get("kind")))
    elif string_of(event.get("action") or event.get("observation")) in _SILENT:
        log.notes["bookkeeping"] += 1
    elif "action" in event:
        _v0_action(log, event, string_of(event["action"]), dict_of(event.get("args")))
    elif "observation" in event:
        _v0_observation(log, event)
    else:
        log.notes["bookkeeping"] += 1


def _v0_action(log: Log, event: dict[str, Any], action: str, args: dict[str, Any]) -> None:
    metadata = dict_of(event.get("tool_call_metadata"))
    if action == "condensation":
        _condensed(log, args)
        return
    log.message()
    if action == "system":
        log.system(flat(args.get("content")))
    elif action == "message" and event.get("source") == "user":
        log.user(flat(args.get("content")))
    elif action == "message" or action == "finish" and not metadata:
        log.assistant(flat(args.get("content") or args.get("thought")))
    else:
        _v0_call(log, metadata, action, args)


def _v0_call(log: Log, metadata: dict[str, Any], action: str, args: dict[str, Any]) -> None:
    """A call, as the model wrote it where its response is there."""
    thought, call_id = string_of(args.get("thought")), string_of(metadata.get("tool_call_id"))
    log.count(calls=1, chars=len(thought) + len(dumped(args)))
    name = string_of(metadata.get("function_name")) or action
    raw: Any = {key: value for key, value in args.items() if key != "thought"}
    response = dict_of(metadata.get("model_response"))
    for choice in dicts_of(response.get("choices"))[:1]:
        message = dict_of(choice.get("message"))
        for call in dicts_of(message.get("tool_calls")):
            if call_id and call.get("id") == call_id:
                thought = flat(message.get("content")).text
                raw = dict_of(call.get("function")).get("arguments")
    key = string_of(response.get("id"))
    log.assistant(thought, [RawCall(call_id, name, raw)], key=key, counted=False)


def _v0_observation(log: Log, event: dict[str, Any]) -> None:
    metadata, extras = dict_of(event.get("tool_call_metadata")), dict_of(event.get("extras"))
    error = exit_error(int_of(dict_of(extras.get("metadata")).get("exit_code")))
    if event["observation"] == "error":
        error = failed()
    log.message()
    log.result(string_of(metadata.get("tool_call_id")), flat(event.get("content")),
               name=string_of(metadata.get("function_name")), error=error)


def _v1(log: Log, event: dict[str, Any], kind: str) -> None:
    call_id, name = string_of(event.get("tool_call_id")), string_of(event.get("tool_name"))
    if kind in ("Condensation", "CondensationSummaryEvent"):
        _condensed(log, event)
    elif kind in ("SystemPromptEvent", "SystemPromptUpdateEvent"):
        log.message()
        log.system(flat(event.get("system_prompt")))
    elif kind == "MessageEvent":
        log.message()
        _v1_message(log, dict_of(event.get("llm_message")), event)
    elif kind == "ActionEvent":
        log.message()
        _v1_action(log, event, RawCall(call_id, name, dict_of(event.get("tool_call")).get(
            "arguments", event.get("action"))))
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        log.message()
        seen = dict_of(event.get("observation"))
        text = flat(seen.get("content") or event.get("error") or event.get("rejection_reason"))
        error = exit_error(int_of(seen.get("exit_code")))
        if kind != "ObservationEvent" or seen.get("is_error") is True:
            error = failed()
        log.result(call_id, text, name=name, error=error)
    else:
        log.notes["bookkeeping"] += 1


def _v1_message(log: Log, message: dict[str, Any], event: dict[str, Any]) -> None:
    if message.get("role") == "assistant":
        log.assistant(flat(message.get("content")))
    else:
        log.user(flat(list_of(message.get("content")) + list_of(event.get("extended_content"))
                      or message.get("content")))


def _v1_action(log: Log, event: dict[str, Any], call: RawCall) -> None:
    key = string_of(event.get("llm_response_id"))
    log.assistant(flat(event.get("thought")), [call], key=key)
    for block in dicts_of(event.get("thinking_blocks")):
        if block.get("signature") or block.get("data"):
            log.assistant(key=key or f"event {log.counts.messages}", opaque=("anthropic", block))
    log.notes["thinking"] += bool(event.get("reasoning_content"))


def _condensed(log: Log, event: dict[str, Any]) -> None:
    log.compression("summary")
    if event.get("summary"):
        with log.aside("summaries"):
            log.message()
            log.user(flat(event["summary"]))
