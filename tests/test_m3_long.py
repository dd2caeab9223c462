"""Milestone 3: long sessions: what is kept over 200 steps, and what holds there."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

from mini_agent.compression.budget import MOST
from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.compression.view import Entry
from mini_agent.messages import Message, assistant, call, system, tool_result, user

from .histories import Case
from .lawbook import Life, broken_laws, live
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


class Laws(unittest.TestCase):
    """What is judged on short random sessions, on one of 40 steps."""

    def test_they_hold_under_every_policy(self) -> None:
        """But for those that it names: among them that a request begins with the last one as far
        as the records say, to the token."""
        for name in policy_names():
            with self.subTest(policy=name):
                life = lived(name, 40)
                self.assertEqual([], [fault for fault in broken_laws(life)
                                      if fault[0] not in life.policy.breaks])


if __name__ == "__main__":
    unittest.main()
