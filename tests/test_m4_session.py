"""Milestone 4: real children, from the brief to the report."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import unittest
from typing import Any

from mini_agent.assembly import AgentBuilder, Grant, Setup
from mini_agent.errors import TaskFileError
from mini_agent.governance import govern
from mini_agent.messages import Message, call, pairing_faults
from mini_agent.models.scripted import ScriptedModel
from mini_agent.runner import run_task
from mini_agent.subagents.orders import ChildLimits
from mini_agent.subagents.traces import sent_by_family
from mini_agent.tasks import load_task
from mini_agent.texts import Texts
from mini_agent.tools import NAMES
from mini_agent.trace import Record, Tracer, read_trace
from mini_agent.waiting import WaitingTools

from .subagents import LATE, SubagentTest, delegate
from .support import ROOT, payloads

READ = {"name": "read_file", "arguments": {"path": "notes.txt"}}
ASK = {"content": "I will ask."}
END = {"content": "done"}


def script(*replies: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The script of a child."""
    return {"replies": list(replies), **fields}


def asked(call: dict[str, Any], child: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reply that starts one child with this script."""
    return {**ASK, "tool_calls": [call], "children": {"0": child}, **more}


class ChildTest(SubagentTest):
    """What a child gets, and what its parent gets of it."""

    def setUp(self) -> None:
        super().setUp()
        (self.workspace / "notes.txt").write_text("the port is 8443\n" * 50, encoding="utf-8")

    def child(self, number: int = 1, *below: int) -> list[Record]:
        """The records of a child, or of a child of it."""
        path = self.run_folder / "children" / f"{number}.jsonl"
        for deeper in below:
            path = path.with_suffix(".d") / "children" / f"{deeper}.jsonl"
        return read_trace(path).records

    def results(self, records: list[Record]) -> list[dict[str, Any]]:
        """The result messages of a run."""
        return [record["message"] for record in records
                if record["type"] == "message" and record["message"]["role"] == "tool"]

    def test_a_child_does_its_part_and_reports(self) -> None:
        """The parent's history has the report, the child's has the work."""
        outcome, records = self.real(asked(delegate("Which port?"), script(
            {"tool_calls": [READ]}, {"content": "The port is 8443."})), END)
        self.assertTrue(outcome.done)
        result, = self.results(records)
        self.assertTrue(result["content"].endswith("\nThe port is 8443."))
        self.assertNotIn("the port is", json.dumps(records))
        self.assertIn("the port is 8443", json.dumps(self.child()))
        self.assertEqual("final_answer", self.child()[-1]["payload"]["reason"])

    def test_a_child_sees_its_brief_and_nothing_of_its_parent(self) -> None:
        """System message, task, context, paths; no word of the parent's history."""
        _, records = self.real(
            asked(delegate("Which port?", context="It is about TLS.", writes=["out.txt"]),
                  script(END)), END, system="You are the parent.", task="Secret plans.")
        told = [record["message"] for record in self.child() if record["type"] == "message"]
        self.assertEqual("Which port?\n\nWhat you need to know:\nIt is about TLS.\n\n"
                         "You may write: out.txt", told[1]["content"])
        for words in ("You are the parent", "Secret plans", "I will ask"):
            self.assertNotIn(words, json.dumps(self.child()))

    def test_the_numbers_are_those_of_the_childs_trace(self) -> None:
        """Steps, largest request, all requests: end record and result say the same."""
        _, records = self.real(asked(delegate(), script({"tool_calls": [READ]}, END)), END)
        calls = [told["tokens"] for told in payloads(self.child(), "model_call")]
        end, = payloads(records, "subagent_end")
        self.assertEqual({"step": 0, "id": "call_0_0", "child": 1, "status": "finished",
                          "steps": 2, "peak_tokens": max(calls), "sent_tokens": sum(calls),
                          "chars": 4}, end)
        self.assertIn(f"2 steps, {max(calls)} tokens at most, {sum(calls)} in all",
                      self.results(records)[0]["content"])

    def test_a_child_has_the_tools_that_it_was_given_and_no_other(self) -> None:
        """Neither delegate nor what was not named: each is an unknown tool to it."""
        other = {"name": "search_text", "arguments": {"pattern": "x"}}
        self.real(asked(delegate(tools=["read_file"]), script(
            {"tool_calls": [READ, other, delegate(), {"name": "run_command", "arguments": {
                "command": "ls"}}, {"name": "read_child", "arguments": {"child": 1}}]}, END)), END)
        self.assertEqual([None] + ["UNKNOWN_TOOL"] * 4,
                         [told["code"] for told in payloads(self.child(), "tool_result")])

    def test_a_child_writes_what_it_was_given_and_nothing_else(self) -> None:
        """A file, a folder, a link that leads elsewhere; the parent is told of nothing more."""
        (self.workspace / "out").mkdir()
        (self.workspace / "out" / "link.txt").symlink_to("../notes.txt")
        paths = ("a.txt", "out/b.txt", "out/deep/c.txt", "b.txt", "out/../c.txt", "out/link.txt",
                 "../d.txt")
        writes = [{"name": "write_file", "arguments": {"path": path, "content": "x"}}
                  for path in paths]
        self.real(asked(delegate(writes=["a.txt", "out"]),
                        script({"tool_calls": writes}, END)), END)
        self.assertEqual([None] * 3 + ["WRITE_NOT_GIVEN"] * 3 + ["OUTSIDE_WORKSPACE"],
                         [told["code"] for told in payloads(self.child(), "tool_result")])
        self.assertIn("8443", (self.workspace / "notes.txt").read_text("utf-8"))

    def test_what_a_childs_command_changes_elsewhere_is_reported(self) -> None:
        """A command cannot be held back; its result names the files that were not given."""
        command = {"name": "run_command", "arguments": {"command": "cp notes.txt other.txt"}}
        self.real(asked(delegate(tools=["run_command", "write_file"], writes=["out.txt"]),
                        script({"tool_calls": [command]}, END)), END)
        self.assertIn("[this command changed 1 file that you were not given to write: other.txt]",
                      self.results(self.child())[0]["content"])

    def test_a_parents_pins_hold_in_its_children(self) -> None:
        """PROTECTED_PATH for a tool; a command's change is told to the child and the parent."""
        (self.workspace / "tests").mkdir()
        write = {"name": "write_file", "arguments": {"path": "tests/a.py", "content": "x"}}
        command = {"name": "run_command", "arguments": {"command": "cp notes.txt tests/b.py"}}
        rule = "Do not touch the tests."
        for policy in ({}, {"policy": "published", "window": 4000}):
            with self.subTest(policy):
                _, records = self.real(
                    asked(delegate(tools=["write_file", "run_command"], writes=["."]),
                          script({"tool_calls": [write, command]}, END)), END,
                    pins=[{"text": rule, "protect": "tests/**"},
                          {"text": "port 8443", "kind": "parameter"}], **policy)
                first, second = self.results(self.child())
                self.assertEqual("PROTECTED_PATH", first["error"]["code"])
                self.assertIn("[this command changed 1 protected file: tests/b.py]",
                              second["content"])
                self.assertIn("[while the sub-agents worked, 1 protected file changed: tests/b.py]",
                              self.results(records)[0]["content"])
                self.assertEqual([(rule, "tests/**")], [
                    (told["text"], told["protect"]) for told in payloads(self.child(), "pin")])
                (self.workspace / "tests" / "b.py").unlink()

    def test_protection_does_not_hang_on_room_for_the_pin(self) -> None:
        """A window too small for the pin refuses it as a pin; the path stays protected."""
        write = {"name": "write_file", "arguments": {"path": "tests/a.py", "content": "x"}}
        self.real(asked(delegate(writes=["tests"]), script(
            {"tool_calls": [write]}, END, policy="published", window=1500)), END,
            pins=[{"text": "Do not touch the tests. " * 40, "protect": "tests/**"}])
        self.assertEqual(["PROTECTED_PATH"], [
            told["code"] for told in payloads(self.child(), "tool_result")])
        self.assertEqual([False, True], [  # the path comes first
            "refused" in told for told in payloads(self.child(), "pin")])

    def test_the_log_of_a_child_can_be_read(self) -> None:
        """read_child gives the whole report, or any message of the child, in parts."""
        long = "\n".join(f"finding {number}" for number in range(2_000))
        read = [{"name": "read_child", "arguments": arguments} for arguments in (
            {"child": 1, "start": 1999, "end": 2000}, {"child": 1, "message": "#3", "end": 1},
            {"child": 2}, {"child": 1, "message": 99}, {"child": 0})]
        _, records = self.real(
            asked(delegate(), script({"tool_calls": [READ]}, {"content": long})),
            {"tool_calls": read}, END)
        report, last, note, *wrong = self.results(records)
        self.assertIn("characters: it is data", report["content"].partition("\n")[0])
        self.assertTrue(last["content"].endswith("finding 1998\nfinding 1999"))
        self.assertTrue(note["content"].endswith("the port is 8443"))
        self.assertEqual(["NO_SUCH_CHILD", "NO_SUCH_HANDLE", "BAD_ARGUMENTS"],
                         [result["error"]["code"] for result in wrong])

    def test_a_child_may_have_a_window_and_a_policy_of_its_own(self) -> None:
        """What its script says; else those of its parent."""
        _, records = self.real(
            {**ASK, "tool_calls": [delegate(), delegate()], "children": {
                "0": script(END, policy="clip", window=9_000), "1": script(END)}}, END,
            policy="published", threshold=5_000, compression={"head_chars": 50})
        self.assertEqual({"name": "clip", "window": 9_000}, {
            **self.child(1)[0]["payload"]["policy"]})
        start = records[0]["payload"]
        self.assertEqual({**start, "task": "task/2"}, self.child(2)[0]["payload"])

    def test_a_chinese_task_has_chinese_children(self) -> None:
        """The language of the harness is that of the parent."""
        self.real(asked(delegate("read it"), script(END)), END, task="看看笔记里写了什么")
        self.assertIn("你是拥有独立窗口的子代理", self.child()[1]["message"]["content"])


class EndingTest(SubagentTest):
    """Each ending that a child comes to by itself has its word, its code and its numbers."""

    def ended(self, *children: tuple[dict[str, Any], dict[str, Any]],
              **fields: Any) -> list[tuple[str, str]]:
        """(status, result) of children with these scripts and orders, all of one reply."""
        outcome, records = self.real(
            {**ASK, "tool_calls": [delegate(**order) for _, order in children],
             "children": {str(at): child for at, (child, _) in enumerate(children)}}, END, **fields)
        self.assertTrue(outcome.done)
        results = [record["message"] for record in records if record["type"] == "message"
                   and record["message"]["role"] == "tool"]
        ends = [end["status"] for end in payloads(records, "subagent_end")]
        for status, result in zip(ends, results, strict=True):
            self.assertEqual(None if status == "finished" else f"CHILD_{status.upper()}",
                             result.get("error", {}).get("code"))
        return [(status, result["content"]) for status, result in zip(ends, results)]

    def test_endings_that_the_loop_of_the_child_owns(self) -> None:
        """Limits, overflow and model faults each come back as themselves."""
        look = {"tool_calls": [{"name": "list_files", "arguments": {}}]}
        big = {"tool_calls": [{"name": "read_file", "arguments": {"path": "big.txt"}}]}
        (self.workspace / "big.txt").write_text("word " * 9_000, encoding="utf-8")
        cases: tuple[tuple[dict[str, Any], dict[str, Any], str, str], ...] = (
                (script(END), {}, "finished", "done"),
                (script(*[look] * 9), {"budget": {"steps": 3}}, "step_limit", "after 3 steps"),
                (script(*[look] * 9), {"budget": {"tokens": 2_500}}, "token_limit", "2500 in all"),
                (script(big, END, policy="none"), {"budget": {"tokens": 5_000}}, "token_limit",
                 "over the limit of 5000"),
                (script(END, window=20, policy="published"), {}, "overflow", "cannot be moved"),
                (script({"inject": "error"}), {}, "model_error", "injected"),
                (script({"inject": "empty"}), {}, "model_error", "neither text nor calls"),
                (script(), {}, "model_error", "no replies left"),
                (script(look, {"tool_calls": [{"name": "give_up", "arguments": {
                    "reason": "no network"}}]}, {"content": "I got half way."}), {}, "gave_up",
                 "gave up (no network)"))
        found = self.ended(*((child, order) for child, order, _, _ in cases))
        for (_, _, status, words), (ended, content) in zip(cases, found, strict=True):
            with self.subTest(status + words):
                self.assertEqual(status, ended)
                self.assertIn(words, content)

    def test_a_request_is_paid_for_before_it_is_sent(self) -> None:
        """One that costs too much is neither sent nor recorded; the tokens of all others are."""
        look = {"tool_calls": [{"name": "list_files", "arguments": {}}]}
        (self.folder / "task.json").write_text(json.dumps({
            "system": "s", "task": "t", "window": 30_000, "replies": [look, look, END]}), "utf-8")
        task = load_task(self.folder / "task.json")

        def sent(limit: int | None) -> tuple[str, list[int], str]:
            records: list[Record] = []
            outcome = run_task(task, Setup(self.workspace, task.model(), Grant(tokens=limit),
                                           [records.append]), govern(task, "", None))
            return outcome.reason, [payload["tokens"] for payload in payloads(
                records, "model_call")], outcome.detail

        reason, costs, _ = sent(None)
        self.assertEqual(("final_answer", 3), (reason, len(costs)))
        self.assertEqual(("final_answer", costs, ""), sent(sum(costs)))
        for number in range(3):
            before, limit = sum(costs[:number]), sum(costs[:number + 1]) - 1
            reason, told, detail = sent(limit)
            self.assertEqual(("token_limit", costs[:number]), (reason, told))
            self.assertIn(f"{before} tokens are sent, and {costs[number]} more are over the limit "
                          f"of {limit} in all", detail)

    def test_a_chinese_parent_is_told_in_chinese_why_a_child_ended(self) -> None:
        """The whole result, but for names, numbers and codes."""
        look = {"tool_calls": [{"name": "list_files", "arguments": {}}]}
        cases: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
            (script(*[look] * 9), {"budget": {"steps": 3}}, "3 步之后仍没有最终回答"),
            (script(*[look] * 9), {"budget": {"tokens": 2_500}}, "超出合计 2500 的上限"),
            (script(END, window=20, policy="published"), {}, "且无法移动: 系统消息 109, 用户消息 5;"),
            (script({"inject": "error"}), {}, "模型失败"),
            (script({"inject": "empty"}), {}, "第 0 步: 模型既没有给出文字,也没有给出调用;"),
            (script(), {}, "脚本中的回复已用完;"))
        found = self.ended(*((child, order) for child, order, _ in cases), task="看看笔记里写了什么")
        for (_, _, words), (status, content) in zip(cases, found, strict=True):
            with self.subTest(status):
                self.assertIn(words, content)
                self.assertNotRegex(content.replace("read_child(child=", ""),
                                    r"[a-z]{3,} [a-z]{3,}")

    def test_a_grandchild_needs_two_generations(self) -> None:
        """With a depth of 2 a child may delegate, if it is given the tool, and no further."""
        deepest = script({"tool_calls": [delegate()]}, {"content": "from below"})
        middle = script(asked(delegate("deeper"), deepest), {"content": "from the middle"})
        outcome, records = self.real(
            asked(delegate(tools=["delegate"]), middle), END, limits=ChildLimits(depth=2))
        self.assertTrue(outcome.done)
        below = self.run_folder / "children" / "1.d" / "children" / "1.jsonl"
        self.assertEqual(["UNKNOWN_TOOL"], [
            told["code"] for told in payloads(read_trace(below).records, "tool_result")])
        self.assertEqual("task/1/1", read_trace(below).records[0]["payload"]["task"])

    def test_a_child_cannot_hand_on_what_it_was_not_given(self) -> None:
        """Tools and paths of a grandchild are some of its parent's."""
        middle = script(
            {"tool_calls": [delegate(tools=["run_command"]), delegate(writes=["b.txt"]),
                            delegate(writes=["a/x.txt"])]}, END)
        self.real(asked(delegate(tools=["delegate", "write_file"], writes=["a"]), middle), END,
                  limits=ChildLimits(depth=2))
        records = read_trace(self.run_folder / "children" / "1.jsonl").records
        self.assertEqual(["BAD_ARGUMENTS", "WRITE_NOT_GIVEN", "CHILD_MODEL_ERROR"],
                         [told["code"] for told in payloads(records, "tool_result")])

    def test_a_grandchild_gets_no_more_steps_and_tokens_than_its_parent(self) -> None:
        """More is refused; where nothing is said it gets what its parent has, but of what is
        left of the tokens an equal part: one stays with the parent."""
        middle = script({"tool_calls": [delegate(budget={"steps": 8}), delegate(
            budget={"tokens": 60_001}), delegate(), delegate(budget={"steps": 1, "seconds": 9})]},
                        END)
        self.real(asked(delegate(tools=["delegate"], budget={"steps": 7, "tokens": 60_000}),
                        middle),
                  END, limits=ChildLimits(depth=2))
        records = read_trace(self.run_folder / "children" / "1.jsonl").records
        self.assertEqual(["BAD_ARGUMENTS"] * 2 + ["CHILD_MODEL_ERROR"] * 2, [
            told["code"] for told in payloads(records, "tool_result")])
        first, = payloads(records[:next(record["seq"] for record in records if record.get(
            "event") == "tool_call")], "model_call")
        share = (60_000 - first["tokens"]) // 3
        self.assertEqual([{"steps": 7, "tokens": share, "seconds": 600.0},
                          {"steps": 1, "tokens": share, "seconds": 9}],
                         [told["budget"] for told in payloads(records, "subagent_start")])


    def test_a_child_and_all_below_it_send_no_more_than_it_was_given(self) -> None:
        """Three generations that would all read on for ever: together within the tokens of the
        first, which still reports. What a grandchild does not need goes back."""
        (self.workspace / "notes.txt").write_text("the port is 8443\n" * 50, encoding="utf-8")
        greedy = script(*[{"tool_calls": [READ]}] * 40)
        thrifty = script({"content": "nothing to do"})
        both = {"tool_calls": [delegate(), delegate()], "children": {"0": greedy, "1": greedy}}
        for replies, statuses in (
                ([both], ["token_limit"] * 2),
                ([asked(delegate(), thrifty)] * 8, ["finished"] * 8),
                ([asked(delegate(), greedy)] * 3, ["token_limit"] * 3)):
            with self.subTest(statuses):
                middle = script(*replies, {"content": "my report"})
                _, records = self.real(asked(delegate(
                    tools=["delegate", "read_file"], budget={"tokens": 30_000}), middle), END,
                    limits=ChildLimits(depth=2))
                trace = self.run_folder / "children" / "1.jsonl"
                below = read_trace(trace).records
                self.assertEqual(statuses,
                                 [end["status"] for end in payloads(below, "subagent_end")])
                self.assertEqual(["finished"], [end["status"] for end in payloads(
                    records, "subagent_end")])
                self.assertLessEqual(sent_by_family(trace), 30_000)
                shutil.rmtree(self.run_folder)


