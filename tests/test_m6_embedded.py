"""Milestone 6: a policy in the loop of another agent."""

from __future__ import annotations

import contextlib
import json
import random
import re
import textwrap
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from mini_agent.compression.policies import policy_names
from mini_agent.embedded import EmbeddedWindow
from mini_agent.embedded.given import Given
from mini_agent.errors import ContextOverflowError, PromptTooLongError, TraceError, UsageError
from mini_agent.lab.check import check_file
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.steps import steps_of_trace, views
from mini_agent.messages import Message, calls_of
from mini_agent.models.scripted import ScriptedModel
from mini_agent.tokens import estimator
from mini_agent.trace import read_trace
from tests.histories import random_case
from tests.support import ROOT, FolderTest, called

WINDOW = 6_000
SESSION = ROOT / "workspace" / "sessions" / "rename.json"
BASH = {"type": "function", "function": {
    "name": "bash", "description": "Run a command. It may take a while.", "parameters": {
        "type": "object", "properties": {"command": {"type": "string"}}}}}
AS_BLOCKS = {**{key: BASH["function"][key] for key in ("name", "description")},
             "input_schema": BASH["function"]["parameters"]}
EXAMPLE = re.compile(r"^    from mini_agent.embedded.*\n(?:    .*\n|\n(?=    ))+", re.MULTILINE)
IMAGE = [{"type": "text", "text": "Look at this."},
         {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]


def as_chat(message: Message) -> Given:
    """A message as another agent would keep it."""
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["tool_call_id"],
                "content": message["content"]}
    calls = [{"id": made["id"], "type": "function", "function": {
        "name": made["name"], "arguments": json.dumps(made["arguments"], ensure_ascii=False)}}
        for made in message.get("tool_calls", ())]
    return {"role": message["role"], "content": message["content"],
            **({"tool_calls": calls} if calls else {})}


