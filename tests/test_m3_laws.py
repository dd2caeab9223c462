"""Milestone 3: what judges the laws, and on what: seen to be good for it."""

from __future__ import annotations

import unittest
from dataclasses import replace

from mini_agent.messages import assistant, call, system, tool_result, user

from .histories import Case, as_code, random_case, shrink
from .lawbook import broken_laws, live

BOTH = ("tool_result_aging", "rolling_summary")


class Histories(unittest.TestCase):
    """Laws that hold on sessions in which nothing happens would be worth nothing."""

    def test_the_random_histories_meet_what_they_are_for(self) -> None:
        """Changes of both kinds, skips, overflows and long batches occur among the seeds."""
        lives = [live(random_case(seed, ladder=BOTH)) for seed in range(200)]
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
