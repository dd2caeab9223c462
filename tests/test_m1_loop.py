"""Milestone 1: what the loop promises, ending by ending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from mini_agent.errors import ModelError
from mini_agent.loop import Agent
from mini_agent.messages import (
    assistant, call, groups, open_calls, pairing_faults, result_positions, system, tool_result,
    user)
from mini_agent.models.base import Reply
from mini_agent.models.scripted import replies_left
from mini_agent.texts import Texts
from mini_agent.tools.base import ToolBox
from mini_agent.trace import TraceFile, Tracer, parse_record, read_trace
from mini_agent.errors import TraceError
from tests.support import ROOT, FolderTest, payloads

LIST = {"name": "list_files", "arguments": {"path": "."}}
READ = {"name": "read_file", "arguments": {"path": "notes.txt"}}


class LoopTest(FolderTest):
    """The loop from `run_start` to `run_end`."""

    def test_a_reply_without_calls_is_the_final_answer(self) -> None:
        """The text of the first reply that asks for nothing is what the run comes to."""
        outcome, records = self.run_task(replies=[{"tool_calls": [LIST]}, {"content": "done"}])
        self.assertEqual(("final_answer", "done"), (outcome.reason, outcome.text))
        self.assertEqual({"step": 1, "reason": "final_answer", "final_messages": 5},
                         records[-1]["payload"])

    def test_records_stand_in_the_order_of_the_design(self) -> None:
        """run_start, system, user; a step is model_call, reply, call, result, message."""
        _, records = self.run_task(replies=[{"tool_calls": [LIST]}, {"content": "done"}])
        told = [record.get("event") or record["message"]["role"] for record in records]
        self.assertEqual(["run_start", "system", "user", "model_call", "assistant", "tool_call",
                          "tool_result", "tool", "model_call", "assistant", "run_end"], told)
        self.assertEqual(list(range(11)), [record["seq"] for record in records])

    def test_every_call_of_one_reply_gets_its_result_in_order(self) -> None:
        """Three calls in one reply are three results directly behind it."""
        _, records = self.run_task(replies=[{"tool_calls": [LIST, READ, LIST]}, {"content": "x"}])
        messages = [record["message"] for record in records if record["type"] == "message"]
        self.assertEqual(["call_0_0", "call_0_1", "call_0_2"],
                         [message["tool_call_id"] for message in messages[3:6]])
        self.assertEqual([], list(pairing_faults(messages)))

    def test_the_model_is_sent_everything_each_time(self) -> None:
        """Without a window each request has all messages so far."""
        _, records = self.run_task(replies=[{"tool_calls": [LIST]}, {"tool_calls": [READ, LIST]},
                                            {"content": "done"}])
        self.assertEqual([{"step": 0, "messages": 2}, {"step": 1, "messages": 4},
                          {"step": 2, "messages": 7}], payloads(records, "model_call"))

    def test_of_a_script_that_a_session_has_had_what_comes_next_is_left(self) -> None:
        """As many as its history ends with; repeated ones, empty ones and faults are told apart."""
        one, two, empty = {"tool_calls": [LIST]}, {"content": "two \ud83d"}, {"inject": "empty"}
        fault, broken = {"inject": "overflow"}, {"tool_calls": [LIST], "inject": "bad_json"}
        said = {"x": assistant("else"), "1": assistant("", [call("id", **LIST)]),
                "2": assistant("two \ufffd"), "e": assistant(""),
                "b": assistant("", [call("", LIST["name"], '{"path": "notes.txt"')])}
        for script, had, left in (
                ([one, two], "", 2), ([one, two], "1", 1), ([one, two], "x1", 1),
                ([one, two], "12", 0), ([one, two], "1x", 2), ([one, two], "2", 2),
                ([one, one, two], "1", 2), ([one, one, two], "11", 1), ([one, one, two], "111", 1),
                ([one, fault, two], "1", 1), ([fault, one, fault], "1", 0), ([fault], "", 1),
                ([fault, one], "2", 2), ([empty, two], "e", 1), ([broken, two], "b", 1),
                ([broken, two], "1", 2), ([], "1", 0)):
            with self.subTest(script=script, had=had):
                history = [user("go"), *(said[letter] for letter in had)]
                self.assertEqual(script[len(script) - left:], [*replies_left(script, history)])

    def test_a_script_without_replies_left_has_its_own_ending(self) -> None:
        """The run ends with script_exhausted and is not done."""
        outcome, records = self.run_task(replies=[{"tool_calls": [LIST]}])
        self.assertEqual("script_exhausted", outcome.reason)
        self.assertEqual("script_exhausted", records[-1]["payload"]["reason"])

    def test_the_step_limit_has_its_own_ending(self) -> None:
        """After `max_steps` steps without an answer the run ends with step_limit."""
        outcome, records = self.run_task(replies=[{"tool_calls": [LIST]}] * 9, max_steps=3)
        self.assertEqual("step_limit", outcome.reason)
        self.assertEqual(3, len(payloads(records, "model_call")))

    def test_a_failing_model_has_its_own_ending(self) -> None:
        """An error and an empty reply both end with model_error, and say which."""
        for inject, word in (("error", "failed"), ("empty", "neither text nor calls")):
            with self.subTest(inject):
                outcome, records = self.run_task(replies=[{"inject": inject}])
                self.assertEqual("model_error", records[-1]["payload"]["reason"])
                self.assertIn(word, outcome.detail)

    def test_a_request_that_is_too_long_without_a_window_is_a_model_error(self) -> None:
        """Where nothing can be made smaller the endpoint's refusal ends the run."""
        outcome, _ = self.run_task(replies=[{"inject": "overflow"}, {"content": "x"}])
        self.assertEqual("model_error", outcome.reason)

    def test_bad_calls_go_back_to_the_model_and_the_run_goes_on(self) -> None:
        """Broken arguments and an unknown tool are results with a code, nothing more."""
        outcome, records = self.run_task(replies=[
            {"tool_calls": [READ], "inject": "bad_json"},
            {"tool_calls": [READ], "inject": "unknown_tool"}, {"content": "done"}])
        self.assertTrue(outcome.done)
        self.assertEqual(["INVALID_JSON", "UNKNOWN_TOOL"],
                         [told["code"] for told in payloads(records, "tool_result")])

    def test_a_trace_that_cannot_be_written_ends_the_run(self) -> None:
        """A sink that raises gives trace_failed, at whatever record it happens."""
        for fatal in range(11):
            with self.subTest(fatal):
                def sink(record: dict, fatal: int = fatal) -> None:
                    if record["seq"] == fatal:
                        raise TraceError("disk full", value=fatal)
                agent = _agent([Reply("", (call("a", "t", {}),)), Reply("done")], Tracer(sink))
                self.assertEqual("trace_failed", agent.run("s", "u", {"format": 1}).reason)


