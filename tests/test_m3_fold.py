"""Milestone 3: the state of a window is a fold over its records (law 7)."""

from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

from mini_agent.compression.state import WindowState
from mini_agent.compression.view import Change, Entry, View, apply
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import TraceError
from mini_agent.messages import system, user
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Record

from .histories import Case, as_code, random_case, shrink, with_acts
from .lawbook import first_breach, live

LADDER = ("tool_result_aging", "rolling_summary")
SESSIONS = 200  # `make fuzz` tries more


def told(state: WindowState) -> dict[str, Any]:
    """All that a state knows, in a form that can be compared."""
    return {**vars(state), "view": list(state.view.entries), "tokens": state.view.tokens,
            "estimate": state.estimate.name}


def random_session(seed: int) -> Case:
    """A random case with pins, undos, stages, compressions by hand and refusals."""
    return with_acts(random_case(seed, ladder=LADDER), seed)


def first_difference(case: Case) -> str:
    """Where the live state first is not the fold over the records so far, "" if nowhere."""
    shadow = WindowState(estimator(case.estimate), Texts(case.language))
    found: list[str] = []

    def watch(window: ContextWindow, record: Record) -> None:
        asked = record.get("event") == "model_call"
        if not shadow.asked:  # the tools are an option of a run: its first call tells their size
            shadow.declared = window.state.declared
        if not asked and record["type"] == "event" and record["event"] != "model_usage":
            compare(window, record)
        shadow.fold(json.loads(json.dumps(record)))
        if asked:
            compare(window, record)

    def compare(window: ContextWindow, record: Record) -> None:
        live_state, folded = told(window.state), told(shadow)
        found.extend(f"seq {record['seq']}: {key} is {live_state[key]!r}, folded {folded[key]!r}"
                     for key in live_state if live_state[key] != folded[key])

    live(case, watch)
    return found[0] if found else ""


class Fold(unittest.TestCase):
    """The live window and whoever reads its trace know the same."""

    def test_the_fold_after_any_prefix_of_the_records_is_the_live_state(self) -> None:
        """Before each record that a window writes, the fold over all before it is its state."""
        for seed in range(SESSIONS):
            case = random_session(seed)
            if first_difference(case):
                small = shrink(case, lambda tried: bool(first_difference(tried)))
                self.fail(f"seed {seed}: {first_difference(small)}\n{as_code(small)}")

    def test_a_state_that_no_record_tells_is_seen(self) -> None:
        """Were what an endpoint has counted not folded, the first session with it would say so."""
        case = next(case for case in map(random_session, range(SESSIONS))
                    if any(name == "reported" for _, name, _ in case.acts))
        self.assertEqual("", first_difference(case))
        with mock.patch.object(WindowState, "_on_model_usage", lambda *_: None):
            self.assertRegex(first_difference(case), r"^seq \d+: drift is .*, folded ")

    def test_the_laws_hold_whatever_is_done_between_requests(self) -> None:
        """Pins, undos, stages, refusals and compressions by hand break no law."""
        for seed in range(SESSIONS):
            case = random_session(seed)
            if first_breach(case):
                small = shrink(case, lambda tried: bool(first_breach(tried)))
                self.fail(f"seed {seed}: {first_breach(small)}\n{as_code(small)}")

    def test_the_random_sessions_have_every_kind_of_record(self) -> None:
        """Set and refused pins, undos, stages, settings and reports occur among the seeds."""
        seen = set()
        for seed in range(SESSIONS):
            for record in live(random_session(seed)).records:
                payload = record.get("payload", {})
                seen.add((record.get("event"), payload.get("trigger"), "refused" in payload))
        for wanted in (("pin", None, False), ("pin", None, True), ("pin", "manual", False),
                       ("undo", "manual", False),
                       ("stage", None, False), ("settings", None, False),
                       ("context_compression", "overflow", False),
                       ("context_compression", "manual", False)):
            self.assertIn(wanted, seen)

    def test_a_record_that_does_not_fit_is_named_by_its_seq(self) -> None:
        """A change of entries that are not there, or of none, is an error with place."""
        self.assertRaisesRegex(ValueError, "of a view of 1 entry$", apply,
                               View([Entry(user("go"), 1, (0,))]), Change("x", (1,), ()))
        for wrong, why in (({"affected_indexes": [7]}, "affected at [7] of a view of 2 entries"),
                           ({"affected_indexes": [1, 0]}, "affected at [1, 0] of a view of 2"),
                           ({"entries": None}, "TypeError"),
                           ({"affected_indexes": []}, "it changes nothing")):
            payload = {"strategy": "x", "affected_indexes": [0], "entries": [], "trigger": "manual",
                       **wrong}
            with self.subTest(payload=payload), self.assertRaises(TraceError) as caught:
                state = WindowState(estimator("published"))
                for message in (system("s"), user("go")):
                    state.enter(message)
                state.fold({"type": "event", "event": "context_compression",
                            "payload": payload, "seq": 5})
            self.assertEqual(caught.exception.place, "seq 5")
            self.assertIn(why, str(caught.exception))

    def change(self, state: WindowState, seq: int, at: int = 0) -> None:
        """Fold in a record that makes the entry `at` one token smaller."""
        entry = state.view[at]
        state.fold({"type": "event", "event": "context_compression", "seq": seq, "payload": {
            "strategy": "x", "affected_indexes": [at], "trigger": "threshold", "entries": [{
                "at": at, "message": entry.message, "tokens": entry.tokens - 1,
                "stands_for": list(entry.stands_for), "how": "shortened"}]}})

    def test_the_newest_twenty_changes_can_be_taken_back(self) -> None:
        """What is older is not worth its memory."""
        state = WindowState(estimator("published"))
        state.enter(user("go " * 100))
        for seq in range(1, 26):
            self.change(state, seq)
        self.assertEqual([seq for seq, _ in state.undoable], list(range(6, 26)))

    def test_a_descent_is_over_with_the_next_message_or_request(self) -> None:
        """What had gained in it is only kept for a ladder that was cut off."""
        state = WindowState(estimator("published"))
        state.enter(user("go"))
        for end in (lambda: state.enter(user("on")), lambda: state.call(1)):
            self.change(state, 5)
            self.assertEqual([gained.strategy for gained in state.attempts], ["x"])
            end()
            self.assertEqual(state.attempts, ())

    def test_a_report_holds_until_one_of_its_own_messages_changes(self) -> None:
        """A change of what came in behind it leaves it as it is."""
        state = WindowState(estimator("published"))
        state.enter(system("s"))
        state.enter(user("go"))
        state.reported(900, 0)
        state.enter(user("on"))
        for at, covers in ((2, 2), (1, 0)):
            self.change(state, 5, at)
            self.assertEqual(state.drift.covers, covers)


if __name__ == "__main__":
    unittest.main()
