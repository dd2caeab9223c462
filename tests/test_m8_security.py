"""All milestones: hostile paths, arguments, texts and users get nothing but a refusal."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import threading
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from mini_agent import cli
from mini_agent.assembly import Setup
from mini_agent.compression.policies import find_policy
from mini_agent.compression.store import FolderStore
from mini_agent.disk import read_file
from mini_agent.errors import StrategyError, ToolError
from mini_agent.governance import governed_by
from mini_agent.lab.check import check_file
from mini_agent.messages import call
from mini_agent.models.base import Reply
from mini_agent.session import Session, begin
from mini_agent.subagents.traces import family_of
from mini_agent.tools import standard_tools
from mini_agent.tools.guard import own_paths, protects
from mini_agent.tools.workspace import Workspace
from mini_agent.trace import TraceFile, read_trace
from tests.sessions import Speaker
from tests.support import ROOT, FolderTest, called, payloads

REFERENCE = str(ROOT / "traces" / "reference" / "m3-trace.jsonl")
EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202egnp.exe"


def writing(path: str) -> Reply:
    """A reply that writes a file."""
    return Reply("", (call("c", "write_file", {"path": path, "content": "x"}),))


def started_in(place: Path, workspace: Path, replies: list[Any]) -> tuple[Session, TraceFile]:
    """A session whose trace lies in its own workspace."""
    place.mkdir()
    file = TraceFile(place / "s.jsonl")
    return begin(Setup(workspace, Speaker(replies)), file,
                 governed_by(find_policy("two_layer"), None), "go"), file


class PathTest(FolderTest):
    """No path of a tool leads out of the workspace."""

    def setUp(self) -> None:
        super().setUp()
        self.inside = self.folder / "inside"
        self.inside.mkdir()
        self.secret = self.folder / "secret.txt"
        self.secret.write_text("secret", encoding="utf-8")
        self.tools = {tool.name: tool for tool in standard_tools(Workspace(self.inside))}

    def test_no_spelling_of_a_path_leads_out(self) -> None:
        """/proc, dots in every form, letters that fold to dots or slashes, bars, tildes."""
        (self.inside / "cwd").symlink_to("/proc/self/cwd")
        (self.inside / "root").symlink_to("/proc/self/root")
        (self.inside / "up").symlink_to("..")
        outside = str(self.secret)
        for path in ("../secret.txt", "./.././secret.txt", "x/../../secret.txt", outside,
                     f"//{outside}", f"/proc/self/root{outside}", "/proc/self/cwd/../secret.txt",
                     "/proc/thread-self/environ", "/dev/fd/0", "cwd/README.md", f"root{outside}",
                     "up/secret.txt", "UP/../up/secret.txt", "../SECRET.TXT", "~/secret.txt",
                     "\uff0e\uff0e/secret.txt", "..\u2215secret.txt", "..\\secret.txt",
                     "file:///etc/passwd", "%2e%2e/secret.txt", "..\0/secret.txt"):
            for name, more in (("read_file", {}), ("write_file", {"content": "x"}),
                               ("edit_file", {"old": "secret", "new": "x"})):
                if name == "write_file" and ".." not in path.split("/") and path[0] not in "/cru":
                    continue  # a strange name inside of the workspace may be written
                with self.subTest(path=ascii(path), tool=name), self.assertRaises(ToolError):
                    self.tools[name](path=path, **more)
        self.assertEqual("secret", self.secret.read_text(encoding="utf-8"))
        self.assertEqual(["inside", "secret.txt"], sorted(os.listdir(self.folder)))


class DeepTest(FolderTest):
    """Folders in one another, and links to links, more than Python can follow."""

    DEPTH = 1_010

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder / "ws"], check=True)
        (self.folder / "ws" / ".git").mkdir(parents=True)  # which no search enters
        (self.folder / "ws" / "a.txt").write_text("a line", encoding="utf-8")
        here = os.open(self.folder / "ws", os.O_RDONLY)
        for number in range(self.DEPTH):
            os.symlink(f"{number - 1}" if number else "../a.txt", f".git/{number}", dir_fd=here)
        for _ in range(self.DEPTH):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    def test_every_tool_goes_on(self) -> None:
        """What lies too deep is named; a command runs, though files are looked for to protect."""
        last = f".git/{self.DEPTH - 1}"
        task = self.write_task(pins=[{"text": "no key", "protect": "*.key"}], replies=[{
            "tool_calls": [{"name": name, "arguments": given} for name, given in (
                ("list_files", {}), ("search_text", {"pattern": "a line", "path": "a.txt"}),
                ("run_command", {"command": "echo hello"}), ("read_file", {"path": last}),
                ("write_file", {"path": last, "content": "x"}))]}, {"content": "done"}])
        trace = self.folder / "t.jsonl"
        self.assertEqual(0, called("run", task, "--workspace", self.folder / "ws",
                                   "--trace", trace)[0])
        said = [message for message in read_trace(trace).messages() if message["role"] == "tool"]
        self.assertIn("(left out: .git, d/d/d/", said[0]["content"])
        self.assertIn("a line", said[1]["content"])
        self.assertEqual("exit=0\nhello", said[2]["content"])
        self.assertEqual([None] * 3 + ["OUTSIDE_WORKSPACE"] * 2,
                         [message.get("error", {}).get("code") for message in said])

    def test_a_folder_of_logs_is_searched(self) -> None:
        """And a copy of it that cannot be made is refused in one line."""
        shutil.copy(REFERENCE, self.folder / "ws" / "log.jsonl")
        self.assertEqual(0, called("compare", self.folder / "ws", "--policy", "clip",
                                   "--no-evidence")[0])
        task = self.write_task(replies=[{"content": "done"}])
        status, _, said = called("compare", task, "--workspace", self.folder / "ws")
        self.assertEqual((2, 1), (status, said.count("\n")), said[-300:])


class ArgumentTest(FolderTest):
    """An argument is one word of one program; the environment is not handed on."""

    def test_nothing_in_an_argument_is_run(self) -> None:
        """Quoted, each of these is printed by the program that got it."""
        for text in ("; touch HIT", "$(touch HIT)", "`touch HIT`", "| touch HIT", "\n touch HIT",
                     "&& touch HIT", "> HIT", "${IFS}touch${IFS}HIT"):
            _, records = self.run_task(replies=[{"tool_calls": [
                {"name": "run_command", "arguments": {"command": f"echo '{text}'"}},
                {"name": "search_text", "arguments": {"pattern": text, "path": "."}},
                {"name": "search_text", "arguments": {"pattern": text, "path": text}}]},
                {"content": "done"}])
            with self.subTest(text=text):
                self.assertFalse(list(self.folder.rglob("HIT")))
                self.assertTrue(payloads(records, "tool_result")[0]["ok"])

    def test_a_thousand_calls_of_one_reply_have_a_thousand_results(self) -> None:
        """Each in its place, and the run goes on."""
        calls = [{"name": "read_file", "arguments": {"path": f"{number}"}}
                 for number in range(1000)]
        outcome, records = self.run_task(replies=[{"tool_calls": calls}, {"content": "done"}])
        self.assertTrue(outcome.done)
        asked = [told["id"] for told in payloads(records, "tool_call")]
        self.assertEqual(asked, [told["id"] for told in payloads(records, "tool_result")])
        self.assertEqual(1000, len(set(asked)))


class OwnRecordTest(FolderTest):
    """Who is recorded does not write the record."""

    def test_no_tool_writes_the_trace_of_its_own_session(self) -> None:
        """By no spelling, nor what lies in its folder; all else may be written."""
        (self.folder / "link").symlink_to("logs")
        mine = ("logs/s.jsonl", "./logs/../logs/s.jsonl", "link/s.jsonl", "LOGS/S.jsonl",
                "logs/s.d/results/x.txt", "logs/s.d/store.sqlite")
        others = ("logs/other.jsonl", "s.jsonl", "logs/s.txt", "logs/s", "docs/s.d")
        session, file = started_in(self.folder / "logs", self.folder, [
            *(writing(path) for path in (*mine, *others)), Reply("done")])
        with file:
            self.assertTrue(session.turn("go").done)
        codes = [message.get("error", {}).get("code") for message in session.agent.history
                 if message["role"] == "tool"]
        self.assertEqual(["PROTECTED_PATH"] * len(mine) + [None] * len(others), codes)
        self.assertEqual(session.agent.history, read_trace(self.folder / "logs/s.jsonl").messages())

    def test_a_run_and_a_sub_agent_are_held_to_it_too(self) -> None:
        """The trace of a run of a task file, and those of the parents of a sub-agent."""
        task = self.write_task(replies=[{"tool_calls": [
            {"name": "write_file", "arguments": {"path": "t.jsonl", "content": "x"}}]},
            {"content": "done"}])
        called("run", task, "--workspace", self.folder, "--trace", self.folder / "t.jsonl")
        self.assertEqual("PROTECTED_PATH", next(
            read_trace(self.folder / "t.jsonl").events("tool_result"))["code"])
        child = self.folder / "t.d" / "children" / "1.d" / "children" / "2.d"
        self.assertEqual(
            ["t.d/children/1.d/children/2.d", "t.d/children/1.d/children/2.jsonl",
             "t.d/children/1.d", "t.d/children/1.jsonl", "t.d", "t.jsonl"],
            own_paths(child, self.folder.resolve()))
        self.assertEqual([], own_paths(child, self.folder.resolve() / "elsewhere"))

    def test_the_trace_of_a_session_may_be_called_anything(self) -> None:
        """Without `.jsonl` too; a folder above it that ends in `.d` is no parent of its own."""
        (self.folder / "x.d" / "y").mkdir(parents=True)
        (self.folder / "x.d" / "y" / "t").touch()
        self.assertEqual(["x.d/y/t.d", "x.d/y/t.jsonl", "x.d/y/t"], own_paths(
            self.folder / "x.d" / "y" / "t.d", self.folder.resolve()))

    def test_what_is_protected_is_so_by_any_case_and_composition(self) -> None:
        """On some systems these are one file; in doubt a path is protected."""
        for glob, path in (("secrets.txt", "SECRETS.TXT"), ("Caf\u00e9/*", "cafe\u0301/menu"),
                           ("stra\u00dfe", "STRASSE"), ("*.KEY", "deep/down/my.key")):
            with self.subTest(path=ascii(path)):
                self.assertTrue(protects(glob, path))
        self.assertFalse(protects("secrets.txt", "secret.txt"))


class StrangersFolderTest(FolderTest):
    """A trace with its folder, as it came in somebody's archive."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.folder / "other"
        self.other.mkdir()
        self.other.chmod(0o755)  # whatever the umask is
        (self.other / "keep.jsonl").write_text("keep", encoding="utf-8")

    def untouched(self) -> None:
        """The folder that the links lead to is as it was."""
        self.assertEqual((["keep.jsonl"], 0o755), (sorted(os.listdir(self.other)),
                                                   stat.S_IMODE(self.other.stat().st_mode)))

    def test_nothing_is_kept_behind_a_link(self) -> None:
        """The run's folder, the one of its results, its store: all may lead elsewhere."""
        for name in ("t.d", "t.d/results", "t.d/store.sqlite"):
            place = self.folder / name.partition("/")[0] / "x"
            place.parent.mkdir(exist_ok=True) if "/" in name else None
            (self.folder / name).symlink_to(self.other / ("new.sqlite" if "store" in name else ""))
            store = FolderStore(self.folder / "t.d")
            with self.subTest(name), self.assertRaises(StrategyError):
                store.remember({1: "text"}) if "store" in name else store.put(1, "text")
            self.untouched()
            (self.folder / name).unlink()

    def test_sub_agents_whose_logs_lead_round_in_a_circle(self) -> None:
        """Each child is its own parent, twice: every file is looked at once, and it is told."""
        trace = self.folder / "t.jsonl"
        rows = [{"type": "event", "event": "run_start", "payload": {"format": 1, "task": "t"}}]
        for child in (1, 2):
            rows.append({"type": "event", "event": "subagent_start", "payload": {
                "step": 0, "id": "c", "child": child}})
            rows.append({"type": "event", "event": "subagent_end", "payload": {
                "step": 0, "id": "c", "child": child, "status": "finished"}})
        trace.write_text("".join(json.dumps({**row, "seq": seq}) + "\n"
                                 for seq, row in enumerate(rows)), encoding="utf-8")
        children = self.folder / "t.d" / "children"
        children.mkdir(parents=True)
        for child in (1, 2):
            (children / f"{child}.jsonl").symlink_to(trace)
            (children / f"{child}.d").symlink_to(self.folder / "t.d")
        self.assertEqual([("", trace)], list(family_of(trace)))
        told = "\n".join(check_file(str(trace)))
        self.assertEqual(2, told.count("is that of another"), told)

    def test_a_file_without_an_end_is_refused(self) -> None:
        """A hole of 60 GB, a device: one line, and no memory is taken for it."""
        hole = self.folder / "hole.jsonl"
        with open(hole, "wb") as file:
            file.truncate(60 << 30)
        for arguments in (("show",), ("check",), ("convert",), ("run",), ("tokens",),
                          ("why", "x"), ("resume", "hi", "--script", "scripts/m1_task.json")):
            status, _, said = called(arguments[0], hole, *arguments[1:])
            with self.subTest(arguments[0]):
                self.assertEqual((2, 1), (status, said.count("\n")))
                self.assertIn("File too large", said)
        for place in (hole, Path("/dev/zero")):
            with self.assertRaises(OSError):
                read_file(place, most=1 << 22)
        (self.folder / "pipe").write_text("x" * 5000, encoding="utf-8")
        self.assertEqual(b"x" * 5000, read_file(self.folder / "pipe", most=5000))

    def test_a_log_that_is_a_task_runs_no_command(self) -> None:
        """By no command that reads logs, unless the file and a workspace are named."""
        hit, own = self.folder / "HIT", self.folder / "own"
        touch = f"touch {shlex.quote(str(hit))}"
        own.mkdir()
        logs = self.folder / "logs"
        logs.mkdir()
        self.write_task(replies=[{"tool_calls": [
            {"name": "run_command", "arguments": {"command": touch}},
            {"name": "delegate", "arguments": {"task": "t", "tools": ["run_command"]}}],
            "children": {"1": {"replies": [{"tool_calls": [{"name": "run_command", "arguments": {
                "command": touch}}]}, {"content": "done"}]}}},
            {"content": "done"}]).rename(logs / "session.json")
        log, work = str(logs / "session.json"), ("--workspace", str(own))
        for arguments, runs in ((("compare", log), False), (("compare", str(logs), *work), False),
                                (("show", log, "--diff"), False), (("why", log, "x"), False),
                                (("convert", log), False), (("check", log), False),
                                (("compare", log, *work), True), (("why", log, "x", *work), True)):
            called(*arguments, *(("--policy", "clip") if "compare" in arguments else ()))
            with self.subTest(" ".join(arguments)):
                self.assertEqual(runs, hit.exists())
            hit.unlink(missing_ok=True)
        self.assertIn("not run: 1 command of this task file",
                      called("compare", log, "--policy", "clip")[1])

    def test_a_pipe_is_read_like_a_file(self) -> None:
        """`show <(zcat t.jsonl.gz)`: it has no size, and an end."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(b"y" * 3_000_000,))
        writer.start()
        self.assertEqual(3_000_000, len(read_file(pipe)))
        writer.join()


class TerminalTest(FolderTest):
    """What a session says reaches a terminal as text, never as a command to it."""

    def shown(self, *arguments: str) -> str:
        """Both outputs of a command."""
        _, out, err = called(*arguments)
        return out + err

    def test_no_escape_of_a_session_is_printed(self) -> None:
        """In the task, its name, a tool's name, a file's name: by every command."""
        path = self.write_task(name=EVIL, system=EVIL, task=EVIL, replies=[
            {"content": EVIL, "tool_calls": [{"name": EVIL, "arguments": {"path": EVIL}}]},
            {"content": EVIL}])
        named = self.folder / f"{EVIL.replace('/', '')}.json"
        path.rename(named)
        trace = str(self.folder / "t.jsonl")
        for arguments in (("run", str(named), "--trace", trace), ("show", trace),
                          ("show", trace, "--diff"), ("why", trace, "pwned"), ("check", trace),
                          ("compare", trace, "--policy", "published", "--evidence"),
                          ("compare", trace, str(named), "--policy", "published"),
                          ("tokens", str(named)), ("run", f"{named}.gone"),
                          ("run", str(named), "--policy", EVIL), ("resume", str(named))):
            text = self.shown(*arguments)
            with self.subTest(arguments[0]):
                self.assertTrue(text or arguments[0] == "check")
                for sign in ("\x1b", "\x9b", "\x07", "\u202e"):
                    self.assertNotIn(sign, text)

    def test_no_name_is_a_formula_in_a_spreadsheet(self) -> None:
        """Of a session or a fact, in the CSV; the JSON has it as it is."""
        for sign in "=+-@":
            path = self.folder / f"{sign}1+1.json"
            self.write_task(replies=[{"content": "done"}]).rename(path)
            fact = "2" if sign == "@" else f"{sign}2"  # what begins with @ names a file
            shown = [called("compare", path, "--policy", "clip", f"--fact={fact}", form)[1]
                     for form in ("--csv", "--json")]
            self.assertIn(f"\n'{sign}1+1.json,", shown[0])
            self.assertNotIn(f",{sign}2", shown[0])
            self.assertEqual(f"{sign}1+1.json", json.loads(shown[1])[0]["session"])

    def test_a_name_that_no_terminal_may_see_is_escaped_in_the_csv(self) -> None:
        """And one that is no UTF-8 is there once, with a mark in place of its bytes."""
        for name, said in (("a\x1b[31m\nb.json", "a\\x1b[31m\\nb.json"),
                           ("\udcff.json", "\ufffd.json")):
            path = self.folder / name
            try:
                self.write_task(replies=[{"content": "done"}]).rename(path)
            except OSError as error:
                self.skipTest(f"no file can have such a name here: {error}")
            rows = called("compare", path, "--policy", "clip", "--csv")[1].splitlines()[1:]
            self.assertEqual([said, said], [row.partition(",")[0] for row in rows])

    def test_what_is_kept_is_its_owners_alone(self) -> None:
        """Traces, offloaded results, the store, and their folders, under the widest umask."""
        (self.folder / "big.txt").write_text("line of text\n" * 1000, encoding="utf-8")
        for policy, kept in (("two_layer", "t.d/results/*.txt"), ("recall", "t.d/store.sqlite")):
            path = self.write_task(window=9000, policy=policy, replies=[
                *[{"tool_calls": [{"name": "read_file", "arguments": {"path": "big.txt"}}]}] * 3,
                {"content": "done"}])
            trace = self.folder / policy / "deeper" / "t.jsonl"
            subprocess.run([sys.executable, "-c",
                            "import os, sys; os.umask(0); from mini_agent.cli "
                            "import main; main(sys.argv[1:])", "run", str(path), "--trace",
                            str(trace), "--workspace", str(self.folder)], cwd=ROOT, check=True,
                           capture_output=True)
            self.assertTrue(list(trace.parent.glob(kept)))
            for place in (trace.parent, *trace.parent.rglob("*")):
                self.assertEqual(0o700 if place.is_dir() else 0o600,
                                 stat.S_IMODE(place.stat().st_mode), place)


class StreamTest(FolderTest):
    """Whatever standard streams are: a line and a status, no traceback."""

    def run_with(self, ending: str, **environment: str) -> tuple[int, str]:
        """The status and standard error of `show` with a shell's redirection."""
        command = f'"$0" -X dev -m mini_agent show "$1" --step 4 {ending}'
        done = subprocess.run(["sh", "-c", command, sys.executable, REFERENCE], cwd=ROOT,
                              capture_output=True, timeout=300, env={**os.environ, **environment})
        return done.returncode, done.stderr.decode("utf-8", "replace")

    def test_a_stream_that_is_closed_or_full(self) -> None:
        """Closed: the results go nowhere. Full: that is said, and the status is 1."""
        for ending in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(ending):
                self.assertEqual((0, ""), self.run_with(ending))
        if Path("/dev/full").exists():
            status, said = self.run_with("> /dev/full")
            self.assertEqual((1, "mini-agent: standard output: No space left on device\n"),
                             (status, said))

    def test_a_locale_without_such_letters(self) -> None:
        """They are written as their escapes."""
        for environment in ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
                            {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"},
                            {"COLUMNS": "40", "NO_COLOR": "1", "TERM": "dumb"}):
            with self.subTest(environment):
                self.assertEqual((0, ""), self.run_with("", **environment))

    def test_a_path_that_cannot_be_one_is_wrong_use(self) -> None:
        """Too long for the system: one line, status 2, by every command."""
        for arguments in (("run", "x" * 5000), ("show", "x" * 5000), ("check", "x" * 5000),
                          ("resume", "x" * 5000), ("tokens", "x" * 5000),
                          ("why", "x" * 5000, "y"), ("convert", "x" * 5000),
                          ("chat", "hello", "--workspace", "x" * 5000, "--script", "y")):
            with (self.subTest(arguments[0]), open(self.folder / "out", "w") as out,
                  redirect_stdout(out), redirect_stderr(io.StringIO()) as said):
                self.assertEqual(2, cli.main(arguments))
                self.assertEqual(1, said.getvalue().count("\n"), said.getvalue()[-300:])


if __name__ == "__main__":
    unittest.main()
