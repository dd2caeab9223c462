"""Milestone 2: a bug is found and fixed, and every tool failure occurs on the way.

    python3 scripts/drive_m2.py [--task FILE] [--traces FOLDER]

The scripted session works on a fresh copy of workspace/m2, with a link to a folder
outside it and a tool that always crashes. Each call is printed with its code and
what came back. Writes m2-trace.jsonl into the traces folder.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import json
import os
import sys
import textwrap
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fresh import ROOT, TRACES, demo

from mini_agent.cli import Parser, guarded
from mini_agent.messages import Message
from mini_agent.tasks import load_task
from mini_agent.tools.base import FunctionTool
from mini_agent.tools.schema import TEXT, object_of
from mini_agent.trace import Record, TraceFile

WIDTH = 80  # of the printed table, in characters


def check_style(path: str) -> str:
    """A tool with a bug, which shows that such a bug does not end the run."""
    checked: dict[str, str] = {}
    return checked[path]


FLAKY = FunctionTool("flaky", "Check the style of a file.",
                     object_of({"path": TEXT}, ("path",)), check_style)


class Table:
    """A sink that prints what the model says, each call with its code, and what came back."""

    def __init__(self) -> None:
        self.codes: Counter[str] = Counter()
        self._call = ""

    def __call__(self, record: Record) -> None:
        """Print a record, if it tells a reader of the table something."""
        payload = record.get("payload", {})
        if record["type"] == "message":
            self._message(record["step"], record["message"])
        elif record["event"] == "tool_call":
            given = payload["arguments"].values()
            self._call = " ".join([payload["name"], *(json.dumps(value, ensure_ascii=False)
                                                      for value in given)])
        elif record["event"] == "tool_result":
            code = payload["code"] or "ok"
            self.codes[code] += 1
            print(shortened(f"{'':6}{code:20}{self._call}"))

    def _message(self, step: int, message: Message) -> None:
        if message["role"] == "assistant":
            print("\n" + textwrap.fill(f"{step:4}  {message['content']}", WIDTH,
                                       subsequent_indent=" " * 6))
        elif message["role"] == "tool":
            said = message["error"]["message"] if "error" in message else message["content"]
            print(shortened(f"{'':26}{said}"))

    def close(self, reason: str) -> None:
        """Print how many calls failed, with how many codes, and how the run ended."""
        failed = self.codes.total() - self.codes["ok"]
        kinds = len(self.codes) - bool(self.codes["ok"])
        print(f"\n{self.codes.total()} calls: {self.codes['ok']} ok, {failed} failed with {kinds} "
              f"codes, each answered\nthe run ended with {reason}")


def shortened(text: str) -> str:
    """The first line of a text, at most WIDTH characters; "..." where there is more."""
    line, _, more = text.partition("\n")
    return line if len(line) <= WIDTH and not more else line[:WIDTH - 4].rstrip() + " ..."


def link_outside(workspace: Path) -> None:
    """A link `vendor` to a folder beside the workspace.

    It is made here and not committed: git on Windows would check out a file.
    """
    office = workspace.parent / "office"
    office.mkdir()
    (office / "units.txt").write_text("d 28800\nh 3600\nm 60\n", encoding="utf-8")
    with suppress(OSError):  # Windows without the right to make links: the file is not found
        os.symlink(os.path.join("..", "office"), workspace / "vendor", target_is_directory=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the task and print every call; 0 if it was done."""
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", type=Path, default=ROOT / "scripts" / "m2_task.json")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args(arguments)
    task, table = load_task(options.task), Table()
    with demo("m2") as (workspace, play), TraceFile(options.traces / "m2-trace.jsonl") as file:
        link_outside(workspace)
        outcome = play(task, [file, table], extra=[FLAKY])
    table.close(outcome.reason)
    if outcome.detail:
        print(f"mini-agent: {outcome.reason}: {outcome.detail}", file=sys.stderr)
    return 0 if outcome.done else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
