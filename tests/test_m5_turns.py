"""Milestone 5: whatever the history holds, what goes out is legal on both protocols."""

import json
import random
import unittest

from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.messages import MAX_DEPTH, assistant, call, system, tool_result, user
from mini_agent.models.anthropic import OFFICIAL, Messages
from mini_agent.models.live import Request
from mini_agent.models.openai import ChatCompletions
from mini_agent.models.received import received_call
from mini_agent.models.turns import legal
from mini_agent.texts import Texts
from mini_agent.trace import line, parse_record
from scripts.real.judges_part import drive, embedded
from tests.histories import random_messages
from tests.wire_judge import chat_faults, messages_faults

TOOL = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}


def body(wire, messages):
    """The body of a request with `messages` on a wire."""
    return wire.body(Request("m", legal(messages, Texts(), wire.bridged), (TOOL,), 100, True))


def sent(messages):
    """The messages as the chat form has them."""
    return body(ChatCompletions(), messages)["messages"]


def sent_blocks(messages, host=OFFICIAL):
    """The body of the messages form."""
    return body(Messages(host), messages)


class JudgeTests(unittest.TestCase):
    """The judge is no better than what it is seen to refuse."""

    def test_it_sees_each_fault_of_a_chat(self):
        """One a request; of a request without a fault it says nothing."""
        go, one, late = {"role": "user", "content": "go"}, "A" * 9, "the end is not the user's"

        def asks(made=one, name="read", arguments="{}"):
            return {"role": "assistant", "content": None, "tool_calls": [
                {"id": made, "function": {"name": name, "arguments": arguments}}]}

        def gives(made=one, content="ok"):
            return {"role": "tool", "tool_call_id": made, "content": content}

        for messages, *faults in (
                ([go],), ([go, asks(), gives()],),
                ([go, gives()], "1: result without a pending call"),
                ([go, asks(), gives(content=" ")], "2: empty result"),
                ([go, asks(), go], "2: the calls before it are not all answered"),
                ([go, {"role": "system", "content": "s"}], "1: a system message inside", late),
                ([go, go], "1: two of user in a row"),
                ([{"role": "assistant", "content": "x"}, go], "0: the assistant begins"),
                ([{"role": "user", "content": " "}], "0: empty user"),
                ([go, asks(), gives(), asks(), gives()], f"3: id '{one}'"),
                ([go, asks("x"), gives("x")], "1: id 'x'"),
                ([go, asks(name="a b"), gives()], "1: name 'a b'"),
                ([go, asks(arguments="[]"), gives()], "1: arguments are no object"),
                ([go, asks()], late)):
            self.assertEqual(faults, [*chat_faults(messages)], messages)

    def test_it_sees_each_fault_of_blocks(self):
        """The same in the other form, and more cache marks than four."""
        one, late = "A" * 9, "the end is not the user's"
        text, gives = {"type": "text", "text": "go"}, {"type": "tool_result", "tool_use_id": one}
        uses = {"type": "tool_use", "id": one, "name": "read", "input": {}}
        for messages, *faults in (
                ([[text]],), ([[text], [uses], [gives, text]],),
                ([[text], [text]], late), ([[text], [], [text]], "1: no block"),
                ([[text], [uses], [text, gives]], "2: results behind text"),
                ([[text], [uses], [text]], f"2: [] answer ['{one}']"),
                ([[{**text, "text": " "}]], "0: empty text"),
                ([[text], [uses], [gives], [uses], [gives]], f"3: id '{one}'"),
                ([[text], [{**uses, "id": "x"}], [{**gives, "tool_use_id": "x"}]], "1: id 'x'"),
                ([[text], [{**uses, "name": "a b"}], [gives]], "1: 'a b' or its input"),
                ([[text], [{**uses, "input": []}], [gives]], "1: 'read' or its input"),
                ([[text], [uses]], late),
                ([[{**text, "cache_control": {}}] * 5], "more than four cache marks")):
            sent = {"messages": [{"role": ("user", "assistant")[at % 2], "content": blocks}
                                 for at, blocks in enumerate(messages)]}
            self.assertEqual(faults, [*messages_faults(sent)], messages)
        self.assertEqual(["0: system after assistant", late], [*messages_faults(
            {"messages": [{"role": "system", "content": "s"}]})])


