"""Milestone 6, reader: Claude Code, `~/.claude/projects/<cwd>/<session>.jsonl`.

One record per line; those of type `user` and `assistant` hold an Anthropic message, the
rest is bookkeeping. Quirks:
- one API message is written as several assistant records with one `message.id`, a block
  each; results of parallel calls may stand between them;
- a compaction is a `compact_boundary` record and a user record `isCompactSummary`;
  `microcompact_boundary` says that old results were cleared;
- `isSidechain` records are a sub-agent's, as is `progress` of type `agent_progress`.
  They are left out, unless the whole file is a sub-agent's;
- a resumed session may copy records, with the same `uuid`, and goes on under another
  `sessionId`; a first message (its `parentUuid` is null) under another one is another session;
- `parentUuid` makes a tree: a rewound turn stays in the history, in file order;
- `attachment` records are seen by the model only as their `rendered` text says; a
  `queued_command` is what the user typed while the agent was busy;
- version 1.9 wrote `tool_use` and `tool_result` records of their own;
- `claude -p --output-format stream-json` writes the same with `session_id`, a sub-agent's
  with `parent_tool_use_id`.
`toolUseResult`, the fuller result, was never sent and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .base import LogSession
from .blocks import add_assistant, add_user, empty
from .document import Document
from .fields import dict_of, dicts_of, flat, int_of, is_injected, string_of
from .join import finish
from .log import Log, RawCall

_KEYS = ("uuid", "sessionId", "parentUuid", "session_id")
_MARKS = (("summary", "leafUuid"), ("file-history-snapshot", "snapshot"),
          ("progress", "parentUuid"))


class ClaudeCode:
    """Records with `type`, `message` and a `uuid` or `sessionId`."""

    name = "claude-code"

    def detects(self, document: Document) -> bool:
        """Whether one of the first records is a message or a title of Claude Code."""
        return any(_is_record(value) for value in document.head if isinstance(value, dict))

    def read(self, document: Document) -> list[LogSession]:
        """The main line of each session, or its side line where there is nothing else."""
        sessions = _by_session(document.objects())
        return [finish(_log(records), document, name if len(sessions) > 1 else "")
                for name, records in sessions.items()]


def _log(records: list[dict[str, Any]]) -> Log:
    log = Log(ClaudeCode.name)
    add_records(log, records)
    if log.empty and log.notes["subagent_records"]:
        log = Log(ClaudeCode.name)
        add_records(log, records, sidechain=True)
    return log


def _by_session(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The records of each session, by its first `sessionId`. As a rule a file has one session."""
    session: list[dict[str, Any]] = []
    sessions, ids = {"": session}, set[str]()
    for record in records:
        name = string_of(record.get("sessionId"))
        if ids and name and name not in ids and _begins_session(record):
            session = sessions[name] = []
        if record.get("type") in ("user", "assistant"):
            if not ids:  # the records before the first message are its title
                sessions = {name: session}
            ids.add(name)
        session.append(record)
    return sessions


def _begins_session(record: dict[str, Any]) -> bool:
    """Whether this is the first user message of a session, and not that of a side line or of a
    compaction."""
    return (record.get("type") == "user" and record.get("parentUuid", "") is None
            and True not in (record.get("isSidechain"), record.get("isCompactSummary")))


def _is_record(record: dict[str, Any]) -> bool:
    if record.get("type") in ("user", "assistant"):
        message = dict_of(record.get("message"))
        return "content" in message and any(key in record for key in _KEYS)
    return any(record.get("type") == kind and key in record for kind, key in _MARKS)


def add_records(log: Log, records: Iterable[dict[str, Any]], *, sidechain: bool = False) -> None:
    """Add Claude Code records to a log; also used for the `loglines` of its web form."""
    reading = _Reading(log)
    for record in records:
        kind = record.get("type")
        aside = record.get("isSidechain") is True or record.get("parent_tool_use_id")
        if aside and not sidechain:
            log.notes["subagent_records"] += 1
        elif kind in ("user", "assistant") and isinstance(record.get("message"), dict):
            reading.conversation(record)
        elif kind == "system":
            reading.system(record)
        elif kind == "attachment":
            reading.attachment(dict_of(record.get("attachment")), record)
        elif kind in ("tool_use", "tool_result"):
            reading.old_tool(record)
        elif dict_of(record.get("data")).get("type") == "agent_progress":
            log.notes["subagent_records"] += 1
        else:
            log.notes["bookkeeping"] += 1


