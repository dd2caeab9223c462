"""Milestone 3: pins, marks and protected paths, in whole sessions."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

from mini_agent.assembly import Setup
from mini_agent.compression.pins import Pin, Pins, marked, marks
from mini_agent.compression.state import WindowState
from mini_agent.errors import UsageError
from mini_agent.governance import govern
from mini_agent.messages import assistant, system, tool_result, user
from mini_agent.runner import run_task
from mini_agent.tasks import load_task
from mini_agent.tokens import estimator
from mini_agent.tools.guard import protects

from .support import FolderTest, payloads
from .windows import head, rounds, window

RULE = "Never touch config/prod.yaml."


class Marks(unittest.TestCase):
    """Who may write a mark, and what it says."""

    def test_a_mark_counts_in_system_and_user_messages(self) -> None:
        """Kind and path are taken from it; without a kind it is a constraint."""
        text = f'Hello <pin kind="parameter" protect="config/**">{RULE}</pin> and <pin>b</pin>'
        for message in (system(text), user(text)):
            self.assertEqual(list(marks(4, message)), [
                (Pin(4, RULE, "parameter", "config/**"), ""), (Pin(4, "b", "constraint"), "")])

    def test_an_assistant_may_only_mark_assumptions(self) -> None:
        """It may say what it is not sure of; it may not give itself rules or protect a path."""
        said = '<pin kind="assumption" protect="a">port 80</pin> <pin kind="constraint">obey</pin>'
        self.assertEqual(list(marks(2, assistant(said))), [(Pin(2, "port 80", "assumption"), "")])

    def test_a_mark_that_a_tool_printed_is_text(self) -> None:
        """A hostile file cannot pin itself."""
        self.assertEqual(list(marks(3, tool_result("c", "read_file", f"<pin>{RULE}</pin>"))), [])

    def test_a_wrong_mark_is_named(self) -> None:
        """An unknown kind or field, or a pin of nothing, is told and not set."""
        for text, wrong in (('<pin kind="rule">x</pin>', "no kind 'rule'"),
                            ('<pin path="a">x</pin>', "no field 'path'"),
                            ("<pin> </pin>", "it has no text")):
            self.assertEqual([found for _, found in marks(0, user(text))], [wrong])
        for text in ("<pin>no end", "< pin>x</pin>", "<pinned>x</pinned>"):
            self.assertEqual(list(marks(0, user(text))), [])

    def test_what_a_mark_has_set_can_be_marked_again(self) -> None:
        """A sub-agent is told the pins of its parent as marks, in quotes of either kind."""
        for mark in ("<pin protect='a \"b\".txt'>x</pin>", "<pin protect=\"it's.txt\">x</pin>",
                     "<pin kind='parameter'> y\n</pin>", "<pin protect='c/*'></pin>"):
            (pin, wrong), = marks(0, user(mark))
            again = marks(0, user(marked(pin.text, pin.kind, pin.protect)))
            self.assertEqual([(pin, "")], list(again))
            self.assertEqual("", wrong)

    def test_a_pin_that_no_mark_can_say_is_refused(self) -> None:
        """A task file's pin becomes a mark, so it must not end it."""
        self.assertEqual(marked("a", protect="x/*"), '<pin kind="constraint" protect="x/*">a</pin>')
        for text, protect in (("a</pin>b", ""), ("a", "'x\"y"), ("a", "x>y<"), ("", "")):
            with self.assertRaises(UsageError):
                marked(text, protect=protect)