def as_blocks(messages: Iterable[Given]) -> list[Given]:
    """Chat messages as an agent keeps them that speaks the messages protocol; no system."""
    made = list[Given]()
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [{"type": "text", "text": message["content"]}] if message["content"] else []
        if message["role"] == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": message["tool_call_id"],
                       "content": message["content"]}]
        blocks += [{"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                    "input": json.loads(call["function"]["arguments"])}
                   for call in message.get("tool_calls", ())]
        if made and made[-1]["role"] == role == "user":
            made[-1]["content"] += blocks
        elif message["role"] != "system":
            made.append({"role": role, "content": blocks})
    return made


def as_results(request: Sequence[Given]) -> Iterator[Given]:
    """A request of blocks as chat messages, as far as pairing goes."""
    for message in request:
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        yield from ({"role": "tool", "tool_call_id": block["tool_use_id"]} for block in results)
        if len(results) < len(message["content"]):
            yield {"role": message["role"], "tool_calls": [
                block for block in message["content"] if block["type"] == "tool_use"]}


def renamed(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with an id of its own for each call, as an endpoint gives it."""
    waiting, number = deque[str](), count()
    for message in messages:
        if message["role"] == "tool":
            yield {**message, "tool_call_id": waiting.popleft()}
            continue
        calls = [{**made, "id": f"c{next(number)}"} for made in calls_of(message)]
        waiting.extend(made["id"] for made in calls)
        yield {**message, **({"tool_calls": calls} if calls else {})}


def recorded() -> list[Given]:
    """A recorded session as a list of another agent."""
    session, = open_sessions(SESSION)
    return list(map(as_chat, session.messages))


def asking(call_id: str, tool: str = "bash", /, **arguments: Any) -> Given:
    """A message with one call."""
    return {"role": "assistant", "content": None, "tool_calls": [{
        "id": call_id, "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)}}]}


def answering(call_id: str, content: str) -> Given:
    """A result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def played(window: EmbeddedWindow, live: list[Given],
           session: Sequence[Given]) -> Iterator[list[Given]]:
    """What is sent before each answer of a session, which grows in `live`."""
    for message in session:
        if message["role"] == "assistant":
            yield window.request()
        live.append(message)


class EmbeddedTest(FolderTest):
    """`EmbeddedWindow`, as the README shows it."""

    def window(self, live: list[Given], policy: str = "digest", size: int = WINDOW,
               **more: Any) -> EmbeddedWindow:
        return EmbeddedWindow(live, policy, size, [BASH], **more)

    def test_every_policy_keeps_the_requests_within_the_window_and_whole(self) -> None:
        """No result without its call, a trace in which `check` finds nothing; and in the other
        form the same texts, the sides taking turns. What was sent stays as it was, byte for byte,
        where no change is recorded, and so do the tools."""
        session = recorded()
        for policy in policy_names():
            size = 60_000 if policy == "none" else WINDOW
            live: list[list[Given]] = [session[:1], []]
            path = self.folder / f"{policy}.jsonl"
            chat = self.window(live[0], policy, size, trace=path, model=ScriptedModel([]))
            blocks = EmbeddedWindow(live[1], policy, size, [AS_BLOCKS], provider="anthropic",
                                    system=session[0]["content"], model=ScriptedModel([]))
            sent: list[tuple[str, list[str], list[str]]] = []
            with self.subTest(policy):
                for one, other in zip(played(chat, live[0], session[1:]),
                                      played(blocks, live[1], as_blocks(session)), strict=True):
                    self.assertLessEqual(chat.tokens, size)
                    self.assertEqual(said(as_blocks(one)), said(other))
                    self.assertEqual([{"user", "assistant"}] * (len(other) - 1), [
                        {a["role"], b["role"]} for a, b in zip(other, other[1:])])
                    if policy not in ("naive", "keep_head"):
                        self.assertEqual([], [*torn(one), *torn(as_results(other))])
                    sent.append((json.dumps([chat.tools, blocks.tools]),
                                 [*map(json.dumps, one)], [*map(json.dumps, other)]))
                chat.close()
                changed = {name: {payload["step"] for payload in read_trace(path).events(name)}
                           for name in ("context_compression", "settings")}
                for step, (old, new) in enumerate(zip(sent, sent[1:]), 1):
                    self.assertTrue(old[0] == new[0] or step in changed["settings"])
                    if step not in changed["context_compression"]:
                        self.assertEqual(old[1:], (new[1][:len(old[1])], new[2][:len(old[2])]))
                self.assertEqual([], list(check_file(str(path))))

    def test_random_sessions_are_whole_in_each_request_and_in_the_trace(self) -> None:
        """Whatever stands in their messages: what is too much ends as an overflow, or is sent."""
        sent = 0
        for seed in range(30):
            case = random_case(seed)
            path, live = self.folder / f"{seed}.jsonl", list[Given]()
            policy = policy_names()[seed % len(policy_names())]
            window = self.window(live, policy, 4 * case.window, trace=path, model=ScriptedModel([]))
            with self.subTest(seed=seed, policy=policy), suppress(ContextOverflowError):
                for request in played(window, live, list(map(as_chat, renamed(case.messages)))):
                    sent += 1
                    if policy not in ("naive", "keep_head"):
                        self.assertEqual([], torn(request))
            window.close()
            self.assertEqual([], [line for line in check_file(str(path))
                                  if ": trace: " in line or "law" in line and
                                  "without its result" not in line], (seed, policy))
        self.assertGreater(sent, 100)

    def test_in_whatever_order_a_window_is_used_its_trace_is_true(self) -> None:
        """Asked twice, told of a usage late or twice, refused again, after an overflow; and when it
        is gone on with, too."""
        script = self.write_task(replies=[{"content": "Gone on."}])
        for seed in range(40):
            draw, path, live = random.Random(seed), self.folder / "t.jsonl", list[Given]()
            policy = draw.choice([name for name in policy_names()
                                  if name not in ("naive", "keep_head")])
            session = map(as_chat, renamed(random_case(seed).messages))
            with self.window(live, policy, draw.choice([3_000, 9_000, None]), trace=path,
                             model=ScriptedModel([])) as window:
                uses = (window.request, lambda: window.reported({"prompt_tokens": 2_000}),
                        lambda: window.smaller("maximum context length is 2000 tokens"))
                for message in session:
                    live.append(message)
                    for use in draw.choices(uses, (4, 1, 1), k=draw.randrange(3)):
                        with suppress(UsageError, ContextOverflowError, PromptTooLongError):
                            use()
            for _ in range(2):
                with self.subTest(seed, policy=policy):
                    self.assertEqual([], [line for line in check_file(str(path))
                                          if ": transcript: " not in line])
                    self.assertNotIn("contradicts", called("resume", path, "On.", "--script",
                                                           script)[2])

    def test_the_example_of_the_readme_runs(self) -> None:
        """Both loops of it: the agent's own tools, and those of the window."""
        code = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
        assert code is not None
        replies = iter([asking("a"), asking("b", "read_result", handle=2),
                        {"role": "assistant", "content": "Done."}])
        asked: list[list[Given]] = []

        def ask(messages: list[Given], tools: list[dict[str, Any]]) -> tuple[Any, Any]:
            asked.append(messages)
            return next(replies), {"prompt_tokens": 900, "completion_tokens": 9}

        def run(made: dict[str, Any]) -> Given:
            return answering(made["id"], "what the tool says")

        (self.folder / "traces").mkdir()
        with contextlib.chdir(self.folder):
            exec(textwrap.dedent(code[0]), {"ask": ask, "run": run, "task": "Go.", "tools": [BASH]})
        self.assertEqual([1, 3, 5], [len(messages) for messages in asked])
        self.assertIn("what the tool says", asked[2][4]["content"])
        self.assertEqual([], list(check_file(str(self.folder / "traces" / "mine.jsonl"))))

    def test_blocks_that_were_not_changed_are_the_agents_own(self) -> None:
        """Images, signed thinking, marks of the cache, a server's own tool."""
        search = {"type": "web_search_20250305", "name": "web_search"}
        thinking = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
        call = {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}}
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                             "data": "AAAA"}}
        live = [{"role": "user", "content": "Look."},
                {"role": "assistant", "content": [thinking, call]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [image],
                     "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "So?"}]}]
        window = EmbeddedWindow(live, "digest", WINDOW, [search, AS_BLOCKS], provider="anthropic")
        self.assertEqual(live, window.request())
        self.assertEqual([search, AS_BLOCKS], window.tools[:2])
        self.assertEqual({"name", "description", "input_schema"}, {*window.tools[2]})
        made = {"type": "tool_use", "id": "b", "name": "read_result", "input": {"handle": 0}}
        result = window.answer(made)
        assert result is not None
        self.assertEqual(("tool_result", "b"), (result["type"], result["tool_use_id"]))
        before = window.tokens
        window.reported({"input_tokens": before, "cache_read_input_tokens": 70})
        self.assertEqual(before + 70, window.tokens)

    def test_what_tools_of_the_endpoint_were_asked_and_gave_is_counted(self) -> None:
        """Before any usage has come: what is encrypted, too, but nothing that is said twice."""
        found = {"type": "web_search_result", "title": "t", "url": "u"}
        said = {"type": "text", "text": "I have looked."}
        asked = {"type": "server_tool_use", "id": "s", "name": "web_search"}
        result = {"type": "web_search_tool_result", "tool_use_id": "s"}
        run = {"type": "code_execution_tool_result", "tool_use_id": "r"}
        gave = {"type": "mcp_tool_result", "tool_use_id": "m",
                "content": [{"type": "text", "text": "word " * 1_000}]}

        def tokens(*blocks: Given) -> int:
            window = EmbeddedWindow([{"role": "user", "content": "Go."},
                                     {"role": "assistant", "content": [said, *blocks]}],
                                    "digest", 100_000, provider="anthropic")
            window.request()
            return window.tokens

        bare = tokens()
        self.assertEqual(bare, tokens({"type": "text", "text": ""}))
        for block in ({**asked, "input": {"query": "word " * 1_000}},
                      {**result, "content": [{**found, "encrypted_content": "word " * 1_000}]},
                      {**run, "content": {"type": "code_execution_result",
                                          "stdout": "word " * 1_000}}, gave):
            self.assertTrue(1_000 < tokens(block) - bare < 1_100, (block["type"], tokens(block)))

    def test_what_is_sent_can_be_had_from_the_trace(self) -> None:
        """The rebuilt view of each step has the texts of its request."""
        live: list[Given] = []
        path = self.folder / "t.jsonl"
        window = self.window(live, trace=path)
        sent = ["\n\n".join(message["content"] or "" for message in request)
                for request in played(window, live, recorded())]
        window.close()
        steps = steps_of_trace(read_trace(path).records, estimator("runs"))
        self.assertEqual(sent, ["\n\n".join(entry.message["content"] for entry in view.entries)
                                for _, view in views(steps)])
        status, out, _ = called("why", path, "24 places still say account_no")
        self.assertEqual(0, status)
        self.assertIn("coverage_digest", out)

    def test_what_was_not_changed_is_the_agents_own_message(self) -> None:
        """An image stays an image, and unknown fields are kept."""
        live = [{"role": "developer", "content": "Be brief.", "name": "host"},
                {"role": "user", "content": IMAGE}]
        window = self.window(live)
        live += [{**asking("a"), "reasoning_content": "I look."}, answering("a", "an image")]
        for sent, own in zip(window.request(), live, strict=True):
            self.assertIs(sent, own)

    def test_what_was_made_joins_the_users_message_beside_it(self) -> None:
        """Many templates refuse two user messages in a row; an image in one is kept."""
        line = "a line of a log that nobody needs\n"
        for task in ("Look at this.", IMAGE):
            live = [{"role": "user", "content": task}]
            for number in range(6):
                live += [asking(f"c{number}"), answering(f"c{number}", line * 150)]
            request = self.window(live, "whole_rounds").request()
            with self.subTest(task):
                self.assertEqual(["user", "assistant"],
                                 [message["role"] for message in request[:2]])
                content = request[0]["content"]
                texts = content.split("\n\n") if task is not IMAGE else [
                    part.get("text", "image") for part in content]
                self.assertEqual("Look at this.", texts[0])
                self.assertIn("dropped", texts[-1])
                self.assertEqual(task == IMAGE, "image" in texts)

    def test_what_was_shortened_keeps_its_other_fields(self) -> None:
        """Only the content of a result is another."""
        live = [{"role": "user", "content": "Read it."}, asking("a"),
                {**answering("a", "line of a log, of no use\n" * 2_000), "name": "bash"}]
        request = self.window(live).request()
        self.assertEqual({"role": "tool", "tool_call_id": "a", "name": "bash"},
                         {key: request[2][key] for key in request[2] if key != "content"})
        self.assertLess(len(request[2]["content"]), 10_000)

    def test_the_model_can_read_again_what_it_is_sent_no_more(self) -> None:
        """The tool for it is declared beside the agent's own, and is answered here."""
        live = [{"role": "user", "content": "Read it."}, asking("a"),
                answering("a", "\n".join(f"line {number} of a log" for number in range(9_000)))]
        window = self.window(live)
        window.request()
        self.assertEqual(["bash", "read_result"],
                         [tool["function"]["name"] for tool in window.tools])
        made = asking("b", "read_result", handle=2, start=7_000, end=7_000)["tool_calls"][0]
        result = window.answer(made)
        assert result is not None
        self.assertEqual("b", result["tool_call_id"])
        self.assertIn("line 6999 of a log", result["content"])
        self.assertIsNone(window.answer(asking("c", command="ls")["tool_calls"][0]))

    def test_declarations_can_be_sent_short(self) -> None:
        """As `lean_input` does it; each can be asked for."""
        live = [{"role": "user", "content": "Say hello."}]
        tools = [BASH] + [{"type": "function", "function": {
            **BASH["function"], "name": f"tool_{number}"}} for number in range(40)]
        window = EmbeddedWindow(live, "lean_input", WINDOW, tools, model=ScriptedModel([]))
        window.request()
        names = [tool["function"]["name"] for tool in window.tools]
        self.assertNotIn("tool_39", names)
        made = asking("a", "describe_tool", name="tool_39")
        live += [made, window.answer(made["tool_calls"][0]) or {}]
        window.request()
        self.assertIn("tool_39", [tool["function"]["name"] for tool in window.tools])

    def test_what_was_sent_short_keeps_its_other_fields(self) -> None:
        """A tool without parameters of its own goes as it is."""
        mark = {"cache_control": {"type": "ephemeral"}}
        search = {"type": "web_search_20250305", "name": "web_search"}
        long = {**AS_BLOCKS, "description": f"Run. {'It may take a while. ' * 200}", **mark}
        window = EmbeddedWindow([{"role": "user", "content": "Go."}], "lean_input", 30_000,
                                [search, long], provider="anthropic", model=ScriptedModel([]))
        window.request()
        self.assertEqual([search, {**AS_BLOCKS, "description": "Run.", **mark}], window.tools[:2])

    def test_what_the_endpoint_counts_is_what_the_next_request_is_measured_by(self) -> None:
        """A usage that says nothing changes nothing."""
        live = [{"role": "user", "content": "Say hello."}]
        window = self.window(live)
        window.request()
        before = window.tokens
        window.reported({"prompt_tokens": None})
        self.assertEqual(before, window.tokens)
        window.reported({"prompt_tokens": before + 500, "completion_tokens": 3})
        self.assertEqual(before + 500, window.tokens)

    def test_after_a_refusal_less_is_sent_and_its_window_is_kept(self) -> None:
        """Words that speak of something else change nothing; where nothing is left to give, it
        is the refusal that is raised."""
        live = [{"role": "user", "content": "Go."}]
        for number in range(6):
            live += [asking(f"c{number}"), answering(f"c{number}", f"line {number} of it\n" * 200)]
        path = self.folder / "t.jsonl"
        window = self.window(live, "whole_rounds", 50_000, trace=path)
        self.assertEqual(13, len(window.request()))
        self.assertIsNone(window.smaller("429 Too many requests"))
        refusal = "prompt is too long: 9000 tokens > 8192 maximum"
        request = window.smaller(refusal)
        assert request is not None
        self.assertLess(len(request), 13)
        self.assertEqual([], torn(request))
        self.assertEqual([8192], [payload["learned_window"] for payload in
                                  read_trace(path).events("settings")])
        with self.assertRaisesRegex(PromptTooLongError, "of which nothing more can be left out"):
            while window.smaller("prompt is too long"):
                pass
        window.close()
        self.assertEqual([], list(check_file(str(path))))

    def test_a_model_of_the_agent_may_fail_in_any_way(self) -> None:
        """What it raises comes out, what is no text is refused; the next request is as if nothing
        had been, and the trace is true."""
        class Failing:
            def summarize(self, messages: Sequence[Message], form: str) -> Any:
                said = answers.pop(0)
                if isinstance(said, Exception):
                    raise said
                return said

        for bad in (None, 5, ["text"], KeyError("choices")):
            answers = [bad, "What was done.", "What was done."]
            path, live = self.folder / "t.jsonl", [{"role": "user", "content": "Go."}]
            for number in range(40):
                live += [asking(f"c{number}"), answering(f"c{number}", "a line of words\n" * 60)]
            with self.subTest(bad), self.window(live, "two_layer", 8_000, trace=path,
                                                model=Failing()) as window:
                with suppress(KeyError):
                    window.request()
                self.assertLess(len(window.request()), 20)
            self.assertEqual([], list(check_file(str(path))))
            self.assertTrue([why for why in read_trace(path).events("compression_skipped")
                             if why["reason"] in ("failed", "refused")])

    def test_what_is_too_large_by_itself_is_no_fault_of_a_summariser(self) -> None:
        """One was interrupted before: to find out why would not help."""
        class Interrupted:
            def summarize(self, messages: Sequence[Message], form: str) -> Any:
                raise KeyboardInterrupt

        live = [{"role": "user", "content": "Go."}]
        for number in range(40):
            live += [asking(f"c{number}"), answering(f"c{number}", "a line of words\n" * 60)]
        window = self.window(live, "tail_summary", 4_000, model=Interrupted())
        with self.assertRaises(KeyboardInterrupt):
            window.request()
        live.append({"role": "user", "content": "many words " * 4_000})
        with self.assertRaises(ContextOverflowError) as caught:
            window.request()
        self.assertRegex(caught.exception.remedy, r"\Araise the window")

    def test_a_policy_that_asks_a_model_needs_one(self) -> None:
        """It is said before anything is sent, and no trace is begun."""
        path = self.folder / "t.jsonl"
        with self.assertRaisesRegex(UsageError, r"'published' asks a model \(rolling_summary\)"):
            self.window([], "published", trace=path)
        self.assertFalse(path.exists())

    def test_a_list_that_no_endpoint_would_take_is_refused_with_the_place(self) -> None:
        """The message, and what to do."""
        task = {"role": "user", "content": "Go."}
        blocks = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "bash", "input": {}}]}]
        result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
        for content, says in (([result, result], r"messages\[2\]: a result of no open call"),
                              ("so?", r"messages\[2\]: a call has no result before it"),
                              ([{"type": "text", "text": "so?"}, result],
                               r"messages\[2\]: a call has no result before it")):
            with self.subTest(content), self.assertRaisesRegex(UsageError, says):
                EmbeddedWindow([*blocks, {"role": "user", "content": content}], "digest", WINDOW,
                               provider="anthropic").request()
        for messages, says in (
                ([task, answering("a", "x")], r"messages\[1\]: a result of no open call"),
                ([task, asking("a"), answering("a", "x"), answering("a", "x")],
                 r"messages\[3\]: a result of no open call"),
                ([task, asking("a"), task], r"messages\[2\]: a call has no result before it"),
                ([task, asking("a")], r"messages\[2\]: a call has no result"),
                ([task, {"role": "function", "content": "x"}], r"messages\[1\]: no role"),
                ([task, "hello"], r"messages\[1\]: not a dict")):
            with self.subTest(says), self.assertRaisesRegex(UsageError, says):
                self.window(messages).request()  # type: ignore[arg-type]

    def test_a_list_that_was_changed_is_told_so(self) -> None:
        """Taken out, put in, put in place of another, edited: each with the place. Marks of the
        cache, and a list that was built anew, are no change."""
        def case() -> tuple[list[Given], EmbeddedWindow]:
            live: list[Given] = [
                {"role": "user", "content": "Go."}, asking("a"), answering("a", "x"),
                asking("b"), answering("b", "long " * 9_000),
                {"role": "assistant", "content": "Done."}]
            window = self.window(live)
            window.request()
            return live, window

        for change, says in (
                (lambda live: live.pop(), r"messages\[5\]: messages were taken out"),
                (lambda live: live.insert(0, {"role": "system", "content": "Hi."}),
                 r"messages\[0\]: it is a different one"),
                (lambda live: live.__setitem__(2, answering("a", "y")),
                 r"messages\[2\]: it is a different one"),
                (lambda live: live[2].update(content="cleared"),
                 r"messages\[2\]: its text is not what it was"),
                (lambda live: live[4].update(content="cleared"),  # it was shortened
                 r"messages\[4\]: its text is not what it was")):
            live, window = case()
            change(live)
            with self.subTest(says), self.assertRaisesRegex(UsageError, says):
                window.request()
        call = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
        hurry = {"type": "text", "text": "Hurry."}
        live = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result, hurry]}]
        window = EmbeddedWindow(live, "digest", WINDOW, provider="anthropic")
        self.assertEqual(live, window.request())
        live[2]["content"].append(hurry)
        with self.assertRaisesRegex(UsageError, r"messages\[2\]: it has more parts, or fewer"):
            window.request()
        live, window = case()
        mark = {"cache_control": {"type": "ephemeral"}}
        marked = [{"type": "text", "text": "Go.", **mark}]
        live[0]["content"] = marked
        sent = window.request()
        self.assertEqual(marked, sent[0]["content"])
        live[:] = [{**message} for message in live]
        self.assertEqual(sent, window.request())
        live = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result, hurry]}]
        window = EmbeddedWindow(live, "digest", WINDOW, provider="anthropic")
        window.request()
        live[2]["content"][1] = {**hurry, **mark}
        self.assertEqual(live, window.request())
        live[2]["content"][0] = {**result, "content": "removed"}
        with self.assertRaisesRegex(UsageError, r"messages\[2\]: its text is not what it was"):
            window.request()

    def test_two_messages_of_the_user_are_one_where_what_stood_between_them_is_gone(self) -> None:
        """Two that the agent itself has put side by side stay two."""
        live = [{"role": "user", "content": "Go."}, {"role": "user", "content": "Now."}]
        self.assertEqual(live, self.window(live).request())
        for number, said in enumerate(("One.", IMAGE, "Two.", "Three.", "Four.", "Five.")):
            live += [asking(f"c{number}"), answering(f"c{number}", "a line of a log\n" * 300),
                     {"role": "assistant", "content": "Read."}, {"role": "user", "content": said}]
        request = self.window(live, "keep_head").request()
        self.assertEqual(["user", "user", "assistant"],
                         [message["role"] for message in request[:3]])
        self.assertEqual([{"type": "text", "text": "Now.\n\nOne."}, *IMAGE,
                          {"type": "text", "text": "Two."}], request[1]["content"][:4])

    def test_calls_whose_ids_repeat_are_answered_in_order(self) -> None:
        """Some endpoints give none, or the same in each answer."""
        live: list[Given] = [{"role": "user", "content": "Go."}]
        for _ in range(2):
            both = [asking("")["tool_calls"][0], asking("", "grep")["tool_calls"][0]]
            live += [{"role": "assistant", "tool_calls": both},
                     answering("", "one"), answering("", "two")]
        path = self.folder / "t.jsonl"
        with self.window(live, trace=path) as window:
            self.assertEqual(live, window.request())
        self.assertEqual(["bash", "grep"] * 2, [
            message["name"] for message in read_trace(path).messages() if "name" in message])
        self.assertEqual([], list(check_file(str(path))))

    def test_what_the_agent_hands_over_is_checked_where_it_does(self) -> None:
        """Another type, another protocol, a name that is taken: one line, with what to do."""
        task = [{"role": "user", "content": "Go."}]
        call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}
        dated = asking("a")
        dated["tool_calls"][0]["function"]["arguments"] = {"day": date(2026, 1, 1)}
        deep: Any = "x"
        for _ in range(5_000):
            deep = [{"type": "text", "content": deep}]
        mine = {**BASH, "function": {**BASH["function"], "name": "read_result"}}
        for given, says in (
                ({"window": "32k"}, "window: no window '32k'; give a whole number of tokens"),
                ({"window": True}, "window: no window True"), ({"window": 0}, "positive number"),
                ({"window": 10**30}, "window: no window 1000"),
                ({"trace": ""}, "trace: no file ''; give the path of a .jsonl file"),
                ({"trace": "a\0.jsonl"}, "trace: no file"), ({"trace": 5}, "trace: no file 5"),
                ({"policy": Path("none.json")}, "none.json: the file cannot be read"),
                ({"messages": task[0]}, "messages: not a list but dict"),
                ({"messages": (*task,)}, "messages: a tuple does not grow; give the list that"),
                ({"messages": [*task, dated]}, r"messages\[1\]: it cannot be written as JSON"),
                ({"messages": [{"role": "user", "content": deep}]},
                 r"messages\[0\].content\[0\]: nested too deep"),
                ({"tools": [{**BASH, "x": {5}}]}, r"tools\[0\]: it cannot be written as JSON"),
                ({"messages": [object()]},
                 r"messages\[0\]: not a dict but object; give it as a dict"),
                ({"messages": [{"role": "user", "content": 5}]}, "content: not a list but int"),
                ({"messages": [{"role": "user", "content": ({"type": "text", "text": "x"},)}]},
                 r"messages\[0\].content: not a list but tuple; give a text, or a list"),
                ({"messages": [{"role": "assistant", "tool_calls": ()}, {
                    "role": "assistant", "tool_calls": (asking("a")["tool_calls"][0],)}]},
                 r"messages\[1\].tool_calls: not a list but tuple"),
                ({"messages": [{"role": "user", "content": [object()]}]},
                 r"content\[0\]: not a dict"),
                ({"messages": [{"role": "assistant", "tool_calls": [object()]}]},
                 r"messages\[0\].tool_calls\[0\]: not a dict but object"),
                ({"messages": [*task, call]}, "in chat completions; say provider=\"anthropic\""),
                ({"tools": None}, "tools: not a list"),
                ({"tools": [object()]}, r"tools\[0\]: not a dict"),
                ({"tools": [BASH, BASH]}, r"tools\[1\]: a second tool 'bash'; declare each"),
                ({"tools": [mine]}, "'read_result'; it is declared by the window: give yours"),
                ({"tools": [AS_BLOCKS]}, "'input_schema' in a tool for provider 'openai'"),
                ({"tools": [BASH], "provider": "anthropic"}, "'function' in a tool for provider"),
                ({"system": "Be brief."}, "system: nothing stands beside the messages in chat"),
                ({"system": 5, "provider": "anthropic"}, "system: not a list but int"),
                ({"model": "gpt"}, "model: not a model but str"),
                ({"provider": "azure"}, "no provider 'azure'; use openai or anthropic")):
            path = self.folder / "t.jsonl"
            with self.subTest(says), self.assertRaisesRegex(UsageError, says):
                with EmbeddedWindow(**{"messages": task, "policy": "digest", "window": WINDOW,
                                       "trace": path, **given}) as window:
                    window.request()
        window = self.window(task)
        for use in (window.reported, window.smaller):
            with self.assertRaisesRegex(UsageError, f"{use.__name__}: there is no request"):
                use({})  # type: ignore[arg-type]
        window.request()
        for use in (window.answer, window.reported):
            with self.assertRaisesRegex(UsageError, f"{use.__name__}: not a dict but object"):
                use(object())  # type: ignore[arg-type]

    def test_a_message_that_says_nothing_is_sent_all_the_same(self) -> None:
        """What to make of it is for the endpoint to say, in both forms."""
        for provider, content in (("openai", []), ("anthropic", []), ("openai", ""),
                                  ("anthropic", "")):
            live: list[Given] = [{"role": "user", "content": "Go."},
                                 {"role": "assistant", "content": "Yes?"},
                                 {"role": "user", "content": content}]
            with EmbeddedWindow(live, "digest", WINDOW, provider=provider) as window:
                self.assertEqual(live, window.request())

    def test_a_window_that_was_closed_stays_closed(self) -> None:
        """Twice is once, also at the end of a `with` that an error ends; the trace is whole."""
        live, path = [{"role": "user", "content": "Go."}], self.folder / "t.jsonl"
        with suppress(ZeroDivisionError), self.window(live, trace=str(path)) as window:
            window.request()
            live.append(asking("a"))
            raise ZeroDivisionError
        window.close()
        self.assertEqual(["closed"], [end["reason"] for end in read_trace(path).events("run_end")])
        for use in (window.request, lambda: window.reported({}), lambda: window.smaller("")):
            with self.assertRaisesRegex(UsageError, "EmbeddedWindow: it was closed"):
                use()

    def test_a_list_that_went_wrong_does_not_hide_why_a_session_ends(self) -> None:
        """The trace ends as any other, with what had come in; without another error, it is said."""
        live, path = [{"role": "user", "content": "Go."}], self.folder / "t.jsonl"
        with self.assertRaises(KeyboardInterrupt), self.window(live, trace=path) as window:
            window.request()
            live.append("oops")  # type: ignore[arg-type]
            raise KeyboardInterrupt
        self.assertEqual([], list(check_file(str(path))))
        with self.assertRaisesRegex(UsageError, r"messages\[1\]: not a dict but str"):
            live.pop()
            with self.window(live, trace=path):
                live.append("oops")  # type: ignore[arg-type]
        self.assertEqual([1], [end["final_messages"] for end in
                               read_trace(path).events("run_end")])

    def test_the_words_of_documents_and_refusals_count(self) -> None:
        """They are what is sent; of other files it is said how large they are."""
        def tokens(message: Given, **more: Any) -> int:
            window = EmbeddedWindow([{"role": "user", "content": "Go."}, message], "digest",
                                    WINDOW, **more)
            window.request()
            return window.tokens

        said = "What was found. " * 99
        plain = tokens({"role": "assistant", "content": said})
        self.assertEqual(plain, tokens({"role": "assistant", "content": None, "refusal": said}))
        blocks = {"provider": "anthropic"}
        plain = tokens({"role": "user", "content": said}, **blocks)
        for source in ({"type": "text", "media_type": "text/plain", "data": said},
                       {"type": "content", "content": said},
                       {"type": "content", "content": [{"type": "text", "text": said}]}):
            self.assertEqual(plain, tokens({"role": "user", "content": [
                {"type": "document", "source": source}]}, **blocks))

    def test_a_session_that_a_tool_of_the_agent_has_ended_can_be_gone_on_with(self) -> None:
        """Each of its calls has a result in the trace, which says that it was interrupted."""
        live, path = [{"role": "user", "content": "Go."}], self.folder / "t.jsonl"
        with suppress(ZeroDivisionError), self.window(live, trace=path) as window:
            window.request()
            live += [{"role": "assistant", "content": "", "tool_calls": [
                *asking("a")["tool_calls"], *asking("b")["tool_calls"]]}, answering("a", "done")]
            raise ZeroDivisionError
        self.assertEqual([], list(check_file(str(path))))
        first, second = read_trace(path).messages()[-2:]
        self.assertEqual(("done", "INTERRUPTED"), (first["content"], second["error"]["code"]))
        script = self.write_task(replies=[{"content": "Gone on."}])
        self.assertEqual((0, "Gone on.\n"), called("resume", path, "On.", "--script", script)[:2])

    def test_a_trace_that_was_not_closed_is_told_so(self) -> None:
        """As where a cell of a notebook runs again."""
        with self.window([], trace=self.folder / "t.jsonl"):
            with self.assertRaisesRegex(UsageError, "or a session that was not closed, is writing"):
                self.window([], trace=self.folder / "t.jsonl")

    def test_what_cannot_be_recorded_has_not_come_in(self) -> None:
        """Each further use says the same; a trace that cannot be begun is closed at once."""
        live, path = [{"role": "user", "content": "Go."}], self.folder / "t.jsonl"
        window = self.window(live, trace=path)
        window.request()
        path.unlink()
        live += [asking("a"), answering("a", "x")]
        for use in (window.request, window.request, window.close):
            with self.assertRaisesRegex(TraceError, "another program has removed"):
                use()
        if Path("/dev/full").exists():
            with self.assertRaisesRegex(TraceError, "/dev/full: the trace cannot be written"):
                self.window(live, trace="/dev/full")

    def test_reasoning_that_no_trace_can_hold_is_sent_all_the_same(self) -> None:
        """It is not counted; other reasoning is, in each of its fields."""
        nested: list[Any] = []
        for _ in range(300):
            nested = [nested]
        sizes = []
        for more in ({}, {"reasoning": "I look. " * 99}, {"reasoning_details": ["I look. " * 99]},
                     {"reasoning_details": nested}):
            live = [{"role": "user", "content": "Go."},
                    {"role": "assistant", "content": "Done.", **more}]
            path = self.folder / "t.jsonl"
            with self.window(live, trace=path) as window:
                self.assertEqual(live, window.request())
                sizes.append(window.tokens)
            self.assertEqual([], list(check_file(str(path))))
        self.assertEqual(sizes[0], sizes[3])
        self.assertLess(sizes[0] + 200, min(sizes[1:3]))

    def test_a_result_that_has_failed_is_marked_in_the_trace_and_by_the_window(self) -> None:
        """As the messages protocol marks it."""
        call = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
        live = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
                                              "content": "No.", "is_error": True}]}]
        path = self.folder / "t.jsonl"
        with EmbeddedWindow(live, "digest", WINDOW, provider="anthropic", trace=path,
                            system=[{"type": "text", "text": "Be brief."}]) as window:
            window.request()
            result = window.answer({**call, "name": "read_result", "input": {"handle": 9}})
            assert result is not None
            self.assertIs(True, result["is_error"])
        trace = read_trace(path)
        self.assertEqual([False], [result["ok"] for result in trace.events("tool_result")])
        self.assertEqual("Be brief.", trace.messages()[0]["content"])

    def test_a_window_that_is_not_known_is_learned_from_a_refusal(self) -> None:
        """Until then everything is sent."""
        live = [{"role": "user", "content": "Go."}]
        for number in range(9):
            live += [asking(f"c{number}"), answering(f"c{number}", f"line {number} of it\n" * 400)]
        window = EmbeddedWindow(live, "digest", None, [BASH])
        self.assertEqual(live, window.request())
        self.assertNotEqual(live, window.smaller(
            ValueError("prompt is too long: 19000 tokens > 8192 maximum")))
        live += [asking("c9"), answering("c9", "line of it\n" * 4_000)]
        window.request()
        self.assertLess(window.tokens, 8_192)

    def test_an_overflow_that_the_endpoint_has_counted_names_the_estimate_too(self) -> None:
        """Its parts are estimated, and have another sum."""
        messages = [{"role": "user", "content": "word " * 900}]
        window = self.window(messages, "whole_rounds")
        window.request()
        window.reported({"prompt_tokens": 5 * window.tokens})
        messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "So?"}]
        with self.assertRaisesRegex(ContextOverflowError,
                                    r"user messages \d+, .*\(as estimated, 978 in all\)"):
            window.request()

    def test_what_cannot_be_made_to_fit_is_an_overflow(self) -> None:
        """As everywhere: with what it is that cannot be moved. Once it can, it goes on."""
        live, path = [{"role": "user", "content": "Go."}], self.folder / "t.jsonl"
        with self.window(live, trace=path) as window:
            window.request()
            live += [{"role": "assistant", "content": "What?"},
                     {"role": "user", "content": "word " * 9_000}]
            for _ in range(2):
                with self.assertRaisesRegex(ContextOverflowError, "user messages"):
                    window.request()
            live += [{"role": "assistant", "content": "Too long."},
                     {"role": "user", "content": "Then leave it."}]
            self.assertEqual(live[-1], window.request()[-1])
        self.assertEqual([], list(check_file(str(path))))

    def test_the_language_is_that_of_the_first_user_message(self) -> None:
        """What the window says to the model, and what the trace says of it; while the user has said
        nothing, that of the system."""
        live = [{"role": "user", "content": "读一下日志"}, asking("a"),
                answering("a", "一行没有用的日志\n" * 4_000)]
        path = self.folder / "t.jsonl"
        window = self.window(live, trace=path)
        self.assertRegex(window.request()[2]["content"], "取回|日志")
        window.close()
        self.assertEqual("zh", read_trace(path).records[0]["payload"]["language"])
        self.assertEqual([], list(check_file(str(path))))
        for messages, more in (([{"role": "system", "content": "请简短回答"}], {}),
                               ([], {"system": "请简短回答", "provider": "anthropic"})):
            with EmbeddedWindow(messages, "digest", WINDOW, trace=path, **more):
                pass
            self.assertEqual("zh", read_trace(path).records[0]["payload"]["language"])


def said(request: Sequence[Given]) -> list[str]:
    """The texts of a request of blocks, those in one message joined."""
    return ["\n\n".join(block.get("text") or block.get("content", "") for block in
                        message["content"] if block["type"] != "tool_use") for message in request]


def torn(request: Iterable[Given]) -> list[str]:
    """The ids of results without a call right before them, and of calls without a result."""
    found, waiting = list[str](), list[str]()
    for message in [*request, {"role": "user"}]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(message["tool_call_id"])
            else:
                waiting.remove(message["tool_call_id"])
            continue
        found += waiting
        waiting = [made["id"] for made in message.get("tool_calls", ())]
    return found
