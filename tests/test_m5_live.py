"""Milestone 5: the loop and the window with an endpoint behind them."""

import json
import unittest

from mini_agent.compression.budget import make_budget
from mini_agent.compression.policies import find_policy
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.window import ContextWindow
from mini_agent.loop import Agent
from mini_agent.models.connect import Options, connect
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.tools.base import FunctionTool, ToolBox
from mini_agent.trace import Tracer
from tests.fake_server import (RATE_LIMIT, FakeServer, blocks, call_part, chat, messages_events,
                               part, plain, stream, usage_part)

OVERFLOW = {"error": {"code": 400, "message": "request (1500 tokens) exceeds the available context "
                      "size (1000 tokens), try increasing it", "type": "exceed_context_size_error"}}


def read(path: str = "") -> str:
    """What a tool gives whose results are all alike and long."""
    return "\n".join(f"{path} line {n} of the file" for n in range(60))


READER = FunctionTool("read", "Reads a file.", {"type": "object", "properties": {
    "path": {"type": "string"}}}, read)


class Case(unittest.TestCase):
    def run_agent(self, *answers, provider="openai", window=100_000, policy="published", key=""):
        """(outcome, records, bodies of the requests)."""
        records = []
        tracer = Tracer(records.append)
        tools = ToolBox([READER], Texts())
        with FakeServer(*answers) as server:
            agent = None

            def retried(**retry):
                tracer.event("model_retry", step=agent.step, **retry)
            model = connect(Options(provider=provider, base_url=server.url, model="m",
                                    api_key=key), {}, on_retry=retried, sleep=lambda _: None,
                            chance=lambda: 0)
            governed = ContextWindow(find_policy(policy), make_budget(window),
                                     WindowState(estimator("runs")), Resources(model, tracer),
                                     tools.declarations())
            agent = Agent(model, tools, tracer, window=governed)
            outcome = agent.run("You read files.", "Read them all.", {"format": 1})
        return outcome, records, [sent.body for sent in server.requests]


def events(records, *names):
    return [(record["event"], record["payload"]) for record in records
            if record.get("event") in names]


def reading(number, prompt=100, answer=20):
    """An answer that reads one more file."""
    return stream(call_part(0, "same-id", "read", json.dumps({"path": f"f{number}"})),
                  part("tool_calls"), usage_part(prompt, answer), "[DONE]")


DONE = stream(part(content="All read."), part("stop"), usage_part(300, 4), "[DONE]")
READ_BLOCK = {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "f"}}


