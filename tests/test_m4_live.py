"""Milestone 4 in a live session: endpoints, permission, Ctrl-C and resume."""

from __future__ import annotations

import json
import unittest
from collections.abc import Sequence
from typing import Any

from mini_agent.assembly import Grant, Setup
from mini_agent.audit import Line, audit
from mini_agent.chat.permission import Permission
from mini_agent.compression.policies import find_policy
from mini_agent.errors import ToolError
from mini_agent.governance import governed_by
from mini_agent.messages import call
from mini_agent.models.base import Reply
from mini_agent.models.connect import Options, connect
from mini_agent.models.scripted import ScriptedModel
from mini_agent.session import begin
from mini_agent.subagents.orders import ChildLimits
from mini_agent.subagents.traces import used_by_family
from mini_agent.texts import Texts
from mini_agent.tools import NAMES, READERS
from mini_agent.tools.workspace import Workspace
from mini_agent.trace import Record, TraceFile, line, read_trace, trace_folder

from .fake_server import FakeServer, chat, plain
from .sessions import Speaker, taken_up
from .subagents import delegate
from .support import FolderTest, payloads

KEY = "sk-test-secret-0123456789"


class LiveTest(FolderTest):
    """A child has the endpoint of its parent, and its parent's key by the pipe alone."""

    def test_a_child_asks_the_endpoint_that_its_parent_asks(self) -> None:
        """Three requests: parent, child, parent; the child's has its brief and its tools."""
        order = json.dumps({"task": "Which port?", "budget": {"seconds": 30}})
        answers = [plain(chat("", [("c1", "delegate", order)])),
                   plain(chat("It is 8443.", prompt=77)), plain(chat("The port is 8443."))]
        file = TraceFile(self.folder / "s.jsonl")
        with FakeServer(*answers) as server, file:
            model = connect(Options("openai", server.url, "m", KEY, stream=False), {})
            session = begin(Setup(self.folder, model, Grant(children=ChildLimits())), file,
                            governed_by(find_policy("clip"), 20_000), "Ask somebody.")
            outcome = session.turn("Ask somebody.")
            session.finish(outcome)
        self.assertEqual("The port is 8443.", outcome.text)
        first, below, last = server.requests
        self.assertEqual("Which port?", below.body["messages"][-1]["content"])
        self.assertEqual(["list_files", "read_file", "search_text", "read_result", "pin",
                          "give_up"],
                         [tool["function"]["name"] for tool in below.body["tools"]])
        for tool in (*first.body["tools"], *below.body["tools"]):
            self.assertTrue(tool["function"]["description"], tool)
            self.assertEqual("object", tool["function"]["parameters"]["type"])
        self.assertIn("It is 8443.", last.body["messages"][-1]["content"])
        self.assertEqual({f"Bearer {KEY}"}, {sent.headers["authorization"]
                                             for sent in server.requests})
        written = "".join(path.read_text("utf-8") for path in self.folder.rglob("*.jsonl"))
        self.assertNotIn(KEY, written)
        self.assertIn('"prompt_tokens": 77', written)

    def test_what_children_use_is_paid_for_by_the_session(self) -> None:
        """Theirs and that of their own children, summaries too; and where it was killed."""
        deep = json.dumps({"task": "Ask on.", "tools": ["read_file", "delegate"]})
        order = json.dumps({"task": "Which port?"})
        answers = [plain(chat("", [("c1", "delegate", deep)], prompt=100, answer=1)),
                   plain(chat("", [("c2", "delegate", order)], prompt=200, answer=2)),
                   plain(chat("It is 8443.", prompt=400, answer=4)),
                   plain(chat("8443.", prompt=800, answer=8)),
                   plain(chat("The port is 8443.", prompt=1_600, answer=16))]
        trace = self.folder / "s.jsonl"
        with FakeServer(*answers) as server, TraceFile(trace) as file:
            model = connect(Options("openai", server.url, "m", KEY, stream=False), {})
            session = begin(Setup(self.folder, model, Grant(children=ChildLimits(depth=2))), file,
                            governed_by(find_policy("clip"), 20_000), "Ask somebody.")
            self.assertTrue(session.finish(session.turn("Ask somebody.")).done)
        self.assertEqual((3_100, 31), (session.meter.prompt, session.meter.answer))
        records = read_trace(trace).records
        end, = payloads(records, "subagent_end")
        self.assertEqual((1_400, 0, 14), tuple(end[name] for name in (
            "prompt_tokens", "cached_tokens", "completion_tokens")))
        self.assertEqual([], list(audit([Line(*pair) for pair in enumerate(records, 1)])))
        below = trace_folder(trace) / "children" / "1.jsonl"
        with open(below, "a", encoding="utf-8") as log:
            log.write(line({"type": "event", "event": "model_usage", "payload": {
                "step": 2, "summary_prompt_tokens": 1_000, "completion_tokens": "7"}, "seq": 99}))
        self.assertEqual(2_400, used_by_family(below)["prompt_tokens"])
        cut = next(at for at, record in enumerate(records) if record.get("event") == "subagent_end")
        trace.write_text("".join(map(line, records[:cut])), encoding="utf-8")
        session, file = taken_up(trace, Speaker([]), grant=Grant(children=ChildLimits(depth=2)))
        file.close()
        self.assertEqual((2_500, 15), (session.meter.prompt, session.meter.answer))