class GrantTest(SubagentTest):
    """What stands in a grant is what an agent has, and the most that it can hand on."""

    def test_an_agent_has_what_its_grant_says_and_can_give_no_more(self) -> None:
        """Tools, paths, budgets and generations of random grants, with and without a person."""
        dice, texts = random.Random(4), Texts()
        for _ in range(60):
            grant = Grant(dice.sample(NAMES, dice.randrange(len(NAMES))), dice.random() < .5,
                          dice.choice([None, (), ("a", "b/c.txt")]), dice.choice([(), ("a/x*",)]),
                          children=dice.choice([None, ChildLimits(dice.randrange(1, 4)).within(
                              dice.randrange(1, 90), 10**dice.randrange(1, 8))]))
            asked_for = dice.choice([None, lambda tool, arguments: None])
            builder = AgentBuilder(
                Setup(self.workspace, ScriptedModel([], (), texts), grant, permit=asked_for),
                texts, Tracer(), "t", history=[], folder=self.workspace / "a" / "t.d")
            tools = builder.tools(None)
            told = {tool["name"]: tool for tool in tools.declarations()}
            own = [name for name in NAMES if name in grant.tools and name != "skill"]
            crew = [] if grant.children is None else ["delegate", "read_child"]
            self.assertEqual([*own, *crew], [*told])
            if "run_command" in own:
                self.assertEqual(grant.shell, builder.texts("tool_run_command_or_shell") == told[
                    "run_command"]["description"])
            if grant.children is not None:
                given = [name for name in own if name != "run_command" or asked_for is None]
                deeper = ["delegate"] if grant.children.depth > 1 else []
                asks = told["delegate"]["parameters"]["properties"]
                self.assertEqual([*given, *deeper], asks["tools"]["items"]["enum"])
                self.assertEqual((grant.children.steps, grant.children.tokens), tuple(
                    asks["budget"]["properties"][name]["maximum"] for name in ("steps", "tokens")))
            for path in ("a/y", "b/c.txt", "b/d", "a/x1", "a/t.d/y", "a/t.jsonl"):
                closed = path.startswith("a/t") or path == "a/x1" and grant.protect
                free = grant.writes is None or path != "b/d" and grant.writes
                if "write_file" in own:
                    self.assertEqual(
                        "PROTECTED_PATH" if closed else None if free else "WRITE_NOT_GIVEN",
                        self.written(tools, path), (grant, path))

    def written(self, tools: WaitingTools, path: str) -> str | None:
        """The code of the error that a write came to, None for none."""
        results: list[Message] = []
        tools.run_batch([call("c", "write_file", {"path": path, "content": "x"})], 0,
                        results.append)
        error: dict[str, str] = results[0].get("error") or {}
        return error.get("code")


