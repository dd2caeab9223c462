"""Milestone 5: "the prompt is too long" is told by its text, and never from a rate limit."""

import json
import unittest
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