class LoopTests(Case):
    def test_a_session_goes_through_on_both_protocols(self):
        """Calls, results, a final answer; usage stands behind its call, before the answer."""
        for provider, answers in (
                ("openai", (reading(0), DONE)),
                ("anthropic", (stream(*messages_events(READ_BLOCK, stop="tool_use")),
                               plain(blocks({"type": "text", "text": "All read."}))))):
            outcome, records, _ = self.run_agent(*answers, provider=provider)
            self.assertEqual((outcome.reason, outcome.text), ("final_answer", "All read."))
            kinds = [record.get("event") or record["message"]["role"] for record in records]
            self.assertEqual(kinds, ["run_start", "system", "user", "model_call", "model_usage",
                                     "assistant", "tool_call", "tool_result", "tool", "model_call",
                                     "model_usage", "assistant", "run_end"])

    def test_each_retry_is_a_record(self):
        """Step, attempt, status and wait, between the call and its usage."""
        _, records, _ = self.run_agent(plain(RATE_LIMIT, 429, retry_after=2), plain({}, 503), DONE)
        self.assertEqual(events(records, "model_retry"), [
            ("model_retry", {"step": 0, "attempt": 1, "status": 429, "wait": 2.0}),
            ("model_retry", {"step": 0, "attempt": 2, "status": 503, "wait": 1.0})])

    def test_usage_tells_how_far_the_prediction_was_off(self):
        """The second prompt is predicted as 1,000 + 20 + the new result."""
        _, records, _ = self.run_agent(reading(0, 1_000, 20), stream(
            part(content="x"), part("stop"), usage_part(1_500, 4), "[DONE]"))
        (_, first), (_, second) = events(records, "model_call")
        (_, usage), (_, later) = events(records, "model_usage")
        self.assertEqual(first["tokens"] + usage["drift"], 1_000)
        self.assertNotIn("predicted", first)
        self.assertEqual(second["predicted"] + later["drift"], 1_500)
        result = estimator("runs").message(next(
            record["message"] for record in records
            if record["type"] == "message" and record["message"]["role"] == "tool"))
        self.assertGreaterEqual(second["predicted"], 1_020 + result)

    def test_a_prompt_that_is_too_long_is_compressed_once_and_sent_again(self):
        """The second request is smaller, and nothing is asked a third time."""
        outcome, records, bodies = self.run_agent(
            reading(0), reading(1), reading(2), plain(OVERFLOW, 400), DONE)
        self.assertEqual(outcome.reason, "final_answer")
        changes = [payload for _, payload in events(records, "context_compression")]
        self.assertEqual({change["trigger"] for change in changes}, {"overflow"})
        self.assertLess(len(json.dumps(bodies[4])), len(json.dumps(bodies[3])))
        self.assertEqual(len(bodies), 5)
        refused = events(records, "model_usage")[3][1]
        self.assertEqual(refused["refused_tokens"], 1_500)

    def test_two_overflows_in_a_row_end_the_run(self):
        """One reactive compression, one retry: then the endpoint's words are the ending."""
        outcome, records, bodies = self.run_agent(
            reading(0), reading(1), reading(2), plain(OVERFLOW, 400), plain(OVERFLOW, 400))
        self.assertEqual((outcome.reason, len(bodies)), ("model_error", 5))
        self.assertIn("1000 tokens", outcome.detail)
        sizes = [usage.get("refused_tokens") for _, usage in events(records, "model_usage")]
        self.assertEqual(sizes[-2:], [1_500, 1_500])

    def test_an_overflow_with_nothing_to_move_is_not_repeated(self):
        """The first prompt alone: one request, one line."""
        outcome, records, bodies = self.run_agent(plain(OVERFLOW, 400))
        self.assertEqual((outcome.reason, len(bodies)), ("model_error", 1))
        self.assertEqual(events(records, "context_compression"), [])

    def test_a_rate_limit_compresses_nothing(self):
        """It is waited for; the view stays."""
        _, records, bodies = self.run_agent(
            reading(0), reading(1), plain({"error": {"message": "Request too large on tokens per "
                                                     "min (TPM): Limit 30000, Requested 44281"}},
                                          429), DONE)
        self.assertEqual(events(records, "context_compression"), [])
        self.assertEqual(bodies[2], bodies[3])

    def test_an_answer_that_is_cut_off_is_no_final_answer(self):
        """The run says so; its text is there."""
        outcome, _, _ = self.run_agent(plain(chat("All re", finish="length")))
        self.assertEqual((outcome.reason, outcome.text, outcome.done),
                         ("answer_cut", "All re", False))

    def test_an_endpoint_that_refuses_ends_the_run_with_its_line(self):
        """status 1, place and remedy in the record, no traceback."""
        outcome, records, _ = self.run_agent(plain({"error": {"message": "no such model"}}, 404))
        self.assertEqual(outcome.reason, "model_error")
        self.assertRegex(records[-1]["payload"]["detail"],
                         r"^http://.*/v1: the endpoint answered 404 .*check the model 'm'")

    def test_the_key_reaches_no_record(self):
        """An endpoint that echoes it in text, in a call, in a retry and in its last words."""
        key = "sk-echo-0123456789"
        _, records, _ = self.run_agent(
            stream(part(content=f"You sent {key}."), call_part(0, "a", "read", json.dumps(
                {"path": key})), part("tool_calls"), "[DONE]"),
            plain({"error": {"message": f"slow down, {key}"}}, 429),
            plain({"error": {"message": f"no such key: {key}"}}, 401), key=key)
        written = json.dumps(records)
        self.assertNotIn(key, written)
        self.assertGreater(written.count("[key]"), 3)

    def test_arguments_that_are_no_json_come_back_to_the_model_as_an_error(self):
        """The call is marked, its result says what is wrong, the next request is legal."""
        outcome, records, bodies = self.run_agent(
            stream(call_part(0, "a", "read", "{"), part("length"), "[DONE]"), DONE)
        self.assertEqual(outcome.reason, "final_answer")
        self.assertEqual(bodies[1]["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}")
        self.assertTrue(bodies[1]["messages"][3]["content"].startswith("ERROR INVALID_JSON"))

    def test_the_window_goes_by_the_endpoint_not_by_the_estimate(self):
        """The endpoint counts more than we do: compression comes before it refuses."""
        outcome, records, bodies = self.run_agent(
            reading(0, 900), reading(1, 2_500), reading(2, 3_800), DONE, window=4_000)
        self.assertEqual(outcome.reason, "final_answer")
        changes = events(records, "context_compression")
        self.assertTrue(changes)
        self.assertLess(changes[0][1]["before_tokens"], 4_000)
        for _, payload in events(records, "model_call"):
            self.assertLessEqual(payload.get("predicted", payload["tokens"]), 4_000)


if __name__ == "__main__":
    unittest.main()
