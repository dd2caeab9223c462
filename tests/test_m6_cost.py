"""Milestone 6: governing costs what is new, told by numbers that have no noise."""

import random
import unittest
from collections.abc import Iterable

from mini_agent.compression.index import HistoryIndex
from mini_agent.compression.laws import PAIRING, Protection, faults
from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.compression.view import Change, Entry, View, apply, same_prefix
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Trial, replay
from mini_agent.messages import (
    Message, assistant, call, pairing_faults, system, text_of, tool_result, user)
from mini_agent.tokens import estimator

from .labs import REAL, recording

LONG = 300_000  # characters of a recorded session; in a short one, what is tried counts for much


def session(rounds):
    """A session of reads, each result about 3,500 characters."""
    dice = random.Random(5)
    made = [system("You are careful."), user("Find out why the build fails.")]
    for number in range(rounds):
        path = f"src/part_{dice.randrange(40)}.py"
        text = "\n".join(f"{n}: value_{n} = compute(item_{n % 97})  # {path}"
                         for n in range(number, number + 70))
        made += [assistant(f"Looking at {path}.", [call(f"c{number}", "read", {"path": path})]),
                 tool_result(f"c{number}", "read", text)]
    return made


class CountedTest(unittest.TestCase):
    """Characters that are counted in a replay."""

    def assert_frugal(self, messages: list[Message], window: int,
                      policies: Iterable[str]) -> None:
        """None of these policies counts more than 1.05 times the characters of a session, and
        those that it put in."""
        there = sum(len(text_of(message)) for message in messages)
        for name in policies:
            played, made = Recording("s", "s", messages, estimator("runs")), []
            replay(played, [Trial(played, find_policy(name), window, [lambda moment: made.extend(
                len(text_of(entry["message"])) for record in moment.records
                for entry in record["payload"].get("entries", ()))])])
            with self.subTest(name):
                self.assertEqual(name in ("none", "naive", "keep_head"), not made)
                self.assertLessEqual(played.estimate.characters, 1.05 * there + sum(made))

    def test_a_replay_counts_the_session_and_what_changes_made_and_hardly_more(self):
        """Whatever the policy: lines that stood in the last digest or summary are known."""
        self.assert_frugal(session(120), 32_000, policy_names())

    @unittest.skipUnless(REAL.is_dir(), "SESSIONS is not set")
    def test_so_it_is_with_recorded_sessions(self) -> None:
        """The long ones, under those policies that try texts, or write them again and again."""
        names = [path for path in sorted(REAL.glob("*/*.json*")) if path.stat().st_size > LONG]
        played = [found for found in map(recording, names) if found.estimate.characters > LONG]
        self.assertTrue(played)
        for found in played:
            with self.subTest(found.name):
                self.assert_frugal(list(found.messages), 24_000, (
                    "published", "segmented", "stages", "two_layer", "handoff_form",
                    "clear_keep_3", "digest_lean"))

    def test_the_nth_summary_counts_what_is_new(self):
        """Late in a session no more characters than early, under every shape of summary: the
        parts of the last time are not counted, nor looked through, again."""
        messages = session(240)
        for name in ("layered", "segmented", "stages", "two_layer", "tail_summary", "handoff_form"):
            played = Recording("s", "s", messages, estimator("runs"))
            seen: list[int] = []
            replay(played, [Trial(played, find_policy(name), 12_000, [])],
                   lambda at: seen.append(played.estimate.characters))
            early, late = seen[120] - seen[60], seen[-1] - seen[-61]
            with self.subTest(name):
                self.assertGreater(early, 0)
                self.assertLess(late, 1.25 * early)


def random_view(dice):
    """A view of user messages and of calls with one to three results."""
    messages = []
    for number in range(dice.randrange(1, 12)):
        if dice.random() < .3:
            messages.append(user(f"say {number}"))
            continue
        ids = [f"{number}.{one}" for one in range(dice.randrange(1, 4))]
        messages += [assistant("", [call(key, "read", {}) for key in ids]),
                     *(tool_result(key, "read", "text") for key in ids)]
    return View(Entry(message, dice.randrange(1, 50), (at,))
                for at, message in enumerate(messages))


