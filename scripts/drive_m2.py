"""Milestone 2: a bug is found and fixed, and every tool failure is seen on the way.

    python3 scripts/drive_m2.py [--task FILE] [--trace FILE]

The scripted session works on a fresh copy of workspace/m2, with a link to a folder
outside it and a tool that always crashes. Each call is printed with its code.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import textwrap
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run from a checkout, nothing is installed

from mini_agent.errors import UsageError  # noqa: E402
from mini_agent.loop import Outcome  # noqa: E402
from mini_agent.messages import Message  # noqa: E402
from mini_agent.runner import run_task  # noqa: E402
from mini_agent.tasks import load_task  # noqa: E402
from mini_agent.trace import Record, TraceFile  # noqa: E402

TASK = ROOT / "scripts" / "m2_task.json"
TRACE = ROOT / "traces" / "m2-trace.jsonl"
WIDTH = 100  # of the printed table, in characters


@dataclass(frozen=True)
class Flaky:
    """A tool with a bug of its own, to show that it does not end the run."""

    name: str = "flaky"
    description: str = "Check the style of a file."

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"path": {"type": "string"}},
                "required": ["path"], "additionalProperties": False}

    def __call__(self, **arguments: Any) -> str:
        return {}[arguments["path"]]


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


def shortened(text: str) -> str:
    """The first line of a text, at most WIDTH characters; "..." where there is more."""
    line, _, more = text.partition("\n")
    return line if len(line) <= WIDTH and not more else line[:WIDTH - 4].rstrip() + " ..."


def fresh_workspace(folder: Path) -> Path:
    """A copy of workspace/m2 in `folder`, with a link `vendor` that leads outside.

    The link is made here and not committed: git on Windows would check out a file.
    """
    workspace = folder / "m2"
    shutil.copytree(ROOT / "workspace" / "m2", workspace,
                    ignore=shutil.ignore_patterns("__pycache__"))
    office = folder / "office"
    office.mkdir()
    (office / "units.txt").write_text("d 28800\nh 3600\nm 60\n", encoding="utf-8")
    with suppress(OSError):  # Windows without the right to make links: the file is not found
        os.symlink(os.path.join("..", "office"), workspace / "vendor", target_is_directory=True)
    return workspace


def drive(task: Path, trace: Path) -> tuple[Outcome, Counter[str]]:
    """Run the task on a fresh copy; how it ended, and how often each code came."""
    table = Table()
    loaded = load_task(task)
    with tempfile.TemporaryDirectory() as folder, TraceFile(trace) as file:
        outcome = run_task(loaded, fresh_workspace(Path(folder)), [file, table],
                           extra_tools=[Flaky()])
    return outcome, table.codes


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 the task was done, 1 it was not, 2 wrong use."""
    parser = argparse.ArgumentParser(description="run milestone 2 and print every call")
    parser.add_argument("--task", type=Path, default=TASK, help="task file (%(default)s)")
    parser.add_argument("--trace", type=Path, default=TRACE, help="trace (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        outcome, codes = drive(options.task, options.trace)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    if not outcome.done:
        print(f"{outcome.reason}: {outcome.detail}", file=sys.stderr)
    failed = codes.total() - codes["ok"]
    kinds = len(codes) - bool(codes["ok"])
    print(f"\n{codes.total()} calls: {codes['ok']} ok, {failed} failed with {kinds} codes, each "
          f"answered; the run ended with {outcome.reason}")
    print(f"trace: {os.path.relpath(options.trace)}")
    return 0 if outcome.done else 1


if __name__ == "__main__":
    sys.exit(main())
