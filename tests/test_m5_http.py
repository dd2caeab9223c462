"""Milestone 5: one request to an endpoint, and what is done when it goes wrong."""

import gzip
import itertools
import json
import random
import sys
import unittest
import zlib
from types import SimpleNamespace
from unittest import mock

from mini_agent.errors import EndpointError, MiniAgentError, PromptTooLongError
from mini_agent.messages import user
from mini_agent.models.connect import Options, connect
from mini_agent.models.endpoint import Endpoint
from mini_agent.models.http import Http, RequestLimits, _start
from tests.fake_server import (BAD_KEY, LOADING, OVERLOADED, RATE_LIMIT, Answer, FakeServer, blocks,
                               call_part, chat, messages_events, part, plain, stream, usage_part)

KEY = "sk-test-0123456789abcdef"
HI = stream(part(content="h"), part(content="i"), part("stop"), usage_part(3, 2), "[DONE]")
HI_BLOCKS = stream(*messages_events({"type": "text", "text": "hi"}))


class Case(unittest.TestCase):
    """A model at a fake server; waits are noted, never taken."""

    def ask(self, *answers, provider="openai", read=30.0, clock=None, date=None, limits=None,
            **options):
        """(reply or error, retries, what the server got, texts shown)."""
        retries, waits, shown = [], [], []
        with FakeServer(*answers) as server:
            model = connect(
                Options(provider=provider, base_url=server.url, model="m", api_key=KEY, **options),
                {}, on_text=shown.append, on_retry=lambda **retry: retries.append(retry),
                sleep=waits.append, chance=lambda: 0.5, **({"clock": clock} if clock else {}),
                **({"date": lambda: date} if date else {}))
            model.http.limits = limits or RequestLimits(read=read)
            try:
                outcome = model.complete([user("hello")], [])
            except MiniAgentError as error:
                outcome = error
        self.assertEqual(waits, [retry["wait"] for retry in retries])
        self.assertNotIn(KEY, repr(outcome) + str(outcome) + repr(retries))
        return outcome, retries, server.requests, shown


