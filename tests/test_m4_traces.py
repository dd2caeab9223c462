"""Milestone 4: from a parent's trace into those of its children."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

from mini_agent.errors import ToolError, UsageError
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.sources import find_sources
from mini_agent.subagents.endings import numbers_of
from mini_agent.subagents.traces import (
    child_trace, children_of, family_of, find_trace, read_child_tool, sent_by_family)
from mini_agent.texts import Texts
from mini_agent.trace import line, read_trace

from .support import ROOT, FolderTest, answered

TRACE = str(ROOT / "traces" / "reference" / "m4-trace.jsonl")


def copy_of(folder: Path) -> Path:
    """The reference trace with its children, to be spoilt."""
    source = Path(TRACE)
    for path in (source, *source.with_suffix(".d").rglob("*.jsonl")):
        copy = folder / path.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return folder / source.name


class FollowTest(FolderTest):
    """`TRACE#2` is the trace of the second child, for every command."""

    def test_a_child_is_named_by_its_number(self) -> None:
        """Down through generations; a file whose name has the sign is that file."""
        child = child_trace(Path(TRACE).with_suffix(".d"), 2)
        self.assertEqual(child, find_trace(f"{TRACE}#2"))
        self.assertEqual(Path(TRACE), find_trace(TRACE))
        odd = self.folder / "odd#1"
        odd.write_text("x", encoding="utf-8")
        self.assertEqual(odd, find_trace(str(odd)))
        self.assertEqual(["", "#1", "#2", "#3"], [name for name, _ in family_of(Path(TRACE))])

    def test_a_sign_without_a_number_belongs_to_the_name(self) -> None:
        """So do digits that are not those of ASCII, a number without a sign, or without a name."""
        for name in ("12", "t#", "t#x", "t#-1", "t#\u0661", "t#\u00b2", "", "#1", "/#1", ".#1"):
            self.assertEqual(Path(name), find_trace(name))

    def test_a_family_has_sent_what_each_of_it_has_sent(self) -> None:
        """A child and all below it; one whose trace was never begun has sent nothing."""
        each = [numbers_of(read_trace(path).records).sent_tokens
                for path in (Path(TRACE),
                             *(find_trace(f"{TRACE}#{number}") for number in (1, 2, 3)))]
        self.assertEqual(sum(each), sent_by_family(Path(TRACE)))
        self.assertEqual(17_916, sent_by_family(find_trace(f"{TRACE}#2")))
        self.assertEqual(0, sent_by_family(self.folder / "none.jsonl"))

    def test_only_what_this_session_has_started_is_read(self) -> None:
        """A log that lies there from another is not that of a child of it."""
        read = read_child_tool(Path(TRACE).with_suffix(".d"), lambda: 2, Texts("en"))
        self.assertIn("logs/orders.log", read(child=2, message=5))
        with self.assertRaises(ToolError) as caught:
            read(child=3)
        self.assertEqual("NO_SUCH_CHILD", caught.exception.code)

    def test_a_child_that_is_not_there_is_named(self) -> None:
        """One line that says which there are."""
        for text, words in ((f"{TRACE}#4", "it has 1, 2, 3"), (f"{TRACE}#1#1", "it has none"),
                            (f"{self.folder}/no.jsonl#1", "it has none")):
            with self.assertRaises(UsageError) as caught:
                find_trace(text)
            self.assertIn(words, str(caught.exception))
        done = answered("show", f"{TRACE}#4")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("there is no log of sub-agent 4", done.stderr)

    def test_show_tells_of_children_and_shows_them(self) -> None:
        """A line a child under the step that started it; behind the sign its own steps."""
        shown = answered("show", TRACE).stdout.splitlines()
        self.assertEqual("      sub-agent 2 finished: 4 steps, 8255 tokens at most, 17916 in all: "
                         f"{TRACE}#2", shown[5])
        below = answered("show", f"{TRACE}#2").stdout.splitlines()
        self.assertIn("task m4_outage/2", below[0])
        self.assertEqual("   3  8255 (8)    8255 (8)", below[-2])
        self.assertIn("You are a sub-agent", answered("show", f"{TRACE}#2", "--step", "0").stdout)

    def test_why_follows_a_text_into_the_child_that_knew_it(self) -> None:
        """What the parent never saw: who read it, where, and how it can be had."""
        done = answered("why", TRACE, "readiness failed")
        self.assertEqual(0, done.returncode, done.stderr)
        told = done.stdout.splitlines()
        self.assertEqual(["m4-trace.jsonl: 'readiness failed'",
                          "  it was never said in this session (capitals and blanks have "
                          "to be as they were)",
                          "m4-trace.jsonl#2: 'readiness failed'"], told[:3])
        self.assertIn("tool of search_text", told[3])
        self.assertEqual("  above     read_child(child=2, message=5, start=191) gives it to the "
                         "parent", told[-1])
        self.assertNotIn("#1", done.stdout)
        parts = [json.loads(text) for text in answered(
            "why", TRACE, "212 of 4380", "--json").stdout.splitlines()]
        self.assertEqual(["m4-trace.jsonl", "m4-trace.jsonl#1"],
                         [part["session"] for part in parts])
        self.assertEqual(1, answered("why", TRACE, "no such text").returncode)

    def test_the_lab_has_a_session_for_each_child(self) -> None:
        """compare and convert see parent and children; in a folder each of them once."""
        names = ["m4-trace.jsonl", *(f"m4-trace.jsonl#{number}" for number in (1, 2, 3))]
        self.assertEqual(names, [session.name for session in open_sessions(TRACE)])
        copy_of(self.folder)
        self.assertEqual(["m4-trace.jsonl"], [
            source.name for source in find_sources([str(self.folder)])])
        rows = json.loads(answered("compare", str(self.folder), "--policy", "clip", "--window",
                                   "8k", "--json", "--no-evidence").stdout)
        self.assertEqual(names, list(dict.fromkeys(row["session"] for row in rows)))

    def test_a_task_file_with_children_is_run_with_them(self) -> None:
        """The lab plays the script: a session for the agent and one for each child."""
        from mini_agent.lab.taskrun import run_in_copy
        sessions = run_in_copy(str(ROOT / "scripts" / "m4_task.json"),
                               str(ROOT / "workspace" / "m4"))
        self.assertEqual(["m4_task.json", *(f"m4_task.json#{number}" for number in (1, 2, 3))],
                         [session.name for session in sessions])
        self.assertIn("212 of 4380", sessions[0].messages[5]["content"])


class CheckTest(FolderTest):
    """What a parent says of its children has to be true."""

    def check(self, trace: Path) -> list[str]:
        """What `check` finds, without the folder's name."""
        done = answered("check", str(trace))
        self.assertEqual("", done.stderr)
        return done.stdout.replace(f"{self.folder}/", "").splitlines()

    def edit(self, path: Path, old: str, new: str) -> None:
        """Change one place of a file."""
        text = path.read_text("utf-8")
        self.assertEqual(1, text.count(old))
        path.write_text(text.replace(old, new), encoding="utf-8")

    def test_a_true_family_has_no_findings(self) -> None:
        """The reference."""
        self.assertEqual([], self.check(Path(TRACE)))

    def test_each_untruth_is_found(self) -> None:
        """Numbers, missing logs, ends without a start, starts without an end."""
        one = "m4-trace.d/children/1.jsonl"
        for old, new, words in (
                ('"steps": 4, "peak_tokens": 11338', '"steps": 5, "peak_tokens": 11338',
                 "steps is 5, in the log of sub-agent 1 it is 4"),
                ('"steps": 4, "peak_tokens": 11338', '"prompt_tokens": "x", "steps": 4, '
                 '"peak_tokens": 11338', "prompt_tokens is 'x', which is no number"),
                ('"id": "call_1_0", "child": 1, "trace"', '"id": 7, "child": 1, "trace"',
                 "no id of a call: 7"),
                ('"child": 3, "trace"', '"child": 4, "trace"', "sub-agent 4 where 3 begins"),
                ('"child": 3, "status"', '"child": 2, "status"',
                 "sub-agent 2 ends and is not at work"),
                ('"child": 3, "status"', '"child": "x", "status"', "sub-agent x ends")):
            with self.subTest(new):
                trace = copy_of(self.folder)
                self.edit(trace, old, new)
                self.assertTrue(any(words in found for found in self.check(trace)))
        trace = copy_of(self.folder)
        (self.folder / one).unlink()
        self.assertTrue(any("the log of sub-agent 1 is missing" in f for f in self.check(trace)))
        trace = copy_of(self.folder)
        self.edit(self.folder / one, "212 of 4380 requests failed since 09:14, all other routes 0 "
                  "failed. So", "none failed. So")
        self.assertTrue(any(one in found for found in self.check(trace)))

    def test_of_a_broken_log_only_its_broken_line_is_told(self) -> None:
        """What it cannot say any more is not held against the parent."""
        trace = copy_of(self.folder)
        self.edit(self.folder / "m4-trace.d/children/1.jsonl",
                  '"event": "model_call", "payload": {"step": 1,',
                  '"event": "called", "payload": {"step": 1,')
        broken, = [found for found in self.check(trace) if "not a record" in found]
        self.assertIn("m4-trace.d/children/1.jsonl:", broken)
        self.assertNotIn("in the log of sub-agent 1 it is", "\n".join(self.check(trace)))

    def test_one_log_is_not_that_of_two(self) -> None:
        """Nor does a link that leads back to its parent lead round for ever."""
        children = copy_of(self.folder).with_suffix(".d") / "children"
        for number, target in ((2, children / "1.jsonl"), (3, self.folder / "m4-trace.jsonl")):
            (children / f"{number}.jsonl").unlink()
            (children / f"{number}.jsonl").symlink_to(target)
        found = self.check(self.folder / "m4-trace.jsonl")
        self.assertEqual([f"the log of sub-agent {number} is that of another" for number in (2, 3)],
                         [text.rpartition(": ")[2] for text in found])

    def test_a_child_that_was_cut_off_may_have_no_end(self) -> None:
        """A killed child's trace stops anywhere; that is no finding, and one that finished is."""
        for status, expected in (("timed_out", []), ("finished", ["the run has no end"])):
            with self.subTest(status):
                trace = copy_of(self.folder)
                log = self.folder / "m4-trace.d" / "children" / "3.jsonl"
                *whole, _ = log.read_text("utf-8").splitlines(keepends=True)
                log.write_text("".join(whole), encoding="utf-8")
                self.edit(trace, '"child": 3, "status": "finished"',
                          f'"child": 3, "status": "{status}"')
                found = self.check(trace)
                self.assertEqual(len(expected), len(found), found)
                for words, text in zip(expected, found, strict=True):
                    self.assertIn(words, text)

    def test_hostile_records_do_not_break_the_search(self) -> None:
        """A child's number that is none, and records of no sense, are passed over."""
        trace = self.folder / "t.jsonl"
        start = {"type": "event", "event": "subagent_start", "seq": 0}
        trace.write_text("".join(line({**start, "payload": payload}) for payload in (
            {"child": "../../etc"}, {}, {"child": None}, {"child": [1]}, {"child": 1}))
                         + '"subagent_start"\n',
            encoding="utf-8")
        self.assertEqual([], children_of(trace))


if __name__ == "__main__":
    unittest.main()