class InterruptTest(FolderTest):
    """Ctrl-C and kill leave a session that can be read and goes on."""

    def test_ctrl_c_gives_each_open_call_a_result(self) -> None:
        """An interrupt in the second of three calls leaves a history that pairs."""
        calls = tuple(call(f"c{n}", "t", {}) for n in range(3))
        agent = _agent([Reply("", calls)], Tracer(), interrupt_at=1)
        self.assertEqual("interrupted", agent.run("s", "u", {"format": 1}).reason)
        self.assertEqual([], list(pairing_faults(agent.history)))
        self.assertEqual(["ok", "INTERRUPTED", "INTERRUPTED"], [
            message.get("error", {}).get("code", "ok") for message in agent.history[3:]])

    def test_a_killed_run_leaves_a_trace_up_to_its_last_whole_line(self) -> None:
        """kill -9 during a command: the tool_call is there, and every line before it."""
        task = self.write_task(replies=[{"tool_calls": [{"name": "run_command", "arguments": {
            "command": "python3 -c 'import time; time.sleep(30)'"}}]}])
        path = self.folder / "killed.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-m", "mini_agent", "run", str(task), "--workspace",
             str(self.folder), "--trace", str(path)], cwd=ROOT, start_new_session=True)
        deadline = time.monotonic() + 120
        while not (path.exists() and '"tool_call"' in path.read_text("utf-8")):
            self.assertLess(time.monotonic(), deadline, "the call never began")
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, process.wait())
        trace = read_trace(path)
        self.assertEqual(list(range(len(trace.records))), [r["seq"] for r in trace.records])
        self.assertEqual("tool_call", trace.records[-1]["event"])
        self.assertEqual(1, len(open_calls(trace.messages())))


