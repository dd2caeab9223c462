"""Milestone 3: long sessions: what is kept over 200 steps, and how stable requests are."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

from mini_agent.compression.budget import MOST
from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.compression.view import Entry
from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.tokens import estimator

from .histories import Case
from .lawbook import Life, live
from .stability import Request, requests
from .support import payloads

FIRST = "Never touch config/prod.yaml."
LATER = "The port has to be 9090."
WINDOW = 12_000


def session(steps: int) -> Iterator[Message]:
    """A task with a constraint, work on many files, and in step 12 another constraint."""
    yield system("You are a coding agent.")
    yield user(f"Move the service to the new client. {FIRST}")
    for step in range(steps):
        path = f"src/part_{step % 40}.py"
        yield assistant(f"I look at {path}.", [call(f"c{step}", "read_file", {"path": path})])
        yield tool_result(f"c{step}", "read_file", "\n".join(
            f"{line}: value_{step}_{line} = compute({line}, mode={step})" for line in range(40)))
        if step == 12:
            yield user(f'One more thing: <pin kind="parameter">{LATER}</pin>')


def lived(policy: str, steps: int) -> Life:
    """What comes of such a session under a policy, with a request at its end."""
    return live(Case(tuple(session(steps)), policy=policy, estimate="chars4",
                     window=MOST if policy == "none" else WINDOW))


def said(sent: list[Entry]) -> str:
    """All that a request says."""
    return "\n".join(entry.message["content"] for entry in sent)


class TwoHundredSteps(unittest.TestCase):
    """What users complain of most: the rules are forgotten."""

    def test_constraints_are_in_every_request_under_every_lawful_policy(self) -> None:
        """One from the first message and one from step 12, word for word, 200 steps long."""
        for name in policy_names():
            if name == "none" or find_policy(name).breaks:
                continue
            with self.subTest(policy=name):
                life = lived(name, 200)
                self.assertEqual(len(life.sent), 201)
                for step, sent in enumerate(life.sent.values()):
                    self.assertIn(FIRST, said(sent))
                    self.assertTrue(step <= 12 or LATER in said(sent), step)
                self.assertTrue(payloads(life.records, "context_compression"))

    def test_the_naive_way_forgets_them(self) -> None:
        """That is its point."""
        *_, last = lived("naive", 60).sent.values()
        self.assertNotIn(FIRST, said(last))


class Talk(unittest.TestCase):
    """What the README says of a talk of very many turns."""

    def overflow(self, policy: str, **settings: Any) -> str:
        """How 150 turns end whose words would fill the window four times."""
        talk = [part for turn in range(150) for part in (
            user(f"Item {turn}: " + "please look " * 100), assistant("Done."))]
        return live(Case((system("You are a coding agent."), *talk), policy=policy, window=WINDOW,
                         settings=tuple(settings.items()), estimate="chars4")).overflow

    def test_users_words_fill_the_window_where_nothing_bounds_their_share(self) -> None:
        """The error names them; a share in the settings is enough to go on."""
        for policy in ("digest", "handoff_note"):
            self.assertEqual("", self.overflow(policy), policy)
        self.assertRegex(self.overflow("clip"), r"cannot be moved: user messages \d{5}")
        self.assertEqual("", self.overflow("clip", user_share=.3))


class Stability(unittest.TestCase):
    """The share of each request that is unchanged from the last one."""

    def test_it_falls_only_where_a_record_says_so(self) -> None:
        """Over 60 steps, under every policy, to the token."""
        for name in policy_names():
            with self.subTest(policy=name):
                made = list(requests(lived(name, 60).records, estimator("chars4")))
                self.assertEqual([request.step for request in made], list(range(61)))
                for request in made:
                    self.assertGreaterEqual(request.kept, request.promised)

    def test_the_numbers_of_a_request(self) -> None:
        """Nothing is sent before the first; without a change all of the last one stays."""
        first, second, third, _ = requests(lived("none", 3).records, estimator("chars4"))
        self.assertEqual((first.kept, first.share), (0, 0.0))
        self.assertEqual(second, Request(1, second.tokens, first.tokens, first.tokens))
        self.assertEqual(round(third.share, 4), round(second.tokens / third.tokens, 4))


if __name__ == "__main__":
    unittest.main()
