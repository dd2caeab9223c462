"""All milestones: clocks that stand still, jump by years, or run backwards."""

from __future__ import annotations

import io
import random
import re
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

from mini_agent.chat.narrator import Narrator
from mini_agent.chat.screen import Screen, Style
from mini_agent.lab.progress import ProgressLine
from mini_agent.live import commands
from mini_agent.models.base import Reply
from mini_agent.models.http import RequestLimits
from tests.fake_server import plain
from tests.sessions import Counter, Speaker, counting, started, taken_up
from tests.support import FolderTest
from tests.talks import Terminal
from tests.test_m5_http import HI, RATE_LIMIT, Case

YEAR = 365.25 * 86_400


def jumping(seed: int) -> Callable[[], float]:
    """A clock that goes on a little, back a little, or by years either way."""
    draw, now = random.Random(seed), [1_000.0]

    def clock() -> float:
        now[0] += draw.choice((0, .001, 1, 700, -1, -700, 30 * YEAR, -30 * YEAR))
        return now[0]
    return clock


@contextmanager
def everywhere(clock: Callable[[], float]) -> Iterator[None]:
    """Each clock of the program is this one."""
    with mock.patch("time.time", clock), mock.patch("time.monotonic", clock):
        yield


class TraceClockTest(FolderTest):
    """No record holds or depends on a time."""

    def test_the_same_bytes_under_every_clock(self) -> None:
        """A session with batches, compressions and a narrator who tells how long it took."""
        def session(name: str) -> bytes:
            folder = self.folder / name
            folder.mkdir()
            numbers = iter(range(100))
            model = Speaker([*(counting(next(numbers), next(numbers)) for _ in range(8)),
                             Reply("done")])
            narrator = Narrator(Screen(io.StringIO(), io.StringIO(), Style()), clock=time.monotonic)
            made, file = started(folder, model, "go", window=3_400, sinks=(narrator,),
                                 extra=(Counter(),))
            with file:
                made.finish(made.turn("go"))
            return (folder / "s.jsonl").read_bytes()

        plain_bytes = session("plain")
        self.assertIn(b"context_compression", plain_bytes)
        for seed in range(5):
            with self.subTest(seed=seed), everywhere(jumping(seed)):
                self.assertEqual(plain_bytes, session(str(seed)))

    def test_a_new_session_never_takes_the_place_of_an_old_one(self) -> None:
        """The clock is put back an hour, and the number of the process comes again."""
        names = []
        with mock.patch.object(commands, "time", SimpleNamespace(
                strftime=lambda form: "20261025-020000")), mock.patch("os.getpid", lambda: 7):
            for _ in range(3):
                path = commands._new_path(self.folder)
                path.write_text("a session", encoding="utf-8")
                names.append(path.name)
        self.assertEqual(["20261025-020000-7.jsonl", "20261025-020000-7-1.jsonl",
                          "20261025-020000-7-2.jsonl"], names)


class TimeLeftTest(unittest.TestCase):
    """What is told of time makes sense, or is not told."""

    def test_progress_is_between_0_and_100_and_no_time_is_negative(self) -> None:
        """Whatever the clock does, and though files grow while they are read."""
        for seed in range(200):
            stream, draw = Terminal(), random.Random(seed)
            line = ProgressLine(draw.choice((0, 1, 1_000)), stream, jumping(seed))
            for _ in range(20):
                line(draw.choice((0, 1, 500, 1_000, 2_000)))
            line.end()
            for told in filter(str.strip, stream.getvalue().split("\r")):
                self.assertRegex(told,
                                 r"\A *(\d\d?|100) %, (\d+ h )?(\d+ min ?)?(\d\d? s)? ?left *\Z")

    def test_long_times_are_told_in_hours(self) -> None:
        """A day of work is no 1,440 minutes."""
        now = [0.0]
        stream = Terminal()
        line = ProgressLine(100, stream, lambda: now[0])
        now[0] = 86_400.0
        line(50)
        self.assertEqual("\r 50 %, 24 h 00 min left", stream.getvalue())

    def test_no_call_took_less_than_nothing(self) -> None:
        """The narrator's durations, with and without a question in between."""
        for seed in range(50):
            err = io.StringIO()
            narrator = Narrator(Screen(io.StringIO(), err, Style(plain=True)), clock=jumping(seed))
            for number in range(6):
                narrator({"type": "event", "event": "tool_call",
                          "payload": {"name": "t", "arguments": {}}})
                if number % 2:
                    with narrator.paused():
                        pass
                narrator({"type": "event", "event": "tool_result",
                          "payload": {"ok": True, "code": None, "chars": 3}})
            self.assertEqual(6, len(re.findall(r"ok, \d+\.\d s, 3 characters", err.getvalue())))


class ResumedTest(FolderTest):
    """A call that had begun before the program was killed."""

    def test_what_was_not_timed_is_told_without_a_time(self) -> None:
        """The result that says so took no time of this program."""
        session, file = started(self.folder, Speaker([counting(1)]), "go", extra=(Counter(),))
        with file:
            session.turn("go")
        path = self.folder / "s.jsonl"
        rows = path.read_bytes().splitlines(keepends=True)
        begun = next(at for at, row in enumerate(rows) if b'"tool_call"' in row)
        path.write_bytes(b"".join(rows[:begun + 1]))
        err = io.StringIO()
        narrator = Narrator(Screen(io.StringIO(), err, Style(plain=True)), clock=lambda: 9e9)
        _, file = taken_up(path, Speaker(), sinks=(narrator,), extra=(Counter(),))
        file.close()
        self.assertRegex(err.getvalue(), r"ended: INTERRUPTED, \d+ characters")


class WaitingTest(Case):
    """An endpoint that is asked again, under such clocks."""

    def test_no_wait_is_negative_or_longer_than_the_limit(self) -> None:
        """And no clock keeps the program from asking again, or makes it ask for ever."""
        for seed in range(8):
            with self.subTest(seed=seed):
                _, retries, sent, _ = self.ask(*[plain(RATE_LIMIT, 429)] * 6, HI,
                                               clock=jumping(seed), limits=RequestLimits(retries=3))
                self.assertEqual(len(retries) + 1, len(sent))
                self.assertLessEqual(len(retries), 3)
                for retry in retries:
                    self.assertTrue(0 <= retry["wait"] <= RequestLimits().longest_wait)

    def test_dates_of_any_year_are_no_retry_or_a_bounded_wait(self) -> None:
        """The endpoint's clock is wrong: its own date is what it is held against. One that
        has passed, and one that is none, is waited for as if nothing had been said."""
        now = "Fri, 31 Dec 1999 23:59:59 GMT"
        for until, waited in (("Thu, 01 Jan 1970 00:00:00 GMT", .75), (now, .75),
                              ("Fri, 31 Dec 9999 23:59:59 GMT", None), ("Sat, 00 Foo 0000", .75),
                              ("Fri, 31 Dec 99999 23:59:59 GMT", .75), ("9" * 400, .75),
                              (f"Fri, 31 Dec {10**20} 23:59:59 GMT", .75),
                              (f"Fri, 31 Dec 1999 23:59:59 +{10**30}", .75)):
            with self.subTest(until=until):
                _, retries, _, _ = self.ask(plain(RATE_LIMIT, 429, retry_after=until, date=now), HI)
                self.assertEqual([] if waited is None else [waited],
                                 [retry["wait"] for retry in retries])


if __name__ == "__main__":
    unittest.main()
