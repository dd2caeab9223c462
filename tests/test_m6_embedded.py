"""Milestone 6: a policy in the loop of another agent."""

from __future__ import annotations

import contextlib
import json
import re
import textwrap
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from mini_agent.compression.policies import policy_names
from mini_agent.embedded import ChatMessage, EmbeddedWindow
from mini_agent.errors import ContextOverflowError, PromptTooLongError, UsageError
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
EXAMPLE = re.compile(r"^    from pathlib import Path\n(?:    .*\n|\n(?=    ))+", re.MULTILINE)
IMAGE = [{"type": "text", "text": "Look at this."},
         {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]


def as_chat(message: Message) -> ChatMessage:
    """A message as another agent would keep it."""
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["tool_call_id"],
                "content": message["content"]}
    calls = [{"id": made["id"], "type": "function", "function": {
        "name": made["name"], "arguments": json.dumps(made["arguments"], ensure_ascii=False)}}
        for made in message.get("tool_calls", ())]
    return {"role": message["role"], "content": message["content"],
            **({"tool_calls": calls} if calls else {})}


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


def recorded() -> list[ChatMessage]:
    """A recorded session as a list of another agent."""
    session, = open_sessions(SESSION)
    return list(map(as_chat, session.messages))


def asking(call_id: str, tool: str = "bash", /, **arguments: Any) -> ChatMessage:
    """A message with one call."""
    return {"role": "assistant", "content": None, "tool_calls": [{
        "id": call_id, "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)}}]}


def answering(call_id: str, content: str) -> ChatMessage:
    """A result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def played(window: EmbeddedWindow, live: list[ChatMessage],
           session: Sequence[ChatMessage]) -> Iterator[list[ChatMessage]]:
    """What is sent before each answer of a session, which grows in `live`."""
    for message in session:
        if message["role"] == "assistant":
            yield window.request()
        live.append(message)


class EmbeddedTest(FolderTest):
    """`EmbeddedWindow`, as the README shows it."""

    def window(self, live: list[ChatMessage], policy: str = "digest", size: int = WINDOW,
               **more: Any) -> EmbeddedWindow:
        return EmbeddedWindow(live, policy, size, [BASH], **more)

    def test_every_policy_keeps_the_requests_within_the_window_and_whole(self) -> None:
        """No result without its call, and a trace in which `check` finds nothing."""
        session = recorded()
        for policy in policy_names():
            live: list[ChatMessage] = []
            path = self.folder / f"{policy}.jsonl"
            window = self.window(live, policy, 60_000 if policy == "none" else WINDOW, trace=path,
                                 model=ScriptedModel([]))
            with self.subTest(policy):
                for request in played(window, live, session):
                    self.assertLessEqual(window.tokens, WINDOW if policy != "none" else 60_000)
                    if policy not in ("naive", "keep_head"):
                        self.assertEqual([], torn(request))
                window.close()
                self.assertEqual([], list(check_file(str(path))))

    def test_random_sessions_are_whole_in_each_request_and_in_the_trace(self) -> None:
        """Whatever stands in their messages: what is too much ends as an overflow, or is sent."""
        sent = 0
        for seed in range(30):
            case = random_case(seed)
            path, live = self.folder / f"{seed}.jsonl", list[ChatMessage]()
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

    def test_the_example_of_the_readme_runs(self) -> None:
        """Both loops of it: the agent's own tools, and those of the window."""
        code = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
        assert code is not None
        replies = iter([asking("a"), asking("b", "read_result", handle=2),
                        {"role": "assistant", "content": "Done."}])
        asked: list[list[ChatMessage]] = []

        def ask(messages: list[ChatMessage], tools: list[dict[str, Any]]) -> tuple[Any, Any]:
            asked.append(messages)
            return next(replies), {"prompt_tokens": 900, "completion_tokens": 9}

        def run(made: dict[str, Any]) -> ChatMessage:
            return answering(made["id"], "what the tool says")

        (self.folder / "traces").mkdir()
        with contextlib.chdir(self.folder):
            exec(textwrap.dedent(code[0]), {"ask": ask, "run": run, "task": "Go.", "tools": [BASH]})
        self.assertEqual([1, 3, 5], [len(messages) for messages in asked])
        self.assertIn("what the tool says", asked[2][4]["content"])
        self.assertEqual([], list(check_file(str(self.folder / "traces" / "mine.jsonl"))))

    def test_what_is_sent_can_be_had_from_the_trace(self) -> None:
        """The rebuilt view of each step has the texts of its request."""
        live: list[ChatMessage] = []
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
        with self.assertRaises(PromptTooLongError):
            while window.smaller("prompt is too long"):
                pass
        window.close()
        self.assertEqual([], list(check_file(str(path))))

    def test_a_policy_that_asks_a_model_needs_one(self) -> None:
        """It is said before anything is sent, and no trace is begun."""
        path = self.folder / "t.jsonl"
        with self.assertRaisesRegex(UsageError, r"'published' asks a model \(rolling_summary\)"):
            self.window([], "published", trace=path)
        self.assertFalse(path.exists())

    def test_a_list_that_no_endpoint_would_take_is_refused_with_the_place(self) -> None:
        """The message, and what to do."""
        task = {"role": "user", "content": "Go."}
        for messages, says in (
                ([task, answering("a", "x")], r"messages\[1\]: a result of no open call"),
                ([task, asking("a"), answering("a", "x"), answering("a", "x")],
                 r"messages\[3\]: a result of no open call"),
                ([task, asking("a"), task], r"messages\[2\]: a call has no result before it"),
                ([task, asking("a")], r"messages\[2\]: a call has no result"),
                ([task, {"role": "function", "content": "x"}], r"messages\[1\]: no such role"),
                ([task, "hello"], r"messages\[1\]: no dict")):
            with self.subTest(says), self.assertRaisesRegex(UsageError, says):
                self.window(messages).request()  # type: ignore[arg-type]

    def test_messages_that_were_taken_out_are_missed(self) -> None:
        """Who shortens the list himself is told that the window does it."""
        live = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}]
        window = self.window(live)
        window.request()
        del live[1]
        with self.assertRaisesRegex(UsageError, "messages were taken out"):
            window.request()

    def test_what_cannot_be_made_to_fit_is_an_overflow(self) -> None:
        """As everywhere: with what it is that cannot be moved."""
        with self.assertRaisesRegex(ContextOverflowError, "user messages"):
            self.window([{"role": "user", "content": "word " * 9_000}]).request()

    def test_the_language_is_that_of_the_first_user_message(self) -> None:
        """What the window says to the model, and what the trace says of it."""
        live = [{"role": "user", "content": "读一下日志"}, asking("a"),
                answering("a", "一行没有用的日志\n" * 4_000)]
        path = self.folder / "t.jsonl"
        window = self.window(live, trace=path)
        self.assertRegex(window.request()[2]["content"], "取回|日志")
        window.close()
        self.assertEqual("zh", read_trace(path).records[0]["payload"]["language"])
        self.assertEqual([], list(check_file(str(path))))


def torn(request: Sequence[ChatMessage]) -> list[str]:
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
