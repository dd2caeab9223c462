"""What the tests share: the checkout, task files, runs in a throw-away folder."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from mini_agent import cli
from mini_agent.assembly import Grant, Setup
from mini_agent.governance import govern
from mini_agent.loop import Outcome
from mini_agent.runner import run_task
from mini_agent.tasks import load_task
from mini_agent.trace import Record

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
PATIENCE = 60.0  # seconds until a test is given up; a machine may be slow, or at other work


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, `self.folder`."""

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="mini-agent-test-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write_task(self, **fields: Any) -> Path:
        """A task file in the folder; system and task are given unless named."""
        path = self.folder / "task.json"
        task = {"system": "You are careful.", "task": "Do it.", "replies": [], **fields}
        path.write_text(json.dumps(task, ensure_ascii=False), encoding="utf-8")
        return path

    def run_task(self, milestone: str = "m1", **fields: Any) -> tuple[Outcome, list[Record]]:
        """Run such a task on a fresh copy of a workspace."""
        workspace = self.folder / "workspace"
        if not workspace.exists():
            shutil.copytree(ROOT / "workspace" / milestone, workspace)
        max_steps = fields.pop("max_steps", 200)
        task = load_task(self.write_task(**fields))
        records: list[Record] = []
        setup = Setup(workspace, task.model(), Grant(steps=max_steps), [records.append])
        outcome = run_task(task, setup, govern(task))
        return outcome, records


def m3_task(**changes: Any) -> dict[str, Any]:
    """The published session's task file, with these fields changed."""
    data = json.loads((SCRIPTS / "m3_task.json").read_text(encoding="utf-8"))
    return {**data, **changes}


def payloads(records: list[Record], *names: str) -> list[dict[str, Any]]:
    """The payloads of the events with one of these names."""
    return [record["payload"] for record in records if record.get("event") in names]


def command(*arguments: str, cwd: Path = ROOT, timeout: float = 5 * PATIENCE,
            **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments as a user would, without a terminal."""
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True,
                          encoding="utf-8", timeout=timeout, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment})


def mini_agent(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command `mini-agent`."""
    return command("-m", "mini_agent", *arguments, **options)


def listening() -> None:
    """In a child: Ctrl-C and the end of a terminal are heard, also where whoever runs the
    tests ignores them, as `nohup` and jobs in the background do."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def is_gone(group: int, patience: float = PATIENCE) -> bool:
    """Whether every process of a group has ended, or does within so many seconds; one that
    nobody has waited for counts as ended, where the system can tell."""
    return _ends(os.killpg, group, patience)


def gone(pid: int, patience: float = PATIENCE) -> bool:
    """The same of one process."""
    return _ends(os.kill, pid, patience)


def _ends(tell: Callable[[int, int], None], number: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            tell(number, 0)
        except ProcessLookupError:
            return True
        if Path("/proc/self/stat").is_file() and not any(_states(number, tell is os.killpg)):
            return True
        time.sleep(.01)
    return False


def _states(number: int, grouped: bool) -> Iterator[str]:
    """The state of a process, or of each of a group, but of those that have ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            state, _, group = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:3]
            if number == int(group if grouped else path.parent.name) and state != "Z":
                yield state


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def read_some(leader: int) -> bytes:
    """What a terminal was sent; b"" once nobody holds its other end any more."""
    try:
        return os.read(leader, 65_536)
    except OSError:
        return b""


def interrupt() -> None:
    """What a terminal does on Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def called(*arguments: object) -> tuple[int, str, str]:
    """A command in this process, which is faster: its status, standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.main([*map(str, arguments)])
        except SystemExit as leaving:  # --help
            status = int(leaving.code or 0)
    return status, out.getvalue(), err.getvalue()


def scripted(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A script of `scripts/` in this process, which is faster, with streams that are no
    terminal: its status, standard output and error."""
    out, err, before = io.StringIO(), io.StringIO(), (sys.argv, sys.path[:], sys.excepthook)
    words = [str(SCRIPTS / f"{name}.py"), *map(str, arguments)]
    sys.argv = words
    sys.path.insert(0, str(SCRIPTS))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            runpy.run_path(words[0], run_name="__main__")
        status: Any = 0
    except SystemExit as leaving:
        status = leaving.code
    finally:
        sys.argv, sys.path[:], sys.excepthook = before
    return subprocess.CompletedProcess(words, status or 0, out.getvalue(), err.getvalue())


def answered(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What `mini_agent` gives, of a command that runs in this process."""
    with chdir(ROOT):
        return subprocess.CompletedProcess(arguments, *called(*arguments))


def begun(run: Callable[[float], str], far: str | Callable[[str], object],
          limits: Sequence[float] = (.3, 3, 30)) -> str:
    """What `run` gave within a limit in seconds that lets a program come so `far`, to text that
    matches: a machine under load needs longer."""
    reached = re.compile(far).search if isinstance(far, str) else far
    for limit in limits:
        if reached(said := run(limit)):
            break
    return said
