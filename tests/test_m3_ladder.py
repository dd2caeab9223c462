"""Milestone 3: when the ladder is taken, how far, and what is left behind when it fails."""

from __future__ import annotations

import copy
import contextlib
import unittest
from dataclasses import dataclass, field
from typing import Any

from mini_agent.compression.budget import make_budget
from mini_agent.compression.pins import Pin
from mini_agent.compression.policies import ALWAYS, Policy, Rung, budget_of
from mini_agent.compression.resources import Resources
from mini_agent.compression.scene import Scene
from mini_agent.compression.skips import Skips
from mini_agent.compression.state import WindowState
from mini_agent.compression.summarise import RollingSummary
from mini_agent.compression.view import Change, View
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import (ContextOverflowError, ModelError, PromptTooLongError, StrategyError,
                               TraceError, UsageError)
from mini_agent.messages import Message, user
from mini_agent.models.scripted import ScriptedModel
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer

from .support import payloads
from .test_m3_fold import told
from .windows import head, rounds, window

TEN = "word " * 8  # 10 tokens of text


@dataclass(frozen=True)
class Cut:
    """A rung for tests: halves the longest result that has over `least` characters."""

    name: str = "cut"
    asks_model: bool = False
    least: int = 0
    seen: list[Scene] = field(default_factory=list, compare=False)

    def __call__(self, view: View, scene: Scene) -> Change | None:
        self.seen.append(scene)
        found = [(len(entry.message["content"]), at) for at, entry in enumerate(view.entries)
                 if entry.message["role"] == "tool"]
        size, at = max(found, default=(0, 0))
        if size <= max(3, self.least):
            return None
        message = {**view[at].message, "content": "x" * (size // 2)}
        return Change(self.name, (at,), ((at, scene.entry(
            message, view[at].stands_for, "shortened")),))


class TooLong:
    """A summariser whose text is longer than what it sums up; `asked` counts the calls."""

    asked = 0

    def summarize(self, messages: list[Message], form: str) -> str:
        """Never of use."""
        self.asked += 1
        return "y " * 90_000


def ladder(limit: int | None, *rungs: Rung, records: list[Record] | None = None, model: Any = None,
           state: WindowState | None = None, **fields: Any) -> ContextWindow:
    """A window over these rungs; `fields` are the policy's."""
    made = Policy("test", "a test", "", rungs, scale=False, **fields)
    sink = records.append if records is not None else (lambda record: None)
    return ContextWindow(made, budget_of(made, limit), state or WindowState(estimator("published")),
                         Resources(model or ScriptedModel([]), Tracer(sink)))


def grow(made: ContextWindow, history: list[Message], tokens: int, step: int = 1) -> None:
    """Make the view so many tokens large with one more round, and ask."""
    made.take_in(history)
    room = tokens - made.tokens - estimator("published")(rounds(1, ""))
    history += rounds(1, "x" * (4 * room))
    made.before_model_call(history, step)


class Numbers(unittest.TestCase):
    """Budgets, triggers and how they scale."""

    def test_the_published_numbers_of_a_known_agent(self) -> None:
        """167,000, by hand 177,000, hard 180,000 for 200,000; a tenth of it for 20,000."""
        for window_size, soft, by_hand, hard in ((200_000, 167_000, 177_000, 180_000),
                                                 (20_000, 16_700, 17_700, 18_000)):
            made = make_budget(window_size, reserve=20_000, margin=13_000)
            self.assertEqual((made.soft, made.by_hand, made.hard, made.target),
                             (soft, by_hand, hard, soft))

    def test_each_form_of_a_trigger(self) -> None:
        """A share, what is left free, the smaller of two; a target is never over the trigger."""
        for trigger, soft in (("80%", 160_000), ("-16384", 183_616), (150_000, 150_000),
                              ("-min(20000,max_output)", 180_000), ("99.5%", 199_000)):
            made = make_budget(200_000, trigger=trigger)
            self.assertEqual(made.soft, soft)
        for answer, soft in ((8_000, 192_000), (30_000, 170_000)):
            made = make_budget(200_000, trigger="-min(20000,max_output)", reserve=answer)
            self.assertEqual(made.soft, soft)
        self.assertEqual(make_budget(200_000, trigger="50%", target="90%").target, 100_000)
        self.assertEqual(make_budget(200_000, trigger="50%", target="30%").target, 60_000)
        for wrong in ("80", "%", "-x", "-", "min(1,2)", "-min(1,2)", ""):
            with self.assertRaises(UsageError):
                make_budget(200_000, trigger=wrong)
        with self.assertRaises(UsageError):
            make_budget(0)

    def test_a_smaller_window_keeps_the_recipe(self) -> None:
        """What an endpoint tells makes the same budget anew; a larger one changes nothing."""
        made = make_budget(200_000, trigger="80%", reserve=20_000)
        self.assertEqual(made.within(100_000), make_budget(100_000, trigger="80%", reserve=20_000))
        self.assertIs(made.within(200_001), made)
        self.assertEqual(make_budget(None).within(500), make_budget(500))


class Trigger(unittest.TestCase):
    """When a rung is asked, and down to where."""

    def test_each_tier_waits_for_its_own_trigger(self) -> None:
        """At 60 % the first rung, at 75 % the second too, at 95 % all three."""
        for tokens, asked in ((450, []), (600, ["a"]), (750, ["a", "b"]), (950, ["a", "b", "c"])):
            cuts = {name: Cut(name, least=10**6) for name in "abc"}
            made = ladder(1_000, *(Rung(cuts[name], f"{tier}%")
                                   for name, tier in zip("abc", (50, 70, 90))))
            grow(made, head(), tokens)
            self.assertEqual([name for name in "abc" if cuts[name].seen], asked)
        self.assertEqual({name: cuts[name].seen[0].goal for name in "abc"},
                         {"a": 500, "b": 700, "c": 900})

    def test_a_target_below_the_trigger_gives_rest(self) -> None:
        """Once taken, the ladder goes down to the target; above it nothing more is done."""
        records: list[Record] = []
        made = ladder(1_000, Rung(Cut()), records=records, trigger="80%", target="30%")
        history = head()
        grow(made, history, 790)
        self.assertEqual(records, [])
        grow(made, history, 810, 2)
        self.assertLessEqual(made.tokens, 300)
        count = len(records)
        grow(made, history, 700, 3)
        self.assertEqual(len(records), count)

    def test_a_rung_without_gain_hands_on_to_the_next(self) -> None:
        """The first has nothing to offer; the second brings the view down."""
        records: list[Record] = []
        made = ladder(300, Rung(Cut("a", least=10**6)), Rung(Cut("b")), records=records)
        grow(made, head(), 400)
        self.assertEqual([(record["event"], record["payload"]["strategy"]) for record in records],
                         [("compression_skipped", "a"), ("context_compression", "b")])

    def test_a_view_is_not_shown_twice_to_a_rung_that_could_do_nothing(self) -> None:
        """Also over the hard limit, where every step is in need: one call, one record."""
        model = ScriptedModel([], ["long"] * 9)
        calls = []
        model.summarize = lambda messages, form: calls.append(form) or "y " * 9_000  # type: ignore
        records: list[Record] = []
        made = window(300, "tool_result_aging", "rolling_summary", model=model, records=records,
                      protect_last=0)
        with self.assertRaises(ContextOverflowError):
            made.before_model_call([*head(), *rounds(6, "z" * 900)], 0)
        self.assertEqual(len(calls), 1)
        self.assertEqual(len(payloads(records, "compression_skipped")), 2)

    def test_a_model_asked_in_vain_is_asked_again_when_the_view_has_grown(self) -> None:
        """By 5 % beyond where it came to nothing, though a cheap rung gains at each step."""
        model, records, sizes = TooLong(), list[Record](), list[int]()
        made = ladder(40_000, Rung(Cut(least=300)), Rung(RollingSummary()), trigger=5_000,
                      model=model, records=records)
        history = [*head(), *rounds(80, "z" * 250)]
        for step in range(60):
            history += rounds(1, "z" * 400)
            asked = model.asked
            made.before_model_call(history, step)
            sizes += [made.tokens] * (model.asked - asked)
        self.assertEqual(60, len(payloads(records, "context_compression")))
        self.assertGreater(len(sizes), 5)
        for before, after in zip(sizes, sizes[1:]):
            self.assertTrue(before * 1.05 <= after < before * 1.07, sizes)

    def test_what_came_to_nothing_is_said_again_when_the_view_has_grown(self) -> None:
        """By 5 %, of the same strategy for the same reason; another is news at once."""
        skips = Skips()
        skips.remember("clip", "no_gain", 1_000)
        self.assertEqual([False, False, True], [
            skips.is_news("clip", "no_gain", size) for size in (900, 1_049, 1_050)])
        self.assertTrue(skips.is_news("clip", "failed", 900))
        self.assertTrue(skips.is_news("other", "no_gain", 900))

    def test_growth_is_counted_from_where_groups_went(self) -> None:
        """What cost no model call is open behind any change. One in place leaves a model that
        was asked waiting; taking groups out lets it be asked from there on, its own gain at
        once."""
        skips = Skips()
        skips.remember("rolling_summary", "no_gain", 1_000)
        skips.changed("clip", 900, in_place=True)
        self.assertFalse(skips.was_in_vain("rolling_summary", 900))
        skips.remember("rolling_summary", "no_gain", 1_000)
        skips.asked()
        skips.changed("clip", 900, in_place=True)
        self.assertTrue(skips.is_news("rolling_summary", "no_gain", 1_000))
        self.assertEqual([True, False],
                         [skips.was_in_vain("rolling_summary", size) for size in (1_049, 1_050)])
        skips.changed("sliding_window", 500, in_place=False)
        self.assertEqual([True, False],
                         [skips.was_in_vain("rolling_summary", size) for size in (524, 525)])
        self.assertFalse(skips.was_in_vain("full_summary", 400))
        skips.changed("rolling_summary", 400, in_place=False)
        self.assertFalse(skips.was_in_vain("rolling_summary", 400))

    def test_the_end_of_a_stage_is_a_trigger_where_the_policy_says_so(self) -> None:
        """Far below the trigger each rung is asked once, with the stages so far."""
        for stages, asked in ((True, 1), (False, 0)):
            cut = Cut(least=10**6)
            made = ladder(1_000, Rung(cut), stages=stages)
            history = [*head(), *rounds(1)]
            made.before_model_call(history, 0)
            made.stage_done(history, "reading", 0)
            made.before_model_call(history, 1)
            made.before_model_call(history, 2)
            self.assertEqual(len(cut.seen), asked)
        made = ladder(1_000, Rung(cut := Cut(least=10**6)), stages=True)
        made.stage_done(history, "reading", 0)
        history += rounds(2)
        made.stage_done(history, "writing", 2)
        made.before_model_call(history, 2)
        self.assertEqual([(stage.name, stage.start, stage.stop) for stage in cut.seen[0].stages],
                         [("reading", 0, 4), ("writing", 4, 8)])
        self.assertEqual(cut.seen[0].trigger, "stage")

    def test_a_stage_ends_with_the_whole_group_that_is_open(self) -> None:
        """A tool says so between calls whose results are not in yet."""
        made = ladder(1_000)
        history = [*head(), *rounds(1)]
        made.stage_done(history[:3], "reading", 0)
        self.assertEqual(made.state.stages[0].stop, 4)

    def test_by_hand_every_rung_is_asked_whatever_the_size(self) -> None:
        """The margin is the smaller one; what the user cares for reaches the strategy."""
        cut = Cut(least=400)
        made = ladder(200_000, Rung(cut), reserve=20_000, margin=13_000)
        made.take_in([*head(), *rounds(1, "x" * 2_000)])
        before, after = made.compact(3, "the port")
        self.assertEqual((before - after) // 10, 25)
        self.assertEqual({(scene.focus, scene.trigger, scene.goal) for scene in cut.seen},
                         {("the port", "manual", 177_000)})

    def test_at_the_start_a_budget_that_cannot_hold_is_refused(self) -> None:
        """The task alone is over the hard limit: no strategy is asked, the numbers are said."""
        records: list[Record] = []
        cut = Cut()
        made = ladder(100, Rung(cut), records=records, trigger="80%")
        with self.assertRaises(ContextOverflowError) as caught:
            made.before_model_call(head("task " * 200), 0)
        error, parts = caught.exception, [("user messages", 254), ("system message", 7)]
        self.assertEqual((261, 100, parts), (error.tokens, error.limit, error.immovable))
        self.assertEqual(([], ["context_overflow"]),
                         (cut.seen, [record["event"] for record in records]))
        self.assertEqual({"step": 0, "tokens": 261, "messages": 2, "hard": 100, "immovable": [
            {"name": name, "tokens": size} for name, size in parts]}, records[0]["payload"])


class Reactive(unittest.TestCase):
    """An endpoint that says "too long"."""

    def test_a_window_that_is_told_is_kept(self) -> None:
        """It is a record, it makes the whole budget smaller, and a resumed session knows it."""
        records: list[Record] = []
        made = ladder(1_000, Rung(Cut()), records=records, trigger="80%")
        history = head()
        grow(made, history, 700)
        request = made.after_refusal(history, 1, PromptTooLongError("too long", window=500))
        self.assertLessEqual(estimator("published")(request), 375)
        self.assertEqual(payloads(records, "settings"), [{"step": 1, "learned_window": 500}])
        self.assertEqual((made.budget.window, made.budget.soft), (500, 400))
        again = ladder(1_000, Rung(Cut()), trigger="80%", state=made.state)
        self.assertEqual(again.budget, made.budget)
        made.after_refusal([*history, *rounds(1, "x" * 1_600)], 2,
                           PromptTooLongError("too long", window=900))
        self.assertEqual(made.budget.window, 500)

    def test_the_retry_has_three_quarters_of_what_was_too_long(self) -> None:
        """Of the request, or of the window named where that is smaller; and no more than the
        target. Where no window is known, that is all there is to go by."""
        for limit, told, goal in ((2_000, None, 525), (2_000, 500, 375), (2_000, 9_000, 525),
                                  (600, None, 480), (None, None, 525), (None, 500, 375)):
            cut, history = Cut(), head()
            made = ladder(limit, Rung(cut), trigger="80%")
            made.take_in(history)
            free = 700 - made.tokens - estimator("published")(rounds(1, ""))
            history += rounds(1, "x" * 4 * free)
            made.take_in(history)
            self.assertEqual(made.tokens, 700)
            with self.subTest(limit=limit, told=told):
                request = made.after_refusal(history, 1,
                                             PromptTooLongError("too long", window=told))
                self.assertEqual({scene.goal for scene in cut.seen}, {goal})
                self.assertLess(estimator("published")(request), 700)

    def test_a_retry_over_the_window_that_is_told_is_not_sent(self) -> None:
        """It got smaller, and is still larger than what the endpoint says that it takes."""
        records: list[Record] = []
        made = ladder(1_000, Rung(Cut(least=1_500)), records=records)
        history = head()
        grow(made, history, 700)
        with self.assertRaises(ContextOverflowError) as caught:
            made.after_refusal(history, 1, PromptTooLongError("too long", window=300))
        self.assertEqual(caught.exception.limit, 300)
        self.assertEqual(len(payloads(records, "context_compression")), 1)

    def test_a_retry_has_to_be_smaller(self) -> None:
        """Where nothing can move, the refusal is handed on."""
        made = ladder(1_000, Rung(Cut(least=10**6)))
        history = head()
        grow(made, history, 700)
        with self.assertRaises(PromptTooLongError):
            made.after_refusal(history, 1, PromptTooLongError("too long"))


class Undo(unittest.TestCase):
    """The last change is taken back, and the next one waits."""

    def setUp(self) -> None:
        self.records: list[Record] = []
        self.made = ladder(1_000, Rung(Cut(least=100)), records=self.records, trigger="60%")
        self.history = head()
        grow(self.made, self.history, 800)

    def test_the_last_change_is_taken_back(self) -> None:
        """The view is what it was, with what has come in since; the record says which change."""
        self.history += rounds(1, "new")
        self.made.take_in(self.history)
        compressed = self.made.tokens
        before, after = self.made.undo(2)
        self.assertEqual((before, after > 800, len(self.made.view)), (compressed, True, 6))
        self.assertEqual([entry.how for entry in self.made.view.entries], ["verbatim"] * 6)
        (change,) = payloads(self.records, "context_compression")
        (undone,) = payloads(self.records, "undo")
        self.assertEqual(undone["prefix_kept"], change["prefix_kept"])
        self.assertEqual(undone["seq"], next(record["seq"] for record in self.records
                                             if record["event"] == "context_compression"))

    def test_nothing_is_compressed_again_until_the_view_has_grown(self) -> None:
        """By 5 %; or until it is over the hard limit, or a hand asks for it."""
        self.made.undo(1)
        self.made.before_model_call(self.history, 1)
        self.assertEqual(len(payloads(self.records, "context_compression")), 1)
        grow(self.made, self.history, 880, 2)
        self.assertEqual(len(payloads(self.records, "context_compression")), 2)
        self.made.undo(2)
        self.made.compact(2)
        self.assertGreaterEqual(len(payloads(self.records, "context_compression")), 3)

    def test_it_rests_up_to_the_last_token_of_five_percent(self) -> None:
        """And no further: one token short of it nothing happens, with it a change does."""
        self.made.undo(1)
        rest = self.made.view.tokens
        room = -(-rest * 105 // 100) - rest
        for tokens, changes in ((room - 5, 1), (5, 2)):  # a message has 4 and one for 4 characters
            self.history.append(user("x" * 4 * (tokens - 4)))
            self.made.before_model_call(self.history, 2)
            self.assertEqual(len(payloads(self.records, "context_compression")), changes)

    def test_it_rests_at_the_hard_limit_itself(self) -> None:
        """What has just as many tokens as may be sent is sent as it was; one more message
        is too much, however little the view has grown."""
        history = head()
        made = ladder(1_000, Rung(Cut(least=100)), trigger="60%")
        grow(made, history, 1_000)
        self.assertEqual(made.undo(1)[1], 1_000)
        self.assertEqual(made.before_model_call(history, 1), history)
        history.append(user("x"))
        self.assertNotEqual(made.before_model_call(history, 2), history)

    def test_changes_are_undone_one_after_another(self) -> None:
        """Then there is nothing left, and that is said."""
        grow(self.made, self.history, 900, 2)
        count = len(payloads(self.records, "context_compression"))
        for _ in range(count):
            self.made.undo(3)
        self.assertEqual({entry.how for entry in self.made.view.entries}, {"verbatim"})
        with self.assertRaises(UsageError):
            self.made.undo(3)

    def test_a_pin_set_in_between_stands_after_it(self) -> None:
        """What comes back was shortened before the pin was set; the pin is put under it."""
        made = window(700, "tool_result_aging", "rolling_summary", protect_last=0)
        history = [*head(), *rounds(4, "row\n" * 200 + "the port is 9090\n" + "row\n" * 200)]
        made.before_model_call(history, 0)
        made.compact(0)
        self.assertEqual(made.pin(Pin(3, "the port is 9090", "parameter"), 0, "user"), "")
        while made.state.undoable:
            made.undo(1)
            text = next(entry.message["content"] for entry in made.view.entries
                        if 3 in entry.stands_for)
            self.assertIn("the port is 9090", text)


class AllOrNothing(unittest.TestCase):
    """Law 8: what fails half-way leaves view, history and trace, plus one record."""

    def live(self, rung: Any,
             sink: Any = None) -> tuple[ContextWindow, list[Message], list[Record]]:
        records: list[Record] = []
        made = ladder(300, Rung(rung))
        made._ladder._tracer = Tracer(*([sink] if sink else []), records.append)
        history = [*head(), *rounds(1, "x" * 2_000)]
        made.take_in(history)
        return made, history, records

    def test_whatever_a_strategy_raises_is_one_record(self) -> None:
        """A failure is no end; an interrupt and a fault of the program are, behind their record."""
        for error, ends in ((StrategyError("disk full"), None), (ModelError("down"), None),
                            (KeyboardInterrupt(), KeyboardInterrupt),
                            (ValueError("x"), ValueError)):
            def fail(view: View, scene: Scene, error: BaseException = error) -> Change | None:
                raise error

            fail.name, fail.asks_model = "failing", False  # type: ignore[attr-defined]
            made, history, records = self.live(fail)
            before, said = told(copy.deepcopy(made.state)), copy.deepcopy(history)
            with self.subTest(error=repr(error)), self.assertRaises(ends or ContextOverflowError):
                made.before_model_call(history, 1)
            (skipped,) = payloads(records, "compression_skipped")
            self.assertEqual((skipped["strategy"], skipped["reason"]), ("failing", "failed"))
            after = told(made.state)
            self.assertEqual({key for key in before if before[key] != after[key]} - {"skips"},
                             set())
            self.assertEqual(history, said)

    def test_what_a_model_wrote_in_vain_stands_behind_a_record_that_says_so(self) -> None:
        """Also of a rung that is taken before every call: else it would be learned on resume."""
        records: list[Record] = []
        made = window(100_000, records=records, ladder=[
            {"strategy": "segmented_summary", "trigger": 0}])
        history = [*head(), *rounds(6, "long " * 400)]
        for step in range(6):
            made.before_model_call(history, step)
            history += rounds(1, "x" * step)
        told = [(record["event"], record["payload"].get("reason")) for record in records]
        self.assertEqual([*[("context_compression", None), ("model_summarize", None)] * 3,
                          *[("compression_skipped", "no_gain"), ("model_summarize", None)] * 3],
                         told)

    def test_a_change_that_cannot_be_recorded_is_not_made(self) -> None:
        """The trace is full: the error ends the run, and the view is what the trace says."""
        def full(record: Record) -> None:
            if record["event"] == "context_compression":
                raise TraceError("disk full")

        made, history, records = self.live(Cut(), full)
        before = list(made.view.entries)
        with self.assertRaises(TraceError):
            made.before_model_call(history, 1)
        self.assertEqual((made.view.entries, records), (before, []))

    def test_a_change_that_breaks_a_law_is_refused_with_its_number(self) -> None:
        """Whatever a strategy proposes, it is judged before it is made."""
        def drop_all(view: View, scene: Scene) -> Change:
            return Change("drop_all", tuple(range(len(view))), ())

        def no_view(view: View, scene: Scene) -> Change:
            return Change("drop_all", (99,), ())

        for strategy, law in ((drop_all, "law 2"), (no_view, "law 2")):
            strategy.name, strategy.asks_model = "drop_all", False  # type: ignore[attr-defined]
            made, history, records = self.live(strategy)
            with self.assertRaises(ContextOverflowError):
                made.before_model_call(history, 1)
            (skipped,) = payloads(records, "compression_skipped")
            self.assertEqual(skipped["reason"], "refused")
            self.assertIn(law, skipped["detail"])


class Breaker(unittest.TestCase):
    """Three failures in a row stop automatic summaries; a hand starts them again."""

    def test_the_breaker_is_closed_by_hand(self) -> None:
        """/compact closes it, which is a record, and asks again at once."""
        records: list[Record] = []
        made = window(4_000, "rolling_summary", summaries=["raise"] * 3, records=records,
                      trigger="10%")
        history = head()
        for step in range(12):
            history += rounds(1, "x\n" * 400)
            made.before_model_call(history, step)
        self.assertTrue(made.state.breaker.open)
        reasons = [payload["reason"] for payload in payloads(records, "compression_skipped")]
        self.assertEqual(reasons[-4:], ["failed"] * 3 + ["breaker_open"])
        before, after = made.compact(12)
        self.assertLess(after, before)
        self.assertEqual(payloads(records, "settings"), [{"step": 12, "breaker": "closed"}])
        self.assertFalse(made.state.breaker.open)

    def test_over_the_hard_limit_a_failed_summary_is_tried_again(self) -> None:
        """Until the breaker opens: one bad answer does not end a session that can go on; where
        it ends, the summariser is named, since what it did not sum up could have moved."""
        for summaries, alive in ((["raise", "empty"], True), (["raise"] * 3, False)):
            records: list[Record] = []
            made = window(2_000, "rolling_summary", summaries=summaries, records=records)
            history = [*head(), *rounds(12, "x\n" * 400)]
            with self.subTest(summaries), self.assertRaisesRegex(
                    ContextOverflowError,
                    r"; find out why the summariser failed \(3 in a row\), take a policy "
                    ) if not alive else contextlib.nullcontext():
                made.before_model_call(history, 12)
            failed = [payload["failures"] for payload in payloads(records, "compression_skipped")
                      if payload["reason"] in ("failed", "refused")]
            self.assertEqual(failed, [1, 2, 3][:len(summaries)])
            self.assertEqual(made.state.breaker.open, not alive)

    def test_a_refused_request_is_made_smaller_though_a_summary_failed(self) -> None:
        """The one retry is not lost to one bad answer of the summariser."""
        made = window(100_000, "rolling_summary", summaries=["empty", "raise"])
        history = [*head(), *rounds(12, "x\n" * 400)]
        made.before_model_call(history, 12)
        before = made.tokens
        made.after_refusal(history, 12, PromptTooLongError("too long"))
        self.assertLess(made.tokens, before)

    def test_a_success_closes_it_too(self) -> None:
        """Two failures and a summary: the count begins anew."""
        made = window(4_000, "rolling_summary", summaries=["raise", "raise", "ok", "raise"],
                      trigger="10%")
        history = head()
        seen = []
        for step in range(14):
            history += rounds(1, "x\n" * 400)
            made.before_model_call(history, step)
            seen.append(made.state.breaker.failures)
        self.assertEqual([count for at, count in enumerate(seen) if count != seen[at - 1]],
                         [1, 2, 0, 1, 0])


class CutOff(unittest.TestCase):
    """A process is killed in the middle of a descent: whoever resumes takes it on from there."""

    LADDERS: dict[str, tuple[tuple[int, int], tuple[Rung, ...], dict[str, Any]]] = {
        "tiers": ((1_400, 800), (Rung(Cut("a", least=300), "50%"), Rung(Cut("b"), "70%")),
                  {"target": "30%"}),
        "one name twice": ((1_400, 800), (Rung(Cut("a", least=400)), Rung(Cut("b", least=200)),
                                          Rung(Cut("a"))), {"target": "40%"}),
        "before every request": ((2_400, 400),
                                 (Rung(Cut("a", least=200), ALWAYS), Rung(Cut("b"), "90%")),
                                 {"target": "30%"}),
        "the end of a stage": ((3_000, 800),
                               (Rung(Cut("a", least=2_000)), Rung(Cut("c", least=1_000)),
                                              Rung(Cut("b", least=100), "200%")),
                               {"stages": True, "target": "60%"}),
        "a stage without gain": ((1_400, 900), (Rung(Cut("a", least=10**6)),
                                                Rung(Cut("b", least=100), "200%")),
                                 {"stages": True})}

    def test_at_each_record_it_goes_on_as_if_nothing_had_been(self) -> None:
        """The records behind are those of a run that was not killed, to the last number."""
        for name, case in self.LADDERS.items():
            whole = self.records(*case, [])
            self.assertGreater(len(whole), 4, name)
            for count in range(len(whole) + 1):
                with self.subTest(name, killed_behind=count):
                    self.assertEqual(self.records(*case, whole[:count]), whole)

    def test_a_rung_that_the_policy_no_longer_has_is_passed_over(self) -> None:
        """Another policy was chosen in between: its ladder is taken from the top."""
        sizes, (_, *others), fields = self.LADDERS["one name twice"]
        before = self.records(sizes, (Rung(Cut("gone")),), fields, [])[:1]
        made = self.records(sizes, tuple(others), fields, before)
        self.assertEqual([record["payload"]["strategy"] for record in made][:3], ["gone", "b", "a"])

    @staticmethod
    def records(sizes: tuple[int, int], rungs: tuple[Rung, ...], fields: dict[str, Any],
                before: list[Record]) -> list[Record]:
        """All records of a request for which `before` had been written when it was killed."""
        records = list[Record]()
        history = [*head(), *rounds(1, "x" * sizes[0]), *rounds(3, "x" * sizes[1])]
        state = WindowState(estimator("published"))
        for message in history:
            state.enter(message)
        if "stages" in fields:
            state.fold({"type": "event", "event": "stage", "payload": {"name": "reading"},
                        "seq": 0})
        for record in before:
            state.fold(record)
        made = ladder(1_000, *rungs, records=records, state=state, trigger="80%", **fields)
        made._ladder._tracer = Tracer(records.append, seq=len(before))
        made.before_model_call(history, 3)
        return [*before, *records]


class UserShare(unittest.TestCase):
    """Law 4: users' words beyond their share are behind handles, the newest are not."""

    def test_the_oldest_words_beyond_the_share_become_handles(self) -> None:
        """First and newest stay, then newest first; the record names what went."""
        records: list[Record] = []
        made = window(420, "tool_result_aging", records=records, user_share=.3)
        history = [*head(), *(user(f"{number} " + TEN * 5) for number in range(8)), *rounds(2)]
        made.before_model_call(history, 1)
        (change,) = payloads(records, "context_compression")
        self.assertEqual((change["strategy"], change["affected_indexes"]),
                         ("user_share", [2, 3, 4, 5, 6]))
        self.assertEqual(
            made.view[2].message["content"],
            "[user message #2 of 202 characters, beyond the share of the window that users' words "
            "may take; the whole is message #2 of the run log]")
        self.assertEqual([entry.how for entry in made.view.entries][7:10], ["verbatim"] * 3)


if __name__ == "__main__":
    unittest.main()