class CommandTest(SubagentTest):
    """`mini-agent child`, by hand: one line in, one line out."""

    def child(self, line: bytes) -> subprocess.CompletedProcess[bytes]:
        """Say one line to the command, and end its input."""
        return subprocess.run([sys.executable, "-m", "mini_agent", "child"], input=line, cwd=ROOT,
                              capture_output=True, timeout=300)

    def request(self) -> dict[str, Any]:
        """A task that is done in one step."""
        return {"name": "by hand", "language": "en", "system": "s", "task": "t", "pins": [],
                "workspace": str(self.workspace), "trace": str(self.folder / "child.jsonl"),
                "tools": ["list_files"], "writes": [], "steps": 5, "tokens": 10_000, "depth": 0,
                "start": {"task": "x"}, "model": {"script": script({"content": "hello"})}}

    def test_a_request_gives_a_result(self) -> None:
        """What a tool or a library prints is no part of it."""
        done = self.child(json.dumps(self.request()).encode() + b"\n")
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        result = json.loads(done.stdout)
        self.assertEqual(("finished", "hello", 1), (
            result["status"], result["text"], result["steps"]))
        self.assertEqual("run_end", read_trace(self.folder / "child.jsonl").records[-1]["event"])

    def test_a_pin_that_no_mark_can_hold_is_told_in_words(self) -> None:
        """A whole message was pinned that has a mark in it: the child runs, and knows both."""
        request = {**self.request(), "pins": [
            {"text": "Keep <pin>the tests</pin> green.", "kind": "constraint", "protect": ""}]}
        done = self.child(json.dumps(request).encode() + b"\n")
        self.assertEqual("finished", json.loads(done.stdout)["status"], done.stderr)
        task = next(record["message"]["content"]
                    for record in read_trace(self.folder / "child.jsonl").records
                    if record["type"] == "message" and record["message"]["role"] == "user")
        self.assertEqual("t\nKeep <pin>the tests</pin> green.", task)

    def test_what_is_no_request_is_one_line(self) -> None:
        """Exit status 2, no traceback, nothing on standard output."""
        for line, words in ((b"", b"not JSON"), (b"{\xff", b"not JSON"), (b"[]", b"must be object"),
                            (b"{}", b"name is missing")):
            done = self.child(line)
            self.assertEqual((2, b"", 1), (done.returncode, done.stdout, done.stderr.count(b"\n")))
            self.assertIn(words, done.stderr)