class Pinning(unittest.TestCase):
    """What is pinned is carried word for word; what cannot be pinned is refused with numbers."""

    def test_a_pin_in_a_result_survives_every_form(self) -> None:
        """Aged, summarised, summarised again: the text stands in each request."""
        history = [*head(), *rounds(1, "row\n" * 300 + RULE + "\n" + "row\n" * 300)]
        made = window(600, "tool_result_aging", "rolling_summary")
        made.before_model_call(history, 0)
        self.assertNotIn(RULE, made.view[3].message["content"])
        self.assertEqual(made.pin(Pin(3, RULE), 0, "user"), "")
        for step in range(1, 20):
            history += rounds(1, f"row {step}\n" * 60)
            request = made.before_model_call(history, step)
            self.assertTrue(any(RULE in message["content"] for message in request), step)
        self.assertGreater(made.state.times_summarised, 2)

    def test_pins_that_are_set_later_stand_under_one_header(self) -> None:
        """What was shortened already gets a line more for each, and no second header."""
        history = [*head(), *rounds(1, "row\n" * 300 + f"{RULE}\nthe port is 80\n" + "row\n" * 300)]
        made = window(600, "tool_result_aging")
        made.before_model_call(history, 0)
        made.pin(Pin(3, RULE), 0, "user")
        made.pin(Pin(3, "the port is 80", "parameter"), 0, "user")
        self.assertEqual(made.view[3].message["content"].split("\n")[-3:],
                         ["Pinned, word for word:", f"- constraint: {RULE}",
                          "- parameter: the port is 80"])

    def test_an_assumption_stays_marked_as_not_verified(self) -> None:
        """Also where a summary quotes its words without the mark."""
        history = [*head(), *rounds(1, "x\n" * 450, said="The port is 8080")]
        made = window(400, "tool_result_aging", "rolling_summary", protect_last=0)
        made.take_in(history)
        self.assertEqual(made.pin(Pin(2, "The port is 8080", "assumption"), 0, "user"), "")
        for step in range(6):
            history += rounds(1, "y\n" * 450)
            text = "\n".join(m["content"] for m in made.before_model_call(history, step))
        self.assertGreater(made.state.times_summarised, 0)
        self.assertIn("- assumption, NOT verified: The port is 8080", text)

    def test_too_many_pins_are_refused_with_the_numbers(self) -> None:
        """Together they may take a tenth of the window; the refusal is a record too."""
        records: list[Any] = []
        made = window(1_000, "rolling_summary", records=records)
        made.take_in([*head(), *rounds(1, "word " * 60 + "end " * 60)])
        self.assertEqual(made.pin(Pin(3, "word " * 60), 0, "user"), "")
        self.assertEqual(
            made.pin(Pin(3, "end " * 60), 0, "user"),
            "it has 64 tokens and 79 are pinned already; pins may take 100 together (10 % of 1000)")
        self.assertEqual([("refused" in payload) for payload in payloads(records, "pin")],
                         [False, True])
        self.assertEqual(len(made.pins.pins), 1)

    def test_a_tenth_of_the_window_may_be_filled_to_the_last_token(self) -> None:
        """79 tokens go into a tenth of 790, and not into one of 789; without a window any do."""
        for limit, refused in ((790, False), (789, True), (None, False)):
            made = window(limit, "rolling_summary")
            made.take_in([*head(), *rounds(1, "word " * 60)])
            self.assertEqual(bool(made.pin(Pin(3, "word " * 60), 0, "user")), refused, limit)

    def test_what_is_not_there_cannot_be_pinned(self) -> None:
        """The message, the words, the kind: each has its own answer."""
        made = window(1_000, "rolling_summary")
        made.take_in([*head(), *rounds(1, "")])
        for pin, answer in ((Pin(9, "x"), "there is no message #9; the newest is #3"),
                            (Pin(1, "other"), "message #1 does not have this text word for word"),
                            (Pin(1, "task", "rule"), "no kind 'rule'; there are constraint, "
                             "parameter, error_fix, assumption"),
                            (Pin(3, ""), "message #3 has no text")):
            self.assertEqual(made.pin(pin, 0, "user"), answer)

    def test_words_that_are_part_of_longer_ones_do_not_carry_a_pin(self) -> None:
        """Another number, another file: it would be read as something else."""
        for text, said, carried in (
                ("port 80", "port 8080 is taken", False), ("80", "it is 180", False),
                ("config/prod", "see config/prod.yaml", False), ("app.py", "src/app.py", False),
                ("3.8", "Python 3.8.1", False), ("naïve", "naïveté", False),
                ("port 80", "(port 80).", True), ("3.8", "needs 3.8. Else", True),
                ("--force", "use --force here", True), ("不要动", "所以不要动它", True),
                ("f(x)", "call f(x)now", True), ("兼容 3.8", "必须兼容 3.8的", True)):
            with self.subTest(text=text, said=said):
                pins = Pins((Pin(3, text),))
                line = pins.line(pins.pins[0])
                self.assertEqual(said if carried else f"{said}\nPinned, word for word:\n{line}",
                                 pins.carry(said, [3]))
                self.assertEqual(pins.carry(said, [3]), pins.carry(pins.carry(said, [3]), [3]))

    def test_a_refusal_is_in_the_language_of_the_session(self) -> None:
        """The model reads it, as it reads all that the harness says."""
        made = window(1_000, "rolling_summary", language="zh")
        made.take_in([*head(), *rounds(1, "word " * 600)])
        for pin, answer in ((Pin(9, "x"), "没有消息 #9;最新的是 #3"),
                            (Pin(1, "other"), "消息 #1 中没有与此完全一致的文字"),
                            (Pin(3, ""), "它有 753 个 token,已固定的有 0 个;固定内容合计至多 100 个"
                             "(1000 的 10 %)")):
            self.assertEqual(made.pin(pin, 0, "tool"), answer)

    def test_a_pin_without_a_text_is_of_the_whole_message(self) -> None:
        """The record has the text that it stands for."""
        made = window(1_000, "rolling_summary")
        made.take_in(head())
        self.assertEqual(["", ""], [made.pin(Pin(index, ""), 0, "user") for index in (0, 1)])
        self.assertEqual(made.pins.pins, (Pin(0, "the system"), Pin(1, "the task")))

    def test_a_mark_is_set_once(self) -> None:
        """Also when it stands there twice, a request is made again, or the session goes on."""
        records: list[Any] = []
        made = window(1_000, "rolling_summary", records=records)
        history = head(f"<pin>{RULE}</pin> <pin kind='x'>y</pin> " * 2)
        for step in range(3):
            made.before_model_call(history, step)
        self.assertEqual([(payload["by"], payload.get("refused"))
                          for payload in payloads(records, "pin")],
                         [("mark", None), ("mark", "no kind 'x'")])


