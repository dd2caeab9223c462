"""Milestone 6: the readers of recorded sessions.

`data/sessions/valid/` has a small file a format with its quirks, and beside it what it
must become; `invalid/` has files and the one line that each gives. The files that other
agents have really written are not in the project: the environment variable SESSIONS
names their folder, with an `INDEX.tsv` of what the model could see of each.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
import tracemalloc
import unittest
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mini_agent import trace
from mini_agent.errors import UsageError
from mini_agent.lab import sessions as lab
from mini_agent.lab.sessions import LogSession, LogSize, open_sessions
from mini_agent.messages import pairing_faults

DATA = Path(__file__).parent / "data" / "sessions"
VALID = sorted(path for path in (DATA / "valid").iterdir()
               if not path.name.endswith(".expected.json"))
INVALID = sorted(path for path in (DATA / "invalid").iterdir()
                 if not path.name.endswith(".error.txt"))
REAL = os.environ.get("SESSIONS", "")
KEYS = ["role", "tool_call_id", "name", "content", "tool_calls", "error", "opaque"]
FIGURES = ("messages", "tool_calls", "tool_results", "largest_tool_result_chars", "total_chars")
READ = ("claude", "codex", "copilot", "gemini")  # schema fixtures of formats that are read


def shown(session: LogSession) -> dict[str, Any]:
    """A session as the expected files write it."""
    return {
        "name": session.name, "format": session.format,
        "messages": [
            {"step": step, **({"injected": True} if index in session.injected else {}),
             "message": message}
            for index, (step, message) in enumerate(zip(session.steps, session.messages))],
        "host_compressions": [asdict(mark) for mark in session.host_compressions],
        "unreadable": [asdict(lost) for lost in session.unreadable],
        "notes": session.notes, "counts": session.counts()}


def refusal(path: Path) -> str:
    """The line that a file gives that is no session."""
    try:
        open_sessions(path)
    except UsageError as error:
        return str(error)
    return ""


class Laws(unittest.TestCase):
    """What holds for every session, whoever wrote it."""

    def check(self, session: LogSession) -> None:
        self.assertEqual(list(pairing_faults(session.messages)), [])
        self.assertEqual(len(session.steps), len(session.messages))
        self.assertEqual(session.steps, sorted(session.steps))
        self.assertTrue(session.messages)
        json.dumps(session.messages, ensure_ascii=False, allow_nan=False).encode("utf-8")
        for message in session.messages:
            self.assertEqual(list(message), [key for key in KEYS if key in message])
        for index in session.injected:
            self.assertEqual(session.messages[index]["role"], "user")
        for mark in session.host_compressions:
            self.assertIn(mark.at, range(len(session.messages) + 1))


class OwnFilesTest(Laws):
    """The project's own small files, one or two a format."""

    def test_each_file_gives_the_sessions_beside_it(self) -> None:
        """Messages, steps, marks, notes and counts, all of it."""
        self.assertGreater(len(VALID), 25)
        for path in VALID:
            with self.subTest(path.name):
                expected = json.loads(
                    (path.parent / f"{path.name}.expected.json").read_text(encoding="utf-8"))
                self.assertEqual([shown(session) for session in open_sessions(path)], expected)

    def test_the_laws_hold(self) -> None:
        """Whole groups, steps that never go back, keys in order, nothing that JSON has not."""
        for path in VALID:
            for session in open_sessions(path):
                with self.subTest(session.name):
                    self.check(session)

    def test_every_reader_has_a_file(self) -> None:
        """But that of task files, which `run` has read."""
        read = {session.format for path in VALID for session in open_sessions(path)}
        self.assertEqual(read, {reader.name for reader in lab.READERS} - {"task file"})

    def test_a_format_is_found_by_content_whatever_the_name(self) -> None:
        """An ending says nothing of what is in a file."""
        with tempfile.TemporaryDirectory() as folder:
            for path in VALID:
                with self.subTest(path.name):
                    copy = Path(folder, "session.bin")
                    copy.write_bytes(path.read_bytes())
                    self.assertEqual([session.messages for session in open_sessions(copy)],
                                     [session.messages for session in open_sessions(path)])

    def test_a_session_written_as_a_trace_reads_the_same(self) -> None:
        """Messages, steps and what the recorded agent had compressed."""
        with tempfile.TemporaryDirectory() as folder:
            for path in VALID:
                for session in open_sessions(path):
                    with self.subTest(session.name):
                        again = self.through_a_trace(session, Path(folder, "t.jsonl"))
                        self.assertEqual(again.messages, session.messages)
                        self.assertEqual(again.steps, session.steps)
                        self.assertEqual(
                            [(mark.at, mark.format, mark.tokens)
                             for mark in again.host_compressions],
                            [(mark.at, mark.format, mark.tokens)
                             for mark in session.host_compressions])

    def through_a_trace(self, session: LogSession, path: Path) -> LogSession:
        with trace.TraceFile(path) as file:
            tracer = trace.Tracer(file)
            for at, (step, message) in enumerate(zip(session.steps, session.messages)):
                for mark in session.host_compressions:
                    if mark.at == at:
                        tracer.event("host_compression", step=step, format=mark.format,
                                     tokens=mark.tokens)
                tracer.message(step, message)
        return open_sessions(path)[0]