class ScriptTest(SubagentTest):
    """Nested scripts in task files."""

    def test_a_wrong_script_is_named_with_its_place(self) -> None:
        """Line, column and field, however deep."""
        for children, calls, words in (
                ({"1": script(END)}, [delegate()],
                 "replies[0].children.1 is not a call of delegate"),
                ({"0": script(END)}, [{"name": "read_file"}], "is not a call of delegate"),
                ({"0": {}}, [delegate()], "replies[0].children.0.replies is missing"),
                ({"0": script({"content": ""})}, [delegate()],
                 "replies[0].children.0.replies[0] says nothing"),
                ({"0": script({"tool_calls": [delegate()], "children": {"0": script({"x": 1})}})},
                 [delegate()], "replies[0].children.0.replies[0].children.0.replies[0].x"),
                ({"0": script(END, system="s")}, [delegate()], "children.0.system is unknown"),
                ({"0": [1]}, [delegate()], "children.0 must be object")):
            with self.subTest(words):
                path = self.write_task(replies=[{"tool_calls": calls, "children": children}])
                with self.assertRaises(TaskFileError) as caught:
                    load_task(path)
                self.assertIn(words, str(caught.exception))
                self.assertRegex(caught.exception.place, r"task\.json:1:\d+$")


class BytesTest(SubagentTest):
    """The same bytes, in whatever order the children end."""

    RUNS = 2

    def test_runs_give_the_same_bytes(self) -> None:
        """Children that begin whenever they like: all traces are equal, run after run."""
        (self.workspace / "notes.txt").write_text("x\n" * 100, encoding="utf-8")
        children = {str(number): script({"tool_calls": [READ]}, {"content": f"part {number}"})
                    for number in range(3)}
        seen = set()
        for _ in range(self.RUNS):
            _, records = self.fake(LATE, *map(delegate, "abc"), children=children)
            self.assertEqual(["finished"] * 3, [
                told["status"] for told in payloads(records, "subagent_end")])
            seen.add(json.dumps(records) + "".join(
                path.read_text("utf-8")
                for path in sorted(self.run_folder.glob("children/*.jsonl"))))
        self.assertEqual(1, len(seen))
        messages = [record["message"] for record in records if record["type"] == "message"]
        self.assertEqual([], list(pairing_faults(messages)))


if __name__ == "__main__":
    unittest.main()