class Sessions(FolderTest):
    """The same from a task file to its trace."""

    def run_pinned(self, replies: list[dict[str, Any]], **fields: Any) -> list[Any]:
        workspace = self.folder / "workspace"
        (workspace / "config").mkdir(parents=True, exist_ok=True)
        (workspace / "config" / "prod.yaml").write_text("port: 80\n", encoding="utf-8")
        task = load_task(self.write_task(replies=[*replies, {"content": "done"}], **fields))
        records: list[Any] = []
        run_task(task, Setup(workspace, task.model(), sinks=[records.append]), govern(task))
        return records

    def results(self, records: list[Any]) -> list[dict[str, Any]]:
        return [record["message"] for record in records
                if record["type"] == "message" and record["message"]["role"] == "tool"]

    def test_protected_paths_hold_against_every_tool(self) -> None:
        """Written and edited they are refused, through a detour too; a command is reported."""
        calls = [{"name": "write_file", "arguments": {"path": "config/prod.yaml", "content": ""}},
                 {"name": "edit_file", "arguments": {
                     "path": "./config/../config/prod.yaml", "old": "80", "new": "81"}},
                 {"name": "write_file", "arguments": {"path": "link/prod.yaml", "content": ""}},
                 {"name": "write_file", "arguments": {"path": "other.yaml", "content": "x"}},
                 {"name": "run_command", "arguments": {
                     "command": "python3 -c \"open('config/prod.yaml', 'w')\""}},
                 {"name": "run_command", "arguments": {
                     "command": "python3 -c \"open('config/new', 'w'); raise SystemExit(3)\""}},
                 {"name": "run_command", "arguments": {"command": "python3 -c \"pass\""}}]
        (self.folder / "workspace").mkdir()
        (self.folder / "workspace" / "link").symlink_to("config")
        for limits in ({}, {"threshold": 4_000}):
            with self.subTest(limits=limits):
                Path(self.folder / "workspace/config/new").unlink(missing_ok=True)
                results = self.results(self.run_pinned(
                    [{"tool_calls": calls}], pins=[{"text": RULE, "protect": "config/"}], **limits))
                self.assertEqual([(message.get("error") or {}).get("code") for message in results],
                                 ["PROTECTED_PATH", "PROTECTED_PATH", "PROTECTED_PATH", None, None,
                                  "COMMAND_FAILED", None])
                self.assertEqual(results[4]["content"].splitlines()[0],
                                 "[this command changed 1 protected file: config/prod.yaml]")
                self.assertIn("[this command changed 1 protected file: config/new]",
                              results[5]["content"])
                self.assertEqual(results[6]["content"], "exit=0\n")

    def test_a_command_is_told_only_of_what_is_protected(self) -> None:
        """Not of the file beside it, nor of what it left as it was."""
        command = "python3 -c \"import pathlib; [pathlib.Path('config', n).write_text('x') for " \
                  "n in ('a.txt', 'prod.yaml', 'new.yaml')]\""
        results = self.results(self.run_pinned(
            [{"tool_calls": [{"name": "run_command", "arguments": {"command": command}}] * 2}],
            pins=[{"text": RULE, "protect": "config/*.yaml"}]))
        self.assertEqual([message["content"] for message in results], [
            "[this command changed 2 protected files: config/new.yaml, config/prod.yaml]\nexit=0\n",
            "exit=0\n"])

    def test_pins_of_a_task_file_stand_under_the_task(self) -> None:
        """They are in the first user message, which no strategy touches, and in the records."""
        records = self.run_pinned([], pins=[{"text": RULE, "kind": "parameter"}], threshold=900)
        pin, = payloads(records, "pin")
        self.assertEqual((pin["index"], pin["text"], pin["kind"]), (1, RULE, "parameter"))

    def test_too_many_pins_of_a_task_file_are_refused_before_anything_runs(self) -> None:
        """One line with the field, the numbers and what to do."""
        with self.assertRaises(UsageError) as caught:
            self.run_pinned([], pins=[{"text": RULE}, {"text": "word " * 80}], threshold=900)
        self.assertRegex(str(caught.exception), r"task.json:1:\d+: pins\[1\]: there is no room for "
                         r"this pin: it has 104 tokens and 11 are pinned already; pins may take 90 "
                         r"together \(10 % of 900\); pin less, or give a larger window")

    def test_paths_are_protected_also_where_the_text_is_too_long_to_be_pinned(self) -> None:
        """The text is refused with its numbers; the path costs nothing and is kept: first, so
        that who is killed in between has it protected."""
        mark = f'<pin protect="config/**">{"word " * 80}</pin>'
        records = self.run_pinned([{"tool_calls": [{"name": "write_file", "arguments": {
            "path": "config/prod.yaml", "content": ""}}]}], task=f"Go. {mark}", threshold=900)
        self.assertEqual([("refused" in pin, pin["protect"]) for pin in payloads(records, "pin")],
                         [(False, "config/**"), (True, "config/**")])
        self.assertEqual(self.results(records)[0]["error"]["code"], "PROTECTED_PATH")

    def test_the_model_pins_and_ends_stages_with_tools(self) -> None:
        """A refused pin is an error that goes back to it with the numbers. A handle may come as
        it stands in a text, with its sign."""
        records = self.run_pinned([
            {"stage": "one", "tool_calls": [{"name": "list_files", "arguments": {}}]},
            {"tool_calls": [{"name": "pin",
                             "arguments": {"handle": "#3", "text": "config/prod.yaml",
                                                          "kind": "parameter"}},
                            {"name": "pin", "arguments": {"handle": "#77"}}]}], threshold=900)
        self.assertEqual([message["content"] for message in self.results(records)][1:], [
            "pinned: a text of #3; 1 pin in all",
            "ERROR PIN_REFUSED: there is no message #77; the newest is #5"])
        self.assertEqual(payloads(records, "stage"), [{"step": 0, "name": "one"}])

    def test_a_stage_ends_with_the_reply_that_says_so_the_last_one_too(self) -> None:
        """Its record stands behind the reply; the results of its calls belong to it."""
        records = self.run_pinned([
            {"stage": "one", "tool_calls": [{"name": "list_files", "arguments": {}}] * 2},
            {"stage": "two", "content": "all done"}], threshold=900)
        told = [(record.get("event"), (record.get("message") or {}).get("role"))
                for record in records]
        self.assertEqual(payloads(records, "stage"), [{"step": 0, "name": "one"},
                                                      {"step": 1, "name": "two"}])
        first, last = (at for at, (event, _) in enumerate(told) if event == "stage")
        self.assertEqual([told[first - 1], told[first + 1], *told[last - 1:]],
                         [(None, "assistant"), ("tool_call", None), (None, "assistant"),
                          ("stage", None), ("run_end", None)])
        state = WindowState(estimator("published"))
        for record in records:
            state.fold(record)
        self.assertEqual([(stage.start, stage.stop) for stage in state.stages], [(0, 5), (5, 6)])

    def test_globs_protect_rather_too_much(self) -> None:
        """A folder is all that is in it; a bare name holds everywhere; `*` crosses folders."""
        for glob, path in (("config", "config/a/b"), ("./config/", "config"),
                           ("*.yaml", "a/b.yaml"),
                           ("**/secret", "secret"), ("**/secret", "a/secret/b"), ("a/*", "a/b/c"),
                           (".", "anything"), ("secret", "a/secret"), ("/config/x", "config/x"),
                           ("config/**/x.yaml", "config/x.yaml"),
                           ("config/**/x.yaml", "config/a/b/x.yaml"),
                           ("config/**", "config/a")):
            self.assertTrue(protects(glob, path), (glob, path))
        for glob, path in (("config", "config2"), ("a/b", "b"), ("*.yaml", "a.yml"),
                           ("config/x", "config/xy")):
            self.assertFalse(protects(glob, path), (glob, path))


if __name__ == "__main__":
    unittest.main()
