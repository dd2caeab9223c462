"""Milestone 2: commands end, are bounded, and see no keys."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from mini_agent.errors import ToolError, ToolInterrupted
from mini_agent.hostile import clean_output
from mini_agent.tools.process import Capture, run_program
from mini_agent.tools.shell import RunCommand, command_environment

from .support import PATIENCE, begun, gone, is_gone
from .test_m2_tools import ToolCase


class CommandTest(ToolCase):
    def script(self, code: str) -> str:
        """The command that runs `code` from a file in the workspace."""
        self.put("s.py", code)
        return "python3 s.py"

    def test_a_command_that_succeeds_gives_its_output(self) -> None:
        """Status, both outputs in order, without the last newline; it runs in the workspace."""
        command = self.script(
            "import os, sys\nprint('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\n"
            "print(os.getcwd(), sys.argv[1:])\n")
        self.assertEqual(self.ok("run_command", command=command + " 'a b' c\\ d"),
                         "exit=0\nout\nerr\n. ['a b', 'c d']")
        self.assertEqual(self.ok("run_command", command="true"), "exit=0\n")

    def test_a_command_that_fails_gives_status_and_output(self) -> None:
        """The status is the message, the output is under it, without this machine's paths."""
        for command, said in (
                (self.script("print('seen')\nraise SystemExit(3)"), "exit=3\nseen"),
                ("false", "exit=1"),
                ("python3 -c 'import os; os.kill(os.getpid(), 9)'", "exit=-9"),
                ("python3 missing.py", "exit=2\npython3: can't open file './missing.py': "
                                       "[Errno 2] No such file or directory")):
            self.assertEqual(self.fails("COMMAND_FAILED", "run_command", command=command), said)

    def test_python3_is_the_running_interpreter_without_its_settings(self) -> None:
        """No PYTHON variable is passed on, and no bytecode is left in the workspace."""
        self.put("module.py", "x = 1\n")
        with mock.patch.dict(os.environ, {"PYTHONSTARTUP": "x", "PYTHONPATH": "/x"}):
            self.assertEqual(self.ok("run_command", command=self.script(
                "import os, module, sys\nprint(sys.executable)\n"
                "print([name for name in os.environ if name.startswith('PYTHON')])")),
                "exit=0\npython3\n[]")
        self.assertEqual(sorted(os.listdir(self.root)), ["module.py", "s.py"])

    def test_no_key_reaches_a_command(self) -> None:
        """Variables are chosen by their names, whatever their case, and by a password, or a
        private key, in their value, or where that is a key; the rest is the user's."""
        secret = ("OPENAI_API_KEY", "gh_token", "MY_SECRET_X", "DB_PASSWORD", "CREDENTIALS",
                  "OPENAI_BASE_URL", "PYTHONPATH", "DB_PASS", "PGPASSFILE", "SSH_ASKPASS",
                  "MYSQL_PWD", "GH_PAT", "NPM_AUTH", "SENTRY_DSN", "SESSION_COOKIE", "my_jwt",
                  "DOCKER_AUTH_CONFIG", "AZURE_STORAGE_CONNECTION_STRING", "SLACK_WEBHOOK_URL",
                  "DB_PW")
        own = {"PATH": "/bin", "HOME": "/h", "GIT_AUTHOR_NAME": "x", "SSH_AUTH_SOCK": "/s",
               "URL": "ssh://git@host/a:b@c", "COLORTERM": "PAT", "PROXY": "http://host:80/a@b",
               "GREETING": "Be basic: hello", "LANG": "sk", "LC_ALL": "sk_SK.UTF-8",
               "DATA": "/hf_datasets/sk-learn_data", "ID": "eyJ", "SKIN": "sk-in",
               "USER": "sk_johnson", "HOSTNAME": "pk-worker-12"}
        keys = (f"sk-proj-{'h' * 20}", f"sk_live_{'h' * 20}", f"gsk_{'h' * 20}",
                f"xai-{'h' * 20}", f"glpat-{'h' * 20}", f"xoxb-{'h' * 20}",
                f"ghp_{'h' * 36}", "github_pat_hidden", f"hf_{'h' * 30}",
                f"AKIA{'H' * 16}", f"AIza{'h' * 35}", "eyJhid.eyJden.hid-den", f"npm_{'h' * 36}")
        given = dict.fromkeys(secret, "x") | own | {
            "PWD": "/elsewhere", "OLDPWD": "/before", "DATABASE_URL": "postgres://me:hidden@db/x",
            "HTTPS_PROXY": "http://:hidden@proxy:3128",
            "PIP_INDEX_URL": "https://hidden@host/simple",
            "CERT": "-----BEGIN PRIVATE KEY-----\nhidden", "HEADER": "Authorization: Bearer hidden",
            **{f"MINE_{number}": key for number, key in enumerate(keys)}}
        self.assertEqual(command_environment(given, self.root),
                         {**own, "OLDPWD": "/before", "PWD": str(self.root)})

    def test_a_command_has_no_input(self) -> None:
        """One that asks a question reads the end of its input instead of waiting."""
        self.assertEqual(self.ok("run_command", command="cat"), "exit=0\n")

    def test_a_command_is_cleaned_as_a_terminal_shows_it(self) -> None:
        """Colours and redraws are gone, bytes that are no UTF-8 are marked."""
        self.assertEqual(self.ok("run_command", command=self.script(
            r"import sys; sys.stdout.buffer.write(b'\x1b[32mok\x1b[0m\n 1%\r99%\r\ncaf\xe9\0\n')")),
            "exit=0\nok\n99%\ncaf\ufffd")

    def test_there_is_no_shell_unless_the_settings_allow_one(self) -> None:
        """What needs one is refused with the operator; quoted, it is an argument."""
        code, one = "COMMAND_NOT_ALLOWED", "a shell is not allowed here; run one program at a time"
        self.assertEqual(self.fails(code, "run_command", command="echo a", shell=True), one)
        for command, operator in (("echo a | wc", "|"), ("a && b", "&&"), ("echo a>b", ">"),
                                  ("make 2>&1", "2>&1"), ("a; b", ";"), ("sleep 9 &", "&")):
            self.assertEqual(self.fails(code, "run_command", command=command),
                             f"{operator} needs a shell (or quotes, if it is an argument); {one}")
        self.assertEqual(self.ok("run_command", command="""echo '|' "a;b" \\; $HOME *"""),
                         "exit=0\n| a;b ; $HOME *")
        tool = RunCommand(self.workspace, allow_shell=True)
        self.assertEqual(tool("echo a | tr a b; pwd", shell=True), "exit=0\nb\n.")
        with self.assertRaises(ToolError) as caught:
            tool("echo a | tr a b")
        self.assertEqual(caught.exception.message, "| needs a shell (or quotes, if it is an "
                                                   'argument); ask for one with "shell": true')

    def test_the_description_says_whether_there_is_a_shell(self) -> None:
        """None without leave."""
        for tool, there in ((RunCommand(self.workspace), False),
                            (RunCommand(self.workspace, allow_shell=True), True)):
            self.assertEqual((there, not there), ("set `shell`" in tool.description,
                                                  "without a shell" in tool.description))

    def test_a_command_that_cannot_run_says_why(self) -> None:
        """Not there, not startable, not readable as words, nothing at all."""
        self.put("data", "x")
        self.assertEqual(self.fails("COMMAND_NOT_FOUND", "run_command", command="no-such -x"),
                         "no such program: no-such -x")
        self.assertEqual(self.fails("COMMAND_NOT_STARTED", "run_command", command="./data"),
                         "cannot be started (Permission denied): ./data")
        self.assertEqual(self.fails("BAD_ARGUMENTS", "run_command", command="echo 'a"),
                         "command: No closing quotation: echo 'a")
        for command in ("", " ", "''", "a\0b"):
            self.fails("BAD_ARGUMENTS", "run_command", command=command)
        self.fails("BAD_ARGUMENTS", "run_command", command="true", timeout=601)


