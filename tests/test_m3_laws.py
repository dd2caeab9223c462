"""Milestone 3: what judges the laws, and on what: seen to be good for it."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

from mini_agent.messages import assistant, call, system, tool_result, user

from . import lawbook
from .histories import Case, as_code, random_case, shrink
from .honesty import Checker
from .lawbook import Life, broken_laws, first_breach, live

CASE = Case((system("s"), user("go"), assistant("", [call("a", "read_file", {})]),
             tool_result("a", "read_file", "port = 1\n" + "x" * 1_200),
             assistant("", [call("b", "read_file", {})]),
             tool_result("b", "read_file", "y" * 1_200), assistant("done")),
            settings=(("protect_last", 0),), window=500,
            acts=((1, "pin", (3, "port = 1", "parameter")),))
Tamper = Callable[[Life, dict[str, Any], dict[str, Any]], object]  # with a change and its entry

SEEN: list[tuple[int, str, Tamper]] = [
    (0, "a strategy proposed what it may not", lambda life, change, entry: life.records.append(
        {"type": "event", "event": "compression_skipped", "seq": len(life.records), "payload": {
            **change, "tokens": 9, "reason": "refused", "detail": "clip: law 3: it grows"}})),
    (1, r"result 3 of the view has no call", lambda life, change, entry: entry["message"].update(
        tool_call_id="z")),
    (2, r"message 3 of the history stands 0 times", lambda life, change, entry:
        change["entries"].clear()),
    (2, r"the entry for \(3,\) is not verbatim", lambda life, change, entry: entry.update(
        how="verbatim")),
    (3, r"the numbers of the record are \(6, 664, 6, 266\), not \(6, 663, 6, 266\)",
     lambda life, change, entry: change.update(before_tokens=664)),
    (3, r"663 tokens became 5\d{3}", lambda life, change, entry: entry.update(tokens=5_000)),
    (3, r"entry 3 does not have 5000 tokens", lambda life, change, entry: entry.update(
        tokens=5_000)),
    (4, r"message 1 \(user\) is not verbatim", lambda life, change, entry: (
        change["affected_indexes"].insert(0, 1), [one.update(at=one["at"] - 1)
                                                  for one in change["entries"]])),
    (4, r"entry 3 of the tail \(from 0\) was dropped or summarised", lambda life, change, entry:
        setattr(life, "policy", replace(life.policy, protect_last=9, shorten_tail=False))),
    (4, r"the pin 'port = 2' of message 3 is not there word for word",
     lambda life, change, entry: next(record["payload"] for record in life.records if record.get(
         "event") == "pin").update(text="port = 2")),
    (6, r"31 leading tokens are unchanged, not 32", lambda life, change, entry: change.update(
        prefix_kept=32)),
    (6, r"31 tokens of the last request are unchanged, 32 were promised",
     lambda life, change, entry: change.update(prefix_kept=32)),
    (6, r"the entry for \(3,\) was frozen and has changed", lambda life, change, entry: setattr(
        life, "policy", replace(life.policy, frozen=True))),
    (7, r"the view that was sent is not the one of the records", lambda life, change, entry:
        entry.update(message={**entry["message"], "content": "port = 1"})),
    (8, r"message 1 of the history was edited", lambda life, change, entry: life.records[1].update(
        message=user("stop")))]


class Judge(unittest.TestCase):
    """The judge and the shrinker are no better than what they are seen to catch."""

    def test_the_judge_sees_each_law_that_is_broken(self) -> None:
        """In all ways in which it can be: a trace that was tampered with is found out, in words."""
        for law, words, tamper in SEEN:
            with self.subTest(words):
                life = live(CASE)
                self.assertEqual([], [*broken_laws(life)])
                change, = (record["payload"] for record in life.records
                           if record.get("event") == "context_compression")
                tamper(life, change, change["entries"][0])
                self.assertRegex("\n".join(f"law {found}, {what}" for found, what in
                                           broken_laws(life)), rf"(?m)^law {law}, seq \d+: {words}")

    def test_a_second_life_and_each_claim_are_judged(self) -> None:
        """Where they are asked for: laws 5 and 9."""
        self.assertEqual("", first_breach(CASE))
        one, other = live(CASE), live(replace(CASE, acts=()))
        with mock.patch.object(lawbook, "live", side_effect=[one, other, one]):
            self.assertEqual(["law 5: a second life has other bytes", ""],
                             [first_breach(CASE, twice=twice) for twice in (True, False)])
        with mock.patch.object(Checker, "false_claims", return_value=["no #3"]):
            self.assertEqual(["law 9: the entry for (3,) says what is not so: no #3", ""],
                             [first_breach(CASE, honest=honest) for honest in (True, False)])

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
