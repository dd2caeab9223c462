"""Milestone 5: Ctrl-C, let through only where something is waited for.

An interrupt may come between any two instructions: behind the write of a record and
before the history has its message, for one. Then trace and history would part. So it
is kept until somebody waits (for a model, a tool, a key), and raised there. Without
this, as in milestone 1, it comes when it comes. What is left out: what an interrupt
ends (`loop.py` a step, the chat the program).
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """`with interrupts:` takes over SIGINT, as the main thread of a program may.

    Inside of `with interrupts.waiting:` one is raised as `KeyboardInterrupt`; inside of
    `with interrupts.held:`, further in, not yet. One that came before is raised at the
    door of the next wait.
    """

    def __init__(self) -> None:
        self.pending = False
        self.waiting, self.held = _Region(self, True), _Region(self, False)
        self._regions: list[bool] = []
        self._raised = False  # and on its way out: another one would cut short what cleans up
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._come)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def enter(self, open_: bool) -> None:
        """A region begins. Raises a `KeyboardInterrupt` that was kept, if it may come here."""
        if open_ and self.pending and not self._raised:
            self.pending = False
            raise KeyboardInterrupt
        self._regions.append(open_)

    def leave(self) -> None:
        """The innermost region ends; what was kept in it is raised if it may come now."""
        was_open = self._regions.pop()
        if not self._regions:
            self._raised = False
        elif not was_open and self._regions[-1] and self.pending and not self._raised:
            self.pending, self._raised = False, True
            raise KeyboardInterrupt

    def _come(self, _: int, frame: FrameType | None) -> None:
        """The handler. In the code of this module nothing is raised, only noted."""
        here = frame is not None and frame.f_code.co_filename == __file__
        if here or self._raised or not self._regions or not self._regions[-1]:
            self.pending = True
            return
        self._raised = True
        raise KeyboardInterrupt


class _Region:
    """A stretch of code in which an interrupt may come, or may not."""

    def __init__(self, interrupts: Interrupts, is_open: bool) -> None:
        self._interrupts, self._is_open = interrupts, is_open

    def __enter__(self) -> None:
        self._interrupts.enter(self._is_open)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._interrupts.leave()