class EndingTest(ToolCase):
    def shell(self, command: str, timeout: float = PATIENCE) -> str:
        """The output of a command in a shell; a failure's message and output."""
        tool, start = RunCommand(self.workspace, allow_shell=True), time.monotonic()
        try:
            return tool(command, shell=True, timeout=timeout).removeprefix("exit=0\n")
        except ToolError as error:
            return f"{error.code} {error.message}\n{error.details}"
        finally:
            self.assertLess(time.monotonic() - start, PATIENCE)

    def test_a_command_that_hangs_is_ended_with_what_it_started(self) -> None:
        """The grandchild holds the pipe, the limit holds all the same; the output is kept."""
        said = begun(lambda limit: self.shell("sleep 90 & echo $!; wait", limit), r"\n\d+$")
        message, pid = said.split("\n")
        self.assertRegex(message, "COMMAND_TIMEOUT not finished after [0-9.]+ s; it was ended with "
                                  "all that it had started$")
        self.assertTrue(gone(int(pid)))

    def test_a_call_that_names_no_time_has_that_of_the_tool(self) -> None:
        """Without a limit it would never come back."""
        with self.assertRaisesRegex(ToolError, "not finished after 0.1 s"):
            RunCommand(self.workspace, timeout=.1)(command="sleep 30")

    def test_who_lives_is_not_taken_for_gone(self) -> None:
        """What the tests look for is seen while it is there."""
        self.assertEqual([False, False], [gone(os.getpid(), .02), is_gone(os.getpgrp(), .02)])

    def test_what_a_command_leaves_behind_is_ended(self) -> None:
        """Started in the background, it neither keeps the call waiting nor outlives it."""
        self.assertTrue(gone(int(self.shell("sleep 90 & echo $!"))))
        self.assertTrue(gone(int(self.shell("sleep 90 >/dev/null 2>&1 & echo $!"))))

    def test_a_program_that_leaves_the_group_does_not_hold_the_call(self) -> None:
        """A daemon with a session of its own keeps the pipe open; the call ends without it."""
        start = time.monotonic()
        self.put("s.py", "import subprocess\n"
                         "print(subprocess.Popen(['sleep', '90'], start_new_session=True).pid)")
        pid = int(self.ok("run_command", command="python3 s.py").removeprefix("exit=0\n"))
        self.assertLess(time.monotonic() - start, PATIENCE)
        os.kill(pid, signal.SIGKILL)

    def test_a_program_that_ignores_the_first_signal_is_killed(self) -> None:
        """SIGTERM first, so that it can clean up, then SIGKILL."""
        for trap, output, grace in (("", "start", .2), ("echo end; exit", "start\nend", PATIENCE)):
            with mock.patch("mini_agent.tools.process.GRACE", grace):
                said = begun(lambda limit: self.shell(
                    f"trap '{trap}' TERM; echo start; sleep 90 & wait; sleep 90", limit), "start")
            self.assertEqual(said.partition("\n")[2], output)

    def test_an_interrupt_ends_the_group_too(self) -> None:
        """Ctrl-C passes through to the loop with what came so far, and nothing is left running.
        The program hears of it as it would in a terminal, and can flush what it has written. It
        sleeps in short steps: one long sleep misses a signal that comes just before it begins."""
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        def once_it_runs() -> None:
            while not (file.exists() and file.read_text(encoding="utf-8").endswith("\n")):
                time.sleep(.01)
            os.kill(os.getpid(), signal.SIGALRM)

        file = self.root / "pid"
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        threading.Thread(target=once_it_runs, daemon=True).start()
        self.put("s.py", "import os, time\nprint('so far')\ntry:\n"
                         "    with open('pid', 'w') as file:\n"
                         "        print(os.getpid(), file=file)\n"
                         "    for _ in range(900):\n        time.sleep(.1)\n"
                         "except KeyboardInterrupt:\n    pass\n")
        with mock.patch("mini_agent.tools.process.GRACE", PATIENCE), \
                self.assertRaises(ToolInterrupted) as caught:
            self.shell(f"{sys.executable} s.py; true")
        self.assertEqual(("INTERRUPTED", "interrupted by the user before it was finished",
                          "so far"), (caught.exception.error.code, str(caught.exception.error),
                                      caught.exception.error.details))
        self.assertTrue(gone(int(file.read_text(encoding="utf-8"))))


