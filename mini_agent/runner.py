"""Milestone 1: from a task file to a finished run.

A task says what the system and the user say, and what the model replies; the agent that
it is said to is put together in `assembly.py`. The command line and the drivers in
`scripts/` differ only in what they hand in and what they print.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .assembly import AgentBuilder, Setup
from .compression.pinning import too_large
from .compression.pins import Pin, Pins, marked
from .errors import UsageError
from .governance import Governance
from .loop import Outcome
from .tasks import Task, located_in
from .texts import Texts, language_of
from .tokens import estimator
from .trace import FORMAT, Tracer


def run_task(task: Task, setup: Setup, governance: Governance | None = None,
             folder: Path | None = None) -> Outcome:
    """Run a task from `run_start` to `run_end`, under a window if something governs it.

    `folder` is the run's own, for what leaves the window; without one it is kept in
    memory. Raises `UsageError` where the workspace is not a folder.
    """
    tracer = Tracer(*setup.sinks, held=setup.interrupts.held)
    agent = AgentBuilder(setup, Texts(task.language), tracer, task.name, history=[],
                         folder=folder).agent(governance)
    start: dict[str, Any] = {"format": FORMAT, "task": task.name}
    if governance is not None:
        start |= governance.as_recorded()
    with located_in(task):
        said = "\n".join([task.task, *_marks(task, governance)])
    if language_of(said) != task.language:  # else whoever reads the trace knows it
        start["language"] = task.language
    return agent.run(task.system, said, start)


def _marks(task: Task, governance: Governance | None) -> Iterator[str]:
    """The pins of a task file as marks, which stand under the task. `UsageError` for too many."""
    pins = Pins((), Texts(task.language))
    for number, fields in enumerate(task.pins):
        place = f"{task.place}: pins[{number}]"
        mark, pin = marked(**fields, place=place), Pin(1, **fields)
        problem = "" if governance is None else too_large(
            pin, pins, estimator(governance.estimator), governance.budget.window)
        if problem:
            raise UsageError(f"there is no room for this pin: {problem}", value=pin.text,
                             place=place, remedy="pin less, or give a larger window")
        pins = replace(pins, pins=(*pins.pins, pin))
        yield mark
