"""Milestone 3: the laws of the design on many random histories."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from dataclasses import replace

from mini_agent.messages import assistant, call, system, tool_result, user

from .histories import Case, as_code, random_case, shrink
from .lawbook import broken_laws, first_breach, live

HISTORIES = 400  # for each ladder, none of them twice; `make fuzz` tries more
LADDERS = {"aging": ("tool_result_aging",), "summary": ("rolling_summary",),
           "both": ("tool_result_aging", "rolling_summary")}


class Laws(unittest.TestCase):
    """Laws 1 to 9 on every session, judged by `lawbook` alone."""

    def hold(self, make: Callable[[int], Case], seeds: range) -> None:
        """Fail with the smallest case found where a law is broken."""
        for seed in seeds:
            case = make(seed)
            if first_breach(case):
                small = shrink(case, lambda tried: bool(first_breach(tried)))
                self.fail(f"seed {seed}: {first_breach(small)}\n{as_code(small)}")

    def test_the_laws_hold_under_aging(self) -> None:
        """Shortening results alone breaks no law on 400 histories."""
        self.hold(lambda seed: random_case(seed, ladder=LADDERS["aging"]), range(HISTORIES))

    def test_the_laws_hold_under_the_rolling_summary(self) -> None:
        """Summaries alone, failing ones included, break no law on 400 histories."""
        self.hold(lambda seed: random_case(seed, ladder=LADDERS["summary"]),
                  range(HISTORIES, 2 * HISTORIES))

    def test_the_laws_hold_under_both_together(self) -> None:
        """Aging and then summaries break no law on 400 histories."""
        self.hold(lambda seed: random_case(seed, ladder=LADDERS["both"]),
                  range(2 * HISTORIES, 3 * HISTORIES))

    def test_the_random_histories_meet_what_they_are_for(self) -> None:
        """Changes of both kinds, skips, overflows and long batches occur among the seeds."""
        lives = [live(random_case(seed, ladder=LADDERS["both"])) for seed in range(200)]
        events = {(record.get("event"), record.get("payload", {}).get("strategy"),
                   record.get("payload", {}).get("reason"))
                  for life in lives for record in life.records}
        for wanted in (("context_compression", "tool_result_aging", None),
                       ("context_compression", "rolling_summary", None),
                       ("compression_skipped", "tool_result_aging", "no_gain"),
                       ("compression_skipped", "rolling_summary", "failed"),
                       ("context_overflow", None, None)):
            self.assertIn(wanted, events)
        self.assertTrue(any(len(message.get("tool_calls", ())) == 7
                            for life in lives for message in life.case.messages))


class Judge(unittest.TestCase):
    """The judge and the shrinker are no better than what they are seen to catch."""

    def test_the_judge_sees_each_law_that_is_broken(self) -> None:
        """A trace that was tampered with breaks the law that it was tampered for."""
        case = Case((system("s"), user("go"), assistant("", [call("a", "read_file", {})]),
                     tool_result("a", "read_file", "x" * 4_000), assistant("done")),
                    settings=(("protect_last", 0),), window=400)

        def drop_the_result(payload: dict) -> None:
            payload["entries"].clear()

        def grow(payload: dict) -> None:
            payload["entries"][0]["tokens"] += 5_000

        def lie_about_the_prefix(payload: dict) -> None:
            payload["prefix_kept"] += 1_000

        def take_the_user_too(payload: dict) -> None:
            payload["affected_indexes"].insert(0, 1)
            payload["entries"][0]["at"] -= 1

        for law, tamper in ((1, drop_the_result), (2, drop_the_result), (3, grow),
                            (6, lie_about_the_prefix), (7, grow), (4, take_the_user_too)):
            with self.subTest(law=law, tamper=tamper.__name__):
                life = live(case)
                self.assertEqual(list(broken_laws(life)), [])
                tamper(next(record["payload"] for record in life.records
                            if record.get("event") == "context_compression"))
                self.assertIn(law, {found for found, _ in broken_laws(life)})

    def test_a_failing_case_is_made_small_and_printed_as_code(self) -> None:
        """Of a long session only the one message is left that makes it fail."""
        def fails(case: Case) -> bool:
            return any("TypeError" in message["content"] for message in case.messages)

        case = next(case for case in map(random_case, range(100)) if fails(case))
        small = shrink(case, fails)
        self.assertLessEqual(len(small.messages), 2)
        self.assertLessEqual(sum(len(message["content"]) for message in small.messages), 9)
        names = {"Case": Case, "system": system, "user": user, "assistant": assistant,
                 "call": call, "tool_result": tool_result}
        self.assertEqual(eval(as_code(small), names), replace(small))


if __name__ == "__main__":
    unittest.main()