class LegalTests(unittest.TestCase):
    """Known ways to be refused, then random ones."""

    def legal(self, messages):
        self.assertEqual(list(chat_faults(sent(messages))), [])
        self.assertEqual(list(messages_faults(sent_blocks(messages))), [])
        self.assertEqual(list(messages_faults(sent_blocks(messages, "127.0.0.1"))), [])

    def test_random_histories_go_out_legal(self):
        """600 sessions: cut anywhere, shuffled, with strange names, ids and texts."""
        for seed in range(600):
            rng = random.Random(seed)
            messages = list(random_messages(rng))
            damage = rng.random()
            if damage < .3:
                messages = messages[rng.randint(0, len(messages)):]
            elif damage < .5:
                messages = [m for m in messages if rng.random() < .7]
            elif damage < .7:
                rng.shuffle(messages)
            for message in messages:
                if rng.random() < .1:
                    message["content"] = rng.choice(("", " \n", "x"))
                for made in message.get("tool_calls", ()):
                    if rng.random() < .1:
                        made["name"] = rng.choice(("", "read file!", "读", "x" * 99))
            with self.subTest(seed=seed):
                self.legal(messages)

    def test_nothing_at_all_still_makes_a_request(self):
        """No message, or the system alone: the user says something."""
        for messages in ([], [system("s")], [system("s"), system("t")], [system(" ")]):
            self.legal(messages)

    def test_ids_are_renewed_and_pair_by_position(self):
        """The same id in every step: each result stands behind its own call."""
        history = [user("go")]
        for step in range(3):
            history.append(assistant("", [call("a", "read", {"n": step}), call("a", "read", {})]))
            history += [tool_result("a", "read", f"{step}.0"),
                        tool_result("a", "read", f"{step}.1")]
        out = sent(history)
        ids = [made["id"] for message in out for made in message.get("tool_calls", ())]
        self.assertEqual(ids, [f"c{number:08d}" for number in range(6)])
        self.assertEqual([(m["tool_call_id"], m["content"]) for m in out if m["role"] == "tool"],
                         [(f"c{n:08d}", f"{n // 2}.{n % 2}") for n in range(6)])
        self.legal(history)

    def test_results_in_another_order_go_out_in_the_order_of_their_calls(self):
        """Results are found by id where ids differ."""
        history = [user("go"), assistant("", [call("a", "read", {}), call("b", "read", {})]),
                   tool_result("b", "read", "B"), tool_result("a", "read", "A")]
        self.assertEqual([m["content"] for m in sent(history) if m["role"] == "tool"], ["A", "B"])

    def test_neighbours_of_one_role_are_merged(self):
        """Their texts stay whole and in order."""
        history = [system("s"), system("t"), user("a"), user("b"), assistant("c"), assistant("d"),
                   user("e")]
        self.assertEqual([(m["role"], m["content"]) for m in sent(history)], [
            ("system", "s\n\nt"), ("user", "a\n\nb"), ("assistant", "c\n\nd"), ("user", "e")])
        blocks = sent_blocks(history)
        self.assertEqual([[block["text"] for block in m["content"]] for m in blocks["messages"]],
                         [["a", "b"], ["c", "d"], ["e"]])
        self.assertEqual([block["text"] for block in blocks["system"]], ["s", "t"])

    def test_the_users_words_right_behind_results_stay_behind_them(self):
        """One message for the form's owner; elsewhere a turn between, since servers that
        translate the form put the words before the results."""
        history = [user("go"), assistant("", [call("x", "read", {})]),
                   tool_result("x", "read", "text"), user("stop")]
        kinds = [[block["type"] for block in message["content"]]
                 for message in sent_blocks(history)["messages"]]
        self.assertEqual(kinds, [["text"], ["tool_use"], ["tool_result", "text"]])
        local = sent_blocks(history, "localhost")["messages"]
        self.assertEqual([message["role"] for message in local],
                         ["user", "assistant", "user", "assistant", "user"])
        self.assertEqual(local[3]["content"],
                         [{"type": "text", "text": "(I had not answered yet.)"}])

    def test_a_result_without_its_call_says_what_it_is(self):
        """It is not lost, and it does not play the user."""
        out = sent([user("go"), tool_result("x", "read", "line 1")])
        self.assertEqual(out[0]["content"], "go\n\n[tool result of read, its call is no longer "
                         "shown]\nline 1")

    def test_a_call_without_its_result_gets_one_that_says_so(self):
        """An open call, as a kill leaves it."""
        out = sent([user("go"), assistant("", [call("x", "read", {})]), user("and?")])
        self.assertEqual(out[2]["content"], "ERROR NO_RESULT: the result of this call is not there")
        blocks = sent_blocks([user("go"), assistant("", [call("x", "read", {})])])
        self.assertIs(blocks["messages"][2]["content"][0]["is_error"], True)

    def test_nothing_is_edited(self):
        """The view that was handed in is the same afterwards, to the byte."""
        history = list(random_messages(random.Random(3)))
        before = json.dumps(history)
        sent(history)
        sent_blocks(history)
        self.assertEqual(json.dumps(history), before)

    def test_a_longer_history_begins_with_the_bytes_of_the_shorter(self):
        """What was sent stays as it was, so that a provider's cache finds it."""
        history = [system("s"), user("go")]
        for step in range(5):
            history += [assistant("", [call("a", "read", {"n": step})]),
                        tool_result("a", "read", f"result {step}")]
        shorter, longer = (json.dumps(sent(h))[:-1] for h in (history[:-2], history))
        self.assertTrue(longer.startswith(shorter))


