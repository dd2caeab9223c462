"""Milestone 8: hostile paths, arguments, texts and users get nothing but a refusal."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import unittest
from pathlib import Path

from mini_agent.errors import ToolError
from mini_agent.texts import Texts
from mini_agent.tools import standard_tools
from mini_agent.tools.workspace import Workspace
from tests.support import ROOT, FolderTest, mini_agent, payloads

REFERENCE = str(ROOT / "traces" / "reference" / "m3-trace.jsonl")
EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202egnp.exe"


class PathTest(FolderTest):
    """No path of a tool leads out of the workspace."""

    def setUp(self) -> None:
        super().setUp()
        self.inside = self.folder / "inside"
        self.inside.mkdir()
        self.secret = self.folder / "secret.txt"
        self.secret.write_text("secret", encoding="utf-8")
        self.tools = {tool.name: tool for tool in standard_tools(Workspace(self.inside),
                                                                     Texts("en"))}

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
        calls = [{"name": "read_file", "arguments": {"path": f"{number}"}} for number in range(1000)]
        outcome, records = self.run_task(replies=[{"tool_calls": calls}, {"content": "done"}])
        self.assertTrue(outcome.done)
        asked = [told["id"] for told in payloads(records, "tool_call")]
        self.assertEqual(asked, [told["id"] for told in payloads(records, "tool_result")])
        self.assertEqual(1000, len(set(asked)))


class TerminalTest(FolderTest):
    """What a session says reaches a terminal as text, never as a command to it."""

    def shown(self, *arguments: str) -> str:
        """Both outputs of a command."""
        done = mini_agent(*arguments)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

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

    def test_what_is_kept_is_its_owners_alone(self) -> None:
        """A new folder for traces, and the run's own, under the widest umask."""
        path = self.write_task(threshold=4000, policy="two_layer", replies=[
            {"tool_calls": [{"name": "read_file", "arguments": {"path": "big.txt"}}]},
            {"content": "done"}])
        (self.folder / "big.txt").write_text("line of text\n" * 1000, encoding="utf-8")
        trace = self.folder / "new" / "deeper" / "t.jsonl"
        subprocess.run([sys.executable, "-c", "import os, sys; os.umask(0); from mini_agent.cli "
                        "import main; main(sys.argv[1:])", "run", str(path), "--trace", str(trace),
                        "--workspace", str(self.folder)], cwd=ROOT, check=True, capture_output=True)
        for place in (trace.parent, *trace.parent.rglob("*.d")):
            self.assertEqual(0o700, stat.S_IMODE(place.stat().st_mode), place)
        self.assertEqual(0o600, stat.S_IMODE(trace.stat().st_mode))


class StreamTest(FolderTest):
    """Whatever standard streams are: a line and a status, no traceback."""

    def run_with(self, ending: str, **environment: str) -> tuple[int, str]:
        """The status and standard error of `show` with a shell's redirection."""
        command = f'"$0" -X dev -m mini_agent show "$1" --step 4 {ending}'
        done = subprocess.run(["sh", "-c", command, sys.executable, REFERENCE], cwd=ROOT,
                              capture_output=True, timeout=60, env={**os.environ, **environment})
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
            done = mini_agent(*arguments)
            with self.subTest(arguments[0]):
                self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")), done.stderr[-300:])


if __name__ == "__main__":
    unittest.main()
