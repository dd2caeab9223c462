"""Bring what the READMEs take from the program up to date.

    python3 scripts/refresh_readme.py [--check]

Line counts after the names of files, and the text between `<!-- begin: NAME -->` and
`<!-- end -->`, are generated and never typed in: for a name in `BLOCKS` a table, for
`$ mini-agent ...` what this command shows on a terminal. `readme_zh.json` has the Chinese
for a policy, a command or a target; what is not in there stays English. With --check nothing is
written and the exit status is 1 if something is out of date; a test does that.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import contextlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from drive_m4 import one_window
from fresh import ROOT, fresh_copy

from mini_agent import cli
from mini_agent.assembly import Setup
from mini_agent.compression.catalogue import POLICIES
from mini_agent.disk import write_file
from mini_agent.governance import govern
from mini_agent.lab.extremes import EXTREMES
from mini_agent.runner import run_task
from mini_agent.tasks import load_task
from mini_agent.trace import Record

Words = Mapping[str, Mapping[str, str]]  # table: name: what it is in this language
EVIDENCE = ROOT / "traces/reference/evidence.txt"
WINDOW = re.compile(r"^window (\d+) +sessions.*\n((?:\w+ +\d.*\n)+)", re.MULTILINE)
# policy, sessions, far recall, in context, cost, summaries, prefix breaks
MEASURED = re.compile(r"(\w+) +(\d+) +([\d.]+) +\S+ +([\d.]+)(?: +[\d.]+){5} +([\d.]+) +(\S+)"
                      r" +([\d.]+)")
ROWS, WIDTH = 18, 96  # of a digest that is shown
COLUMNS = 80  # of a reader's terminal
COUNTED = re.compile(r"(`([\w./-]+\.\w+)` \| )\d+( \|)")
BLOCK = re.compile(r"(<!-- begin: ([^\n]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
ROW = re.compile(r"^\| *(?:(\d): [^|]*)?\| `([\w./-]+\.\w+)` \|", re.MULTILINE)
SUM = re.compile(r"(<!-- lines of (\d|the path|the package) -->)\d+")


def lines_of(path: str) -> int:
    """Lines of a file of the checkout; 0 if it is not there."""
    file = ROOT / path
    return file.read_text(encoding="utf-8").count("\n") if file.is_file() else 0


def refreshed(text: str, words: Words) -> str:
    """A README with the true lines, sums and blocks."""
    text = COUNTED.sub(lambda match: f"{match[1]}{lines_of(match[2])}{match[3]}", text)
    sums: dict[str, int] = {}
    milestone = ""
    for number, path in ROW.findall(text):
        milestone = number or milestone
        sums[milestone] = sums.get(milestone, 0) + lines_of(path)
    sums |= {"the path": sum(sums.values()), "the package": sum(
        lines_of(str(path.relative_to(ROOT))) for path in (ROOT / "mini_agent").rglob("*.py"))}
    text = SUM.sub(lambda match: f"{match[1]}{sums[match[2]]}", text)
    return BLOCK.sub(lambda match: match[1] + block(match[2], match[3], words) + match[4], text)


def block(name: str, now: str, words: Words) -> str:
    """The text of a block; `now`, its present text, if it is not generated here."""
    if name.startswith("$ mini-agent "):
        return f"```\n{printed(shlex.split(name)[2:])}```\n"
    if name in DIGESTS:
        return digest(*DIGESTS[name])
    if name == "the measured figures":
        return figures(words.get("heads", {}))
    if name in BLOCKS:
        head, rows = BLOCKS[name]
        titles = words.get("heads", {}).get(head, head)
        return table(titles.split("/"), rows(words))
    return now


class Terminal(io.StringIO):
    """A terminal that keeps what it is shown."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def printed(arguments: list[str]) -> str:
    """What a command of mini-agent shows on a terminal; raises `RuntimeError` if it fails."""
    out = Terminal()
    os.environ["COLUMNS"] = str(COLUMNS)
    with contextlib.redirect_stdout(out), contextlib.chdir(ROOT):
        if cli.main(arguments):
            raise RuntimeError(f"mini-agent {shlex.join(arguments)} failed")
    return out.getvalue()


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), ["---"] * len(list(head)), *map(list, rows)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines).replace("| --- ", "|---") \
        .replace("--- |\n", "---|\n")


