"""What the drivers share: the package on the path, fresh workspaces, `traces/`, a run.

Each run works on a copy of its workspace that is deleted afterwards, so that no run sees what
another one wrote, and the checkout stays clean.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from mini_agent.governance import Governance
    from mini_agent.loop import Outcome
    from mini_agent.tasks import Task
    from mini_agent.trace import Sink

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT / "traces"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@contextlib.contextmanager
def fresh_copy(milestone: str) -> Iterator[Path]:
    """A throw-away copy of `workspace/MILESTONE`."""
    from mini_agent.errors import UsageError

    with tempfile.TemporaryDirectory(prefix=f"mini-agent-{milestone}-") as folder:
        try:
            copy = shutil.copytree(ROOT / "workspace" / milestone, Path(folder) / "workspace")
        except shutil.Error as error:
            (_, place, why), *_ = error.args[0]
            raise UsageError(f"the workspace cannot be copied ({why.partition(': ')[0]})",
                             place=place,
                             remedy="free some space, or set TMPDIR to where there is some"
                             ) from error
        yield Path(copy)


@contextlib.contextmanager
def demo(milestone: str) -> Iterator[tuple[Path, Callable[..., Outcome]]]:
    """A fresh copy, and `play(task, sinks, governance, folder)`, which calls `run_task` in it;
    other arguments are fields of its `Setup`.

    Ctrl-C ends the run as it ends `mini-agent run`, with a last record in the trace, and is
    raised again after everything was cleaned up. A trace that could not be written is raised as
    `TraceError`, since a demo shows what its trace holds.
    """
    from mini_agent.assembly import Setup
    from mini_agent.errors import TraceError
    from mini_agent.interrupts import Interrupts
    from mini_agent.runner import run_task

    with Interrupts() as interrupts:
        with fresh_copy(milestone) as workspace:
            def play(task: Task, sinks: Sequence[Sink], governance: Governance | None = None,
                     folder: Path | None = None, **more: Any) -> Outcome:
                setup = Setup(workspace, task.model(), sinks=sinks, interrupts=interrupts, **more)
                outcome = run_task(task, setup, governance, folder)
                if outcome.reason == "interrupted":
                    raise KeyboardInterrupt
                if outcome.reason == TraceError.reason:
                    raise TraceError(outcome.detail)
                return outcome

            yield workspace, play
    if interrupts.pending:
        raise KeyboardInterrupt


def wants_color(stream: TextIO) -> bool:
    """Colour only for a terminal, and never with NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
