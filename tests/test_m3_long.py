"""Milestone 3: long sessions: what is kept over 200 steps, and how stable requests are."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

from mini_agent.compression.policies import find_policy, policy_names, with_settings
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import ContextOverflowError
from mini_agent.governance import governed_by
from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.models.scripted import ScriptedModel
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer

from .stability import Request, requests

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


def live(policy: str, steps: int) -> tuple[list[Record], list[list[Message]]]:
    """The records and the requests of such a session under a policy."""
    records: list[Record] = []
    tracer = Tracer(records.append)
    made = governed_by(find_policy(policy), None if policy == "none" else WINDOW)
    window = ContextWindow(made.policy, made.budget, WindowState(estimator("chars4")),
                           Resources(ScriptedModel([]), tracer, MemoryStore()))
    history: list[Message] = []
    sent: list[list[Message]] = []
    for message in session(steps):
        if message["role"] == "assistant":
            sent.append(window.before_model_call(history, len(sent)))
            tracer.event("model_call", step=len(sent) - 1, messages=len(sent[-1]),
                         tokens=window.tokens)
        tracer.message(len(sent), message)
        history.append(message)
    return records, sent


class TwoHundredSteps(unittest.TestCase):
    """What users complain of most: the rules are forgotten."""

    def test_constraints_are_in_every_request_under_every_lawful_policy(self) -> None:
        """One from the first message and one from step 12, word for word, 200 steps long."""
        for name in policy_names():
            if name == "none" or find_policy(name).breaks:
                continue
            with self.subTest(policy=name):
                records, sent = live(name, 200)
                self.assertEqual(len(sent), 200)
                for step, request in enumerate(sent):
                    text = "\n".join(message["content"] for message in request)
                    self.assertIn(FIRST, text)
                    self.assertTrue(step <= 12 or LATER in text, step)
                self.assertTrue(any(record.get("event") == "context_compression"
                                    for record in records))

    def test_the_naive_way_forgets_them(self) -> None:
        """That is its point."""
        _, sent = live("naive", 60)
        self.assertNotIn(FIRST, "\n".join(message["content"] for message in sent[-1]))


class Talk(unittest.TestCase):
    """What the README says of a talk of very many turns."""

    def overflow(self, policy: str, **settings: Any) -> ContextOverflowError | None:
        """How 150 turns end whose words would fill the window four times."""
        chosen = with_settings(find_policy(policy), settings, "test")
        made = governed_by(chosen, WINDOW)
        window = ContextWindow(made.policy, made.budget, WindowState(estimator("chars4")),
                               Resources(ScriptedModel([]), Tracer(), MemoryStore()))
        history = [system("You are a coding agent."), user("Let us go through the list.")]
        try:
            for turn in range(150):
                window.before_model_call(history, turn)
                history += [assistant("Done."), user(f"Item {turn}: " + "please look " * 100)]
        except ContextOverflowError as error:
            return error
        return None

    def test_users_words_fill_the_window_where_nothing_bounds_their_share(self) -> None:
        """The error names them; a share in the settings is enough to go on."""
        for policy in ("digest", "handoff_note"):
            self.assertIsNone(self.overflow(policy), policy)
        error = self.overflow("clip")
        self.assertIsNotNone(error)
        self.assertEqual(error.immovable[0][0], "user messages")
        self.assertIsNone(self.overflow("clip", user_share=.3))


class Stability(unittest.TestCase):
    """The share of each request that is unchanged from the last one."""

    def test_it_falls_only_where_a_record_says_so(self) -> None:
        """Over 60 steps, under every policy, to the token."""
        for name in policy_names():
            with self.subTest(policy=name):
                records, sent = live(name, 60)
                made = list(requests(records, estimator("chars4")))
                self.assertEqual([request.step for request in made], list(range(60)))
                for request in made:
                    self.assertGreaterEqual(request.kept, request.promised)

    def test_the_numbers_of_a_request(self) -> None:
        """Nothing is sent before the first; without a change all of the last one stays."""
        records, _ = live("none", 3)
        first, second, third = requests(records, estimator("chars4"))
        self.assertEqual((first.kept, first.share), (0, 0.0))
        self.assertEqual(second, Request(1, second.tokens, first.tokens, first.tokens))
        self.assertEqual(round(third.share, 4), round(second.tokens / third.tokens, 4))


if __name__ == "__main__":
    unittest.main()
