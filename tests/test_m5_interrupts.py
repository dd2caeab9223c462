"""Milestone 5: Ctrl-C, wherever it falls: trace and history never part."""

from __future__ import annotations

import importlib
import io
import os
import random
import signal
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from mini_agent import interrupts as module
from mini_agent.__main__ import run
from mini_agent.audit import Line, audit
from mini_agent.compression.state import rebuild
from mini_agent.interrupts import Interrupts, leave_terminals
from mini_agent.messages import open_calls, pairing_faults
from mini_agent.models.base import Reply
from mini_agent.trace import Tracer, read_trace
from tests.sessions import Counter, Speaker, counting, started, taken_up
from tests.support import FolderTest, interrupt

PLACES = 150


class Kept(unittest.TestCase):
    """`Interrupts` alone."""

    def test_it_is_kept_until_somebody_waits(self) -> None:
        """Nothing is raised outside of a wait; the next wait begins with it, once."""
        with Interrupts() as interrupts:
            interrupt()
            self.assertTrue(interrupts.pending)
            with self.assertRaises(KeyboardInterrupt):
                with interrupts.waiting:
                    self.fail("the wait has begun")
            with interrupts.waiting:
                pass

    def test_in_a_wait_it_is_raised_at_once(self) -> None:
        """As ever."""
        with Interrupts() as interrupts:
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                interrupt()
                self.fail("it went on")
            self.assertFalse(interrupts.pending)

    def test_what_is_held_inside_of_a_wait_is_finished_first(self) -> None:
        """It is raised where the held part ends."""
        done = []
        with Interrupts() as interrupts:
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                with interrupts.held:
                    interrupt()
                    done.append("held")
                done.append("behind")
        self.assertEqual(["held"], done)

    def test_a_second_one_does_not_cut_short_what_cleans_up(self) -> None:
        """Only when the wait is left may another one come; it is kept until then."""
        with Interrupts() as interrupts:
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                try:
                    interrupt()
                finally:
                    interrupt()
            self.assertTrue(interrupts.pending)

    def test_one_that_comes_behind_what_was_waited_for_is_for_the_next_wait(self) -> None:
        """For the one around it at once: a tool whose question was just answered with yes."""
        def caught(interrupts: Interrupts) -> None:
            with interrupts.waiting:
                try:
                    interrupt()
                except KeyboardInterrupt:
                    interrupts.put_off()

        with Interrupts() as interrupts:
            caught(interrupts)
            self.assertTrue(interrupts.pending)
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                self.fail("the wait has begun")
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                caught(interrupts)
                self.fail("the tool has run")
            with interrupts.waiting:
                self.assertFalse(interrupts.pending)

    def test_a_record_is_written_to_every_sink_or_not_begun(self) -> None:
        """Between the sinks of a tracer nothing is raised."""
        first: list[Any] = []
        second: list[Any] = []
        with Interrupts() as interrupts:
            tracer = Tracer(first.append, lambda record: interrupt(), second.append,
                            held=interrupts.held)
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                tracer.event("resume", step=0)
        self.assertEqual((1, 1, 1), (len(first), len(second), tracer.seq))

    def test_afterwards_the_old_handler_is_back(self) -> None:
        """`with` gives back what it took."""
        before = signal.getsignal(signal.SIGINT)
        with Interrupts():
            self.assertIsNot(before, signal.getsignal(signal.SIGINT))
        self.assertIs(before, signal.getsignal(signal.SIGINT))


    def test_all_that_it_took_is_given_back(self) -> None:
        """Handlers, hook and wakeup descriptor of others, its thread and its pipe; a signal that
        is ignored (`nohup`) is not taken."""
        def state() -> list[Any]:
            numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGURG)
            return [[*map(signal.getsignal, numbers)], sys.unraisablehook, os.listdir("/dev/fd"),
                    threading.active_count()]

        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        os.set_blocking(writing, False)
        ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, ignored)
        self.addCleanup(signal.set_wakeup_fd, signal.set_wakeup_fd(writing))
        before = state()
        with Interrupts():
            taken = state()
            self.assertIs(signal.SIG_IGN, taken[0].pop(2))
            for mine, others in zip((*taken[0], *taken[1:]),
                                    (*before[0][:2], before[0][3], *before[1:])):
                self.assertNotEqual(mine, others)
        self.assertEqual(before, state())
        self.assertEqual(writing, signal.set_wakeup_fd(-1))

    def test_the_end_of_the_program_is_raised_in_every_wait(self) -> None:
        """Of a `kill`, also when Ctrl-C came behind it."""
        with Interrupts() as interrupts:
            interrupt()
            self.assertFalse(interrupts.ended)
            os.kill(os.getpid(), signal.SIGTERM)
            interrupt()
            self.assertTrue(interrupts.ended)
            for _ in range(3):
                with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                    self.fail("the wait has begun")

    def test_what_else_python_drops_is_told_as_ever(self) -> None:
        """By the hook that was there before."""
        class Failing:
            def __del__(self) -> None:
                raise ValueError("in vain")

        dropped: list[Any] = []
        with patch.object(sys, "unraisablehook", lambda what: dropped.append(what.exc_type)), \
                Interrupts() as interrupts, interrupts.waiting:
            Failing()
        self.assertEqual(([ValueError], False), (dropped, interrupts.pending))

    def test_what_is_written_to_a_terminal_that_has_gone_goes_nowhere(self) -> None:
        """Nobody else has its descriptor, and no other one is left open."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        before = os.listdir("/dev/fd")
        leave_terminals([writing])
        self.assertEqual((1, b"", before),
                         (os.write(writing, b"x"), os.read(reading, 1), os.listdir("/dev/fd")))


class InASystemCall(unittest.TestCase):
    """A wait has begun, and the signal was noted by Python, but not by the wait."""

    def setUp(self) -> None:
        self.reading, self.writing = os.pipe()
        self.late = threading.Timer(30, os.write, (self.writing, b"lost"))
        self.late.start()
        self.addCleanup(self.close)

    def close(self) -> None:
        self.late.cancel()
        self.late.join()
        os.close(self.reading)
        os.close(self.writing)

    def test_one_that_another_thread_was_given_ends_the_wait(self) -> None:
        """The system call of the main thread sleeps on by itself."""
        waits = threading.Lock()
        waits.acquire()

        def takes() -> None:
            with waits:
                signal.raise_signal(signal.SIGINT)

        other = threading.Thread(target=takes)
        before, _ = sys.getswitchinterval(), sys.setswitchinterval(9)  # only who waits gives way
        self.addCleanup(sys.setswitchinterval, before)
        with Interrupts() as interrupts:
            other.start()
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                waits.release()
                self.fail(os.read(self.reading, 9))
            self.assertTrue(self.late.is_alive(), "it came with what was read at last")
            other.join()

    def test_one_that_comes_while_the_wait_is_entered_ends_it(self) -> None:
        """Behind the look at what was kept, and before the first line of the wait."""
        interrupts = Interrupts()
        made: dict[str, Any] = {"regions": interrupts._regions, "signal": signal}
        exec(compile("def append(open_):\n regions.append(open_)\n"  # as if it stood there
                     " signal.raise_signal(signal.SIGINT)\n", module.__file__, "exec"), made)
        late = type("Late", (list,), {"append": lambda self, open_: made["append"](open_),
                                      "__getitem__": lambda self, at: made["regions"][at],
                                      "__len__": lambda self: len(made["regions"]),
                                      "pop": lambda self: made["regions"].pop()})
        interrupts._regions = late()
        with interrupts:
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                self.fail(os.read(self.reading, 9))
            with interrupts.held:
                self.assertFalse(interrupts._unwinding)

    def test_one_that_comes_while_a_module_is_loaded_waits_for_its_end(self) -> None:
        """An import cut short leaves half a module, and every later request fails."""
        with tempfile.TemporaryDirectory() as folder, patch.object(sys, "path", [folder]):
            Path(folder, "halved").mkdir()
            Path(folder, "halved", "part.py").write_text(
                "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhole = True\n", "utf-8")
            with Interrupts() as interrupts:
                with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                    importlib.import_module("halved.part")
                    self.fail(os.read(self.reading, 9))
                self.assertTrue(self.late.is_alive())
        self.assertTrue(sys.modules.pop("halved").part.whole)
        del sys.modules["halved.part"]

    def test_one_that_python_drops_comes_again(self) -> None:
        """What is raised while an object is taken away reaches nobody."""
        class Going:
            def __del__(self) -> None:
                interrupt()

        with Interrupts() as interrupts:
            with self.assertRaises(KeyboardInterrupt), interrupts.waiting:
                Going()
                self.fail(os.read(self.reading, 9))

    def test_while_the_program_is_being_loaded_it_is_one_line(self) -> None:
        """Status 130 there, too."""
        class Loading(ModuleType):
            def __getattr__(self, name: str) -> Any:
                raise KeyboardInterrupt

        told = io.StringIO()
        with patch.dict(sys.modules, {"mini_agent.cli": Loading("mini_agent.cli")}), \
                redirect_stderr(told), self.assertRaises(SystemExit) as ended:
            run()
        self.assertEqual((130, "mini-agent: interrupted\n"), (ended.exception.code,
                                                              told.getvalue()))


class InASession(FolderTest):
    """A session that is interrupted, and what is left of it."""

    def interrupted(self, *replies: Any, **options: Any) -> Any:
        """(outcome, session) of a turn in which somebody presses Ctrl-C."""
        interrupts = Interrupts()
        model = Speaker(list(replies))
        session, file = started(self.folder, model, "go", interrupts=interrupts,
                                extra=options.pop("extra", (Counter(),)), **options)
        with file, interrupts:
            outcome = session.turn("go")
        self.told_alike(session)
        return outcome, session

    def told_alike(self, session: Any) -> None:
        """Trace and history have the same messages, and the records are true."""
        trace = read_trace(session.path)
        self.assertEqual(trace.messages(), session.agent.history)
        session.window.take_in(session.agent.history)
        *_, (_, view) = rebuild(trace.records, session.window.state.estimate)
        self.assertEqual(view.entries, session.window.view.entries)
        self.assertEqual([], list(pairing_faults(session.agent.history)))
        self.assertEqual([], [finding for finding in audit(
            [Line(*pair) for pair in enumerate(trace.records, 1)], goes_on=True)
            if finding.kind != "transcript"])

    def test_in_a_model_call_nothing_of_the_answer_is_kept(self) -> None:
        """The history ends with what was asked."""
        outcome, session = self.interrupted(interrupt)
        self.assertEqual("interrupted", outcome.reason)
        self.assertEqual("user", session.agent.history[-1]["role"])

    def test_in_a_tool_the_call_and_all_behind_it_get_a_result(self) -> None:
        """One that was done keeps its own."""
        class Breaking(Counter):
            def __call__(self, n: int = 0) -> str:
                if n == 2:
                    interrupt()
                return super().__call__(n)

        tool = Breaking(lines=1)
        outcome, session = self.interrupted(counting(1, 2, 3), extra=(tool,))
        self.assertEqual(("interrupted", [1]), (outcome.reason, tool.runs))
        codes = [message.get("error", {}).get("code") for message in session.agent.history[-3:]]
        self.assertEqual([None, "INTERRUPTED", "INTERRUPTED"], codes)

    def test_the_next_turn_is_a_new_step_and_legal(self) -> None:
        """What the user says next goes to the model with the results."""
        _, session = self.interrupted(counting(1), interrupt)
        model = Speaker([Reply("well")])
        session, file = taken_up(session.path, model)
        with file:
            self.assertEqual(1, session.step)
            self.assertTrue(session.turn("go on then").done)
        self.assertEqual(["tool", "user"], [message["role"] for message in model.asked[0][-2:]])

    def test_at_any_line_of_the_program_trace_and_history_stay_one(self) -> None:
        """A session is interrupted at so many random lines of the program's own code, and at
        the last. Where it can go on it goes on, and resumed it comes to the same history."""
        lines = self.run_with(None)
        draw = random.Random(7)
        seen = set()
        for place in sorted((*(draw.randrange(lines) for _ in range(PLACES)), lines - 1)):
            with self.subTest(line=place):
                seen.add(self.run_with(place))
        self.assertEqual({"interrupted", "final_answer"}, seen)

    def run_with(self, place: int | None) -> Any:
        """Run a session with an interrupt at the line number `place` that is executed: how
        it ended. None: without one, how many lines there were."""
        interrupts = Interrupts()
        model = Speaker([counting(1, 2), counting(3), counting(4, 5), counting(6), Reply("done")])
        session, file = started(self.folder, model, "go", interrupts=interrupts,
                                window=3_400, extra=(Counter(),))
        count = 0

        def step(frame: Any, event: str, argument: Any) -> Any:
            nonlocal count
            if event == "line":
                if count == place:
                    interrupt()
                count += 1
            return step if "mini_agent" in frame.f_code.co_filename else None

        with file, interrupts:
            before, _ = sys.gettrace(), sys.settrace(step)
            try:
                outcome = session.turn("go")
            finally:
                sys.settrace(before)
            self.told_alike(session)
            if place is None:
                return count
            if interrupts.pending:  # it came behind the last wait
                interrupts.pending = False
            if outcome.reason == "interrupted":
                model.replies = [Reply("went on")]
                self.assertTrue(session.turn().done)
            self.assertEqual([], open_calls(session.agent.history))
            self.told_alike(session)
        resumed, file = taken_up(session.path, Speaker(), extra=(Counter(),))
        file.close()
        self.assertEqual(session.agent.history, resumed.agent.history)
        return outcome.reason


if __name__ == "__main__":
    unittest.main()