class RefusedTest(unittest.TestCase):
    """What is no session gives one clear line."""

    def test_each_file_gives_the_line_beside_it(self) -> None:
        """Place, fault and remedy, word for word."""
        self.assertGreater(len(INVALID), 10)
        for path in INVALID:
            with self.subTest(path.name):
                expected = (path.parent / f"{path.name}.error.txt").read_text(encoding="utf-8")
                self.assertEqual(refusal(path).replace(str(path), path.name), expected.strip())

    def test_a_folder_and_a_missing_file_are_named(self) -> None:
        """And a name that no file can have."""
        self.assertIn("is a folder; give the files in it", refusal(DATA))
        self.assertIn("cannot be read: No such file or directory", refusal(DATA / "none.json"))
        self.assertIn("cannot be read", refusal(Path("a\0b")))


class HostileTest(Laws):
    """Files that mean harm are read or refused, at once."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "hostile.jsonl")

    def read(self, *records: Any) -> LogSession:
        lines = (each if isinstance(each, str) else json.dumps(each) for each in records)
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return open_sessions(self.path)[0]

    def test_nesting_is_refused_at_one_depth_on_every_python(self) -> None:
        """A whole file, or one line of it; Python's own limit differs by version."""
        for depth in (101, 1_000, 10_000, 100_000):
            with self.subTest(depth):
                self.path.write_text("[" * depth + "]" * depth, encoding="utf-8")
                self.assertIn("no JSON: nested too deep", refusal(self.path))
                session = self.read({"role": "user", "content": "x"},
                                    '{"role":"user","content":' + "[" * depth + "]" * depth + "}")
                self.assertEqual([lost.what for lost in session.unreadable], ["nested too deep"])

    def test_what_a_program_prints_between_its_records_is_passed_over(self) -> None:
        """Many short lines between the messages, or a number before each, are no prose."""
        said = [{"role": role, "content": "word " * 40} for role in ("user", "assistant") * 9]
        printed = [["INFO: one more step"] * 15 + [json.dumps(each)] for each in said]
        self.assertEqual(18, len(self.read(*sum(printed, [])).messages))
        numbered = [f"     {at}\t{json.dumps(each)}" for at, each in enumerate(said, 1)]
        self.assertEqual(18, len(self.read(*numbered).messages))

    def test_a_data_uri_is_not_text(self) -> None:
        """An image is its type and its size, inside a text too; a trace of ours is as it is."""
        link = "data:image/png;base64," + "A" * 400_000
        said = [{"role": role, "content": f"![]({link})", **({} if role != "tool" else {
            "tool_call_id": "c"})} for role in ("user", "assistant", "tool")]
        said[1]["tool_calls"] = [{"id": "c", "function": {"name": "cat", "arguments": "{}"}}]
        self.assertEqual({"![]([image image/png, 300000 bytes])"}, {
            message["content"] for message in self.read(*said).messages})
        ours = {"type": "message", "step": 0, "message": said[0], "seq": 0}
        self.assertEqual(said[0]["content"], self.read(ours).messages[0]["content"])
        session = self.read({"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": link}}]})
        self.assertEqual(session.messages[0]["content"], "[image image/png, 300000 bytes]")

    def test_fields_of_any_type_do_no_harm(self) -> None:
        """What is not of its kind is passed over or becomes text."""
        odd: tuple[Any, ...] = (None, 5, True, "x", [], {}, [None], [[]], {"type": "tool_use"},
                                {"text": 5})
        records: list[Any] = [{"role": "user", "content": "x"}]
        for value in odd:
            records += [{"role": "assistant", "content": value, "tool_calls": value},
                        {"role": "assistant", "content": "", "tool_calls": [
                            {"id": value, "function": {"name": value, "arguments": value}}]},
                        {"role": "tool", "tool_call_id": value, "content": value}]
        self.check(self.read(*records))

    def test_a_call_that_sends_only_what_is_new_goes_on_with_its_session(self) -> None:
        """By the id of the answer before; an id that nobody has answered begins a session."""
        def made(sent: Any, answer_id: str, after: str, *answer: Any) -> dict[str, Any]:
            return {"request": {"input": sent, "previous_response_id": after},
                    "response": {"id": answer_id, "output": list(answer)}}

        called = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
        result = {"type": "function_call_output", "call_id": "c", "output": "a.txt"}
        said = {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "There is a.txt."}]}
        session = self.read(made("look", "r1", "", called), made([result], "r2", "r1", said),
                            made("thanks", "r3", "r2"))
        self.check(session)
        self.assertEqual(["user", "assistant", "tool", "assistant", "user"],
                         [message["role"] for message in session.messages])
        self.read(made("look", "r1", "", called), made("other", "r2", "r9", called))
        self.assertEqual(2, len(open_sessions(self.path)))

    def test_memory_grows_with_the_size_of_a_session_that_sends_only_what_is_new(self) -> None:
        """Of its calls only the newest is kept, which has all that was said."""
        peaks = []
        for size in (600, 1_200):
            records = [{"request": {"previous_response_id": f"r{at - 1}" * (at > 0), "input": [
                {"type": "function_call_output", "call_id": f"c{at - 1}", "output": "a.txt"}]
                if at else "look"}, "response": {"id": f"r{at}", "output": [
                    {"type": "function_call", "call_id": f"c{at}", "name": "ls",
                     "arguments": "{}"}]}} for at in range(size)]
            self.read(*records)
            tracemalloc.start()
            open_sessions(self.path)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess(peaks[1], 2.2 * peaks[0])

    def test_work_grows_with_the_size_whatever_the_ids(self) -> None:
        """Calls and results with one id, without ids, in one message, unasked, sessions of one
        task: for twice as many, at most about twice as many lines of the program are gone
        through."""
        for name, few, many in zip(self.shapes(0), self.shapes(300).values(),
                                   self.shapes(600).values()):
            with self.subTest(name):
                self.assertLess(self.lines_run(many), 2.2 * self.lines_run(few))
                self.check(self.read({"role": "user", "content": "x"}, *many))

    def lines_run(self, records: list[Any]) -> int:
        """How many lines of Python it takes to read them."""
        count = 0

        def step(frame: Any, event: str, value: Any) -> Any:
            nonlocal count
            count += 1
            return step

        before = sys.gettrace()
        sys.settrace(step)
        try:
            self.read({"role": "user", "content": "x"}, *records)
        finally:
            sys.settrace(before)
        return count

    @staticmethod
    def shapes(number: int) -> dict[str, list[Any]]:
        """So many calls and results each."""
        call = {"id": "same", "function": {"name": "f", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": "same", "content": "r"}
        return {
            "one id": [{"role": "assistant", "tool_calls": [call]}] * number + [result] * number,
            "one message": [{"role": "assistant", "tool_calls": [call] * number}]
                           + [result] * number,
            "no ids": [{"role": "assistant", "tool_calls": [{**call, "id": ""}] * number}]
                      + [{**result, "tool_call_id": ""}] * number,
            "unasked": [result] * number,
            "one task": [{"messages": [{"role": "user", "content": "x"},
                                       {"role": "assistant", "content": str(at)}]}
                         for at in range(number)],
            "openings": [{"role": "assistant", "content": "<function=a>" + "<parameter=b>" * number
                          + "<system-reminder>" * number}]}


def _figures_of(sessions: list[LogSession]) -> dict[str, int]:
    """The counts of several sessions as one: sums, and the largest result of all."""
    total = asdict(LogSize())
    for session in sessions:
        for name, value in session.counts().items():
            largest = name == "largest_tool_result_chars"
            total[name] = max(total[name], value) if largest else total[name] + value
    return total


@unittest.skipUnless(REAL, "the environment variable SESSIONS names no folder of real files")
class RealFilesTest(Laws):
    """Sessions of other agents, against the figures that were counted by other means."""

    def rows(self, filled: bool) -> list[dict[str, str]]:
        with open(Path(REAL, "INDEX.tsv"), encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t")
                    if bool(row["messages"]) is filled]
        self.assertTrue(rows)
        return rows

    def test_each_has_the_figures_of_the_index(self) -> None:
        """Nothing of a real log is lost or made up."""
        for row in self.rows(filled=True):
            with self.subTest(row["file"]):
                sessions = open_sessions(Path(REAL, row["file"]))
                self.assertEqual({session.format for session in sessions}, {row["format"]})
                self.assertEqual(_figures_of(sessions),
                                 {name: int(row[name]) for name in FIGURES})
                self.assertEqual([], [lost for each in sessions for lost in each.unreadable])
                for session in sessions:
                    self.check(session)

    def test_schema_fixtures_are_read_or_refused_in_one_line(self) -> None:
        """Those of known formats are read; the others name no reader."""
        for row in self.rows(filled=False):
            name = row["file"].rpartition("/")[2]
            with self.subTest(name):
                agent = name.removeprefix("agentsessions_").partition("_")[0]
                if agent in (*READ, "openhands"):
                    for session in open_sessions(Path(REAL, row["file"])):
                        self.check(session)
                else:
                    self.assertIn("no reader for this format", refusal(Path(REAL, row["file"])))


if __name__ == "__main__":
    unittest.main()