class RetryTests(Case):
    """Only what can pass is tried again, later and later, and not for ever."""

    def test_what_can_pass_is_asked_again(self):
        """429, 408, 5xx, 529: one retry each, and the same request."""
        for status, body in ((429, RATE_LIMIT), (408, {}), (500, {}), (502, b"<html>"),
                             (503, LOADING), (504, b""), (529, OVERLOADED)):
            with self.subTest(status=status):
                reply, retries, sent, _ = self.ask(plain(body, status), HI)
                self.assertEqual(reply.content, "hi")
                self.assertEqual([(r["attempt"], r["status"]) for r in retries], [(1, status)])
                self.assertEqual(sent[0].body, sent[1].body)

    def test_what_cannot_pass_is_asked_once(self):
        """A 4xx, a redirection, and the 5xx that speak of our own request."""
        cannot = [(status, BAD_KEY)
                  for status in (400, 401, 403, 404, 405, 409, 413, 422, 425, 300, 302)]
        cannot += [(500, {"error": {"message": "Failed to parse tool call arguments as JSON"}}),
                   (501, {"error": {"message": "this is not implemented"}}),
                   (429, {"error": {"message": "You exceeded your current quota, please check "
                                    "your plan and billing details.",
                                    "code": "insufficient_quota"}})]
        for status, body in cannot:
            with self.subTest(status=status, body=body):
                error, retries, sent, _ = self.ask(plain(body, status), HI)
                self.assertIsInstance(error, EndpointError)
                self.assertEqual((error.status, error.transient), (status, False))
                self.assertEqual((len(sent), retries), (1, []))

    def test_waits_grow_and_end(self):
        """Half of each wait is certain; behind the last retry the error is the last one's."""
        error, retries, sent, _ = self.ask(*[plain({}, 500)] * 9)
        self.assertEqual([r["wait"] for r in retries], [.75, 1.5, 3.0, 6.0])
        self.assertEqual((error.status, len(sent)), (500, 5))

    def test_jitter_is_within_its_bounds(self):
        """Waits between half and all of 1, 2, 4 ... seconds, never over the longest."""
        rng = random.Random(5)
        waits = []
        model = connect(Options(base_url="http://127.0.0.1:9", model="m"), {}, chance=rng.random)
        for attempt in range(1, 5):
            error = EndpointError("x", status=500, transient=True)
            waits.append([model.http._wait(error, attempt) for _ in range(200)])
        for attempt, drawn in enumerate(waits):
            self.assertGreaterEqual(min(drawn), 2 ** attempt / 2)
            self.assertLessEqual(max(drawn), 2 ** attempt)
            self.assertGreater(len(set(drawn)), 100)

    def test_retry_after_is_obeyed(self):
        """Seconds, milliseconds, or a date; never earlier than asked."""
        date = {"retry_after": "Fri, 31 Dec 1999 23:59:59 GMT",
                "date": "Fri, 31 Dec 1999 23:59:29 GMT"}
        for headers, wanted in (({"retry_after": "7"}, 7), ({"retry_after": "0.5"}, .5),
                                ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5), (date, 30)):
            with self.subTest(headers=headers):
                reply, retries, _, _ = self.ask(plain(RATE_LIMIT, 429, **headers), HI)
                self.assertEqual(reply.content, "hi")
                self.assertGreaterEqual(retries[0]["wait"], wanted)
                self.assertLessEqual(retries[0]["wait"], wanted * 1.1)

    def test_a_date_to_wait_for_counts_from_our_clock_where_the_answer_has_none(self):
        """A proxy may leave out `Date`; half a minute is waited for all the same."""
        answer = plain(RATE_LIMIT, 429, retry_after="Fri, 31 Dec 1999 23:59:59 GMT", date="")
        _, retries, _, _ = self.ask(answer, HI, date=946684769.0)
        self.assertGreaterEqual(retries[0]["wait"], 30)
        self.assertLessEqual(retries[0]["wait"], 33)

    def test_retry_after_is_bounded(self):
        """An endpoint that asks for an hour is not waited for, and not asked before."""
        error, retries, sent, _ = self.ask(plain(RATE_LIMIT, 429, retry_after="3600"), HI)
        self.assertEqual((error.status, error.wait, retries, len(sent)), (429, 3600, [], 1))
        http = Http(Endpoint("http://h", "m"), chance=lambda: 0.0)
        self.assertEqual([60.0, None], [http._wait(EndpointError(
            "x", status=429, transient=True, wait=wait), 1) for wait in (60.0, 60.5)])

    def test_a_retry_after_that_is_none_is_not_there(self):
        """Words, negative numbers, infinity, at once, a day gone by: the usual wait."""
        for value in ("soon", "-5", "inf", "nan", "", "1e999", "0",
                      "Fri, 31 Dec 1999 23:59:59 GMT"):
            with self.subTest(value=value):
                _, retries, _, _ = self.ask(plain(RATE_LIMIT, 429, retry_after=value), HI)
                self.assertEqual(retries[0]["wait"], .75)

    def test_a_python_without_tls_is_told_as_what_it_is(self):
        """Built without OpenSSL, as on many machines: one line, nothing is tried again."""
        with mock.patch.dict(sys.modules, {"ssl": None}):
            sys.modules.pop("mini_agent.models.transport", None)
            error, retries, sent, _ = self.ask(HI)
        self.assertEqual(([], []), (retries, sent))
        self.assertTrue(str(error).endswith(
            "this Python has no module 'ssl'; use a Python that was built with it"), error)


