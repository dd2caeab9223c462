"""Milestone 5: Ctrl-C, let through only where something is waited for.

An interrupt may come between any two instructions: after the write of a record and
before the history has its message, for example. Then trace and history would part. So it
is kept until somebody waits (for a model, a tool, a key), and raised there. Without
this, as in milestone 1, it comes when it comes. A terminal that is closed, or a `kill`,
is an interrupt that comes again in every wait, so that commands end with the program.
What is left out: what an interrupt ends (`loop.py` a step, the chat the program).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any

NUDGE: Any = getattr(signal, "SIGURG", None)  # ignored by who does not know it; None on Windows
HANG_UP = getattr(signal, "SIGHUP", None)
ENDING = (signal.SIGTERM, HANG_UP)
IMPORTING = "<frozen importlib._bootstrap>"
MOMENT = 0.02  # seconds until a nudge, and until it is repeated if it was in vain


class Interrupts:
    """`with interrupts:` takes over SIGINT, as the main thread of a program may.

    Inside `with interrupts.waiting:` an interrupt is raised as `KeyboardInterrupt`; inside a
    `with interrupts.held:` within that, not before it ends. One that came outside is raised
    where the next wait begins. `ended`: the program was told to end.
    """

    def __init__(self) -> None:
        self.pending = self.ended = False
        self.waiting, self.held = _Region(self, is_open=True), _Region(self, is_open=False)
        self._regions: list[bool] = []  # of each nested region: whether it is open to interrupts
        self._unwinding = False  # one was raised: another would cut short what cleans up
        self._late = False       # the one that was caught is meant for the next wait
        self._handlers: dict[int, Any] = {}  # those that ours have replaced
        self._hook = sys.unraisablehook
        self._terminals: list[int] = []
        self._nudger: _Nudger | None = None

    def __enter__(self) -> Interrupts:
        self._handlers = {number: signal.signal(number, self._on_signal)
                          for number in _signals()}
        self._hook, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        self._terminals = [descriptor for descriptor in range(3) if os.isatty(descriptor)]
        self._nudger = _Nudger(self._raise_if_due) if NUDGE is not None else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._nudger is not None:
            self._nudger.stop()
        sys.unraisablehook = self._hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def enter(self, is_open: bool) -> None:
        """A region begins. Raises a `KeyboardInterrupt` that was kept, if it may come here."""
        if is_open and (self.pending or self.ended) and not self._unwinding:
            self.pending = False
            raise KeyboardInterrupt
        self._regions.append(is_open)

    def leave(self) -> None:
        """The innermost region ends; what was kept in it is raised if it may come now."""
        self._regions.pop()
        if self._late:
            self.pending, self._unwinding, self._late = True, False, False
        if not self._regions:
            self._unwinding = False
        elif self._is_due():
            self.pending, self._unwinding = False, True
            raise KeyboardInterrupt

    def put_off(self) -> None:
        """Keep the interrupt that was caught for the next wait: it came too late for this one."""
        self._late = True

    def _is_due(self) -> bool:
        """Whether an interrupt is pending that may be raised in the innermost region."""
        innermost_is_open = bool(self._regions) and self._regions[-1]
        return self.pending and not self._unwinding and innermost_is_open

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler: an interrupt is noted, and raised if it may come now."""
        self.ended = self.ended or number != signal.SIGINT
        self.pending = True
        if number == HANG_UP:
            leave_terminals(self._terminals)
        self._raise_if_due(frame)

    def _raise_if_due(self, frame: FrameType | None) -> bool:
        """Raise a pending interrupt if it may come now; False if this has to be tried again.

        In the code of this module nothing is raised: a region would be left half entered.
        Nor in an import: half of a module would stay in its place for good.
        """
        if _is_here(frame) or _imports(frame):
            return not self.pending
        if self._is_due():
            self.pending, self._unwinding = False, True
            if self._nudger is not None:
                self._nudger.rest()
            raise KeyboardInterrupt
        return True

    def _on_unraisable(self, what: Any) -> None:
        """Python drops what is raised while an object is deleted; an interrupt is sent again."""
        if not issubclass(what.exc_type, KeyboardInterrupt):
            self._hook(what)
            return
        self._unwinding = False
        signal.raise_signal(signal.SIGINT)


class _Nudger:
    """Ends a wait that was just beginning when the signal came.

    Python notes a signal and calls its handler before the next instruction. One that
    comes after the last instruction and before the system call that waits, or to another
    thread, is noted, and the main thread sleeps on. So a thread hears of each signal (by
    `set_wakeup_fd`) and, a moment later, sends the main one another, which ends its system
    call, until `settle` says that all is done. The Go runtime uses the same signal for that.
    """

    def __init__(self, settle: Callable[[FrameType | None], bool]) -> None:
        self._settle, self._settled = settle, True
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._handler = signal.signal(NUDGE, self._on_nudge)  # of others, as the next one
        self._descriptor = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and restore the handlers that were there before."""
        signal.set_wakeup_fd(self._descriptor)
        os.close(self._writing)
        self._thread.join()
        os.close(self._reading)
        signal.signal(NUDGE, self._handler)

    def rest(self) -> None:
        """Call the handler that is due now, since none may be called while an exception is
        raised."""
        self._settled = True
        signal.raise_signal(NUDGE)

    def _on_nudge(self, _: int, frame: FrameType | None) -> None:
        """In the main thread, where by now the handlers of earlier signals were called."""
        self._settled = True  # also where the next line raises
        self._settled = self._settle(frame)

    def _watch(self) -> None:
        main: Any = threading.main_thread().ident
        while numbers := os.read(self._reading, 64):
            self._settled = set(numbers) == {NUDGE}
            while not self._settled:
                select.select([], [], [], MOMENT)
                if not self._settled:
                    signal.pthread_kill(main, NUDGE)


class _Region:
    """A stretch of code in which an interrupt may come, or may not."""

    def __init__(self, interrupts: Interrupts, is_open: bool) -> None:
        self._interrupts, self._is_open = interrupts, is_open

    def __enter__(self) -> None:
        self._interrupts.enter(self._is_open)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._interrupts.leave()


def _is_here(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename == __file__


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being loaded."""
    while frame is not None and frame.f_code.co_filename != IMPORTING:
        frame = frame.f_back
    return frame is not None


def _signals() -> Iterator[int]:
    """The signals that are taken over; one that is ignored (`nohup`) stays so."""
    yield signal.SIGINT
    yield from (number for number in ENDING
                if number is not None and signal.getsignal(number) is signal.SIG_DFL)


def leave_terminals(terminals: Iterable[int]) -> None:
    """Redirect these descriptors to nowhere, since their terminal has gone."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in terminals:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