class SessionTest(FolderTest):
    """A session with children goes on from its trace."""

    def records(self) -> list[Record]:
        """The records of the session."""
        return read_trace(self.folder / "s.jsonl").records

    def test_children_of_a_killed_session_get_an_end(self) -> None:
        """On resume: an end record, a result for the call, the next child is number 2."""
        asked = {"tool_calls": [delegate()], "children": {"0": {"replies": [{"content": "hi"}]}}}
        model = ScriptedModel([asked, {"content": "done"}])
        setup = Setup(self.folder, model, Grant(children=ChildLimits()))
        with TraceFile(self.folder / "s.jsonl") as file:
            session = begin(setup, file, governed_by(find_policy("clip"), 20_000), "Go.")
            self.assertTrue(session.turn("Go.").done)
        kept = self.records()
        cut = next(at for at, record in enumerate(kept) if record.get("event") == "subagent_end")
        (self.folder / "s.jsonl").write_text("".join(map(line, kept[:cut])), encoding="utf-8")
        again = Speaker([Reply("", (call("d", "delegate", {"task": "x"}),)), Reply("done")])
        again.for_child = model.for_child  # type: ignore[attr-defined]
        session, file = taken_up(self.folder / "s.jsonl", again,
                                 grant=Grant(children=ChildLimits()))
        with file:
            self.assertTrue(session.finish(session.turn("Once more.")).done)
        ends = payloads(self.records(), "subagent_end")
        self.assertEqual([(1, "killed", 1), (2, "model_error", 1)],
                         [(end["child"], end["status"], end["steps"]) for end in ends])
        self.assertEqual([], list(audit([Line(*pair) for pair in enumerate(self.records(), 1)])))

    def test_children_get_no_commands_where_a_person_is_asked(self) -> None:
        """Nobody would see them; a session that asks nobody may give them."""
        def names(tools: Sequence[str] = NAMES, **options: Any) -> list[str]:
            with TraceFile(self.folder / "s.jsonl") as file:
                setup = Setup(self.folder, Speaker(), Grant(tools, children=ChildLimits()),
                              **options)
                session = begin(setup, file, governed_by(find_policy("clip"), 20_000), "Go.")
                declared = session.agent.tools.declarations()
            order, = (tool for tool in declared if tool["name"] == "delegate")
            return order["parameters"]["properties"]["tools"]["items"]["enum"]

        self.assertIn("run_command", names())
        self.assertEqual(["list_files", "read_file", "search_text", "write_file", "edit_file"],
                         names(permit=lambda tool, arguments: None))
        self.assertEqual(["list_files", "read_file", "search_text"], names(READERS))

    def test_a_session_without_sub_agents_has_no_tool_for_them(self) -> None:
        """They are an option: their declarations cost tokens in every request."""
        with TraceFile(self.folder / "s.jsonl") as file:
            session = begin(Setup(self.folder, Speaker()), file,
                            governed_by(find_policy("clip"), 20_000), "Go.")
        self.assertNotIn("delegate", [t["name"] for t in session.agent.tools.declarations()])


class PermissionTest(FolderTest):
    """A person is asked where a child could change something."""

    def test_a_child_that_only_reads_is_free(self) -> None:
        """Anything else is shown whole, and refused where nothing may be written."""
        class Tool:
            name = "delegate"

        permission = Permission(Workspace(self.folder), None, None, None,  # type: ignore[arg-type]
                                Texts, read_only=True)
        permission(Tool(), {"task": "x"})  # type: ignore[arg-type]
        permission(Tool(), {"task": "x", "tools": ["read_file"]})  # type: ignore[arg-type]
        for more in ({"writes": ["a"]}, {"tools": ["run_command"]}):
            with self.assertRaises(ToolError) as caught:
                permission(Tool(), {"task": "x", **more})  # type: ignore[arg-type]
            self.assertEqual("DENIED", caught.exception.code)


if __name__ == "__main__":
    unittest.main()
