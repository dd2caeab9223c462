"""All milestones: Ctrl-C at each point of a run, and tools that never end by themselves."""

from __future__ import annotations

import random
import sys
import unittest
from typing import Any

from mini_agent.assembly import Setup
from mini_agent.audit import Line, audit
from mini_agent.governance import govern
from mini_agent.interrupts import Interrupts
from mini_agent.messages import Message, pairing_faults
from mini_agent.models.base import Reply
from mini_agent.runner import run_task
from mini_agent.tasks import load_task
from mini_agent.trace import Record, TraceFile, read_trace
from tests.sessions import Counter, Speaker, counting, started, taken_up
from tests.support import FolderTest, begun, gone, interrupt
from tests.test_m2_tools import ToolCase



class Nth:
    """Presses Ctrl-C at the n-th time that it is passed."""

    def __init__(self, at: int | None) -> None:
        self.at, self.passed = at, 0

    def __call__(self, *_: Any) -> None:
        self.passed += 1
        if self.passed - 1 == self.at:
            interrupt()


class EachPointTest(FolderTest):
    """A run of a task file, which compresses and summarises, with its trace in a file."""

    PLACES = 60

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "a.txt").write_text("a line of this text\n" * 40, encoding="utf-8")
        calls = [{"name": "read_file", "arguments": {"path": name}} for name in ("a.txt", "gone")]
        self.task = load_task(self.write_task(threshold=700, replies=[
            *({"content": f"step {number}", "tool_calls": calls} for number in range(5)),
            {"content": "done"}]))

    def run_with(self, press: Nth, where: str) -> tuple[Any, list[Record]]:
        """The outcome of a run in which `press` is passed at each call of `where`."""
        model = self.task.model()
        path = self.folder / "t.jsonl"
        if where in ("complete", "summarize"):
            before = getattr(model, where)
            setattr(model, where, lambda *given: (press(), before(*given))[1])
        with TraceFile(path) as file, Interrupts() as interrupts:
            sinks = {"sink before": [press, file], "sink behind": [file, press]}.get(where, [file])
            setup = Setup(self.folder, model, sinks=sinks, interrupts=interrupts)
            outcome = run_task(self.task, setup, govern(self.task))
        return outcome, read_trace(path).records

    def true(self, records: list[Record]) -> None:
        """No record is doubled, lost or false, and each call has its result."""
        self.assertEqual([], list(audit([Line(*pair) for pair in enumerate(records, 1)],
                                        goes_on=False)))
        self.assertEqual([], list(pairing_faults(
            [record["message"] for record in records if record["type"] == "message"])))

    def test_at_every_call_of_model_summary_and_sink(self) -> None:
        """For all n: the records are true, the end is told, and it can be gone on with."""
        for where in ("complete", "summarize", "sink before", "sink behind"):
            count = Nth(None)
            self.assertTrue(self.run_with(count, where)[0].done)
            self.assertGreater(count.passed, 0, where)
            for at in range(count.passed):
                with self.subTest(where, at=at):
                    outcome, records = self.run_with(Nth(at), where)
                    self.true(records)
                    self.assertEqual(outcome.reason, records[-1]["payload"]["reason"])
                    self.assertIn(outcome.reason, ("interrupted", "final_answer"))
                    self.goes_on(outcome.reason)

    def goes_on(self, reason: str) -> None:
        """The session of its trace is taken up and says one thing more."""
        session, file = taken_up(self.folder / "t.jsonl", Speaker([Reply("went on")]))
        with file:
            self.assertTrue(session.turn("go on").done, reason)

    def test_at_any_line_of_the_program(self) -> None:
        """At so many random lines of a run's own code: true records, and an ending."""
        lines = self.lines(None)
        draw, seen = random.Random(5), set()
        for place in sorted(draw.randrange(lines) for _ in range(self.PLACES)):
            with self.subTest(line=place):
                seen.add(self.lines(place))
        self.assertLessEqual({"interrupted"}, seen)

    def lines(self, place: int | None) -> Any:
        """Run with an interrupt at the line number `place` that is executed: its ending."""
        press, before = Nth(place), sys.gettrace()

        def step(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                press()
            return step if "mini_agent" in frame.f_code.co_filename else None

        path = self.folder / "t.jsonl"
        with TraceFile(path) as file, Interrupts() as interrupts:
            sys.settrace(step)
            try:
                setup = Setup(self.folder, self.task.model(), sinks=[file], interrupts=interrupts)
                outcome = run_task(self.task, setup, govern(self.task))
            finally:
                sys.settrace(before)
        self.true(read_trace(path).records)
        return press.passed if place is None else outcome.reason


class ManyCallsTest(FolderTest):
    """One reply asks for a thousand calls."""

    def test_a_thousand_calls_go_through_a_window(self) -> None:
        """Each has its result, in its order; they move as one group, and the next request fits."""
        model = Speaker([counting(*range(1_000)), Reply("done")])
        counter = Counter(lines=1)
        session, file = started(self.folder, model, "go", window=400_000, extra=(counter,))
        with file:
            self.assertTrue(session.turn("go").done)
        self.assertEqual([*range(1_000)], counter.runs)
        self.assertEqual([], list(pairing_faults(model.asked[1])))
        self.assertEqual(1_000, sum(message["role"] == "tool" for message in model.asked[1]))
        again, file = taken_up(self.folder / "s.jsonl", Speaker(), extra=(Counter(),))
        file.close()
        self.assertEqual(session.agent.history, again.agent.history)

    def test_an_interrupt_in_the_midst_answers_all_that_are_open(self) -> None:
        """Five hundred were done; five hundred get a result that says so."""
        class Breaking(Counter):
            def __call__(self, n: int = 0) -> str:
                if n == 500:
                    interrupt()
                return super().__call__(n)

        interrupts = Interrupts()
        session, file = started(self.folder, Speaker([counting(*range(1_000))]), "go",
                                window=400_000, extra=(Breaking(lines=1),), interrupts=interrupts)
        with file, interrupts:
            self.assertEqual("interrupted", session.turn("go").reason)
        results: list[Message] = [message for message in session.agent.history
                                  if message["role"] == "tool"]
        self.assertEqual(1_000, len(results))
        self.assertEqual(500, sum("error" in message for message in results))


class EndlessTest(ToolCase):
    """Programs that never end by themselves: the limit ends them, and nothing is left."""

    def ended(self, program: str, seen: str = "") -> str:
        """What a program gave that ran into its limit, once it had come so far: to `seen` in
        what it gave, or to its note of processes."""
        self.put("p.py", program)
        pids = self.root / "pids"
        return begun(lambda limit: self.fails("COMMAND_TIMEOUT", "run_command",
                                              command="python3 p.py", timeout=limit),
                     lambda said: seen in said if seen else pids.exists() and pids.read_bytes())

    def left(self) -> list[str]:
        """The numbers of processes that the program has noted and that are still there."""
        noted = (self.root / "pids").read_text(encoding="utf-8").split()
        self.assertTrue(noted)
        return [pid for pid in noted if not gone(int(pid))]

    def test_one_that_writes_for_ever(self) -> None:
        """Its head and tail are kept, and the memory of neither is without bound."""
        said = self.ended("while True: print('y' * 1000, flush=True)", "characters left out")
        self.assertIn("characters left out", said)
        self.assertLess(len(said), 51_000)

    def test_one_that_forks_for_ever(self) -> None:
        """As fast as it can; each child of it holds the pipe and would live on."""
        self.ended("import os, time\nfile = open('pids', 'a')\nfor _ in range(60):\n"
                   "    if not (pid := os.fork()): time.sleep(60); os._exit(0)\n"
                   "    print(pid, file=file, flush=True)\nwhile True: time.sleep(1)")
        self.assertEqual([], self.left())

    def test_one_that_ignores_every_signal_and_closes_its_output(self) -> None:
        """Silence is not an end: it is killed."""
        self.ended("import os, signal, time\nopen('pids', 'w').write(str(os.getpid()))\n"
                   "for number in (1, 2, 3, 13, 15): signal.signal(number, signal.SIG_IGN)\n"
                   "os.close(1); os.close(2)\nwhile True: time.sleep(1)")
        self.assertEqual([], self.left())

    def test_one_that_waits_for_an_answer(self) -> None:
        """There is nobody to answer: its input has ended."""
        self.put("p.py", "print(repr(input('Sure? ')))")
        said = self.fails("COMMAND_FAILED", "run_command", command="python3 p.py", timeout=20)
        self.assertIn("EOFError", said)


if __name__ == "__main__":
    unittest.main()
