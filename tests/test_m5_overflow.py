"""Milestone 5: "the prompt is too long" is told by its text, and never from a rate limit."""

import json
import re
import unittest
from dataclasses import replace
from pathlib import Path

from mini_agent.errors import EndpointError, PromptTooLongError
from mini_agent.models.endpoint import Endpoint
from mini_agent.models.faults import refusal, refusal_inside
from mini_agent.models.overflow_text import Overflow, overflow

DATA = Path(__file__).parent / "data" / "overflow"
OVERFLOWS = json.loads((DATA / "overflow.json").read_text(encoding="utf-8"))
OTHERS = json.loads((DATA / "other.json").read_text(encoding="utf-8"))
ENDPOINT = Endpoint("https://api.example.com/v1", "m")


def wrappings(text):
    """The same words as endpoints and the proxies before them send them."""
    error = {"message": text, "type": "invalid_request_error", "param": None}
    inner = {"error": error}
    return {
        "chat": inner,
        "messages": {"type": "error", "error": error},
        "flat": {"object": "error", "message": text, "code": 400},
        "detail": {"detail": text},
        "list": [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}],
        "string in a string": {"error": {"message": json.dumps(inner), "code": "400"}},
        "gateway": {"error": {"message": "Provider returned error", "code": 400,
                              "metadata": {"raw": json.dumps(inner), "provider_name": "X"}}},
    }


class RefusalTests(unittest.TestCase):
    """What an endpoint's refusal comes to: a status, whether it can pass, and what to do."""

    def test_each_kind_of_refusal_has_its_remedy(self):
        """By its status, and where that says little by its words."""
        model = "check the model 'm' (MINI_AGENT_MODEL, --model) and the path in OPENAI_BASE_URL"
        key = "the key in OPENAI_API_KEY is not accepted here: check both"
        account, later = "waiting does not help: look at the account's plan", "try again later"
        other = "the endpoint does not take this request as it is"
        for status, said, transient, remedy in (
                (401, "no", False, key), (403, "no", False, key), (402, "no", False, account),
                (429, "insufficient_quota", False, account), (400, "billing", False, account),
                (404, "no", False, model), (400, "the model is not there", False, model),
                (302, "", False, "it points elsewhere: put the final address into OPENAI_BASE_URL"),
                (399, "", False, "it points elsewhere: put the final address into OPENAI_BASE_URL"),
                (429, "slow down", True, later), (500, "no", True, later), (503, "no", True, later),
                (408, "no", True, later), (501, "not implemented", False, other),
                (500, "failed to parse tool call arguments", False, other),
                (400, "no", False, other), (422, "no", False, other)):
            with self.subTest(status=status, said=said):
                error = refusal(replace(ENDPOINT, key="k" * 9), status, {}, said.encode())
                self.assertEqual((error.status, error.transient, error.remedy),
                                 (status, transient, remedy))
        self.assertEqual("set OPENAI_API_KEY to a key of this endpoint",
                         refusal(ENDPOINT, 401, {}, b"no").remedy)

    def test_an_error_inside_an_answer_has_the_status_of_its_type(self):
        """Or of its code, where that is a status; of neither it is a fault of the server."""
        for error, status in (
                ({"type": "overloaded_error"}, 529), ({"type": "rate_limit_error"}, 429),
                ({"type": "api_error"}, 500), ({"type": "server_error"}, 500),
                ({"type": "timeout_error"}, 504), ({"type": "authentication_error"}, 401),
                ({"type": "permission_error"}, 403), ({"type": "not_found_error"}, 404),
                ({"type": "invalid_request_error"}, 400), ({"type": "other"}, 500), ({}, 500),
                ("words", 500), ({"code": 400}, 400),
                ({"code": 599}, 599), ({"code": 600}, 500), ({"code": 399}, 500),
                ({"code": "rate", "type": "rate_limit_error"}, 429)):
            with self.subTest(error):
                self.assertEqual(status, refusal_inside(ENDPOINT, {"error": error}).status)
        self.assertIsInstance(refusal_inside(ENDPOINT, {"error": {"type": "request_too_large"}}),
                              PromptTooLongError)


class OverflowTextTests(unittest.TestCase):
    """The table against what endpoints really say."""

    def test_every_wording_is_recognised_with_its_numbers(self):
        """At least eight providers, each with the window and the size that it names."""
        self.assertGreaterEqual(len({case["from"] for case in OVERFLOWS}), 8)
        for case in OVERFLOWS:
            with self.subTest(case["from"], text=case["text"]):
                found = overflow(case["text"])
                self.assertEqual(found and found._asdict(),
                                 {"window": case["window"], "tokens": case["tokens"]})

    def test_what_speaks_of_something_else_is_no_overflow(self):
        """Rates, quotas, other fields, other limits."""
        self.assertGreater(len(OTHERS), 10)
        for case in OTHERS:
            with self.subTest(case["from"], text=case["text"]):
                self.assertIsNone(overflow(case["text"]))

    def test_status_and_wrapping_do_not_matter(self):
        """Every wording, in every body and under every status, is the same error."""
        for case in OVERFLOWS:
            for name, body in wrappings(case["text"]).items():
                for status in (400, 413, 422, 429, 500, 502):
                    with self.subTest(case["from"], wrapping=name, status=status):
                        error = refusal(ENDPOINT, status, {}, json.dumps(body).encode())
                        self.assertIsInstance(error, PromptTooLongError)
                        self.assertEqual((error.window, error.tokens),
                                         (case["window"], case["tokens"]))

    def test_a_rate_limit_stays_one_in_every_wrapping(self):
        """It can pass (or is refused), but nothing is compressed for it."""
        for case in OTHERS:
            for name, body in wrappings(case["text"]).items():
                with self.subTest(case["from"], wrapping=name):
                    error = refusal(ENDPOINT, 429, {}, json.dumps(body).encode())
                    self.assertIsInstance(error, EndpointError)

    def test_a_size_of_nothing_is_none(self):
        """A proxy that fills in 0 has not counted: no window of nothing is learned from it."""
        for case in OVERFLOWS:
            found = overflow(re.sub(r"\d[\d,_]*", "0", case["text"]))
            self.assertIn(found, (None, (None, None)), case["text"])

    def test_an_overflow_in_the_middle_of_a_stream_is_one(self):
        """Some endpoints send 200 first and the error as an event."""
        error = refusal_inside(ENDPOINT, {"type": "error", "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 2500 tokens > 300 maximum"}})
        self.assertEqual((type(error), error.window, error.tokens),
                         (PromptTooLongError, 300, 2500))

    def test_a_request_quoted_in_an_error_is_not_read(self):
        """An endpoint that quotes our own words about overflows has not said them."""
        body = {"detail": [{"type": "string_type", "msg": "Input should be a valid string",
                            "input": "prompt is too long: 2500 tokens > 300 maximum"}]}
        error = refusal(ENDPOINT, 422, {}, json.dumps(body).encode())
        self.assertIsInstance(error, EndpointError)
        self.assertNotIn("2500", str(error))

    def test_a_text_without_end_is_looked_at_all_the_same(self):
        """Long, repeating, full of digits: a wording that backtracks would not come back."""
        for text, found in (("maximum context length is " * 20_000, Overflow()),
                            ("context " * 50_000, None), ("9" * 1_000_000, None),
                            ("(" * 100_000, None),
                            ("prompt is too long: " + "9" * 100_000, Overflow())):
            self.assertEqual(found, overflow(text))


if __name__ == "__main__":
    unittest.main()