class BrokenAnswerTests(Case):
    """An answer counts whole or not at all."""

    def both(self, chat_answer, messages_answer):
        """The outcome of both protocols: broken first, then well."""
        yield "openai", self.ask(chat_answer, HI)
        yield "anthropic", self.ask(messages_answer, HI_BLOCKS, provider="anthropic")

    def test_a_stream_without_its_end_mark_is_no_answer(self):
        """It ends cleanly, raises nothing, and is half of what the model said."""
        events = messages_events({"type": "text", "text": "half of it"})
        for name, (reply, retries, sent, _) in self.both(
                stream(part(content="half of it")), stream(*events[:-1])):
            with self.subTest(name):
                self.assertEqual(reply.content, "hi")
                self.assertEqual([r["status"] for r in retries], ["broken"])
                self.assertEqual(len(sent), 2)

    def test_one_end_mark_is_enough(self):
        """Some servers leave out `[DONE]`, some the finish reason, some break off behind it."""
        for answer in (stream(part(content="hi"), part("stop")),
                       stream(part(content="hi"), "[DONE]"),
                       stream(part(content="hi"), part("stop"), end="reset"),
                       stream(part(content="hi"), part("stop"), b"data: [DONE]")):
            reply, retries, _, _ = self.ask(answer)
            self.assertEqual((reply.content, retries), ("hi", []))

    def test_what_stands_behind_the_end_mark_is_not_read(self):
        """A server that says more, or keeps the line open, has said all that counts."""
        more = {"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": " more"}}
        for name, (reply, retries, _, shown) in self.both(
                stream(part(content="hi"), part("stop"), "[DONE]", part(content=" more")),
                stream(*messages_events({"type": "text", "text": "hi"}), more)):
            with self.subTest(name):
                self.assertEqual((reply.content, retries, "".join(shown)), ("hi", [], "hi"))

    def test_an_answer_of_nothing_is_none(self):
        """Status 200 and no byte, or blank lines: it is asked for again."""
        for nothing in (b"", b"\n", b" \r\n\n"):
            reply, retries, _, _ = self.ask(plain(nothing), HI)
            self.assertEqual((reply.content, [r["status"] for r in retries]), ("hi", ["broken"]))

    def test_a_connection_that_breaks_is_tried_again(self):
        """Before the answer, in the middle of a stream, in the middle of a body."""
        body = json.dumps(chat("hi")).encode()
        for answer in (Answer(end="reset"), stream(part(content="h"), end="reset"),
                       Answer(200, (body[:40],), end="cut")):
            reply, retries, _, _ = self.ask(answer, HI)
            self.assertEqual(reply.content, "hi")
            self.assertEqual(len(retries), 1)

    def test_what_is_packed_though_nobody_asked_is_unpacked(self):
        """A whole answer, a stream, a refusal; in pieces of a byte. Its limits hold unpacked."""
        whole = json.dumps(chat("hi")).encode()
        for coding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
            for answer in (plain(pack(whole)),
                           stream(*(bytes([byte]) for byte in pack(b"".join(HI.pieces))))):
                with self.subTest(coding, kind=answer.headers):
                    answer.headers["Content-Encoding"] = coding
                    self.assertEqual("hi", self.ask(answer)[0].content)
        too_long = plain(gzip.compress(json.dumps({"error": {
            "message": "This model's maximum context length is 300 tokens"}}).encode()), 400,
            content_encoding="GZIP")
        self.assertIsInstance(self.ask(too_long)[0], PromptTooLongError)
        bomb = plain(gzip.compress(b"{" + b" " * 5_000_000), content_encoding="gzip")
        limits = RequestLimits(answer=1_000_000, retries=0)
        self.assertEqual("the answer has no end", self.ask(bomb, limits=limits)[0].message)

    def test_what_cannot_be_unpacked_is_said(self):
        """A coding that is not known, and bytes that are of none."""
        for coding, said in (("br", "packed as br, which nobody asked for"),
                             ("gzip", "cannot be unpacked")):
            error, _, sent, _ = self.ask(*[plain(b"{}", content_encoding=coding)] * 5)
            self.assertIn(said, error.message)
            self.assertEqual(len(sent), 1 if coding == "br" else 5)

    def test_a_byte_order_mark_is_no_part_of_an_answer(self):
        """Of a whole one; in a stream it was none already."""
        answer = plain(b"\xef\xbb\xbf" + json.dumps(chat("hi")).encode())
        self.assertEqual("hi", self.ask(answer)[0].content)

    def test_silence_ends_at_the_read_limit(self):
        """No byte for longer than the limit: before the headers' end, or between two parts."""
        for answer in (stream(part(content="h"), end="hang"),
                       Answer(200, (), {"Content-Length": 5}, "hang")):
            reply, retries, _, _ = self.ask(answer, HI, HI, read=.4)  # under load even HI is late
            self.assertEqual(reply.content, "hi")
            self.assertEqual({retry["status"] for retry in retries}, {"timeout"})

    def test_an_answer_that_drips_ends_at_the_whole_limit(self):
        """Each part comes in time, and the answer never ends: the clock decides, once."""
        ticks = iter(range(0, 10_000, 100))
        answer = stream(*[part(content="x")] * 50, end="close")
        error, retries, sent, _ = self.ask(answer, HI, clock=lambda: next(ticks),
                                           limits=RequestLimits(whole=1_000))
        self.assertEqual((error.status, retries, len(sent)), ("timeout", [], 1))

    def test_a_line_that_drips_ends_at_the_whole_limit(self):
        """Bytes come in time, but no line does: the clock is looked at for each piece."""
        ticks = iter(range(0, 10_000, 100))
        error, retries, sent, _ = self.ask(stream(*[b"x"] * 50), HI, clock=lambda: next(ticks),
                                           limits=RequestLimits(whole=1_000))
        self.assertEqual((error.status, retries, len(sent)), ("timeout", [], 1))

    def test_a_malformed_part_is_not_skipped(self):
        """No JSON, no object, the wrong types: the answer is asked for again."""
        bad = ["{broken", "[1]", "3", '{"choices": 5}', '{"choices": [{"delta": 3}]}',
               '{"choices": [{"delta": {"content": {"a": 1}}}]}', '{"choices": [null]}',
               '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": 7}]}}]}']
        for data in bad:
            with self.subTest(data):
                reply, retries, _, _ = self.ask(stream(part(content="h"), data, part("stop")), HI)
                self.assertEqual(reply.content, "hi")
                self.assertEqual([r["status"] for r in retries], ["broken"])
        for data in ("{broken", "[]", '{"type": 3, "x": 1, "index": {}}', '{"no": "type"}',
                     '{"type": "content_block_delta", "index": 9, "delta": {}}',
                     '{"type": "content_block_start", "index": 0, "content_block": 4}',
                     '{"type": "content_block_start", "index": 0, "content_block": {"type": '
                     '"text", "text": 5}}'):
            with self.subTest(data):
                reply, retries, _, _ = self.ask(
                    stream(messages_events()[0], data, {"type": "message_stop"}), HI_BLOCKS,
                    provider="anthropic")
                if data.startswith('{"type": 3'):  # an event that we do not know is no fault
                    self.assertEqual((reply.content, retries), ("", []))
                else:
                    self.assertEqual((reply.content, len(retries)), ("hi", 1))

    def test_a_stream_may_end_its_lines_as_the_standard_lets_it(self):
        """With `\\r`, `\\r\\n` or `\\n`, in one piece or byte by byte."""
        for end in (b"\r", b"\r\n", b"\n"):
            body = b"".join(HI.pieces).replace(b"\n", end)
            for pieces in ([body], [body[at:at + 1] for at in range(len(body))]):
                reply, retries, _, _ = self.ask(stream(*pieces))
                self.assertEqual((reply.content, retries), ("hi", []), end)
                self.assertEqual(reply.usage["prompt_tokens"], 3)

    def test_an_index_that_is_null_is_the_first(self):
        """Some servers write the field and have nothing to say in it."""
        said = {"index": None, "delta": {"content": "hi"}, "finish_reason": "stop"}
        self.assertEqual(self.ask(stream({"choices": [said]}))[0].content, "hi")

    def test_a_long_line_of_tiny_pieces_costs_no_more_than_its_bytes(self):
        """A server that sends a byte at a time kept the program busy for minutes."""
        pieces = iter([*(b"x" for _ in range(400_000)), b"\n", b"end", b""])
        http = Http(Endpoint("http://localhost/v1", "m"))
        response = SimpleNamespace(headers={}, read1=lambda _: next(pieces))
        taken = list(http._lines(response, float("inf")))
        self.assertEqual([b"x" * 400_000 + b"\n", b"end"], taken)

    def test_numbers_that_nobody_can_have_sent_are_no_usage(self):
        """Usage decides when to compress; a number of thirty digits is none."""
        for prompt in (10**30, 10**12 + 1, -1, "5", 1.5, True, None):
            reply, _, _, _ = self.ask(plain(chat("hi", prompt=1) | {"usage": {
                "prompt_tokens": prompt, "completion_tokens": 1}}))
            self.assertIsNone(reply.usage, prompt)
        for told in ("5", [1], None, {"input_tokens": 10**30}):
            answer = blocks({"type": "text", "text": "hi"}) | {"usage": told}
            reply, retries, _, _ = self.ask(plain(answer), provider="anthropic")
            self.assertEqual(("hi", None, []), (reply.content, reply.usage, retries))

    def test_a_doubled_stream_is_heard_once(self):
        """What follows the end is not heard; a second beginning before the end is a fault."""
        once = [part(content="h"), part(content="i"),
                call_part(0, "c1", "run", '{"command": "make"}'), part("tool_calls")]
        reply, _, _, shown = self.ask(stream(*once, *once, usage_part(3, 2), "[DONE]"))
        self.assertEqual((reply.content, len(reply.tool_calls), shown), ("hi", 1, ["h", "i"]))
        events = messages_events({"type": "text", "text": "hi"})
        reply, _, _, shown = self.ask(stream(*events, *events), provider="anthropic")
        self.assertEqual((reply.content, shown), ("hi", ["hi"]))
        reply, retries, _, _ = self.ask(stream(*events[:4], *events), HI_BLOCKS,
                                        provider="anthropic")
        self.assertEqual((reply.content, [r["status"] for r in retries]), ("hi", ["broken"]))

    def test_a_call_that_comes_twice_is_run_once(self):
        """Same id, name and arguments under two indexes: a command would run twice."""
        reply, _, _, _ = self.ask(stream(
            call_part(0, "c1", "run", '{"command": "make"}'),
            call_part(1, "c1", "run", '{"command": "make"}'), part("tool_calls"), "[DONE]"))
        self.assertEqual(len(reply.tool_calls), 1)

    def test_an_error_inside_a_stream_is_judged_like_one_with_a_status(self):
        """Overloaded can pass; what the endpoint refuses cannot."""
        passing = stream(part(content="h"), {"error": {"message": "busy", "code": 503}})
        lasting = stream({"error": {"message": "no such field", "type": "invalid_request_error"}})
        reply, retries, _, _ = self.ask(passing, HI)
        self.assertEqual((reply.content, [r["status"] for r in retries]), ("hi", [503]))
        error, retries, _, _ = self.ask(lasting, HI)
        self.assertEqual((error.status, retries), (400, []))
        reply, retries, _, _ = self.ask(stream(messages_events()[0], OVERLOADED), HI_BLOCKS,
                                        provider="anthropic")
        self.assertEqual((reply.content, [r["status"] for r in retries]), ("hi", [529]))

    def test_an_error_under_status_200_is_an_error(self):
        """Routers do that; its own code counts."""
        error, _, _, _ = self.ask(plain({"error": {"message": "no key", "code": 401}}))
        self.assertEqual(error.status, 401)

    def test_a_prompt_that_is_too_long_is_never_repeated(self):
        """Neither with a plain status, nor inside a stream."""
        body = {"error": {"code": 400, "message": "request (5018 tokens) exceeds the available "
                          "context size (2048 tokens), try increasing it",
                          "type": "exceed_context_size_error", "n_prompt_tokens": 5018,
                          "n_ctx": 2048}}
        for answer in (plain(body, 400), plain(body, 500), stream(body)):
            error, retries, sent, _ = self.ask(answer, HI)
            self.assertIsInstance(error, PromptTooLongError)
            self.assertEqual((error.window, error.tokens, retries, len(sent)), (2048, 5018, [], 1))

    def test_an_answer_without_end_is_left(self):
        """A line longer than the limit, or a body longer than its own."""
        for limits in (RequestLimits(line=200), RequestLimits(answer=300)):
            error, retries, _, _ = self.ask(stream(part(content="x" * 400), part("stop")), HI,
                                            limits=limits)
            self.assertEqual((error.status, retries), ("broken", []))

    def test_a_limit_is_the_most_that_is_taken(self):
        """So many bytes, ends of lines and seconds as it says, and none more."""
        for most, fits, over in (({"answer": 3}, b"abc", b"abcd"),
                                 ({"ends": 2}, b"\n\r", b"\n\r\n"),
                                 ({"line": 4}, b"abc\n", b"abcd\n")):
            http = Http(Endpoint("http://h", "m"), RequestLimits(**most), clock=lambda: 9.0)
            for body in (fits, over):
                pieces = iter([body, b""])
                response = SimpleNamespace(headers={}, read1=lambda _: next(pieces))
                try:
                    taken = list(http._lines(response, 9.0))
                except EndpointError as error:
                    taken = error.message
                self.assertEqual(fits.splitlines(True) if body is fits else "the answer has no end",
                                 taken)

    def test_of_a_refusal_so_much_is_read_as_tells_enough(self):
        """One without an end is left; of one that breaks off it is told what came, and why."""
        self.assertEqual(2 * 50_000, len(_start(itertools.repeat(b"x" * 50_000))))

        def broken():
            yield b"no"
            raise EndpointError("the connection broke", status="connection")
        self.assertEqual(b"no (then: the connection broke)", _start(broken()))

    def test_an_answer_of_nothing_but_ends_of_lines_is_left(self):
        """Each may be an event to take apart: they are counted, whichever letter ends them."""
        for end in (b"\n", b"\r", b"\r\n", b"data: {}\n\n", b": alive\r"):
            some = (2_000 // (end.count(b"\n") + end.count(b"\r"))) * end
            with self.subTest(end=end):
                error, retries, _, _ = self.ask(stream(some + end), HI,
                                                limits=RequestLimits(ends=2_000))
                self.assertEqual((error.status, str(error).count("has no end"), retries),
                                 ("broken", 1, []))
                reply, _, _, _ = self.ask(stream(some, part(content="h"), part("stop"), "[DONE]"),
                                          limits=RequestLimits(ends=2_100))
                self.assertEqual("h", reply.content)

    def test_who_shows_the_text_may_fail_in_his_own_way(self):
        """A closed pipe on our side is no broken connection: it comes through, no retry."""
        retries = []

        def closed(_):
            raise BrokenPipeError("our own")
        with FakeServer(HI, HI) as server:
            model = connect(Options(base_url=server.url, model="m"), {}, on_text=closed,
                            on_retry=lambda **retry: retries.append(retry))
            with self.assertRaisesRegex(BrokenPipeError, "our own"):
                model.complete([user("x")], [])
        self.assertEqual((retries, len(server.requests)), ([], 1))


class SecretTests(Case):
    """The key goes out in one header and comes back nowhere."""

    def test_the_key_stands_in_its_header_only(self):
        """Bearer for one form, x-api-key for the other, and no trace of it in the body."""
        _, _, sent, _ = self.ask(HI)
        self.assertEqual(sent[0].headers["authorization"], f"Bearer {KEY}")
        self.assertNotIn(KEY, json.dumps(sent[0].body))
        _, _, sent, _ = self.ask(HI_BLOCKS, provider="anthropic")
        self.assertEqual(sent[0].headers["x-api-key"], KEY)
        self.assertNotIn("authorization", sent[0].headers)

    def test_an_endpoint_that_echoes_the_key_is_not_quoted(self):
        """In an error, in half, in an answer, in a page: `[key]` stands there."""
        echo = f"Incorrect API key provided: {KEY}. You sent Authorization: Bearer {KEY}"
        for answer in (plain({"error": {"message": echo}}, 401), plain(echo.encode(), 403),
                       plain({"error": {"message": echo, "code": 401}}, 200),
                       plain(chat(echo)),
                       stream(part(content=echo), part("stop"))):
            outcome, _, _, shown = self.ask(answer)
            self.assertIn("[key]", str(outcome))
            self.assertNotIn(KEY, "".join(shown))
        half = plain({"error": {"message": "Incorrect API key provided: sk-test-****cdef."}}, 401)
        self.assertNotIn("cdef", str(self.ask(half)[0]))

    def test_a_redirection_takes_no_key_along(self):
        """It is an error that says where to correct the address."""
        with FakeServer(HI) as other:
            error, _, _, _ = self.ask(plain(b"", 307, location=other.url + "/v1/chat/completions"))
            self.assertEqual(other.requests, [])
        self.assertIn("OPENAI_BASE_URL", error.remedy)

    def test_what_the_endpoint_says_cannot_move_the_terminal(self):
        """Control characters are gone, and it is one line of bounded length."""
        error, _, _, _ = self.ask(plain({"error": {"message": "\x1b[2J\r\nred\x07" + "x" * 5000}},
                                        400))
        self.assertRegex(str(error), r"^[^\x00-\x1f\x7f-\x9f]{1,700}$")


class PlainAnswerTests(Case):
    """A server that does not stream, though it was asked to."""

    def test_a_whole_answer_in_place_of_a_stream_is_taken(self):
        """The first byte tells, not the media type."""
        for answer in (plain(chat("hi")), stream(json.dumps(chat("hi")).encode())):
            reply, retries, _, _ = self.ask(answer)
            self.assertEqual((reply.content, retries), ("hi", []))
        reply, _, _, _ = self.ask(plain(blocks({"type": "text", "text": "hi"})),
                                  provider="anthropic")
        self.assertEqual(reply.content, "hi")

    def test_an_answer_of_another_protocol_is_a_mistyped_address(self):
        """JSON, but no answer: asked once, and the variable is named."""
        for provider, body in (("openai", blocks({"type": "text", "text": "hi"})),
                               ("openai", {"ok": True}), ("openai", {"choices": []}),
                               ("anthropic", chat("hi")), ("anthropic", {"content": None})):
            with self.subTest(provider=provider, body=body):
                error, retries, _, _ = self.ask(plain(body), provider=provider)
                self.assertEqual((getattr(error, "status", error), retries), ("broken", []))
                self.assertIn(f"{provider.upper()}_BASE_URL", error.remedy)

    def test_a_web_page_is_a_mistyped_address(self):
        """Status 200 and HTML: said at once, without a retry."""
        error, retries, _, _ = self.ask(plain(b"<!DOCTYPE html><title>hello</title>"))
        self.assertEqual((error.message, retries), ("a web page answers there", []))
        self.assertIn("OPENAI_BASE_URL", error.remedy)


if __name__ == "__main__":
    unittest.main()
