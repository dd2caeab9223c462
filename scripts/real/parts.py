"""What the parts of the real test share: an environment to throw away, servers, a report."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds for a server to come up


class Skipped(Exception):
    """A part cannot be run here; the message says why."""


@dataclass
class Report:
    """What was run, and what was wrong with it."""

    faults: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """One line of what was seen."""
        print(f"  {text}", flush=True)

    def expect(self, holds: bool, claim: str) -> None:
        """A claim that holds is a line, one that does not is a fault."""
        self.say(f"{'ok    ' if holds else 'FAILED'} {claim}")
        if not holds:
            self.faults.append(claim)


def environment(folder: Path, name: str, packages: Sequence[str], *options: str) -> Path:
    """A virtual environment's python with these packages; `Skipped` where they cannot be had."""
    home = folder / name
    python = home / "bin" / "python"
    if (home / "ready").is_file():
        return python
    for command in ([sys.executable, "-m", "venv", str(home)],
                    [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                     *options, *packages]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no words"])[-1]
            raise Skipped(f"{' '.join(packages)} cannot be had: {said[:200]}")
    (home / "ready").touch()
    return python


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def served(command: Sequence[str], health: str, log: Path, **variables: str) -> Iterator[None]:
    """A server while it is needed; it is ended by its own process id, and waited for."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables)
    try:
        _await(process, health, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(.1)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise Skipped(f"the server did not come up: {said[-1][:200] if said else 'no words'}")


def fetch(url: str, body: Any = None) -> Any:
    """GET, or POST of JSON; the JSON that comes back."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=30) as answer:
        return json.load(answer)
