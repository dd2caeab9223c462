"""Milestone 5: the trace is the session."""

from __future__ import annotations

import json
import random
import unittest
from pathlib import Path
from typing import Any

from mini_agent.audit import Line, audit
from mini_agent.errors import TraceError, UsageError
from mini_agent.messages import Message, pairing_faults
from mini_agent.models.base import Reply
from mini_agent.session import Session
from mini_agent.trace import Record, TraceFile, parse_record, read_trace
from tests.sessions import Counter, Speaker, counting, started, taken_up
from tests.support import FolderTest

CUTS = 200


def long_session(folder: Path) -> tuple[bytes, list[tuple[int, list[Message]]]]:
    """(the trace of a session of 31 steps, (records before it, request) of each model call).

    It has batches, several turns, a pin, a stage, a compression by hand and an undo.
    """
    numbers = iter(range(1_000))
    model = Speaker()
    asked: list[tuple[int, list[Message]]] = []
    session, file = started(folder, model, "Count <pin>up to a hundred</pin>.",
                            extra=(Counter(),))

    def turn(said: str, *sizes: int) -> None:
        model.replies = [counting(*(next(numbers) for _ in range(size))) for size in sizes]
        model.replies.append(Reply(f"done: {said}"))
        outcome = session.turn(said)
        assert outcome.done, outcome

    with file:
        complete = model.complete

        def noted(messages: Any, tools: Any) -> Reply:
            asked.append((session.meter.records - 1, list(messages)))
            return complete(messages, tools)

        model.complete = noted  # type: ignore[method-assign]
        turn("Count <pin>up to a hundred</pin>.", *[1, 2, 1, 1, 3, 1, 1, 2])
        turn("Go on.", *[1] * 6)
        session.window.take_in(session.agent.history)
        session.window.compact(session.step, "numbers")
        session.window.undo(session.step)
        turn("And now faster.", *[2, 2, 2, 1])
        session.window.stage_done(session.agent.history, "fast", session.step)
        session.use(session.window.policy, 3_500)
        turn("The last ones.", *[1] * 8)
        session.finish(session.turn())
    return (folder / "s.jsonl").read_bytes(), asked


class KilledAnywhere(FolderTest):
    """A session is cut off at any byte, and taken up from what is left."""

    @classmethod
    def setUpClass(cls) -> None:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            cls.whole, cls.asked = long_session(Path(folder))
        cls.ends = [at + 1 for at, byte in enumerate(cls.whole) if byte == 0x0a]

    def cut(self, size: int) -> tuple[Session, Speaker, Counter, TraceFile, list[Record]]:
        path = self.folder / "cut.jsonl"
        path.write_bytes(self.whole[:size])
        records = read_trace(path).records
        model, counter = Speaker(), Counter()
        session, file = taken_up(path, model, extra=(counter,))
        return session, model, counter, file, records

    def check(self, size: int) -> None:
        """What holds wherever it is cut."""
        session, model, counter, file, records = self.cut(size)
        before = [record["message"] for record in records if record["type"] == "message"]
        with file:
            due = session.due
            outcome = session.turn() if due else None
        path = self.folder / "cut.jsonl"
        self.assertTrue(path.read_bytes().startswith(self.whole[:size].rpartition(b"\n")[0]))
        history = session.agent.history
        self.assertEqual(before, history[:len(before)])
        self.assertEqual([], counter.runs)
        self.assertEqual([], list(pairing_faults(history)))
        for added in history[len(before):]:
            self.assertEqual("INTERRUPTED", added["error"]["code"])
        if due:
            self.assertEqual("model_error", outcome.reason)
            self.assertEqual([], list(pairing_faults(model.asked[0])))
        if len(history) == len(before) and due and (sent := self.sent_next(len(records))):
            self.assertEqual(sent, model.asked[0])
            self.compared += 1
        found = [finding for finding in audit([Line(*pair) for pair in enumerate(
            map(parse_record, path.read_bytes().splitlines()), 1)], goes_on=True)
            if finding.kind != "transcript"]
        self.assertEqual([], found)

    def sent_next(self, count: int) -> list[Message] | None:
        """The request behind the first `count` records, None where a person acts before it."""
        at, request = next((at, request) for at, request in self.asked if at >= count - 1)
        between = [parse_record(line) for line in self.whole.splitlines()[count:at]]
        by_hand = [record for record in between if record["type"] == "message"
                   or record["event"] in ("undo", "settings", "stage", "pin")
                   or record["payload"].get("trigger") == "manual"]
        return None if by_hand else request

    def test_at_every_record_and_at_random_bytes_the_request_is_what_the_records_determine(
            self) -> None:
        """Whatever is confirmed is there; no call runs again; where no call was open the
        request is the one that the session itself sent next."""
        draw = random.Random(5)
        places = [*self.ends[3:], *(draw.randrange(self.ends[2], len(self.whole))
                                    for _ in range(CUTS))]
        self.assertGreater(len(places), CUTS + 100)
        self.compared = 0
        for size in places:
            with self.subTest(size=size):
                self.check(size)
        self.assertGreater(self.compared, CUTS // 2)

    def test_killed_again_while_resuming_it_comes_to_the_same_request(self) -> None:
        """The records of a resume are records like others."""
        for size in self.ends[12::17]:
            session, model, _, file, records = self.cut(size)
            with file:
                if not session.due:
                    continue
                session.turn()
            resumed = (self.folder / "cut.jsonl").read_bytes()
            lines = resumed.splitlines(keepends=True)
            for count in range(len(records), len(lines) + 1):
                (self.folder / "cut.jsonl").write_bytes(b"".join(lines[:count]))
                again = Speaker()
                second, file = taken_up(self.folder / "cut.jsonl", again, extra=(Counter(),))
                with file, self.subTest(size=size, count=count):
                    second.turn()
                    self.assertEqual(model.asked[0], again.asked[0])


if __name__ == "__main__":
    unittest.main()
