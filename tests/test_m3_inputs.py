"""Milestone 3: tool declarations that are sent short, left out, and given on request."""

from __future__ import annotations

import json
import unittest
from typing import Any

from mini_agent.compression.budget import make_budget
from mini_agent.compression.inputs import Inputs, _bare, describe_tool
from mini_agent.compression.inputs import InputBudget as LeanSettings
from mini_agent.compression.policies import find_policy, with_settings
from mini_agent.compression.resources import Resources
from mini_agent.compression.state import WindowState
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import ToolError
from mini_agent.loop import Agent
from mini_agent.messages import Message
from mini_agent.models.base import Reply
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.tools.base import ToolBox
from mini_agent.trace import Record, Tracer

from .support import FolderTest, payloads


class Extra:
    """A tool with a long declaration, as servers of tools bring them by the dozen."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.description = f"Does {name} well. " + "It has a long story that nobody needs. " * 9
        self.parameters = {"type": "object", "required": ["where"], "properties": {
            "where": {"type": "string", "description": "A place. " * 20},
            "description": {"type": "string", "description": "Words. " * 20}}}

    def __call__(self, **arguments: Any) -> str:
        return "done"


class Spy(ScriptedModel):
    """A scripted model that keeps what it is told of the tools."""

    def complete(self, messages: list[Message], tools: list[dict[str, Any]]) -> Reply:
        self.told.append({tool["name"]: tool for tool in tools})
        return super().complete(messages, tools)


def ask(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


class InputBudget(unittest.TestCase):
    """`lean_input` on an agent with twenty tools of about 250 tokens each."""

    def run_lean(self, *replies: dict[str, Any], window: int = 100_000, task: str = "Do it.",
                 tools: int = 20, describe: bool = True, **settings: Any) -> None:
        """A session; then `told` are the declarations of each request, `records` the trace."""
        texts = Texts()
        extra: list[Any] = [Extra(f"extra_{number:02d}") for number in range(tools)]
        if describe:
            extra.append(describe_tool(ToolBox(extra, texts).declarations(), texts))
        box = ToolBox(extra, texts)
        self.records: list[Record] = []
        tracer = Tracer(self.records.append)
        model = Spy([*replies, {"content": "done"}])
        model.told = self.told = []
        policy = with_settings(find_policy("lean_input"), settings, "test")
        self.window = ContextWindow(policy, make_budget(window), WindowState(estimator("chars4")),
                                    Resources(model, tracer), box.declarations())
        self.box = box
        outcome = Agent(model, box, tracer, window=self.window, texts=texts).run(
            "You are an agent.", task, {"format": 1, "task": "t"})
        self.assertEqual(outcome.reason, "final_answer", outcome.detail)

    def settings(self) -> list[dict[str, Any]]:
        return payloads(self.records, "settings")

    def test_declarations_within_their_share_are_sent_as_they_are(self) -> None:
        """Where there is room nothing is changed, and nothing recorded."""
        self.run_lean(window=1_000_000)
        self.assertEqual(list(self.told[0].values()), self.box.declarations())
        self.assertEqual(self.settings(), [])

    def test_what_the_task_does_not_name_is_sent_short_from_the_last_one_on(self) -> None:
        """First sentence, names and types stay; a parameter called description stays too."""
        self.run_lean(window=200_000, task="Use extra_19 for it.")
        short = self.told[0]["extra_18"]
        self.assertEqual(short["description"], "Does extra_18 well.")
        self.assertEqual(short["parameters"], {
            "type": "object", "required": ["where"],
            "properties": {"where": {"type": "string"}, "description": {"type": "string"}}})
        self.assertEqual(self.told[0]["extra_19"], self.box.declarations()[19])
        self.assertEqual(self.told[0]["extra_00"], self.box.declarations()[0])

    def test_they_are_within_their_share_and_counted_in_every_request(self) -> None:
        """2 % of the window; the record has the numbers, `model_call` counts what is sent."""
        self.run_lean(window=50_000)
        (settings,) = self.settings()
        counted = estimator("chars4").declarations(list(self.told[0].values()))
        self.assertEqual(settings["after_tokens"], counted)
        self.assertLessEqual(counted, 1_000)
        self.assertGreater(settings["before_tokens"], 4_000)
        self.assertEqual(settings["system_tokens"], 9)
        (call,) = payloads(self.records, "model_call")
        self.assertEqual(call["tokens"], counted + self.window.view.tokens
                         - estimator("chars4").message({"role": "assistant", "content": "done"}))

    def test_what_does_not_fit_even_short_is_left_out_and_named(self) -> None:
        """`describe_tool` says which tools there are beside the declared ones."""
        self.run_lean(window=30_000)
        out = [name for name, form in self.settings()[0]["inputs"].items() if form == "out"]
        self.assertTrue(out)
        self.assertTrue(set(out).isdisjoint(self.told[0]))
        self.assertIn("There are more tools: " + ", ".join(sorted(out)) + ".",
                      self.told[0]["describe_tool"]["description"])

    def test_without_a_way_to_ask_nothing_is_left_out(self) -> None:
        """An agent without `describe_tool` still has every tool, in short."""
        self.run_lean(window=1_000, describe=False, share=0.001)
        self.assertEqual(len(self.told[0]), 20)

    def test_a_tool_that_is_asked_for_is_declared_whole_from_then_on(self) -> None:
        """The answer is the whole declaration; the growth has its own record."""
        self.run_lean(ask("describe_tool", name="extra_18"), ask("extra_18", where="here"),
                      window=30_000)
        whole = self.box.declarations()[18]
        self.assertNotEqual(self.told[0].get("extra_18"), whole)
        self.assertEqual([told["extra_18"] for told in self.told[1:]], [whole, whole])
        result = next(record["message"] for record in self.records if record["type"] == "message"
                      and record["message"].get("name") == "describe_tool")
        self.assertEqual(json.loads(result["content"]), whole)
        first, second = self.settings()
        self.assertEqual((second["step"], second["expanded"]), (1, ["extra_18"]))
        self.assertEqual(second["before_tokens"], first["after_tokens"])
        self.assertGreater(second["after_tokens"], second["before_tokens"])

    def test_a_tool_that_is_called_unseen_works_and_is_declared_whole(self) -> None:
        """What was left out can be called all the same."""
        self.run_lean(ask("extra_18", where="here"), window=30_000)
        self.assertEqual([payload["ok"] for payload in payloads(self.records, "tool_result")],
                         [True])
        self.assertEqual(self.settings()[1]["expanded"], ["extra_18"])

    def test_the_declarations_stay_the_same_bytes_in_between(self) -> None:
        """They stand before everything: over ten steps they change only with a record."""
        self.run_lean(*[ask("extra_00", where="here")] * 10, window=30_000)
        self.assertEqual(len(self.settings()), 1 + ("extra_00" in self.settings()[0]["inputs"]))
        self.assertEqual(len({json.dumps(told) for told in self.told[1:]}), 1)

    def test_a_resumed_session_sends_the_same_declarations(self) -> None:
        """The forms are state of the session: the fold over its records has them."""
        self.run_lean(ask("extra_18", where="here"), window=30_000)
        state = WindowState(estimator("chars4"))
        for record in self.records:
            state.fold(record)
        again = ContextWindow(self.window.policy, self.window.budget, state,
                              Resources(ScriptedModel([]), Tracer()), self.box.declarations())
        again.make_ready(state.history, 2)
        self.assertEqual(again.declared(self.box.declarations()), list(self.told[-1].values()))
        self.assertEqual(again.tokens, self.window.tokens)

    def test_another_policy_keeps_the_forms_only_if_it_is_a_lean_one(self) -> None:
        """In another lean window they stay as they are; elsewhere every tool is sent whole."""
        self.run_lean(window=30_000)
        told = self.told[-1]
        self.window.use(self.window.policy, make_budget(40_000), 1)
        self.assertEqual(self.window.declared(self.box.declarations()), list(told.values()))
        self.window.use(find_policy("clip"), make_budget(40_000), 1)
        self.assertEqual(self.window.declared(self.box.declarations()), self.box.declarations())
        self.window.use(find_policy("clip"), make_budget(40_000), 2)
        self.assertEqual([told for told in self.settings() if told["step"]],
                         [{"step": 1}, {"step": 1, "inputs": {}}, {"step": 2}])

    def test_what_our_own_texts_name_is_always_whole(self) -> None:
        """A placeholder that names `read_result` must not name a tool that was left out."""
        inputs = Inputs([{"name": name, "description": "A. B.", "parameters": {}}
                         for name in ("other", "read_result", "recall", "describe_tool")],
                        estimator("chars4"), Texts(), LeanSettings(share=0.0))
        state = WindowState(estimator("chars4"))
        inputs.settle(0, state, 1_000, lambda name, **payload: state.settings.update(payload))
        self.assertEqual(state.settings["inputs"], {"other": "out"})

    def test_what_always_has_to_be_whole_stays_whole(self) -> None:
        """The setting `always` spares tools by name."""
        self.run_lean(window=30_000, always=["extra_19"])
        self.assertEqual(self.told[0]["extra_19"], self.box.declarations()[19])

    def test_no_description_is_left_in_a_short_form_however_deep(self) -> None:
        """Of an alternative, of an item; a property of that name stays."""
        described = {"type": "string", "description": "words"}
        self.assertEqual(
            {"anyOf": [{"type": "string"}], "items": {"type": "string"},
             "properties": {"description": {"type": "string"}}},
            _bare({"anyOf": [described], "items": described, "description": "words",
                   "properties": {"description": described}}))

    def test_an_unknown_tool_cannot_be_described(self) -> None:
        """The error names those that can."""
        with self.assertRaises(ToolError) as caught:
            describe_tool(ToolBox([Extra("a"), Extra("b")], Texts()).declarations(),
                          Texts())(name="c")
        self.assertIn("a, b", str(caught.exception))


class LeanRun(FolderTest):
    """The policy on a task file."""

    def test_an_agent_under_lean_input_can_ask_for_a_declaration(self) -> None:
        """`describe_tool` is one of its tools, and answers with what was left out."""
        outcome, records = self.run_task(policy="lean_input", window=8_000, replies=[
            ask("describe_tool", name="edit_file"), {"content": "done"}])
        self.assertEqual(outcome.reason, "final_answer")
        self.assertEqual(payloads(records, "settings")[1]["expanded"], ["edit_file"])