def policies(words: Words) -> list[list[str]]:
    """Name, where it is from, what it is for, the laws that it breaks."""
    return [[f"`{policy['name']}`",
             words.get("sources", {}).get(policy["name"], policy["source"]),
             words.get("policies", {}).get(policy["name"], policy["about"]),
             ", ".join(map(str, policy.get("breaks", ())))] for policy in POLICIES]


def figures(heads: Mapping[str, str]) -> str:
    """What `make evidence` measured of the policies, the most far recall at 16k first."""
    head = [heads.get("policy", "policy")]
    rows: dict[str, list[str]] = {}
    known = {policy["name"] for policy in POLICIES} - {"none"} | set(EXTREMES)
    for window, body in WINDOW.findall(EVIDENCE.read_text(encoding="utf-8")):
        found = [MEASURED.match(line) for line in body.splitlines()]
        best = [match for match in found if match and match[1] in known]
        head.append(f"{int(window) // 1000}k"
                    + heads.get("sessions", " ({} sessions)").format(best[0][2]))
        for match in sorted(best, key=lambda match: match[3], reverse=True):
            rows.setdefault(match[1], []).append(
                f"{match[3]} / {match[4]} / {match[5]}"
                + f" {match[6]}" * (match[6] != "+0.00") + f" / {match[7]}")
    return table(head, [[f"`{name}`", *cells] for name, cells in rows.items()])


def commands(words: Words) -> list[list[str]]:
    """Name, what it does, its example: what --help says of each."""
    return [[f"`{name}`", words.get("commands", {}).get(name, str(made.description)[:-1]),
             f"`{' '.join(str(made.epilog).removeprefix('example: ').split())}`"]
            for name, made in cli.make_parser().commands.items()]


def targets(words: Words) -> list[list[str]]:
    """Each target of the Makefile, and what stands behind its `##`."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return [[f"`make {name}`", words.get("targets", {}).get(name, about)]
            for name, about in re.findall(r"^([a-z][\w-]*):\s+## (.*)$", text, re.MULTILINE)]


def digest(milestone: str, window: int | None = None) -> str:
    """How the first digest of a session begins, under the policy `digest_full`."""
    task = load_task(ROOT / "scripts" / f"{milestone}_task.json")
    records: list[Record] = []
    with fresh_copy(milestone) as workspace:
        setup = Setup(workspace, one_window(task).model(), sinks=[records.append])
        run_task(task, setup, govern(task, "digest_full", window))
    text = next(entry["message"]["content"] for record in records
                if record.get("event") == "context_compression"
                for entry in record["payload"]["entries"])
    rows = [row if len(row) <= WIDTH else row[:WIDTH] + " ..." for row in text.splitlines()[:ROWS]]
    return "\n".join(["```", *rows, "...", "```", ""])


DIGESTS = {"a digest of milestone 4": ("m4", None), "a digest of milestone 3": ("m3", 6000)}
BLOCKS: dict[str, tuple[str, Callable[[Words], list[list[str]]]]] = {
    "the policies": ("name/from/what it does/breaks laws", policies),
    "the commands": ("command/what it does/example", commands),
    "the make targets": ("target/what it does", targets),
}


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check README.md and its translation."""
    parser = cli.Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only tell")
    options = parser.parse_args(arguments)
    chinese = json.loads((Path(__file__).parent / "readme_zh.json").read_text(encoding="utf-8"))
    stale = []
    for path in sorted(Path(ROOT).glob("README*.md")):
        text = path.read_text(encoding="utf-8")
        new = refreshed(text, chinese if path.name == "README.zh-CN.md" else {})
        if new != text:
            stale.append(path.name)
            if not options.check:
                write_file(path, new)
    print(f"out of date: {', '.join(stale)}" if stale else "up to date")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