def random_change(view, dice):
    """Some entries out, some summaries and some whole results in; or all shortened in place."""
    affected = tuple(at for at in range(len(view)) if dice.random() < dice.choice((.1, .6))) or (0,)
    if dice.random() < .3:
        return Change("shorter", affected, tuple((at, Entry(
            view[at].message, 1, view[at].stands_for, "shortened")) for at in affected))
    count = dice.randrange(3)
    size = len(view) - len(affected) + count
    return Change("any", affected, tuple((at, dice.choice((
        Entry(user("sum"), 1, (), "summary"), Entry(tool_result("x", "read", ""), 1, (0,)))))
        for at in sorted(dice.sample(range(size), count))))


class KeptUpTest(unittest.TestCase):
    """What a view keeps up is what would be found anew."""

    def test_what_a_view_knows_behind_a_change_is_what_one_made_anew_knows(self):
        """Tokens and sums before a place, over random changes."""
        dice = random.Random(1)
        for _ in range(500):
            view = random_view(dice)
            after = apply(view, random_change(view, dice))
            after.append(Entry(tool_result("y", "read", "new"), 3, (99,)))
            anew = View(after.entries)
            self.assertEqual(anew.tokens, after.tokens)
            self.assertEqual([sum(entry.tokens for entry in after.entries[:at])
                              for at in range(len(after) + 1)],
                             [after.tokens_before(at) for at in range(len(after) + 1)])

    def test_a_moment_tells_how_its_view_differs_from_the_last_one(self):
        """What went, what came and the common prefix are those of a look at both views."""
        messages = session(60)
        for name in ("keep_head", "whole_rounds", "clip_errors_summary", "two_layer", "digest",
                     "tiers_50_70_90"):
            played, last, changed = Recording("s", "s", messages, estimator("runs")), [], 0

            def look(moment):
                nonlocal last, changed
                before, now = [*last, *moment.arrived], moment.view.entries
                old, new = ({id(entry) for entry in entries} for entries in (before, now))
                self.assertEqual(old - new, set(map(id, moment.gone)))
                self.assertEqual(new - old, set(map(id, moment.made)))
                self.assertEqual(same_prefix(last, now), moment.prefix)
                last, changed = list(now), changed + bool(moment.gone)

            with self.subTest(name):
                replay(played, [Trial(played, find_policy(name), 8_000, [look])])
                self.assertGreater(changed, 3)

    def test_a_torn_pair_is_found_in_the_neighbourhood_of_the_change(self):
        """The law names the same message and fault as a look at the whole view does."""
        dice, torn = random.Random(3), 0
        for _ in range(500):
            view = random_view(dice)
            change = random_change(view, dice)
            after = apply(view, change)
            whole = [f"message {at} of the view: {what}"
                     for at, what in pairing_faults(after.messages())][:1]
            near = [what for law, what in faults(view, after, change, Protection(
                history=[entry.message for entry in view.entries])) if law == PAIRING]
            torn += bool(whole)
            self.assertEqual(whole, near)
        self.assertGreater(torn, 100)


class RepeatedTest(unittest.TestCase):
    """Calls that are equal are known without a look through the view."""

    def test_it_is_known_which_results_are_of_an_equal_call(self):
        """Whatever the order of its arguments; numbers that are equal are alike, and what has no
        result yet is none."""
        first = call("a", "read", {"path": "x", "n": 1, "at": [1]})
        history = [assistant("", [first]), tool_result("a", "read", "")]
        index = HistoryIndex(history)
        self.assertEqual([1], [place.result for place in index.alike(first)])
        history += [assistant("", [call("b", "read", {"at": [1], "n": 1.0, "path": "x"}),
                                   other := call("c", "read", {"path": "y"}),
                                   call("d", "read", {"path": "x", "n": 1, "at": [2]}),
                                   call("e", "read", {"path": "x", "n": 1, "at": "[1]"})]),
                    *(tool_result(name, "read", "") for name in "ecdb"),
                    assistant("", [call("f", "read", first["arguments"])])]
        self.assertEqual([1, 6], [place.result for place in index.alike(first)])
        self.assertEqual([4], [place.result for place in index.alike(other)])
        self.assertEqual([], [*index.alike(call("g", "read", {"path": "z"}))])


if __name__ == "__main__":
    unittest.main()