class _Reading:
    """Adds records, and remembers what later ones depend on."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.contents: dict[str, Any] = {}   # of each uuid
        self.typed_after: set[str] = set()   # records that a typed message follows
        self.messages: set[str] = set()      # ids of assistant messages
        self.boundary = False                # a compaction whose summary is still to come

    def conversation(self, record: dict[str, Any]) -> None:
        """Add a user or assistant record, a copy of one, or a summary."""
        content = record["message"].get("content")
        uuid = string_of(record.get("uuid"))
        if uuid and uuid in self.contents and self.contents[uuid] == content:
            for piece in self.log.pieces[-1:]:
                piece.faults.append(("duplicates", uuid))
            with self.log.aside("duplicates"):
                self._message(record, content)
        elif record.get("isCompactSummary") is True:
            if not self.boundary:
                self.log.compression("summary")
            self.boundary = False
            with self.log.aside("summaries"):
                self._message(record, content)
        else:
            self.contents[uuid] = content
            self._message(record, content)

    def _message(self, record: dict[str, Any], content: Any) -> None:
        if record["type"] == "assistant":
            self._assistant(record, content)
            return
        self.log.message()
        meta = record.get("isMeta") is True
        if not meta and not dicts_of(content) and not is_injected(string_of(content)):
            self._rewind(string_of(record.get("parentUuid")))
        add_user(self.log, content, injected=meta)

    def _assistant(self, record: dict[str, Any], content: Any) -> None:
        key = string_of(record["message"].get("id")) or string_of(record.get("uuid"))
        key = key or f"message {self.log.counts.messages}"
        if key not in self.messages:
            self.log.message()
        self.messages.add(key)
        if record["message"].get("model") == "<synthetic>":
            self.log.notes["synthetic_messages"] += 1
        add_assistant(self.log, content, key)

    def _rewind(self, parent: str) -> None:
        if parent and parent in self.typed_after:
            self.log.notes["rewinds"] += 1
        self.typed_after.add(parent)

    def system(self, record: dict[str, Any]) -> None:
        """Take the boundary of a compaction, or count a record of bookkeeping."""
        if record.get("subtype") == "compact_boundary":
            self.boundary = True
            data = dict_of(record.get("compactMetadata"))
            self.log.compression("summary", int_of(data.get("preTokens")))
        elif record.get("subtype") == "microcompact_boundary":
            data = dict_of(record.get("microcompactMetadata"))
            self.log.compression("clearing", int_of(data.get("preTokens")))
        else:
            self.log.notes["bookkeeping"] += 1

    def attachment(self, attachment: dict[str, Any], record: dict[str, Any]) -> None:
        """Add what the host put beside a message, as far as the log says that it was rendered."""
        prompt = attachment.get("prompt")
        rendered = [part.get("content") for part in dicts_of(record.get("rendered"))]
        if attachment.get("type") == "queued_command" and not empty(prompt):
            self.log.message()
            add_user(self.log, prompt)
        elif rendered:
            self.log.message()
            self.log.user(flat([flat(part).text for part in rendered]), injected=True)
        else:
            self.log.notes["attachments"] += 1

    def old_tool(self, record: dict[str, Any]) -> None:
        """Add a call or a result that is a record of its own."""
        call_id = string_of(record.get("id") or record.get("tool_use_id"))
        name = string_of(record.get("name"))
        self.log.message()
        if record["type"] == "tool_use":
            self.log.assistant(calls=[RawCall(call_id, name, record.get("input"))])
        else:
            self.log.result(call_id, flat(record.get("output", record.get("content"))), name=name)
