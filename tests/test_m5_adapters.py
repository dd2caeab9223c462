"""Milestone 5: what stands in a request, and how an answer is put together."""

import json
import unittest

from mini_agent.errors import ModelError
from mini_agent.messages import assistant, call, system, tool_result, user
from mini_agent.models.anthropic import Messages
from mini_agent.models.connect import Options, connect
from mini_agent.models.openai import ChatCompletions
from mini_agent.models.received import without_doubles
from tests.fake_server import (FakeServer, blocks, call_part, chat, messages_events, part, plain,
                               stream, usage_part)

TOOL = {"name": "read", "description": "Reads.", "parameters": {
    "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
THINKING = {"type": "thinking", "thinking": "First the file.", "signature": "c2lnbmVk"}
REDACTED = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}}


class Case(unittest.TestCase):
    def talk(self, *answers, history=(), tools=(TOOL,), provider="openai", model="m", **options):
        """(replies, bodies of the requests, texts shown): each reply is said and answered."""
        shown, replies, history = [], [], [*(history or (user("go"),))]
        with FakeServer(*answers) as server:
            model = connect(Options(provider=provider, base_url=server.url, model=model, **options),
                            {}, on_text=shown.append)
            for _ in range(len(answers)):
                reply = model.complete(history, tools)
                replies.append(reply)
                history.append(assistant(reply.content, reply.tool_calls, reply.opaque))
                history += [tool_result(made["id"], made["name"], "done")
                            for made in reply.tool_calls] or [user("and then?")]
        return replies, [sent.body for sent in server.requests], shown


class Piece(str):
    """A text that counts the letters that are copied when something is added to it."""

    copied = 0

    def __add__(self, other):
        Piece.copied += len(self) + len(other)
        return Piece(str(self) + other)

    def __radd__(self, other):
        Piece.copied += len(self) + len(other)
        return Piece(other + str(self))


