"""Milestone 6, reader: ATIF, the trajectory format of harbor and terminal-bench 2.

`{schema_version, agent, steps: [{source: system|user|agent, message, tool_calls,
observation: {results: [{source_call_id, content}]}}]}`. Quirks:
- call and result are in one step; terminus-2 often gives no `source_call_id`;
- a system step `Performed context summarization and handoff` is a compression; the next
  user step is its summary; sub-trajectories are other sessions and left out;
- some producers put an observation on a system step `Tool result for ID`, before the
  step that has the call: it becomes the result of that call, but since the format does
  not count it as a result, `LogSize` does not either.
"""

from __future__ import annotations

import re
from typing import Any

from .base import LogSession
from .document import Document
from .fields import dict_of, dicts_of, flat, list_of, string_of
from .join import finish
from .log import Log, RawCall, failed

_STRAY = re.compile(r"Tool result for (\S{1,200})")
_SUMMARY = "Performed context summarization"


class Atif:
    """An object with an `agent` and `steps` that have a `source`."""

    name = "atif"

    def detects(self, document: Document) -> bool:
        """Whether the file is a trajectory of this format."""
        value = dict_of(document.value)
        return ("schema_version" in value or "agent" in value) and any(
            step.get("source") in ("system", "user", "agent")
            for step in dicts_of(value.get("steps"))[:5])

    def read(self, document: Document) -> list[LogSession]:
        """One session per file."""
        log = Log(self.name)
        log.notes["subagent_records"] = len(list_of(document.value.get("subagent_trajectories")))
        handoff = False
        for step in dicts_of(document.value["steps"]):
            log.message()
            handoff = _step(log, step, handoff)
        return [finish(log, document)]


def _step(log: Log, step: dict[str, Any], handoff: bool) -> bool:
    """Add a step; True if the next user step is the summary of a handoff."""
    source, text = step.get("source"), flat(step.get("message"))
    log.notes["thinking"] += bool(step.get("reasoning_content"))
    if source == "agent":
        _agent(log, step)
    elif source == "user" and handoff:
        with log.aside("summaries"):
            log.user(text)
        return False
    elif source == "user":
        log.user(text)
    else:
        return _system(log, step) or handoff
    return handoff


def _agent(log: Log, step: dict[str, Any]) -> None:
    calls = [RawCall(string_of(call.get("tool_call_id") or call.get("id")),
                     string_of(call.get("function_name") or call.get("name")),
                     call.get("arguments")) for call in dicts_of(step.get("tool_calls"))]
    log.assistant(flat(step.get("message")), calls)
    results = dicts_of(dict_of(step.get("observation")).get("results"))
    log.message(bool(results))
    for result in results:
        refs = list_of(result.get("subagent_trajectory_ref"))
        log.notes["subagent_records"] += len(refs)
        if "content" in result or not refs:
            log.result(string_of(result.get("source_call_id")), flat(result.get("content")))


def _system(log: Log, step: dict[str, Any]) -> bool:
    text, observation = flat(step.get("message")), dict_of(step.get("observation"))
    stray = _STRAY.match(text.text)
    if text.text.startswith(_SUMMARY):
        log.compression("summary")
        with log.aside("summaries"):
            log.system(text)
        return True
    if stray and "content" in observation:
        log.count(chars=text.chars)
        success = dict_of(observation.get("result")).get("success")
        log.result(stray[1], flat(observation["content"]), counted=False,
                   fault=("stray_results", stray[1]),
                   error=failed() if success is False else None)
    else:
        log.system(text)
    return False
