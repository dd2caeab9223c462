"""Milestone 3: whole runs in which the model reads back what has left its window."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from typing import Any

from mini_agent.assembly import Setup
from mini_agent.compression.drop import all_said
from mini_agent.governance import govern
from mini_agent.messages import Message
from mini_agent.runner import run_task
from mini_agent.tasks import load_task
from mini_agent.trace import Record

from .support import ROOT, FolderTest, payloads


def read(path: str, start: int, end: int) -> dict[str, Any]:
    return {"tool_calls": [{"name": "read_file", "arguments": {
        "path": path, "start_line": start, "end_line": end}}]}


def ask(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def messages(records: list[Record]) -> list[Message]:
    return [record["message"] for record in records if record["type"] == "message"]


class ReadingBack(FolderTest):
    """The scripted model asks for what it was told it can have again."""

    def run_governed(self, policy: str, window: int, *replies: dict[str, Any]) -> list[Record]:
        """Such a run on a fresh copy of the M3 workspace; its own folder is `self.own`."""
        workspace = self.folder / policy
        shutil.copytree(ROOT / "workspace" / "m3", workspace)
        task = load_task(self.write_task(window=window, policy=policy,
                                         replies=[*replies, {"content": "done"}]))
        records: list[Record] = []
        self.own = self.folder / f"{policy}.d"
        setup = Setup(workspace, task.model(), sinks=[records.append])
        outcome = run_task(task, setup, govern(task), self.own)
        self.assertEqual(outcome.reason, "final_answer", outcome.detail)
        return records

    def test_a_stored_result_is_found_and_read_again(self) -> None:
        """`recall` names the handle and the line, `read_result` gives the lines;
        neither enters the store."""
        pages = [read("long_notes.txt", 1 + 20 * number, 20 + 20 * number) for number in range(8)]
        records = self.run_governed("recall", 4_000, *pages, ask("recall", query="note_017 P1"),
                                    ask("read_result", handle=3, start=17, end=18), *pages)
        base = sqlite3.connect(self.own / "store.sqlite")
        stored = [row[0] for row in base.execute("SELECT id FROM said")]
        base.close()
        history = messages(records)
        found = next(message for message in history if message.get("name") == "recall")
        page = next(message for message in history if message.get("name") == "read_result")
        self.assertIn("read_result(handle=N, start=LINE) reads on; ", found["content"])
        self.assertEqual(page["content"].split("\n")[1:], history[3]["content"].split("\n")[16:18])
        head = "[#3 read_file long_notes.txt: lines 17 to 18 of 20; "
        self.assertTrue(page["content"].startswith(head))

        self.assertLess(history.index(page), max(stored))
        self.assertTrue({history.index(found), history.index(page)}.isdisjoint(stored))

    def test_an_offloaded_result_lies_in_the_runs_own_folder(self) -> None:
        """Its file has the whole content, no request names the folder, and it can be paged."""
        records = self.run_governed("two_layer", 20_000, read("long_notes.txt", 1, 200),
                                    ask("read_result", handle=3, start=100, end=101))
        (kept,) = (self.own / "results").iterdir()
        text = kept.read_text(encoding="utf-8")
        self.assertNotIn(self.own.name, json.dumps(records))
        history = messages(records)
        self.assertEqual(text, history[3]["content"])
        self.assertEqual(kept.stem, hashlib.sha256(text.encode()).hexdigest()[:32])
        self.assertEqual(history[5]["content"].split("\n")[1:], text.split("\n")[99:101])

    def test_the_tools_are_declared_only_where_a_policy_speaks_of_them(self) -> None:
        """Under `published` an agent has no `read_result`, under `clip` it has."""
        for policy, code in (("published", "UNKNOWN_TOOL"), ("clip", None)):
            records = self.run_governed(policy, 9_000, ask("read_result", handle=0))
            self.assertEqual([payload["code"] for payload in payloads(records, "tool_result")],
                             [code])

    def test_what_a_message_tells_has_its_calls(self) -> None:
        """Text first, then each call with its arguments, broken ones as they came."""
        self.assertEqual(all_said({"role": "assistant", "content": "", "tool_calls": [
            {"id": "a", "name": "x", "arguments": {}, "invalid": "{broken"}]}), "x {broken")