class Index(int):
    """An index that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other):
        Index.compared += 1
        return int(self) == int(other)


class PiecesTests(unittest.TestCase):
    """What comes in very many pieces takes time in proportion to them."""

    def setUp(self):
        Piece.copied = Index.compared = 0

    def test_reasoning_in_pieces_is_joined_once(self):
        """In both forms; to add each piece to what there is would copy that every time."""
        made = Messages().assembly()
        made.add({"type": "content_block_start", "index": 0,
                  "content_block": {"type": "thinking", "thinking": Piece("a")}})
        for kind, key in (("thinking_delta", "thinking"), ("signature_delta", "signature")):
            for _ in range(999):
                made.add({"type": "content_block_delta", "index": 0,
                          "delta": {"type": kind, key: Piece("b")}})
        self.assertEqual([["block", {"type": "thinking", "thinking": "a" + "b" * 999,
                                     "signature": "b" * 999}]], made.reply().opaque["layout"])
        made = ChatCompletions().assembly()
        for _ in range(1_000):
            made.add({"choices": [{"delta": {"reasoning_details": [
                {"type": "t", "index": 0, "text": Piece("a"), "id": None}]}}]})
        self.assertEqual([{"type": "t", "index": 0, "text": "a" * 1_000, "id": None}],
                         made.reply().opaque["reasoning_details"])
        self.assertEqual(0, Piece.copied)

    def test_halves_of_a_character_are_joined_in_reasoning_too(self):
        """A block whose letter was cut in two could not be kept, and would be dropped whole."""
        made = Messages().assembly()
        made.add({"type": "content_block_start", "index": 0, "content_block": {
            "type": "thinking", "thinking": "\ud83d", "signature": "s"}})
        made.add({"type": "content_block_delta", "index": 0,
                  "delta": {"type": "thinking_delta", "thinking": "\ude00"}})
        self.assertEqual("\U0001f600", made.reply().opaque["layout"][0][1]["thinking"])

    def test_each_block_takes_in_what_belongs_to_it(self):
        """Sealed reasoning is not added to; a first piece without a type is not lost."""
        sealed = {"type": "redacted_thinking", "data": "x"}
        made = Messages().assembly()
        made.add({"type": "content_block_start", "index": 0, "content_block": sealed})
        made.add({"type": "content_block_delta", "index": 0,
                  "delta": {"type": "text_delta", "text": "stray"}})
        self.assertEqual([["block", sealed]], made.reply().opaque["layout"])
        with self.assertRaises(KeyError):  # which is a broken answer
            made.add({"type": "content_block_delta", "index": 7, "delta": {"type": "other"}})
        made = ChatCompletions().assembly()
        for text in "ab":
            made.add({"choices": [{"delta": {"reasoning_details": [{"index": None,
                                                                    "text": text}]}}]})
        self.assertEqual([{"index": None, "text": "ab"}], made.reply().opaque["reasoning_details"])

    def test_many_calls_are_told_apart_without_comparing_each_with_all(self):
        """Each piece finds its call by its index, and doubles are found by what they say."""
        made = ChatCompletions().assembly()
        for text in ("{", "}"):
            for number in range(1_000):
                made.add({"choices": [{"delta": {"tool_calls": [{
                    "index": Index(number), "function": {"name": "f", "arguments": text}}]}}]})
        calls = made.reply().tool_calls
        self.assertEqual([("call_0", "f", {}), ("call_999", "f", {})],
                         [(each["id"], each["name"], each["arguments"])
                          for each in (calls[0], calls[-1])])
        self.assertEqual(1_000, len(calls))
        self.assertLess(Index.compared, 5_000)
        one, two, three = (call(name, "f", {"a": 1}) for name in "xyx")
        self.assertEqual((one, two), without_doubles([one, two, three, two]))


class ChatTests(Case):
    """The chat-completions form."""

    def test_a_request_has_all_that_the_form_asks_for(self):
        """Model, limit, stream, tools, messages, in this order; nothing else."""
        history = [system("s"), user("go"), assistant("", [call("x", "read", {"path": "ä.txt"})]),
                   tool_result("x", "read", "text")]
        _, (body,), _ = self.talk(plain(chat("hi")), history=history, max_tokens=77)
        self.assertEqual(list(body), ["model", "max_tokens", "stream", "stream_options", "tools",
                                      "messages"])
        self.assertEqual((body["max_tokens"], body["stream_options"]),
                         (77, {"include_usage": True}))
        self.assertEqual(body["tools"], [{"type": "function", "function": TOOL}])
        self.assertEqual(body["messages"], [
            {"role": "system", "content": "s"}, {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c00000000", "type": "function",
                 "function": {"name": "read", "arguments": '{"path": "ä.txt"}'}}]},
            {"role": "tool", "tool_call_id": "c00000000", "content": "text"}])

    def test_without_tools_and_stream_their_fields_are_absent(self):
        """Some servers refuse an empty list, or options of a stream that is none."""
        _, (body,), _ = self.talk(plain(chat("hi")), tools=(), stream=False,
                                  extra={"temperature": 0})
        self.assertEqual(sorted(body), ["max_tokens", "messages", "model", "stream", "temperature"])

    def test_a_stream_and_a_whole_answer_are_the_same_reply(self):
        """Two calls in pieces, text before them, usage in the last part."""
        calls = (("a", "read", '{"path": "a.txt"}'), ("b", "read", '{"path": "b.txt"}'))
        pieces = [part(role="assistant", content=""), part(content="Two "), part(content="files"),
                  call_part(0, "a", "read", ""), call_part(0, arguments='{"path": '),
                  call_part(0, arguments='"a.txt"}'), call_part(1, "b", "read", '{"path": '),
                  call_part(1, arguments='"b.txt"}'), part("tool_calls"), usage_part(50, 9, 40)]
        (streamed,), _, shown = self.talk(stream(*pieces, "[DONE]"))
        (whole,), _, _ = self.talk(plain(chat("Two files", calls, "tool_calls", 50, 9, 40)))
        self.assertEqual(streamed, whole)
        self.assertEqual(shown, ["Two ", "files"])
        self.assertEqual(whole.usage, {"prompt_tokens": 50, "completion_tokens": 9,
                                       "cached_tokens": 40})
        self.assertEqual(whole.tool_calls, (call("a", "read", {"path": "a.txt"}),
                                            call("b", "read", {"path": "b.txt"})))

    def test_calls_are_told_apart_however_a_server_marks_them(self):
        """One index for all, no index, no id, the id in every piece, an object as arguments."""
        x, y = call("x", "read", {"n": 1}), call("y", "read", {"n": 2})
        no_index = [{"id": made["id"], "function": {"name": "read", "arguments":
                                                    json.dumps(made["arguments"])}}
                    for made in (x, y)]
        no_id = [{"function": {"name": "read", "arguments": {"n": n}}} for n in (1, 2)]
        cases = {
            "one index": [call_part(0, "x", "read", '{"n": 1}'),
                          call_part(0, "y", "read", '{"n": 2}')],
            "no index": [part(tool_calls=no_index)],
            "id in every piece": [call_part(0, "x", "read", '{"n"'),
                                  call_part(0, "x", "read", ": 1}"),
                                  call_part(1, "y", "read", '{"n": 2}')]}
        for name, pieces in cases.items():
            with self.subTest(name):
                (reply,), _, _ = self.talk(stream(*pieces, part("tool_calls"), "[DONE]"))
                self.assertEqual(reply.tool_calls, (x, y))
        body = chat("", (), "tool_calls")
        body["choices"][0]["message"]["tool_calls"] = no_id
        for answer in (plain(body), stream(part(tool_calls=no_id), part("stop"))):
            (reply,), _, _ = self.talk(answer)
            self.assertEqual(reply.tool_calls, (call("call_0", "read", {"n": 1}),
                                                call("call_1", "read", {"n": 2})))

    def test_a_call_cut_off_by_the_limit_enters_the_history_marked(self):
        """`{` comes back from a real server; it goes out again as an empty object."""
        replies, bodies, _ = self.talk(plain(chat("", (("a", "read", "{"),), "length")),
                                       plain(chat("hi")))
        self.assertEqual(replies[0].tool_calls[0], {"id": "a", "name": "read", "arguments": {},
                                                    "invalid": "{"})
        self.assertEqual(replies[0].cut, "length")
        self.assertEqual(bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"], "{}")

    def test_reasoning_goes_back_byte_for_byte_to_the_model_that_made_it(self):
        """Fields as they came; another model, or `keep_reasoning` off, gets none of it."""
        fields = {"reasoning_content": "First\u2028the file. ", "reasoning_details": [
            {"type": "reasoning.encrypted", "data": "eyJ9", "id": "rs_1", "index": 0}]}
        replies, bodies, _ = self.talk(plain(chat("hm", (("a", "read", "{}"),), **fields)),
                                       plain(chat("hi")))
        sent = bodies[1]["messages"][1]
        self.assertEqual({key: sent[key] for key in fields}, fields)
        self.assertEqual(replies[0].opaque, {"openai": {"model": "m", **fields}})
        history = [user("go"), assistant("hm", (), replies[0].opaque), user("on")]
        _, (body,), _ = self.talk(plain(chat("hi")), history=history, model="other")
        self.assertEqual(body["messages"][1], {"role": "assistant", "content": "hm"})
        replies, bodies, _ = self.talk(plain(chat("hm", **fields)), plain(chat("hi")),
                                       keep_reasoning=False)
        self.assertEqual(replies[0].opaque, None)
        self.assertEqual(bodies[1]["messages"][1], {"role": "assistant", "content": "hm"})

    def test_reasoning_that_no_trace_could_give_back_is_dropped(self):
        """Nested too deep, or with a number that JSON has not."""
        for data in (json.loads('{"a": ' * 99 + "1" + "}" * 99), float("inf")):
            details = [{"type": "reasoning.encrypted", "data": data, "index": 0}]
            replies, _, _ = self.talk(plain(chat("hm", reasoning_details=details)),
                                      plain(chat("hi")))
            self.assertIsNone(replies[0].opaque)

    def test_reasoning_that_another_agent_recorded_stays_at_home(self):
        """A converted log has it in its own form, which is no object of this model's."""
        history = [user("go"), assistant("hm", (), {"openai": [{"type": "reasoning"}]}), user("on")]
        _, (body,), _ = self.talk(plain(chat("hi")), history=history)
        self.assertEqual(body["messages"][1], {"role": "assistant", "content": "hm"})

    def test_streamed_reasoning_is_whole_again(self):
        """Text in pieces, blocks in pieces, and the signature of a call."""
        signed = {"google": {"thought_signature": "c2ln"}}
        made = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"},
                "extra_content": signed}
        detail = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
        replies, bodies, shown = self.talk(
            stream(part(reasoning="First "), part(reasoning="this"),
                   part(reasoning_details=[{**detail, "text": "Fir"}]),
                   part(reasoning_details=[{**detail, "text": "st", "signature": "c2ln"}]),
                   part(tool_calls=[made]), part("tool_calls"), "[DONE]"), plain(chat("hi")))
        self.assertEqual(replies[0].opaque["openai"], {
            "model": "m", "reasoning": "First this", "calls": [{"extra_content": signed}],
            "reasoning_details": [{**detail, "text": "First", "signature": "c2ln"}]})
        sent = bodies[1]["messages"][1]
        self.assertEqual(sent["tool_calls"][0]["extra_content"], signed)
        self.assertNotIn("calls", sent)
        self.assertEqual(shown, ["hi"] if shown else [])

    def test_reasoning_that_cannot_be_kept_byte_for_byte_is_dropped_whole(self):
        """A lone surrogate cannot stand in a trace."""
        (reply,), _, _ = self.talk(plain(chat("hm", reasoning_content="half \ud83d")))
        self.assertIsNone(reply.opaque)

    def test_a_character_that_was_cut_in_two_is_whole_again(self):
        """Halves of a pair in two parts; a half that stays alone is replaced."""
        (reply,), _, shown = self.talk(stream(
            b'data: {"choices": [{"delta": {"content": "a\\ud83d"}}]}\n\n',
            b'data: {"choices": [{"delta": {"content": "\\ude00b\\ud83d"}}]}\n\n',
            part("stop"), "[DONE]"))
        self.assertEqual(reply.content, "a\U0001f600b\ufffd")
        self.assertTrue("".join(shown).isprintable())

    def test_an_answer_that_was_cut_says_why(self):
        """The limit of an answer, or a filter; a refusal's own words are its text."""
        for finish, cut in (("stop", ""), ("length", "length"), ("content_filter", "refusal")):
            (reply,), _, _ = self.talk(plain(chat("x", finish=finish)))
            self.assertEqual(reply.cut, cut)
        (reply,), _, _ = self.talk(plain(chat(None, refusal="I will not.")))
        self.assertEqual(reply.content, "I will not.")

    def test_usage_is_what_was_reported_or_nothing(self):
        """Two ways to name the cache; numbers that are none; no usage at all."""
        cases = ((None, None), ({}, None), ({"prompt_tokens": "9"}, None),
                 ({"prompt_tokens": -4, "completion_tokens": 2}, None),
                 ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None},
                  (9, 2, 0)),
                 ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 8},
                  (9, 2, 8)))
        for reported, expected in cases:
            (reply,), _, _ = self.talk(plain({**chat("x"), "usage": reported}))
            self.assertEqual(reply.usage and tuple(reply.usage.values()), expected)

    def test_the_official_host_is_sent_the_new_name_of_the_limit(self):
        """It refuses the old one for newer models; other servers know only the old one."""
        from mini_agent.models.connect import find_endpoint
        for url, name in (("https://api.openai.com/v1", "max_completion_tokens"),
                          ("https://x.openai.azure.com/openai/v1", "max_completion_tokens"),
                          ("https://openrouter.ai/api/v1", "max_tokens")):
            _, wire = find_endpoint(Options("openai", url, "m", "sk-1234567"), {})
            self.assertEqual(wire._limit, name)


