"""Sessions that are killed at random moments, and taken up again: `make fuzz`.

    python3 -W error -m tests.kills [KILLS] [SEED]

`kill -9` of a real process, at a random one of the lines that it tells (`kill_child.py`)
and up to `SPIN` seconds later, so in the middle of anything. After each: what was
confirmed is in the trace, the same trace is taken up in this process, and what is sent
is what its records determine; then it goes on in a process, that is killed as well.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mini_agent.audit import Line, audit
from mini_agent.compression.state import rebuild
from mini_agent.messages import Message, pairing_faults
from mini_agent.trace import TraceFile, line, parse_record, read_trace, trace_folder

from .kill_child import SCENARIOS, TURNS, open_session
from .sessions import Speaker
from .support import ROOT

KILLS, SPIN = 200, .004  # SPIN in seconds
LIVES = 4                # so often a session is killed, at most


class Broken(AssertionError):
    """What must hold does not."""


def need(what: bool, says: str, *values: Any) -> None:
    """Raise `Broken` unless it holds."""
    if not what:
        raise Broken(f"{says}: {values!r}"[:2_000])


def live(scenario: str, folder: Path, kill_at: int, spin: float,
         begins: str = "") -> list[dict[str, Any]]:
    """What a process has told until it ended, or was killed `spin` seconds behind `kill_at`
    lines with `begins` in them; never if it tells fewer, or at 0."""
    told, count = [], 0
    with subprocess.Popen([sys.executable, "-W", "error", "-m", "tests.kill_child", scenario,
                           str(folder)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None and process.stderr is not None
        for said in process.stdout:
            told.append(said)
            count += begins.encode() in said
            if count == kill_at and begins.encode() in said:
                until = time.perf_counter() + spin
                while time.perf_counter() < until:
                    continue
                process.kill()
        errors = process.stderr.read().decode("utf-8", "replace")
        status = process.wait()
    need(status in (0, -signal.SIGKILL) and not errors, "the session failed", status, errors)
    return [json.loads(said) for said in told if said.endswith(b"\n")]


class Killed:
    """One session: killed up to `lives` times, then lived to its end.

    `Broken` if anything is lost or done twice.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder, self.trace = seed, folder, folder / "s.jsonl"
        self._draw = random.Random(seed)
        self.name = sorted(SCENARIOS)[seed % len(SCENARIOS)]
        self.kills, self.ended = 0, False
        self.at_work = 0  # of the kills, those behind which nothing more was told
        self._left = SCENARIOS[self.name].lines
        self._due: list[Message] | None = None  # what has to be sent next
        self._confirmed: list[str] = []
        (folder / "mark.sh").write_text('echo "$1" >> marks\n', encoding="utf-8")

    def run(self, lives: int) -> None:
        """All its lives. `kills`: how often it was killed."""
        for _ in range(lives):
            if not self.ended:
                self._be_killed()
        self._live(0)
        self._check_end()

    def _be_killed(self) -> None:
        """Every other time while that is at work which the scenario is about."""
        if self._draw.random() < .5:
            self._live(self._draw.randrange(1, max(4, self._left)))
        else:
            self._live(self._draw.randrange(1, 4), SCENARIOS[self.name].begins)

    def _live(self, kill_at: int, begins: str = "") -> None:
        spin = self._draw.choice((0, self._draw.random() * SPIN))
        told = live(self.name, self.folder, kill_at, spin, begins)
        self.ended = bool(told) and "ended" in told[-1]
        self.kills += not self.ended
        self.at_work += not self.ended and bool(told) and (
            SCENARIOS[self.name].begins in json.dumps(told[-1]))
        self._left -= len(told)
        need(kill_at > 0 or self.ended, "it did not come to its end", told[-1:])
        asked = [said["asked"] for said in told if "asked" in said]
        if self._due is not None and asked:
            need(asked[0] == self._due, "another request was sent", asked[0][-2:], self._due[-2:])
        whole = self.trace.read_text(encoding="utf-8").split("\n")[:-1]
        need(whole[:len(self._confirmed)] == self._confirmed, "the trace was changed")
        said = [line(said["record"])[:-1] for said in told if "record" in said]
        start = len(self._confirmed)
        need(whole[start:start + len(said)] == said, "a record is lost", len(whole), start)
        self._confirmed = whole
        self._due = self._determined()

    def _determined(self) -> list[Message] | None:
        """What a copy of the trace, taken up here, sends; what its records determine."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        shutil.copy(self.trace, copy)
        if trace_folder(self.trace).is_dir():
            shutil.copytree(trace_folder(self.trace), trace_folder(copy / "s.jsonl"))
        model = Speaker()
        with TraceFile(copy / "s.jsonl", fresh=False) as file:
            session = open_session(SCENARIOS[self.name], copy, file, model)
            model.replies.clear()
            due = session.due
            if due:
                session.turn()
        need(not (copy / "marks").exists(), "a call was run again")
        if not due:
            return None
        *_, (_, view) = rebuild(read_trace(copy / "s.jsonl").records, session.window.state.estimate)
        need(model.asked[0] == view.messages(), "the records determine another request")
        need(not list(pairing_faults(model.asked[0])), "the request is not legal")
        return model.asked[0]

    def _check_end(self) -> None:
        """Nothing lost, nothing done twice, every record true."""
        records = [parse_record(text) for text in self._confirmed]
        history = [record["message"] for record in records if record["type"] == "message"]
        need(list(TURNS) == [message["content"] for message in history
                             if message["role"] == "user"], "a user's message is lost or doubled")
        spoken = sum(message["role"] == "assistant" for message in history)
        need(spoken == len(SCENARIOS[self.name].replies), "answers are lost", spoken)
        need(not list(pairing_faults(history)), "the history is not legal")
        found = [finding for finding in audit([Line(*pair) for pair in enumerate(records, 1)],
                                              goes_on=True) if finding.kind != "transcript"]
        need(not found, "the records are not true", found)
        marks = self.folder / "marks"
        done = marks.read_text(encoding="utf-8").split() if marks.exists() else []
        need(len(done) == len(set(done)), "something was done twice", done)


def kill(seed: int, lives: int = LIVES) -> Killed:
    """The session of a seed, as often killed as that. `Broken` names the seed."""
    with tempfile.TemporaryDirectory() as folder:
        session = Killed(seed, Path(folder))
        try:
            session.run(lives)
        except Broken as error:
            raise Broken(f"seed {seed} ({session.name}): {error}") from error
        return session


def main() -> int:
    """1 where anything was lost."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    first = seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    made, at_work = dict.fromkeys(SCENARIOS, 0), dict.fromkeys(SCENARIOS, 0)
    try:
        while sum(made.values()) < wanted:
            session = kill(seed)
            made[session.name] += session.kills
            at_work[session.name] += session.at_work
            seed += 1
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    print(f"killed {sum(made.values())} times (seeds {first} to {seed - 1}), nothing lost: "
          + ", ".join(f"{name} {times} ({at_work[name]} in the midst)"
                      for name, times in made.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
