"""Milestone 5: the next prompt is predicted from what the endpoint last reported."""

import unittest

from mini_agent.compression.drift import Drift
from mini_agent.compression.policies import find_policy
from mini_agent.errors import ContextOverflowError
from mini_agent.governance import governed_by, with_room
from mini_agent.lab.happened import happened
from mini_agent.messages import assistant, call, system, tool_result, user
from mini_agent.rhythm import rows

from .windows import window


class DriftTests(unittest.TestCase):
    """The fold alone: reports, answers, changes."""

    def test_without_reports_the_prediction_is_the_estimate(self):
        """No endpoint, no correction: the same number, to the token."""
        drift = Drift()
        self.assertEqual([drift.predict(n) for n in (0, 1, 999, 200_000)], [0, 1, 999, 200_000])
        self.assertEqual([drift.estimate_of(n) for n in (0, 1, 999, 200_000)],
                         [0, 1, 999, 200_000])
        self.assertIsNone(drift.off)

    def test_the_next_prompt_is_the_last_one_its_answer_and_what_is_new(self):
        """1,000 reported, an answer of 50, then 100 new by an estimate that has proved exact."""
        drift = Drift()
        drift = drift.report(1_000, 1_000, 50)
        drift = drift.answered(80)  # estimated at 80, truly 50
        self.assertEqual(drift.predict(1_000 + 80 + 100), 1_000 + 50 + 100)

    def test_an_answer_that_never_came_in_is_not_counted(self):
        """A reply that could not be used leaves only the prompt."""
        drift = Drift()
        drift = drift.report(1_000, 1_000, 50)
        self.assertEqual(drift.predict(1_100), 1_100)

    def test_the_ratio_is_weighted_by_tokens_and_starts_heavy(self):
        """num = .95 num + actual, den = .95 den + estimate, 2,000 on both sides."""
        drift = Drift()
        drift = drift.report(1_000, 1_500, covers=1)
        self.assertEqual(drift.predict(1_300), 1_500 + 300 * 3_500 // 3_000)
        drift = drift.report(2_000, 2_900, covers=2)
        num, den = (1_500 * 95 // 100 + 1_400 + 2_000, 1_000 * 95 // 100 + 1_000 + 2_000)
        self.assertEqual(drift.predict(3_000), 2_900 - -1_000 * num // den)

    def test_a_change_takes_out_what_it_took_out(self):
        """1,900 of 3,000 go: what is left is near its true size, overhead and all."""
        drift = Drift()
        drift = drift.report(1_000, 1_400, covers=9)   # 400 of them are not in the estimate
        drift = drift.report(3_000, 3_400, covers=20)  # the rest is estimated exactly
        drift = drift.changed()
        self.assertAlmostEqual(drift.predict(1_100), 1_500, delta=150)

    def test_the_report_behind_a_change_teaches_no_ratio(self):
        """What went and what came cannot be told apart in it; but it is exact again."""
        drift = Drift()
        drift = drift.report(10_000, 10_000, covers=9)
        drift = drift.changed()
        drift = drift.report(4_000, 4_900, 20, covers=5)
        self.assertEqual(drift.off, 900)
        self.assertEqual(drift.predict(4_000 + 1_000), 4_900 + 1_000)
        drift = drift.report(5_000, 5_900, covers=6)
        self.assertEqual(drift.off, 0)

    def test_a_prediction_is_never_below_nothing(self):
        """An endpoint that counts little, and a view that has shrunk to nothing."""
        drift = Drift()
        drift = drift.report(10_000, 100)
        self.assertEqual(drift.predict(0), 0)

    def test_a_report_that_no_counting_explains_is_noted_and_not_believed(self):
        """Sums over a session, only what was not cached, nonsense: the estimate decides. Three
        times as many, or the prompt of a proxy before ours, can be."""
        for estimate, prompt, believed in (
                (1_195, 10**11, False), (1_195, 31_990, False), (80_000, 9_999, False),
                (1_195, 1, False), (1_195, 20_000, True), (80_000, 240_000, True),
                (80_000, 10_000, True)):
            with self.subTest(estimate=estimate, prompt=prompt):
                drift = Drift().report(estimate, prompt, 50, covers=3)
                self.assertEqual(drift.off, prompt - estimate)
                self.assertEqual(drift.predict(estimate), prompt if believed else estimate)
                drift = drift.answered(40).report(estimate + 40, estimate + 30, covers=4)
                self.assertEqual(drift.predict(estimate + 40), estimate + 30)

    def test_reasoning_that_is_not_sent_again_is_no_part_of_the_next_prompt(self):
        """An answer counted at 20,000 of which a call of 40 came in; one of 280 may be it all."""
        for answer, predicted in ((20_000, 1_040), (281, 1_040), (280, 1_280)):
            with self.subTest(answer=answer):
                drift = Drift().report(1_000, 1_000, answer).answered(40)
                self.assertEqual(drift.predict(1_040), predicted)

    def test_a_goal_in_true_tokens_comes_back_as_the_estimate_that_meets_it(self):
        """What strategies aim at is an estimate; predicted again it is not over the goal."""
        drift = Drift()
        drift = drift.report(8_000, 12_000)
        for goal in (1, 100, 2_048, 7_777, 100_000):
            self.assertLessEqual(drift.predict(drift.estimate_of(goal)), goal)


def session(rounds, size=400):
    """A history of `rounds` calls of one tool, with results of `size` words."""
    history = [system("s"), user("read the files")]
    for number in range(rounds):
        history.append(assistant("", [call(f"c{number}", "read", {"path": f"f{number}.txt"})]))
        history.append(tool_result(f"c{number}", "read", f"line {number} " * size))
    return history


def published(limit):
    """A window under the published policy, and its records."""
    records = []
    return window(limit, policy="published", estimate="runs", records=records), records


class WindowTests(unittest.TestCase):
    """The window holds the prediction, not the estimate, against its budget."""

    def test_a_report_over_the_trigger_compresses_where_the_estimate_would_not(self):
        """The endpoint counts three times the estimate: the trigger goes by the endpoint."""
        history = session(3)
        quiet, records = published(6_000)
        quiet.before_model_call(history, 1)
        self.assertEqual(records, [])
        told, records = published(6_000)
        told.before_model_call(history[:6], 1)
        told.reported(3 * told.tokens)
        told.before_model_call(history, 2)
        self.assertEqual(records[0]["event"], "context_compression")
        self.assertLessEqual(told.predicted, 6_000)

    def test_an_overflow_has_both_counts_and_its_step_is_shown_in_one(self):
        """What an endpoint counts decides; the row of the step is estimated, as every row is."""
        history = [*session(1), user("and now " + "everything " * 3_000)]
        made, records = published(6_000)
        made.before_model_call(history[:4], 1)
        made.reported(2 * made.tokens)
        with self.assertRaises(ContextOverflowError):
            made.before_model_call(history, 2)
        (said,) = [record["payload"] for record in records if record["event"] == "context_overflow"]
        self.assertEqual((made.predicted, made.tokens, made.messages),
                         (said["tokens"], said["estimated"], said["messages"]))
        self.assertGreater(said["tokens"], said["estimated"])
        before = sum(map(made.state.estimate.message, history))
        self.assertEqual([(2, before, 5, 0, 0)], [
            (row.step, row.before, row.before_messages, row.sent, row.messages)
            for row in rows(records)])
        self.assertIn(f"; the request was estimated at {made.tokens}",
                      [words for _, _, words in happened(records)][-1])

    def test_an_answer_has_room_in_a_window_that_a_policy_fills(self):
        """A fifth, or 4,096 tokens: prompt and answer together are what the endpoint takes.

        A policy that keeps room of its own keeps that; `none` does nothing and is sent.
        """
        for name, window, hard in (
                ("digest", 8_000, 6_400), ("digest", 200_000, 195_904),
                ("digest_minimal", 8_000, 6_400),
                ("published", 8_000, 6_400), ("two_layer", 200_000, 180_000),
                ("none", 8_000, 8_000)):
            with self.subTest(name, window=window):
                budget = governed_by(with_room(find_policy(name), window), window).budget
                self.assertEqual(hard, budget.hard)
                self.assertLessEqual(budget.soft, hard)
        told = governed_by(with_room(find_policy("digest"), None), None).budget.within(8_000)
        self.assertEqual(6_400, told.hard)

    def test_the_window_that_is_advised_is_large_enough_and_not_larger(self):
        """The smallest for which a request of so many tokens leaves room for its answer."""
        for name in ("digest", "published", "two_layer", "reserve_16k", "none"):
            for size in (1, 1_000, 16_000, 200_000):
                policy = with_room(find_policy(name), size)
                budget = governed_by(policy, size).budget
                for tokens in (1, 7, 1_193, 99_999):
                    with self.subTest(name, size=size, tokens=tokens):
                        advised = budget.window_for(tokens)
                        self.assertLessEqual(tokens, governed_by(policy, advised).budget.hard)
                        if advised > 1:
                            less = governed_by(policy, advised - 1).budget.hard
                            self.assertGreater(tokens, less)

    def test_usage_from_before_a_change_does_not_trigger_the_next(self):
        """One compression, and none at the following step although the old report was high."""
        history = session(5)
        made, records = published(6_000)
        made.before_model_call(history[:8], 1)
        made.reported(made.tokens + 4_000)
        made.before_model_call(history[:10], 2)
        changes = len(records)
        self.assertGreater(changes, 0)
        made.before_model_call(history[:10], 3)
        self.assertEqual(len(records), changes)

    def test_the_answer_of_a_report_comes_in_at_its_true_size(self):
        """The report says 7 tokens of answer, whatever the estimate thinks of it."""
        history = session(1)
        made, _ = published(100_000)
        made.before_model_call(history, 1)
        made.reported(1_000, 7)
        made.take_in([*history, assistant("a long answer " * 50)])
        self.assertEqual(made.predicted, 1_007)


if __name__ == "__main__":
    unittest.main()