class MessagesTests(Case):
    """The messages form."""

    def talk(self, *answers, **options):
        return super().talk(*answers, provider="anthropic", **options)

    def test_a_request_has_all_that_the_form_asks_for(self):
        """The system apart, results as blocks of the user's turn, failures flagged."""
        history = [system("s"), user("go"), assistant("so", [call("x", "read", {"path": "a"}),
                                                             call("x", "read", {})]),
                   tool_result("x", "read", "text"),
                   tool_result("x", "read", "ERROR BAD", {"code": "BAD", "message": "m"})]
        _, (body,), _ = self.talk(plain(blocks({"type": "text", "text": "hi"})), history=history,
                                  max_tokens=77)
        cache = {"cache_control": {"type": "ephemeral"}}
        self.assertEqual(body, {
            "model": "m", "max_tokens": 77, "stream": True,
            "tools": [{"name": "read", "description": "Reads.",
                       "input_schema": TOOL["parameters"]}],
            "system": [{"type": "text", "text": "s", **cache}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go", **cache}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "so"},
                    {"type": "tool_use", "id": "c00000000", "name": "read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "c00000001", "name": "read", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c00000000", "content": "text"},
                    {"type": "tool_result", "tool_use_id": "c00000001", "content": "ERROR BAD",
                     "is_error": True, **cache}]}]})

    def test_cache_marks_stand_where_the_next_request_looks(self):
        """The mark at the end of one request is the older of the two in the next."""
        def marks(body):
            return [(at, len(message["content"]) - 1) for at, message in enumerate(body["messages"])
                    if "cache_control" in message["content"][-1]]
        _, bodies, _ = self.talk(*[plain(blocks(USE))] * 4)
        self.assertEqual([marks(body) for body in bodies],
                         [[(0, 0)], [(0, 0), (2, 0)], [(2, 0), (4, 0)], [(4, 0), (6, 0)]])
        self.assertIn("cache_control", bodies[0]["tools"][-1])  # no system: the tools instead

    def test_a_stream_and_a_whole_answer_are_the_same_reply(self):
        """Text, a call, thinking; usage of both ends of the stream."""
        content = (THINKING, {"type": "text", "text": "One file."}, USE)
        (streamed,), _, shown = self.talk(stream(*messages_events(
            *content, stop="tool_use", output=9, cache_read_input_tokens=40,
            cache_creation_input_tokens=5)))
        (whole,), _, _ = self.talk(plain(blocks(
            *content, stop="tool_use", output_tokens=9, cache_read_input_tokens=40,
            cache_creation_input_tokens=5)))
        self.assertEqual(streamed, whole)
        self.assertEqual("".join(shown), "One file.")
        self.assertEqual(whole.usage, {"prompt_tokens": 55, "completion_tokens": 9,
                                       "cached_tokens": 40})
        self.assertEqual(whole.tool_calls, (call("toolu_1", "read", {"path": "a.txt"}),))

    def test_thinking_goes_back_byte_for_byte_and_at_its_place(self):
        """Between texts and calls, as it came; ids alone are new."""
        content = [THINKING, {"type": "text", "text": "One."}, REDACTED,
                   {"type": "text", "text": "Two."}, THINKING, USE, {**USE, "id": "toolu_2",
                                                                     "input": {}}]
        for answer in (stream(*messages_events(*content)), plain(blocks(*content))):
            _, bodies, _ = self.talk(answer, plain(blocks(USE)))
            back = bodies[1]["messages"][1]["content"]
            self.assertEqual([{**block, "id": None} if "id" in block else block for block in back],
                             [{**block, "id": None} if "id" in block else block
                              for block in content])

    def test_thinking_is_dropped_whole_where_it_does_not_fit_any_more(self):
        """Another model; a message whose text was changed; one merged with a neighbour."""
        (reply,), _, _ = self.talk(plain(blocks(THINKING, {"type": "text", "text": "One."})))
        said = assistant(reply.content, (), reply.opaque)
        changed = {**said, "content": "On"}
        text = [{"type": "text", "text": "One."}]
        for history, model, expected in (
                ([user("go"), said, user("on")], "m", [THINKING, *text]),
                ([user("go"), said, user("on")], "other", text),
                ([user("go"), changed, user("on")], "m", [{"type": "text", "text": "On"}]),
                ([user("go"), said, assistant("More."), user("on")], "m",
                 [*text, {"type": "text", "text": "More."}])):
            _, (body,), _ = self.talk(plain(blocks(USE)), history=history, model=model)
            self.assertEqual(body["messages"][1]["content"], expected)

    def test_thinking_without_a_signature_is_not_kept(self):
        """Local servers send it so, and strict ones refuse it."""
        (reply,), _, _ = self.talk(plain(blocks({"type": "thinking", "thinking": "x"},
                                                {"type": "text", "text": "One."})))
        self.assertEqual((reply.content, reply.opaque), ("One.", None))

    def test_blocks_stand_in_the_order_of_their_numbers(self):
        """Whichever begins first; why it ended is known once it has been said."""
        def block(index, text):
            return ({"type": "content_block_start", "index": index,
                     "content_block": {"type": "text", "text": ""}},
                    {"type": "content_block_delta", "index": index,
                     "delta": {"type": "text_delta", "text": text}})

        first, *_, delta, stop = messages_events(stop="max_tokens", output=7)
        (reply,), _, _ = self.talk(stream(first, *block(1, "two"), *block(0, "one "), delta,
                                          {"type": "message_delta", "delta": {}}, stop))
        self.assertEqual(("one two", "length"), (reply.content, reply.cut))
        (reply,), _, _ = self.talk(plain(blocks({"type": "text", "text": "x"}, stop=None)))
        self.assertEqual(("x", ""), (reply.content, reply.cut))

    def test_an_answer_that_was_cut_says_why(self):
        """The answer's limit, the window's, a refusal."""
        for stop, cut in (("end_turn", ""), ("tool_use", ""), ("max_tokens", "length"),
                          ("model_context_window_exceeded", "length"), ("refusal", "refusal")):
            (reply,), _, _ = self.talk(plain(blocks({"type": "text", "text": "x"}, stop=stop)))
            self.assertEqual(reply.cut, cut)