class ProgramTest(unittest.TestCase):
    """A program that is started and read."""

    def run_it(self, *code: str, **options: bool) -> str:
        """What a program in Python prints."""
        return run_program([sys.executable, "-S", "-c", *code], folder=Path(), environment={},
                           timeout=PATIENCE, limit=10_000, clean=clean_output, **options).head

    def test_it_leads_a_session_or_only_a_group(self) -> None:
        """Apart from the terminal; in a sub-agent in the session that is ended with it."""
        code = "import os; print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())"
        self.assertEqual(["True True\n", "False True\n"],
                         [self.run_it(code, own_session=own) for own in (True, False)])

    def test_no_descriptor_is_left_open(self) -> None:
        """Whether it ran or could not; and the thread that started it has nothing to say."""
        before, said = os.listdir("/dev/fd"), mock.Mock()
        with mock.patch.object(threading, "excepthook", said):
            self.run_it("")
            with self.assertRaises(FileNotFoundError):
                run_program(["/no/such/program"], folder=Path(), environment={}, timeout=PATIENCE,
                            limit=100, clean=clean_output)
        self.assertEqual((before, []), (os.listdir("/dev/fd"), said.mock_calls))

    def test_where_there_is_no_thread_it_is_said(self) -> None:
        """And not that the thread cannot be waited for."""
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no more")), \
                mock.patch("mini_agent.tools.process.LAST_WORDS", 0), \
                self.assertRaisesRegex(RuntimeError, "no more"):
            self.run_it("")


