"""All milestones: a disk that is full or cannot be written, at any write of any command."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from mini_agent import cli
from mini_agent.audit import Line, audit
from mini_agent.chat.commands import copy_session
from mini_agent.disk import write_file
from mini_agent.errors import TraceError, UsageError
from mini_agent.trace import TraceFile, Tracer, read_trace
from tests.sessions import Speaker, counting, started
from tests.support import ROOT, FolderTest, called, command, full_disk, scripted

REFERENCE = ROOT / "traces" / "reference" / "m3-trace.jsonl"
LESSON = ROOT / "workspace" / "sessions" / "lesson.jsonl"
OLD = "what stood there before"


def said_by(*arguments: str) -> tuple[int, str]:
    """The exit status of a command and what it said beside its results."""
    status, _, said = called(*arguments)
    return status, said


class WholeTest(FolderTest):
    """`write_file`: a file is there whole, or as it was."""

    def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(self) -> None:
        """At every size that the disk still has room for; the error names the file."""
        path = self.folder / "page.html"
        path.write_text(OLD, encoding="utf-8")
        for room in range(0, 200, 7):
            with self.subTest(room=room), full_disk(room), self.assertRaises(OSError) as raised:
                write_file(path, "x" * 200)
            self.assertEqual(str(path), raised.exception.filename)
            self.assertEqual(OLD, path.read_text(encoding="utf-8"))
            self.assertEqual(["page.html"], os.listdir(self.folder))
        write_file(path, "x" * 200)
        self.assertEqual("x" * 200, path.read_text(encoding="utf-8"))

    def test_a_link_stays_a_link_and_a_mode_a_mode(self) -> None:
        """What it leads to is written; a folder that is missing is made."""
        there = self.folder / "kept" / "there.txt"
        write_file(there, "one\r\n")
        there.chmod(0o640)
        (self.folder / "link.txt").symlink_to(there)
        write_file(self.folder / "link.txt", "two\r\n")
        self.assertTrue((self.folder / "link.txt").is_symlink())
        self.assertEqual((b"two\r\n", 0o640), (there.read_bytes(),
                                               stat.S_IMODE(there.stat().st_mode)))
        self.assertEqual(["there.txt"], os.listdir(there.parent))

    def test_what_is_private_was_never_anything_else(self) -> None:
        """A new file 0600, a new folder 0700, whatever the umask."""
        before = os.umask(0)
        try:
            write_file(self.folder / "own" / "s.jsonl", "secret", private=True)
            write_file(self.folder / "all.txt", "open")
        finally:
            os.umask(before)
        modes = [stat.S_IMODE((self.folder / name).stat().st_mode)
                 for name in ("own", "own/s.jsonl", "all.txt")]
        self.assertEqual([0o700, 0o600, 0o666], modes)

    def test_what_is_no_file_is_written_to_as_it_is(self) -> None:
        """No file takes its place. A pipe stands for devices: with /dev/null, code that is wrong
        would take it away from the whole machine."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reading)
        write_file(pipe, "x")
        self.assertEqual(b"x", os.read(reading, 9))
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    @unittest.skipUnless(os.path.exists("/dev/fd"), "the system gives open files no names")
    def test_a_pipe_without_a_name_is_written_to(self) -> None:
        """As a shell hands it over: `--html >(gzip > page.gz)`."""
        reading, writing = os.pipe()
        for end in (reading, writing):
            self.addCleanup(os.close, end)
        write_file(Path(f"/dev/fd/{writing}"), "x")
        self.assertEqual(b"x", os.read(reading, 9))

    def test_no_other_code_writes_a_whole_file(self) -> None:
        """Of package and scripts; what is listed writes streams, throw-away files or by
        descriptor."""
        allowed = {"disk.py", "hostile.py", "child.py", "test_browser.py", "webdriver.py",
                   "drive_m2.py", "count_tokens.py", "parts.py", "judge.py"}
        for folder in ("mini_agent", "scripts"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                if path.name not in allowed:
                    self.assertIsNone(re.search(
                        r"write_text\(|write_bytes\(|\bopen\((?!os\.devnull)[^)]*\"w|copyfile\(",
                        path.read_text(encoding="utf-8")), path)


class FullAnywhereTest(FolderTest):
    """A command meets a full disk at a random one of its writes, and at the first and last."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "big.txt").write_text("a line of this text\n" * 600, encoding="utf-8")
        (self.folder / "small.txt").write_text("a line of this text\n" * 90, encoding="utf-8")

    def run_with(self, policy: str, room: int | None) -> tuple[int, str, Path]:
        """A run whose files may have `room` bytes each."""
        names = ("big.txt", "small.txt") if policy == "two_layer" else ("small.txt",)
        reply = {"tool_calls": [{"name": "read_file", "arguments": {"path": name}}
                                for name in names]}
        task = self.write_task(window=9000 if policy == "two_layer" else 4000, policy=policy,
                               replies=[*[reply] * 6, {"content": "done"}])
        trace = self.folder / f"{policy}-{room}.jsonl"
        with contextlib.nullcontext() if room is None else full_disk(room):
            status, said = said_by("run", str(task), "--workspace", str(self.folder),
                                   "--trace", str(trace))
        return status, said, trace

    def test_a_run_ends_with_one_line_and_a_trace_that_is_true(self) -> None:
        """Or goes on without what could not be kept: offloaded results, the store."""
        for policy in ("two_layer", "recall"):
            status, said, trace = self.run_with(policy, None)
            self.assertEqual((0, ""), (status, said))
            size = trace.stat().st_size
            self.assertTrue(list(trace.with_suffix(".d").rglob("*.*")))
            ends = set()
            for room in (*range(0, size, size // 12), size - 1, size):
                status, said, trace = self.run_with(policy, room)
                with self.subTest(policy=policy, room=room):
                    self.assertIn((status, said.count("\n")), ((0, 0), (1, 1)), said)
                    self.assertEqual(status == 1, "File too large" in said, said)
                    self.goes_on(trace)
                    ends.add(status)
            self.assertEqual({0, 1}, ends)

    def goes_on(self, trace: Path) -> None:
        """Its records are true, nothing lies half done beside it, and it can be resumed."""
        self.assertEqual([], list(trace.parent.rglob(".*.tmp")))
        records = read_trace(trace).records
        if not records:
            return
        self.assertEqual([], [found for found in audit(
            [Line(*pair) for pair in enumerate(records, 1)], goes_on=True)
            if found.kind != "transcript"])
        status, said = said_by("resume", str(trace), "Go on.", "--script", str(self.write_task(
            replies=[{"content": "went on"}])), "--workspace", str(self.folder))
        self.assertEqual(0, status, said)

    def test_how_it_ended_is_told_once(self) -> None:
        """Also as JSON: a trace that could not be written cannot be closed either."""
        task = self.write_task(replies=[{"content": "done " * 200}])
        for words in (("run", str(task)), ("chat", "hello", "--script", str(task))):
            trace = self.folder / f"{words[0]}.jsonl"
            for room in (700, 1_300):
                with self.subTest(words[0], room=room), full_disk(room):
                    status, out, said = called(*words, "--trace", trace, "--json", "--workspace",
                                               self.folder)
                    self.assertEqual((1, 1), (status, said.count("\n")), said)
                    self.assertIn("the trace cannot be written any more (File too large); free",
                                  said)
                    if out:
                        self.assertEqual("trace_failed", json.loads(out)["reason"])
                    self.assertTrue(out or words[0] == "chat")

    def test_a_demo_says_what_could_not_be_copied_or_kept(self) -> None:
        """Its workspace, then its trace: one line each."""
        for room, said in ((5_000, "the workspace cannot be copied ([Errno 27] File too large);"),
                           (24_000, "m3-trace.jsonl: the trace cannot be written any more (File")):
            with full_disk(room):
                done = command("scripts/drive_m3.py", "--traces", str(self.folder))
            with self.subTest(room):
                self.assertNotEqual(0, done.returncode)
                self.assertEqual(1, done.stderr.count("\n"), done.stderr)
                self.assertIn(said, done.stderr)

    def test_a_page_a_trace_and_a_copy_are_whole_or_as_before(self) -> None:
        """`compare --html`, `convert --trace`: the old file is still there."""
        page, trace = self.folder / "page.html", self.folder / "converted.jsonl"
        for room in (0, 1000, 5000):
            for path, old, arguments in (
                    (page, "<!DOCTYPE html>\n" + OLD, ("compare", str(LESSON), "--policy", "clip",
                                                      "--window", "1800", "--html", str(page))),
                    (trace, '{"type": "event"}\n' + OLD, ("convert", str(LESSON), "--trace",
                                                          str(trace)))):
                path.write_text(old, encoding="utf-8")
                with full_disk(room):
                    status, said = said_by(*arguments)
                with self.subTest(arguments[0], room=room):
                    self.assertEqual(2, status)
                    self.assertRegex(said, rf"\Amini-agent: {path}: the (page|trace) cannot be "
                                           r"written \(File too large\); .*\n\Z")
                    self.assertEqual(old, path.read_text(encoding="utf-8"))
                    self.assertEqual([], list(self.folder.glob(".*")))

    def test_a_file_of_another_kind_is_not_replaced(self) -> None:
        """A task, a log of another agent, a share: a slip in a command costs none of them. What
        is empty or no file, or the same kind, is written."""
        page = ("compare", str(LESSON), "--policy", "clip", "--window", "1800", "--html")
        for arguments in (page, ("convert", str(LESSON), "--trace"),
                          ("chat", "hi", "--script", "scripts/m1_task.json", "--trace"),
                          ("run", "scripts/m1_task.json", "--trace")):
            file = self.folder / "precious.json"
            file.write_text(OLD, encoding="utf-8")
            with self.subTest(arguments[0]), contextlib.chdir(ROOT):
                status, said = said_by(*arguments, str(file))
                self.assertRegex(said, r"\Amini-agent: .*: this file is no \w+, and would be "
                                       r"replaced by one; name another file\n\Z")
                self.assertEqual(2, status)
                self.assertEqual(OLD, file.read_text(encoding="utf-8"))
        file.write_text("")
        for path in (file, file, os.devnull):
            self.assertEqual(0, said_by(*page, str(path))[0])
        self.assertTrue(file.read_text(encoding="utf-8").endswith("</html>\n"))
        for folder in (str(self.folder), ""):  # before any work
            status, said = said_by(*page, folder)
            self.assertEqual(2, status)
            self.assertIn("the page cannot be written (Is a directory)", said)

    def test_half_a_copy_of_a_session_is_none(self) -> None:
        """`/save` to a full disk leaves neither a trace nor its folder; with room, both."""
        session, file = started(self.folder, Speaker([counting(1)]), "go")
        with file:
            session.turn("go")
        own = self.folder / "s.d" / "results"
        own.mkdir(parents=True, mode=0o700)
        (own / "a.txt").write_text("x" * 300, encoding="utf-8")
        target = self.folder / "copy.jsonl"
        for room in (100, 299, 300, 900):
            with full_disk(room), self.assertRaises(UsageError) as raised:
                copy_session(session.path, target)
            self.assertNotIn("None", str(raised.exception))
            self.assertEqual([], [path.name for path in self.folder.iterdir()
                                  if path.name.startswith(("copy", "."))])
        copy_session(session.path, target)
        self.assertEqual(session.path.read_bytes(), target.read_bytes())
        self.assertEqual("x" * 300, (self.folder / "copy.d/results/a.txt").read_text("utf-8"))
        self.assertEqual(0o600, stat.S_IMODE(target.stat().st_mode))


class NothingSaidTest(FolderTest):
    """A command that comes to nothing takes no trace away, and leaves none."""

    def test_what_was_recorded_before_is_there_until_the_first_record(self) -> None:
        """A wrong task, a pin without room, a conversation in which nothing was said."""
        old, new = self.folder / "old.jsonl", self.folder / "new.jsonl"
        old.write_bytes(REFERENCE.read_bytes())
        wrong = str(self.write_task(replies=[], pins=[{"text": "<>", "kind": "fact"}]))
        for arguments in (("run", wrong, "--workspace", str(self.folder)),
                          ("chat", "--script", "scripts/m1_task.json")):
            for trace in (old, new):
                with mock.patch("sys.stdin", io.StringIO()), contextlib.chdir(ROOT):
                    status, _ = said_by(*arguments, "--trace", str(trace))
                with self.subTest(arguments[0], trace=trace.name):
                    self.assertEqual(0 if arguments[0] == "chat" else 2, status)
                    self.assertEqual(REFERENCE.read_bytes(), old.read_bytes())
                    self.assertFalse(new.exists())

    def test_the_first_record_begins_the_file_anew(self) -> None:
        """Nothing of the old one is left behind the new one."""
        path = self.folder / "t.jsonl"
        path.write_bytes(REFERENCE.read_bytes())
        task = self.write_task(replies=[{"content": "done"}])
        self.assertEqual(0, said_by("run", str(task), "--trace", str(path))[0])
        self.assertEqual("run_end", read_trace(path).records[-1]["event"])
        self.assertLess(path.stat().st_size, 2_000)


class TakenAwayTest(FolderTest):
    """Another program removes or changes the trace of a session that goes on."""

    def test_it_is_told_at_the_next_record(self) -> None:
        """Removed, replaced, cut or written to: nothing more is said into the void."""
        path = self.folder / "t.jsonl"
        other = path.with_name("other")
        for damage in (path.unlink, lambda: other.replace(path), lambda: os.truncate(path, 9),
                       lambda: os.truncate(path, 0),
                       lambda: path.write_bytes(path.read_bytes() + b"more\n")):
            other.write_text("another one\n", encoding="utf-8")
            with TraceFile(path) as file:
                tracer = Tracer(file)
                for _ in range(2):
                    tracer.event("resume", step=0)
                damage()
                with self.assertRaisesRegex(TraceError, "another program has removed or changed"):
                    tracer.event("resume", step=0)
            path.unlink(missing_ok=True)

    def test_a_run_ends_with_one_line(self) -> None:
        """Status 1, and no word of success."""
        task = self.write_task(replies=[{"tool_calls": [{"name": "run_command", "arguments": {
            "command": "rm ../t.jsonl"}}]}, {"content": "done"}])
        (self.folder / "w").mkdir()
        status, out, told = called("run", task, "--workspace", self.folder / "w", "--trace",
                                   self.folder / "t.jsonl")
        self.assertEqual((1, "", 1), (status, out, told.count("\n")), told)
        self.assertIn("mini-agent: trace_failed: ", told)

    def test_a_folder_that_is_gone_is_named(self) -> None:
        """A shell may stand in a folder that is no more: that is not the output's fault."""
        task = str(self.write_task(replies=[{"content": "done"}]))
        here = self.folder / "here"
        here.mkdir()
        done = command("-c", "import os, sys; os.rmdir(os.getcwd()); from mini_agent import cli; "
                       "sys.exit(cli.main())", "run", task, cwd=here, PYTHONPATH=str(ROOT))
        self.assertEqual((2, "", "mini-agent: .: No such file or directory\n"),
                         (done.returncode, done.stdout, done.stderr))


class NowhereTest(FolderTest):
    """A folder that cannot be written: a file in its place, or one of the system's."""

    def test_every_place_that_a_command_is_given(self) -> None:
        """One line with the place and the reason, status 2, and nothing is made."""
        task = str(self.write_task(replies=[{"content": "done"}]))
        (self.folder / "file").write_text("", encoding="utf-8")
        before = sorted(os.listdir(self.folder))
        places = [(f"{self.folder}/file", "Not a directory"), ("/dev/null/x", "Not a directory")]
        if os.path.isdir("/proc/self"):
            places.append(("/proc", "No such file or directory"))
        for place, why in places:
            for arguments in (("run", task, "--trace"), ("convert", str(REFERENCE), "--trace"),
                              ("chat", "hello", "--script", task, "--trace"),
                              ("compare", task, "--policy", "published", "--html")):
                status, said = said_by(*arguments, f"{place}/out")
                with self.subTest(arguments[0], place=place):
                    self.assertEqual((2, 1), (status, said.count("\n")), said)
                    self.assertIn(f"{place}/out: the ", said)
                    self.assertIn(f"cannot be written ({why})", said)
        self.assertEqual(before, sorted(os.listdir(self.folder)))

    def test_the_folder_of_what_leaves_the_window(self) -> None:
        """A file stands in its place: what would have gone stays, as long as there is room;
        where there is none, the ending names what could not put it away."""
        (self.folder / "t.d").write_text("in the way", encoding="utf-8")
        (self.folder / "big.txt").write_text("a line of this text\n" * 600, encoding="utf-8")
        for policy, ending in (("two_layer", r"\A\Z"),
                               ("recall", r"\Amini-agent: overflow: .*; find out why recall "
                                          r"failed .*\n\Z")):
            task = self.write_task(window=13_500, policy=policy, replies=[*[{"tool_calls": [{
                "name": "read_file", "arguments": {"path": "big.txt"}}]}] * 4, {"content": "done"}])
            status, said = said_by("run", str(task), "--workspace", str(self.folder), "--trace",
                                   str(self.folder / "t.jsonl"))
            with self.subTest(policy):
                self.assertRegex(said, ending)
                failed = [told for told in read_trace(self.folder / "t.jsonl").events(
                    "compression_skipped") if told["reason"] == "failed"]
                self.assertTrue(failed)
                self.assertEqual("in the way", (self.folder / "t.d").read_text("utf-8"))

    def test_every_driver_says_where_it_could_not_write(self) -> None:
        """`make run` and its like: one line, no traceback."""
        for name in ("drive_m1", "drive_m2", "drive_m3", "drive_m4", "drive_m6"):
            done = scripted(name, "--traces", "/dev/null/x")
            with self.subTest(name):
                self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
                self.assertIn("Not a directory", done.stderr)


@unittest.skipUnless(Path("/dev/full").exists(), "this system has no /dev/full")
class FullOutputTest(FolderTest):
    """Results go to a standard output that takes no byte."""

    def test_every_command_says_so_in_one_line(self) -> None:
        """Tables, JSON, CSV and lists: status 1."""
        lesson, trace = str(LESSON), str(REFERENCE)
        compare: Any = ("compare", lesson, "--policy", "clip", "--window", "1800")
        for arguments in ((*compare,), (*compare, "--json"), (*compare, "--csv"), ("show", trace),
                          ("show", trace, "--diff"), ("why", trace, "N170"), ("policies",),
                          ("policies", "clip", "--json"), ("tokens", trace), ("convert", lesson),
                          ("run", "scripts/m1_task.json", "--workspace", "workspace/m1", "--json")):
            said = io.StringIO()
            with (open("/dev/full", "w", encoding="utf-8") as full, contextlib.chdir(ROOT),
                  contextlib.redirect_stdout(full), contextlib.redirect_stderr(said)):
                status = cli.main(arguments)
            with self.subTest(" ".join(arguments)):
                self.assertEqual((1, "mini-agent: standard output: No space left on device\n"),
                                 (status, said.getvalue()))

    def test_a_trace_on_a_full_disk_ends_a_driver_in_one_line(self) -> None:
        """The trace is a link to /dev/full."""
        (self.folder / "m1-trace.jsonl").symlink_to("/dev/full")
        done = command("scripts/drive_m1.py", "--traces", str(self.folder))
        self.assertEqual((1, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
