"""Milestone 4: the child's side of the pipe, the command `mini-agent child`.

It reads one JSON request on standard input, does an ordinary run (`runner.py`) with a history,
a window and a trace of its own, and writes one JSON result on standard output. Anything else
that is printed goes to standard error. What is left out: how a parent runs it
(`processes.py`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..assembly import Grant, Setup
from ..compression.pins import KINDS, marked_or_bare
from ..errors import UsageError
from ..governance import govern, governance_fields, recorded_governance
from ..models.base import ParentModel
from ..models.scripted import ScriptedModel
from ..runner import run_task
from ..tasks import Task
from ..texts import LANGUAGES, Texts
from ..tools.base import FunctionTool
from ..tools.schema import COUNT, OBJECT, TEXT, array_of, first_fault, object_of, one_of
from ..trace import Record, TraceFile, trace_folder
from .endings import Ending, ending_line, ending_of, numbers_of
from .orders import NAME, ChildLimits
from .processes import leave_with_parent

_PIN = {"text": TEXT, "kind": one_of(KINDS), "protect": TEXT}
_FIELDS = {
    "name": TEXT, "language": one_of(LANGUAGES), "system": TEXT, "task": TEXT,
    "pins": array_of(object_of(_PIN, tuple(_PIN))), "workspace": TEXT, "trace": TEXT,
    "tools": array_of(TEXT), "writes": array_of(TEXT), "steps": COUNT, "tokens": COUNT,
    "depth": COUNT, "start": OBJECT, "model": OBJECT}
SCHEMA = object_of(_FIELDS, tuple(_FIELDS))


def give_up_tool(texts: Texts, reasons: list[str]) -> FunctionTool:
    """`give_up(reason)`, by which the model says that the task cannot be done, and why."""
    def give_up(reason: str) -> str:
        reasons.append(reason)
        return texts("give_up_noted")

    return FunctionTool("give_up", texts("tool_give_up"), object_of({
        "reason": {**TEXT, "description": texts("arg_give_up")}}, ("reason",)), give_up)


def main(attached: bool) -> int:
    """Read the request, run it, write how it ended. `attached`: end when the parent ends."""
    line = sys.stdin.buffer.readline()
    answer = os.dup(1)
    os.dup2(2, 1)  # what is printed during the run goes to standard error
    if attached:
        leave_with_parent(0)
    ending = _run_request(_read_request(line))
    with open(answer, "wb") as stream:
        stream.write(ending_line(ending))
    return 0


def _read_request(line: bytes) -> dict[str, Any]:
    """The request in a line. `UsageError` where the line is not one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError("the request is not JSON", place="standard input", value=len(line),
                         remedy="this command is for mini-agent itself") from error
    if wrong := first_fault(SCHEMA, value, Texts()):
        raise UsageError(wrong, place="standard input",
                         remedy="this command is for mini-agent itself")
    request: dict[str, Any] = value
    return request


def _run_request(request: Mapping[str, Any]) -> Ending:
    """Run one child to its end. Raises `UsageError` for a setting that is wrong."""
    texts = Texts(request["language"])
    script = request["model"].get("script", {})
    own = governance_fields(script)
    # Pins become marks in the task, so that one too large for this window is still told.
    brief = "\n".join([request["task"], *(marked_or_bare(**pin) for pin in request["pins"])])
    task = Task(name=request["name"], system=request["system"], task=brief, replies=[],
                language=request["language"], place=request["name"], **own)
    governance = govern(task) if own else recorded_governance(request["start"], request["name"])
    trace = Path(request["trace"])
    records, reasons = list[Record](), list[str]()
    grant = Grant(
        request["tools"], writes=request["writes"],
        protect=[pin["protect"] for pin in request["pins"] if pin["protect"]],
        steps=request["steps"], tokens=request["tokens"], is_child=True,
        children=ChildLimits(depth=request["depth"]).within(request["steps"], request["tokens"])
        if NAME in request["tools"] else None)
    with TraceFile(trace) as file:
        setup = Setup(Path(request["workspace"]), model_of(request["model"], texts), grant,
                      sinks=[file, records.append], extra=[give_up_tool(texts, reasons)])
        outcome = run_task(task, setup, governance, trace_folder(trace))
    return ending_of(outcome, numbers_of(records), "; ".join(reasons))


def model_of(asked: Mapping[str, Any], texts: Texts) -> ParentModel:
    """The model of a child: a script, or an endpoint with what the environment says."""
    if "live" not in asked:
        script = asked.get("script", {})
        return ScriptedModel(script.get("replies", []), script.get("summaries", []), texts)
    from ..models.connect import Options, connect

    return connect(Options(**asked["live"]), os.environ, texts=texts)