class FloodTest(ToolCase):
    def test_a_flood_is_bounded_while_it_is_read(self) -> None:
        """Of 100 MB head and tail are kept, the first line has the numbers, memory stays small."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        code = "import sys; [sys.stdout.write('x' * 1023 + '\\n') for _ in range(100_000)]"
        content = self.ok("run_command", command=f'python3 -c "{code}"')
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        first, rest = content.split("\n", 1)
        self.assertEqual(first, "exit=0 [the first 24500 and last 24500 of 102400000 characters "
                                "are shown]")
        self.assertIn("\n[... 102351000 characters left out ...]\n", rest)
        self.assertLess(len(content), 50_000)
        self.assertLess(grown, 20_000 * (1024 if sys.platform == "darwin" else 1))

    def test_a_failure_that_floods_keeps_its_end(self) -> None:
        """The last line of a long output is where the reason stands; its code does not change."""
        code = "import sys; print('x' * 200_000, flush=True); sys.exit('the reason')"
        content = self.fails("COMMAND_FAILED", "run_command", command=f'python3 -c "{code}"')
        self.assertTrue(content.startswith(
            "exit=1 [the first 24500 and last 24500 of 200012 characters are shown]\nxxx"))
        self.assertTrue(content.endswith("xxx\nthe reason"))

    def test_what_is_measured_is_what_shows(self) -> None:
        """A progress bar of megabytes is one short line, however the bytes were cut into reads."""
        states = (b"\r%d%% \x1b[K" % (number % 100) for number in range(300_000))
        bar = b"".join(states) + b"\rdone\nnext"
        for size in (7, 4_096, 65_536, len(bar)):
            capture = Capture(1_000, clean_output)
            for start in range(0, len(bar) if size > 7 else 70_000, size):
                capture.add(bar[start:start + size])
            found = capture.finished(0)
            self.assertEqual(found.left_out, 0)
            self.assertEqual(found.head, "done\nnext" if size > 7 else found.head)
            self.assertLess(len(found.head), 10)

    def test_characters_cut_by_a_read_stay_whole(self) -> None:
        """UTF-8 in reads of one byte is the same text as in one read."""
        capture = Capture(1_000, clean_output)
        for byte in "中文 \U0001f600\n".encode("utf-8") + b"\xe4":
            capture.add(bytes([byte]))
        self.assertEqual(capture.finished(0).head, "中文 \U0001f600\n\ufffd")


if __name__ == "__main__":
    unittest.main()