class TraceTest(FolderTest):
    """The file that a run leaves."""

    def _trace(self, *lines: str) -> Path:
        path = self.folder / "t.jsonl"
        path.write_bytes("".join(lines).encode())
        return path

    def test_a_last_line_cut_at_any_byte_is_left_out_with_a_warning(self) -> None:
        """Every way to cut the last of three lines leaves the two before it."""
        lines = []
        tracer = Tracer(lambda record: lines.append(json.dumps(record) + "\n"))
        for step in range(3):
            tracer.message(step, user("一二三"))
        for cut in range(1, len(lines[2])):
            trace = read_trace(self._trace(*lines[:2], lines[2][:cut]))
            self.assertEqual(2, len(trace.records))
            self.assertIn(":3: the last line is cut off", trace.warning)

    def test_only_the_very_last_line_may_be_broken(self) -> None:
        """One before a line that was cut off was whole once, and is not left out in silence."""
        good = '{"type": "event", "event": "resume", "payload": {"step": 0}, "seq": 0}\n'
        trace = read_trace(self._trace(good, "{broken\n"))
        self.assertEqual(([0],
                          f"{self.folder / 't.jsonl'}:2: the last line is broken and was left out"),
                         ([record["seq"] for record in trace.records], trace.warning))
        with self.assertRaisesRegex(TraceError, "t.jsonl:2: not a record"):
            read_trace(self._trace(good, "{broken\n", good[:20]))

    def test_a_record_is_a_message_or_an_event_and_has_what_its_kind_has(self) -> None:
        """Nothing else passes for one, whatever else stands in it."""
        message, payload = {"role": "user", "content": "x"}, {"step": 0}
        for record in ({"type": "message", "message": message, "seq": 0},
                       {"type": "event", "event": "resume", "payload": payload, "seq": 0}):
            self.assertEqual(record, parse_record(json.dumps(record)))
        for wrong in ({"type": "note", "message": message}, {"type": "message", "payload": payload},
                      {"type": "note", "event": "resume", "payload": payload},
                      {"type": "event", "event": "other", "payload": payload},
                      {"type": "event", "event": "resume", "message": message},
                      {"type": "message", "message": message, "seq": "0"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                parse_record(json.dumps({"seq": 0, **wrong}))

    def test_only_a_file_that_stayed_empty_is_removed(self) -> None:
        """Neither one with a record in it, nor a pipe or a device."""
        file, pipe = self.folder / "t.jsonl", self.folder / "pipe"
        TraceFile(file).close()
        self.assertFalse(file.exists())
        with TraceFile(file) as sink:
            Tracer(sink).event("resume", step=0)
        self.assertEqual(1, len(read_trace(file).records))
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        TraceFile(pipe).close()
        os.close(reader)
        self.assertTrue(pipe.is_fifo())

    def test_an_event_outside_the_closed_list_is_refused(self) -> None:
        """A new kind of record is a decision, not a typing mistake."""
        with self.assertRaises(ValueError):
            Tracer().event("model_cal")

    def test_a_trace_file_holds_the_records_as_written(self) -> None:
        """What is read is what was emitted, whatever the text."""
        kept: list = []
        path = self.folder / "deep" / "t.jsonl"
        with TraceFile(path) as file:
            tracer = Tracer(file, kept.append)
            tracer.message(0, system("一\u2028二\x00 \ud83d lone"))
            tracer.event("run_end", step=0, reason="final_answer", final_messages=1)
        self.assertEqual(kept, read_trace(path).records)


class MessageTest(unittest.TestCase):
    """What belongs together."""

    def test_groups_are_a_call_with_all_its_results(self) -> None:
        """One message alone, or an assistant message with the results behind it."""
        history = [system("s"), user("u"), assistant("", [call("a", "t", {}), call("a", "t", {})]),
                   tool_result("a", "t", "1"), tool_result("a", "t", "2"), assistant("x")]
        self.assertEqual([range(0, 1), range(1, 2), range(2, 5), range(5, 6)],
                         list(groups(history)))

    def test_results_are_matched_in_any_order_and_with_repeated_ids(self) -> None:
        """The first result of an id answers its first call."""
        asked = assistant("", [call("a", "t", {}), call("b", "t", {}), call("a", "t", {})])
        results = [tool_result(i, "t", "") for i in ("b", "a", "a")]
        self.assertEqual([1, 0, 2], result_positions(asked, results))

    def test_every_kind_of_broken_pair_is_found(self) -> None:
        """An orphan result, an unanswered call, one result too many."""
        history = [tool_result("x", "t", ""),
                   assistant("", [call("a", "t", {}), call("b", "t", {})]),
                   tool_result("b", "t", ""), tool_result("b", "t", "")]
        self.assertEqual([0, 1, 3], [index for index, _ in pairing_faults(history)])

    def test_texts_are_cleaned_at_entry(self) -> None:
        """None is "", a lone surrogate U+FFFD; arguments that are no object are kept raw."""
        self.assertEqual("", assistant(None)["content"])
        self.assertEqual("a\ufffdb", user("a\ud800b")["content"])
        self.assertEqual({"id": "1", "name": "t", "arguments": {}, "invalid": "[1"},
                         call("1", "t", "[1"))


class _Tool:
    """A tool that answers "ok", or is interrupted at one of its calls."""

    name, description, parameters = "t", "a test's tool", {"type": "object", "properties": {}}

    def __init__(self, interrupt_at: int | None) -> None:
        self.calls, self.interrupt_at = 0, interrupt_at

    def __call__(self) -> str:
        self.calls += 1
        if self.calls - 1 == self.interrupt_at:
            raise KeyboardInterrupt
        return "ok"


class _Model:
    """Plays replies, then fails."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = iter(replies)

    def complete(self, messages: object, tools: object) -> Reply:
        """The next reply."""
        reply = next(self.replies, None)
        if reply is None:
            raise ModelError("nothing left")
        return reply

    def summarize(self, messages: object, form: str) -> str:
        """Never asked here."""
        raise ModelError("not asked")


def _agent(replies: list[Reply], tracer: Tracer, interrupt_at: int | None = None) -> Agent:
    return Agent(_Model(replies), ToolBox([_Tool(interrupt_at)], Texts()), tracer)


if __name__ == "__main__":
    unittest.main()