class SummaryTests(Case):
    """`summarize` over a live endpoint."""

    def summary(self, answer, provider="openai"):
        shown, self.spent = [], []
        with FakeServer(answer) as server:
            model = connect(Options(provider=provider, base_url=server.url, model="m"), {},
                            on_text=shown.append, on_summary=self.spent.append)
            text = model.summarize([user("a"), assistant("b")], "rolling")
        self.assertEqual(shown, [])
        self.assertNotIn("tools", server.requests[0].body)
        return text

    def test_a_summary_is_text_and_nobody_hears_it_come(self):
        """No tools are offered; the text is that of the answer."""
        self.assertEqual(self.summary(stream(part(content="They said a."), part("stop"))),
                         "They said a.")

    def test_what_a_summary_took_is_told_where_it_was_counted(self):
        """Also of one that is refused: it was paid for."""
        self.summary(plain(chat("They said a.", prompt=7, answer=3)))
        self.assertEqual([(7, 3)], [(told["prompt_tokens"], told["completion_tokens"])
                                    for told in self.spent])
        with self.assertRaises(ModelError):
            self.summary(plain(chat("")))
        self.assertEqual(1, len(self.spent))
        self.summary(stream(part(content="They said a."), part("stop")))
        self.assertEqual([], self.spent)

    def test_a_summary_that_was_cut_says_so(self):
        """It never claims to be whole."""
        self.assertRegex(self.summary(plain(chat("They said", finish="length"))),
                         r"^They said\n\[cut off here")

    def test_a_call_or_nothing_in_place_of_a_summary_is_refused(self):
        """The history is untouched, since nothing is returned."""
        for answer in (plain(chat("x", (("a", "read", "{}"),))), plain(chat("")),
                       plain(chat(" \n"))):
            with self.assertRaisesRegex(ModelError, "no summary"):
                self.summary(answer)


if __name__ == "__main__":
    unittest.main()
