"""Milestone 5: the live agent as a program: scripts, terminals, wrong settings."""

from __future__ import annotations

import codecs
import fcntl
import io
import json
import os
import pty
import random
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any
from unittest.mock import patch

try:
    import readline
except ImportError:
    readline = None  # type: ignore[assignment]

from mini_agent.cli import is_request, main, parsed
from mini_agent.errors import UsageError
from mini_agent.trace import TraceFile, read_trace
from tests.fake_server import (BAD_KEY, Answer, FakeServer, call_part, chat, part, plain, stream,
                               usage_part)
from tests.support import ROOT, FolderTest, listening

GNU = readline is not None and "GNU" in (readline.__doc__ or "")
PRESSES = 25  # of Ctrl-C at random moments
WRITE = chat(calls=[("c", "write_file", '{"path": "a.txt", "content": "one"}')],
             finish="tool_calls")
NOTHING = {name: "" for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL",
                                 "ANTHROPIC_API_KEY", "MINI_AGENT_MODEL", "NO_COLOR")}


def said(text: str, prompt: int = 100) -> Answer:
    """A streamed answer."""
    return stream(part(content=text), part("stop"), usage_part(prompt, 5), "[DONE]")


class Case(FolderTest):
    """Each test has its own state folder, so nobody's sessions are touched."""

    def run_agent(self, *arguments: str, server: FakeServer | None = None, typed: str = "",
                  **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the command in this process, as it would be run in a pipe."""
        settings = {**NOTHING, "XDG_STATE_HOME": str(self.folder / "state"), **environment}
        if server is not None:
            settings |= {"OPENAI_BASE_URL": server.url, "MINI_AGENT_MODEL": "m"}
        out, err = io.StringIO(), io.StringIO()
        with (redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, settings),
              patch("sys.stdin", io.StringIO(typed))):
            status = main([*arguments, "--workspace", str(self.folder)])
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


class Once(Case):
    """`mini-agent "do this"`."""

    def test_the_answer_alone_goes_to_standard_output(self) -> None:
        """The rest beside it; the session is kept in the state folder, for its owner."""
        with FakeServer(plain(WRITE), said("All done.")) as server:
            done = self.run_agent("do this", "--yes", server=server)
        self.assertEqual((0, "All done.\n"), (done.returncode, done.stdout), done.stderr)
        self.assertEqual("call: write_file path=\"a.txt\" content=\"one\"\n",
                         done.stderr.partition("ended")[0])
        self.assertEqual("one", (self.folder / "a.txt").read_text(encoding="utf-8"))
        trace, = (self.folder / "state/mini-agent/sessions").glob("*.jsonl")
        self.assertEqual("run_end", read_trace(trace).records[-1]["event"])

    def test_without_leave_nothing_is_written_in_a_script(self) -> None:
        """Nobody can be asked, and the model is told so."""
        with FakeServer(plain(WRITE), said("I could not.")) as server:
            done = self.run_agent("do this", "--json", server=server)
            self.assertIn("nobody is there to be asked",
                          server.requests[1].body["messages"][-1]["content"])
        self.assertEqual("I could not.", json.loads(done.stdout)["text"])
        self.assertFalse((self.folder / "a.txt").exists())

    def test_an_empty_request_is_not_sent(self) -> None:
        """A script whose variable is empty says so, and pays for nothing."""
        with FakeServer() as server:
            for empty in ("", "  "):
                done = self.run_agent("chat", empty, server=server)
                self.assertEqual((2, "mini-agent: REQUEST: the request is empty; say what is to be "
                                  "done, or leave it out to talk\n"),
                                 (done.returncode, done.stderr))
        self.assertEqual([], server.requests)

    def test_what_fails_is_one_line_and_status_1(self) -> None:
        """A key that is refused: no retry, no traceback, and never the key."""
        with FakeServer(plain(BAD_KEY, 401)) as server:
            done = self.run_agent("do this", server=server, OPENAI_API_KEY="sk-secret-words")
            self.assertEqual(1, len(server.requests))
        self.assertEqual((1, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")))
        self.assertRegex(done.stderr, "^mini-agent: model_error: .*OPENAI_API_KEY")
        self.assertNotIn("sk-secret", done.stderr)

    def test_a_session_goes_on_from_its_trace(self) -> None:
        """`resume TRACE REQUEST` sends all that was said, and the request."""
        trace = str(self.folder / "s.jsonl")
        with FakeServer(said("One."), said("Two.")) as server:
            self.run_agent("say one", "--trace", trace, server=server)
            done = self.run_agent("resume", trace, "and two", server=server)
            roles = [message["role"] for message in server.requests[1].body["messages"]]
        self.assertEqual((0, "Two.\n"), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(["system", "user", "assistant", "user"], roles)

    def test_a_session_is_not_replaced_by_the_next_one(self) -> None:
        """Nor is a file that is no trace: nothing is sent, and the file is as it was."""
        trace, notes = self.folder / "my s.jsonl", self.folder / "notes"
        notes.write_text("{}\n", encoding="utf-8")
        with FakeServer(said("One."), said("Two.")) as server:
            self.run_agent("say one", "--trace", str(trace), server=server)
            before = trace.read_bytes()
            with TraceFile(trace, fresh=False):  # the session is at work
                done = self.run_agent("say two", "--trace", str(trace), server=server)
                self.assertIn("is writing this trace; end it first", done.stderr)
            for arguments in (("say two",), ("chat",)):
                for path, says in (
                        (trace, "a session is kept in this file already; go on with mini-agent "
                         f"resume '{trace}', or name another file\n"),
                        (notes, "this file is no trace, and would be replaced by one; name "
                         "another file\n")):
                    done = self.run_agent(*arguments, "--trace", str(path), server=server,
                                          typed="x\n")
                    self.assertEqual((2, f"mini-agent: {path}: {says}"),
                                     (done.returncode, done.stderr))
            self.assertEqual(1, len(server.requests))
            self.assertEqual((before, "{}\n"),
                             (trace.read_bytes(), notes.read_text(encoding="utf-8")))
            trace.write_bytes(b"")
            self.assertEqual(0, self.run_agent("say it", "--trace", str(trace), server=server
                                               ).returncode)

    def test_a_session_goes_on_in_its_script(self) -> None:
        """Behind the replies it has had; one of another script begins at the first."""
        trace = str(self.folder / "s.jsonl")
        look = {"tool_calls": [{"name": "list_files"}]}
        script = str(self.write_task(replies=[look, look, {"content": "Two looks."}]))
        done = self.run_agent("chat", "look", "--trace", trace, "--script", script, "--max-steps",
                              "1")
        self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
        done = self.run_agent("resume", trace, "Go on.", "--script", script)
        self.assertEqual((0, "Two looks.\n"), (done.returncode, done.stdout), done.stderr)
        self.assertEqual(["call_0_0", "call_1_0"], [
            message["tool_call_id"] for message in read_trace(trace).messages()
            if message["role"] == "tool"])
        done = self.run_agent("resume", trace, "And again.", "--script", script)
        self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
        self.assertIn("the script has no replies left", done.stderr)
        other = str(self.write_task(replies=[{"content": "Another one."}]))
        done = self.run_agent("resume", trace, "And again.", "--script", other)
        self.assertEqual((0, "Another one.\n"), (done.returncode, done.stdout), done.stderr)

    def test_another_name_of_the_model_begins_no_script_anew(self) -> None:
        """It is the same script, at the same place."""
        script = str(self.write_task(replies=[{"content": "One."}, {"content": "Two."}]))
        done = self.run_agent("chat", "--script", script, typed="first\n/model other\nsecond\n")
        self.assertEqual((0, "One.\nTwo.\n"), (done.returncode, done.stdout), done.stderr)

    def test_another_window_does_not_change_a_policy_of_a_file(self) -> None:
        """Nobody knows its name, or it is that of another policy: the file's is in the trace."""
        mine = self.folder / "mine.json"
        for name in ("mine", "clip"):
            trace = str(self.folder / f"{name}.jsonl")
            mine.write_text(json.dumps({"name": name, "ladder": [
                {"strategy": "tool_result_aging", "settings": {"head_chars": 77}}]}), "utf-8")
            with FakeServer(said("One."), said("Two.")) as server:
                self.run_agent("say one", "--trace", trace, "--policy", str(mine), "--window",
                               "32k", server=server)
                mine.unlink()
                done = self.run_agent("resume", trace, "and two", "--window", "64k", server=server)
            self.assertEqual((0, "Two.\n"), (done.returncode, done.stdout), done.stderr)
            told = [record["payload"]["policy"] for record in read_trace(trace).records
                    if record.get("event") in ("run_start", "settings")]
            self.assertEqual([32_000, 64_000], [policy["window"] for policy in told])
            self.assertEqual(told[0]["file"], told[1]["file"])

    def test_a_request_may_stand_behind_options(self) -> None:
        """Of a resumed session, too; two are one too many."""
        trace = str(self.folder / "s.jsonl")
        with FakeServer(said("One."), said("Two.")) as server:
            self.run_agent("--yes", "say one", "--trace", trace, server=server)
            done = self.run_agent("resume", trace, "--yes", "and two", server=server)
        self.assertEqual((0, "Two.\n"), (done.returncode, done.stdout), done.stderr)
        for wrong in (["resume", trace, "--yes", "a b", "c d"], ["check", trace, "--nonsense"]):
            with self.assertRaisesRegex(UsageError, "^unrecognized arguments"):
                parsed(wrong)

    def test_a_pipe_is_a_conversation(self) -> None:
        """A line a message; the answers are what stands on standard output."""
        with FakeServer(said("One."), said("Two.")) as server:
            done = self.run_agent("chat", typed="first\nsecond\n/why Two\n", server=server)
            self.assertIn("entered   message #4, assistant", done.stderr)
            self.assertEqual(["first", "One.", "second"], [
                message["content"] for message in server.requests[1].body["messages"][1:]])
        self.assertEqual((0, "One.\nTwo.\n"), (done.returncode, done.stdout), done.stderr)

    def test_a_request_is_told_from_a_mistyped_command(self) -> None:
        """A blank or a letter that no command has makes it one; options may stand before."""
        for arguments, expected in ((["fix it"], True), (["修复"], True), (["--yes", "x y"], True),
                                    (["chta"], False), (["run"], False), ([], False),
                                    (["--help"], False)):
            self.assertEqual(expected, is_request(arguments), arguments)

    def test_a_first_word_is_refused_with_both_remedies(self) -> None:
        """The commands that are near it, and how all can be said to a model all the same."""
        for words, remedy in (
                ("hi", "mini-agent --help lists them; as a request to a model: mini-agent chat hi"),
                ("fix this please", "mini-agent --help lists them; as a request to a model: "
                 "mini-agent chat 'fix this please'"),
                ("comapre",
                 "did you mean compare?; as a request to a model: mini-agent chat comapre"),
                ("ru*", "did you mean run?; as a request to a model: mini-agent chat 'ru*'")):
            done = self.run_agent(*words.split())
            word = words.split()[0]
            self.assertEqual((2, "", f"mini-agent: COMMAND: no command {word!r}; {remedy}\n"),
                             (done.returncode, done.stdout, done.stderr))
        with FakeServer(said("Hello.")) as server:
            done = self.run_agent("chat", "hi", server=server)
        self.assertEqual((0, "Hello.\n"), (done.returncode, done.stdout), done.stderr)


class Paid(Case):
    """What an endpoint has counted, and what it costs."""

    def test_a_summary_is_paid_for_and_predicts_no_request(self) -> None:
        """Its tokens stand in a `model_usage` of their own keys, in front of the change; the
        price has them, before and after a resume; drift and window know nothing of them."""
        (self.folder / "a.txt").write_text("".join(f"line {n}\n" for n in range(600)), "utf-8")
        read = plain(chat(calls=[("c", "read_file", '{"path": "a.txt"}')], finish="tool_calls",
                          prompt=1_000, answer=20))
        summary = plain(chat("Progress: a.txt is read.", prompt=2_000, answer=50, cached=500))
        trace = self.folder / "s.jsonl"
        options = ("--price", "3,0.3,15")
        with FakeServer(read, said("Seen.", 3_000), summary, said("Well.", 900),
                        said("Again.", 910)) as server:
            done = self.run_agent("chat", "--policy", "handoff_note", "--window", "8k", "--trace",
                                  str(trace), *options, typed="look\n/compact\nmore\n",
                                  server=server)
            self.assertEqual((0, "Seen.\nWell.\n"), (done.returncode, done.stdout), done.stderr)
            records = read_trace(trace).records
            again = self.run_agent("resume", str(trace), "last", *options, server=server)
        used = [record["payload"] for record in records if record.get("event") == "model_usage"]
        self.assertEqual({"step": 2, "summary_prompt_tokens": 2_000, "summary_cached_tokens": 500,
                          "summary_completion_tokens": 50}, used[2])
        at = records.index(next(record for record in records if record.get("payload") == used[2]))
        self.assertEqual("context_compression", records[at + 1]["event"])
        # (1,000 + 3,000 + 2,000 + 900 + 910 - 500) x 3, 500 x 0.3, (20 + 5 + 50 + 5 + 5) x 15
        self.assertIn("cost 0.0234 | in 7,810 (cached 500) out 85", again.stderr)


class WrongSettings(Case):
    """One line that says what to do."""

    def refused(self, says: str, *arguments: str, status: int = 2, **environment: str) -> None:
        done = self.run_agent(*(arguments or ("do this",)), **environment)
        with self.subTest(says):
            self.assertEqual((status, "", 1), (done.returncode, done.stdout,
                                               done.stderr.count("\n")), done.stderr)
            self.assertRegex(done.stderr, f"^mini-agent: .*{says}")

    def test_a_script_is_refused_where_its_sub_agent_could_not_begin(self) -> None:
        """As a task file that is run."""
        said = {"content": "Looked."}
        script = self.write_task(replies=[{"tool_calls": [
            {"name": "delegate", "arguments": {"task": "look"}}], "children": {
                "0": {"policy": "clipp", "window": 9_000, "replies": [said]}}}, said])
        self.refused(r"replies\[0\]\.children\.0\.policy: no policy 'clipp'; did you mean clip",
                     "chat", "go", "--script", str(script))

    def test_options_that_make_no_sense(self) -> None:
        """Window, prices, policy, limits, both ways of permission."""
        for option, says in (("--window=x", "no window 'x'; give tokens"),
                             ("--price=1", "no prices in '1'; give three"),
                             ("--policy=digset", "no policy 'digset'; did you mean digest"),
                             ("--max-steps=0", "0 is not a limit; give a positive"),
                             ("--script=/none.json", "none.json: the file cannot be read")):
            self.refused(says, "do this", option, MINI_AGENT_MODEL="m", OPENAI_API_KEY="k")
        self.refused("they exclude each other", "do this", "--yes", "--read-only")
        self.refused("only the outcome of a REQUEST is printed as JSON", "--json")

    def test_a_disk_that_is_full_is_told_in_one_line(self) -> None:
        """Nothing is sent that could not be kept."""
        with FakeServer() as server:
            settings = {"OPENAI_BASE_URL": server.url, "MINI_AGENT_MODEL": "m"}
            for arguments in (("do this",), ("chat",)):
                done = self.run_agent(*arguments, "--trace", "/dev/full", typed="hi\n", **settings)
                self.assertEqual((1, "", 1), (done.returncode, done.stdout,
                                              done.stderr.count("\n")), done.stderr)
                self.assertIn("/dev/full: the trace cannot be written any more", done.stderr)
            self.assertEqual([], server.requests)

    def test_places_that_cannot_be_written_or_are_not_there(self) -> None:
        """The trace, the state folder, the trace to resume."""
        settings = {"MINI_AGENT_MODEL": "m", "OPENAI_API_KEY": "k"}
        self.refused("the trace cannot be written .*; name a file", "do this", "--trace",
                     "/dev/null/s.jsonl", **settings)
        self.refused("the trace cannot be written", XDG_STATE_HOME="/dev/null", **settings)
        self.refused("there is no such trace", "resume", str(self.folder / "none.jsonl"))
        broken = self.folder / "broken.jsonl"
        broken.write_text("no record\n{}\n", encoding="utf-8")
        self.refused(r"broken.jsonl:1: not a record", "resume", str(broken), status=1, **settings)


class Gate(tuple[bytes, ...]):
    """Pieces of an answer; the second waits until it is opened."""

    def __new__(cls, pieces: Any) -> Gate:
        made = super().__new__(cls, pieces)
        made.opened, made._looked = threading.Event(), False
        return made

    def __iter__(self) -> Iterator[bytes]:
        waits, self._looked = self._looked, True  # the first time only the sizes are summed up
        for number, piece in enumerate(super().__iter__()):
            if number == 1 and waits:
                self.opened.wait(120)
            yield piece


class AtATerminal(Case):
    """A real terminal, of 60 columns."""

    def start(self, server: FakeServer, *arguments: str, **environ: str) -> None:
        self.mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        environment = {**os.environ, **NOTHING, "XDG_STATE_HOME": str(self.folder / "state"),
                       "OPENAI_BASE_URL": server.url, "MINI_AGENT_MODEL": "m", "TERM": "xterm",
                       "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mini_agent", "chat", "--workspace", str(self.folder),
             "--trace", str(self.folder / "s.jsonl"), *arguments], cwd=ROOT, stdin=theirs,
            stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
            preexec_fn=self.on_its_terminal)
        os.close(theirs)
        self.seen, self.looked_to = "", 0
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.addCleanup(self.end)

    @staticmethod
    def on_its_terminal() -> None:
        listening()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.mine >= 0:
            os.close(self.mine)

    def until(self, text: str | tuple[str, ...]) -> None:
        """Wait until `text`, or one of several, is seen behind what was waited for before."""
        wanted = re.compile("|".join(map(re.escape, (text,) if isinstance(text, str) else text)))
        while not (found := wanted.search(self.seen, self.looked_to)):
            ready, _, _ = select.select([self.mine], [], [], 120)
            if not ready:
                self.fail(f"waited for {text!r}, seen: {self.seen!r}")
            try:
                self.seen += self.decoder.decode(os.read(self.mine, 65_536))
            except OSError:
                self.fail(f"it ended before {text!r}: {self.seen}")
        self.looked_to = found.end()

    def type(self, text: str) -> None:
        os.write(self.mine, text.encode())

    def test_what_is_typed_while_the_model_works_comes_next_exactly_once(self) -> None:
        """It is kept at once, and sent in the very next request."""
        first = said("Let me see. ")
        working = Answer(200, Gate((*first.pieces[:1], *stream(
            call_part(0, "c", "list_files", "{}"), part("tool_calls"), "[DONE]").pieces)),
            first.headers)
        with FakeServer(working, said("I have heard you."), said("Bye.")) as server:
            self.start(server)
            self.until("> ")
            self.type("go\r")
            self.until("Let me see.")
            self.type("and mind the tests\r")
            self.until("(kept, comes next: and mind the tests)")
            working.pieces.opened.set()
            self.until("I have heard you.")
            self.until("> ")
            self.type("bye\r")
            self.until("Bye.")
            self.until("> ")
            self.type("/quit\r")
            self.assertEqual(0, self.process.wait(120))
            sent = [[message["content"] for message in request.body["messages"]
                     if message["role"] == "user"] for request in server.requests]
        self.assertEqual([["go"], ["go", "and mind the tests"],
                          ["go", "and mind the tests", "bye"]], sent)

    def test_letters_that_are_not_ascii_are_letters_in_any_locale(self) -> None:
        """`LC_ALL` often names one that a container does not have."""
        with FakeServer(said("Heard.")) as server:
            self.start(server, LC_ALL="C")
            self.until("> ")
            self.type("修复 café\r")
            self.until("Heard.")
            self.until("> ")
            self.type("/quit\r")
            self.assertEqual(0, self.process.wait(120))
            self.assertEqual("修复 café", server.requests[0].body["messages"][1]["content"])

    @unittest.skipUnless(GNU, "a line editor that knows where a paste ends")
    def test_a_paste_of_many_lines_at_the_prompt_is_one_request(self) -> None:
        """Its first line is not sent and paid for alone."""
        with FakeServer(said("All of it.")) as server:
            self.start(server)
            self.until("> ")
            self.type("\x1b[200~what is this?\r  File \"a.py\", line 1\r错误\r\x1b[201~")
            self.until("错误")
            self.type("\r")
            self.until("All of it.")
            self.until("> ")
            self.type("/quit\r")
            self.assertEqual(0, self.process.wait(120))
            self.assertEqual([["what is this?\n  File \"a.py\", line 1\n错误"]], [
                [message["content"] for message in request.body["messages"][1:]]
                for request in server.requests])

    def test_ctrl_c_ends_the_step_then_the_program_and_half_a_line_stays(self) -> None:
        """What was begun to be typed is there at the prompt."""
        first = said("Thinking. ")
        hanging = Answer(200, Gate((*first.pieces[:1], *first.pieces)), first.headers)
        with FakeServer(hanging, said("Heard.")) as server:
            self.start(server)
            self.until("> ")
            self.type("go\r")
            self.until("Thinking.")
            self.type("\x03")
            self.until("! interrupted")
            self.until("> ")
            hanging.pieces.opened.set()
            self.type("next\r")
            self.until("Heard.")
            self.until("> ")
            self.type("half a li\x03")
            self.until("(Ctrl-C again ends the program)")
            self.until("> ")
            self.type("\x03")
            self.assertEqual(130, self.process.wait(120))
        records = read_trace(self.folder / "s.jsonl").records
        self.assertEqual(1, len([1 for record in records if record.get("event") == "interrupted"]))
        self.assertEqual("final_answer", records[-1]["payload"]["reason"])

    def test_ctrl_c_on_a_line_that_was_begun_takes_it_away_and_ends_nothing(self) -> None:
        """Behind a step that was interrupted, too; so with a message of many lines."""
        with FakeServer(said("Heard.")) as server:
            self.start(server)
            self.until("> ")
            for typed, *shown in (("half", "half"), ('"""\rone\r', "one\r\n", "... "),
                                  ("other", "other")):
                self.type(typed)
                for text in shown:
                    self.until(text)
                self.type("\x03")
                self.until("(Ctrl-C again ends the program)")
                self.until("> ")
            self.type("whole\r")
            self.until("Heard.")
            self.until("> ")
            self.type("\x03")
            self.until("(Ctrl-C again ends the program)")
            self.until("> ")
            self.type("\x03")
            self.assertEqual(130, self.process.wait(120))
            self.assertEqual(["whole"], [message["content"] for message in
                                         server.requests[0].body["messages"][1:]])

    def test_a_terminal_that_is_closed_ends_the_step_and_the_program(self) -> None:
        """The trace has its end, though nobody can be told of it."""
        first = said("Thinking. ")
        hanging = Answer(200, Gate((*first.pieces[:1], *first.pieces)), first.headers)
        self.closed(hanging, "Thinking.", "interrupted", 130)

    def test_a_terminal_that_is_closed_at_the_prompt_ends_the_program(self) -> None:
        """By the signal or by the end of what is typed, whichever is noticed first."""
        self.closed(said("Heard."), "Heard.\r\n", "final_answer", 0, 130)

    def test_a_terminal_that_is_closed_in_a_question_ends_the_call_as_interrupted(self) -> None:
        """Not as a tool that has crashed."""
        self.closed(plain(chat("", [("c", "write_file", '{"path": "a", "content": ""}')],
                               "tool_calls")), "n(o) [reason]: ", "interrupted", 130)
        records = read_trace(self.folder / "s.jsonl").records
        self.assertEqual(["INTERRUPTED"], [record["payload"]["code"] for record in records
                                           if record.get("event") == "tool_result"])

    def closed(self, answer: Answer, seen: str, reason: str, *statuses: int) -> None:
        with FakeServer(answer) as server:
            self.start(server)
            self.until("> ")
            self.type("go\r")
            self.until(seen)
            os.close(self.mine)
            self.mine = -1
            self.assertIn(self.process.wait(120), statuses)
            if isinstance(answer.pieces, Gate):
                answer.pieces.opened.set()
        self.assertEqual(reason,
                         read_trace(self.folder / "s.jsonl").records[-1]["payload"]["reason"])

    def test_ctrl_c_is_heard_once_at_whatever_moment_it_comes(self) -> None:
        """In front of a request, in an answer, in a tool, between two of them, at the prompt:
        each ends one thing, is told once, and the next message is answered as ever."""
        draw = random.Random(3)
        working = plain(chat(calls=[("c", "list_files", "{}")], finish="tool_calls"))
        with FakeServer(*[working, said("All is well.")] * (PRESSES + 1)) as server:
            self.start(server)
            self.until("> ")
            for number in range(PRESSES):
                self.type(f"go{number}\r")
                self.until(f"go{number}\r\n")
                later = time.perf_counter() + draw.random() * draw.choice([.002, .02, .08])
                while time.perf_counter() < later:
                    continue
                self.type("\x03")
                self.until(("! interrupted", "(Ctrl-C again ends the program)"))
                self.until("> ")
            self.type("still there\r")
            self.until(("All is well.", "> list_files"))
            self.type("/quit\r")
            self.until("resume with")
        told = self.seen.count("! interrupted") + self.seen.count("(Ctrl-C again")
        self.assertEqual((PRESSES, 0), (told, self.seen.count("Traceback")))

    def test_a_prompt_that_is_left_ends_its_line_once(self) -> None:
        """By Ctrl-C and by Ctrl-D, in a question and at the end."""
        with FakeServer(plain(WRITE), plain(WRITE), said("Then not.")) as server:
            self.start(server)
            for key, told in (("\x03", "! interrupted"), ("\x04", "  DENIED")):
                self.until("> ")
                self.type("write\r")
                self.until("n(o) [reason]: ")
                self.type(key)
                self.until(told)
            self.until("Then not.")
            self.until("> ")
            self.type("\x04")
            self.until("resume with")
            self.assertEqual(0, self.process.wait(120))
        shown = re.sub(r"\x1b\[\?2004[hl]|\r", "", self.seen)
        for line in ("[reason]: \n! interrupted", "[reason]: \n  DENIED", "> \nresume with"):
            self.assertIn(line, shown)

    def test_a_question_is_answered_at_the_terminal_and_no_escape_reaches_it(self) -> None:
        """The diff is shown; the answer goes to the question, not to the model."""
        write = plain(chat("\x1b[2Jcleared\x1b]0;t\x07 ", [(
            "c", "write_file", '{"path": "a.txt", "content": "\\u001b[31mred"}')], "tool_calls"))
        with FakeServer(write, said("Written.")) as server:
            self.start(server, "--plain")
            self.until("you: ")
            self.type("write\r")
            self.until("write_file? y(es), a(lways), n(o) [reason]: ")
            self.type("y\r")
            self.until("Written.")
            self.until("you: ")
            self.type("/quit\r")
            self.assertEqual(0, self.process.wait(120))
        self.assertIn("+\\x1b[31mred", self.seen)
        self.assertEqual("\x1b[31mred", (self.folder / "a.txt").read_text(encoding="utf-8"))
        ours = re.sub(r"\x1b\[\?2004[hl]", "", self.seen)  # bracketed paste, of readline
        self.assertNotIn("\x1b", ours)


if __name__ == "__main__":
    unittest.main()