class EveryPolicyTests(unittest.TestCase):
    """The session of `scripts/test_real.py`, shorter, before a judge that is here."""

    def test_every_request_under_every_policy_is_legal(self):
        """15 steps with up to five calls each; also where a policy tears calls from results."""
        for name in policy_names():
            with self.subTest(name):
                faults = []

                def judge(form, body):
                    faults.extend(chat_faults(body["messages"]) if form == "openai"
                                  else messages_faults(body))
                self.assertEqual(drive(find_policy(name), 15, judge), 15)
                self.assertEqual(faults, [])

    def test_every_request_of_an_embedded_window_is_legal(self):
        """The session of another agent, on both forms, where no law is broken on purpose."""
        for name in policy_names():
            policy, faults = find_policy(name), []
            if policy.breaks or not policy.ladder:
                continue
            with self.subTest(name):
                embedded(name, "openai", 25, lambda _, body: faults.extend(
                    chat_faults(body["messages"])))
                embedded(name, "anthropic", 25, lambda _, body: faults.extend(
                    messages_faults(body)))
                self.assertEqual(faults, [])


def nested(levels):
    """An object of so many levels, as text."""
    return '{"a": ' * (levels - 1) + "[1]" + "}" * (levels - 1)


class ArgumentTests(unittest.TestCase):
    """Arguments as models give them, before they enter the history."""

    def test_arguments_that_are_an_object_are_one(self):
        """Text, an object, an object in a string, nothing at all."""
        for raw in ('{"a": 1}', {"a": 1}, '"{\\"a\\": 1}"', ' {"a": 1}\n'):
            self.assertEqual(received_call("c", "t", raw), call("c", "t", {"a": 1}))
        for raw in ("", "  ", None, "null", "{}"):
            self.assertEqual(received_call("c", "t", raw), call("c", "t", {}))

    def test_arguments_that_are_no_object_are_kept_as_they_came_and_marked(self):
        """A call cut off by the limit, a list, words, a number that JSON has not."""
        for raw in ("{", '{"path": "a', "[1]", "read it", "3", '"x"', '{"a": NaN}',
                    '{"a": 1} {"b": 2}', '{"a": ' * 5_000, '{"n": ' + "9" * 5_000 + "}"):
            made = received_call("c", "t", raw)
            self.assertEqual((made["arguments"], made["invalid"]), ({}, raw))

    def test_arguments_nested_too_deep_end_no_run(self):
        """At the same depth on every Python: `MAX_DEPTH` levels are taken, more are marked."""
        self.assertNotIn("invalid", received_call("c", "t", nested(MAX_DEPTH)))
        for levels in (MAX_DEPTH + 1, 300, 900, 100_000):
            self.assertEqual(received_call("c", "t", nested(levels))["invalid"], nested(levels))
        deep = json.loads(nested(200))
        self.assertEqual(received_call("c", "t", deep)["invalid"], "{...} nested too deep")

    def test_whatever_is_taken_comes_back_from_a_trace_as_it_was(self):
        """Numbers that JSON has not, and arguments as deep as may be: the session goes on."""
        for raw in ('{"a": 1e999}', '{"a": [-1e999]}', {"a": float("nan")}, {"a": "\ud800"},
                    *(given for levels in range(80, 110)
                      for given in (nested(levels), json.loads(nested(levels))))):
            message = assistant("", [received_call("c", "t", raw)])
            record = {"type": "message", "step": 0, "message": message, "seq": 0}
            self.assertEqual(record, parse_record(line(record)))

    def test_marked_arguments_go_out_as_an_empty_object(self):
        """Sent back as they came, some servers refuse every later request."""
        history = [user("go"), assistant("", [received_call("c", "read", "{")]),
                   tool_result("c", "read", "ERROR INVALID_JSON")]
        self.assertEqual(sent(history)[1]["tool_calls"][0]["function"]["arguments"], "{}")
        self.assertEqual(sent_blocks(history)["messages"][1]["content"][0]["input"], {})

    def test_numbers_that_json_has_not_are_text(self):
        """Python reads and writes NaN; a provider does not."""
        made = call("c", "t", {"a": float("nan"), "b": [float("-inf")], "c": 1})
        self.assertEqual(made["arguments"], {"a": "NaN", "b": ["-Infinity"], "c": 1})


if __name__ == "__main__":
    unittest.main()
