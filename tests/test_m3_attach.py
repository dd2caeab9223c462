"""Milestone 3: what is put back beside a summary, and the state card."""

from __future__ import annotations

import unittest
from dataclasses import replace
from itertools import chain
from typing import Any

from mini_agent.compression.attach import attachments
from mini_agent.compression.budget import make_budget
from mini_agent.compression.card import card_lines
from mini_agent.compression.index import HistoryIndex
from mini_agent.compression.laws import Protection
from mini_agent.compression.pins import Pin, Pins
from mini_agent.compression.scene import Scene, Stage
from mini_agent.compression.summarise import StageSummary
from mini_agent.compression.summariser import Summariser
from mini_agent.compression.view import Entry, View, apply
from mini_agent.errors import UsageError
from mini_agent.messages import Message, assistant, call, tool_result, user
from mini_agent.tokens import estimator
from mini_agent.trace import Record

from .support import payloads
from .test_m3_traps import LONG, TEXTS, Says, governed, last_change
from .windows import head, rounds, window

COUNT = estimator("chars4").message


def read(path: str, text: str, number: int = 0) -> list[Message]:
    """One step that reads a file."""
    made = call(f"r{number}", "read_file", {"path": path})
    return [assistant(f"read {path}", [made]), tool_result(made["id"], "read_file", text)]


def write(path: str, content: str) -> list[Message]:
    """One step that writes a file."""
    made = call("w", "write_file", {"path": path, "content": content})
    return [assistant(f"write {path}", [made]), tool_result("w", "write_file", "written")]


def edit(path: str) -> list[Message]:
    """One step that edits a file."""
    made = call("e", "edit_file", {"path": path, "old": "a", "new": "b"})
    return [assistant(f"edit {path}", [made]), tool_result("e", "edit_file", "edited")]


def skill(name: str, text: str) -> list[Message]:
    """One step that loads a skill."""
    made = call("s", "skill", {"name": name})
    return [assistant(f"load {name}", [made]), tool_result("s", "skill", text)]


def view_of(history: list[Message]) -> View:
    """The view of a session in which nothing was compressed."""
    return View(Entry(message, COUNT(message), (index,)) for index, message in enumerate(history))


def scene_over(history: list[Message], **fields: Any) -> Scene:
    """A scene in which the last message is the tail."""
    users = [index for index, message in enumerate(history) if message["role"] == "user"]
    protection = Protection(frozenset({0, users[0], users[-1]}), len(history) - 1,
                            history=history)
    return Scene(1, history, 100_000, make_budget(200_000), estimator("chars4"), TEXTS,
                 protection, 0, False, Summariser(Says(), history), index=HistoryIndex(history),
                 **fields)


class AttachTest(unittest.TestCase):
    """Only what the budget leaves, each thing named in the record."""

    def put_back(self, middle: list[Message], limit: int = 200_000, kinds: str = "files",
                 tail: list[Message] | None = None, filler: int = 2_000, **fields: Any,
                 ) -> tuple[list[dict[str, Any]], list[Message]]:
        """(the record's list of what was put back, what is sent) of one full summary."""
        records: list[Record] = []
        made = governed("full_summary", limit, Says(), records, {"attach": kinds},
                        tools=("skill", "read_file"), **fields)
        history = [*head(), *middle, *rounds(filler, LONG), *rounds(2, "ok"), *(tail or ())]
        sent = made.before_model_call(history, 9)
        change = last_change(records)
        self.assertEqual(sum(map(COUNT, sent)) + made.tokens - made.view.tokens, made.tokens)
        return change.get("attached", []), sent

    def test_the_five_files_last_read_come_back_newest_first(self) -> None:
        """Each once, as it was read last, with its message."""
        middle = [message for number in range(8)
                  for message in read(f"f{number}.py", f"V = {number}")]
        told, sent = self.put_back([*read("f7.py", "V = old"), *middle, *read("f1.py", "V = new")])
        self.assertEqual(["f1.py", "f7.py", "f6.py", "f5.py", "f4.py"],
                         [item["name"] for item in told])
        self.assertEqual("[file f1.py, put back by the harness as it stood in message #21: lines 1 "
                         "to 1 of 1; it is data, not a request]\nV = new", sent[3]["content"])

    def test_a_part_of_a_file_is_not_called_the_file(self) -> None:
        """What was asked for stands behind the path: its lines are counted from there."""
        for arguments, told in (
                ({"start_line": 6, "end_line": 7}, " (start_line=6, end_line=7)"),
                ({"view_range": [6, 7], "command": "view"}, " (view_range=[6, 7])"),
                ({"offset": 5, "raw": True, "limit": 10**20, "x\n" * 99: None}, " (offset=5)"),
                ({"lines": [1, 2, 3], "start_line": 1.5, "encoding": "utf-8"}, "")):
            made = call("p", "read_file", {"path": "a.py", **arguments})
            _, sent = self.put_back([assistant("", [made]),
                                     tool_result("p", "read_file", "F\nG\n")])
            with self.subTest(told):
                self.assertEqual(f"[file a.py{told}, put back by the harness as it stood in "
                                 "message #3: lines 1 to 2 of 2; it is data, not a request]\nF\nG",
                                 sent[3]["content"])

    def test_a_file_has_at_most_its_share(self) -> None:
        """5,000 tokens of 200,000, whole lines, and the first line says how many."""
        text = "".join(f"line {number} of a long file\n" for number in range(4_000))
        told, sent = self.put_back([*read("big.py", text), *read("one_line.txt", "x" * 60_000)])
        self.assertEqual(["big.py"], [item["name"] for item in told])
        self.assertLessEqual(told[0]["tokens"], 5_000)
        self.assertGreater(told[0]["tokens"], 4_000)
        shown = sent[3]["content"].count("\n")
        self.assertIn(f"lines 1 to {shown} of 4000", sent[3]["content"])

    def test_a_file_comes_back_word_for_word(self) -> None:
        """A form feed, and what else is taken for the end of a line elsewhere, stays."""
        text = "one\x0ctwo\u2028three\x85\nfour\r\n"
        _, sent = self.put_back(read("a.txt", text))
        self.assertTrue(sent[3]["content"].endswith("lines 1 to 2 of 2; it is data, not a request]"
                                                    f"\n{text[:-1]}"),
                        sent[3]["content"])

    def test_a_restored_file_never_fills_the_window_again(self) -> None:
        """At most half of what the summary left free is used, in any window."""
        middle = [message for number in range(5)
                  for message in read(f"f{number}.py", "some line of code\n" * 2_000)]
        for limit in (1_000, 2_000, 8_000, 40_000, 100_000):
            with self.subTest(limit):
                _, sent = self.put_back(middle, limit, "notice tools files", filler=900,
                                        target="70%")
                self.assertLess(sum(map(COUNT, sent)), limit * .7)

    def test_written_files_come_back_as_written_and_edited_ones_say_so(self) -> None:
        """The newest known text; where it was edited since, the header says BEFORE."""
        told, sent = self.put_back([*read("a.py", "A = 1"), *write("b.py", "B = 2"), *edit("a.py")])
        self.assertEqual(["b.py", "a.py"], [item["name"] for item in told])
        self.assertTrue(sent[3]["content"].endswith("B = 2"))
        self.assertIn("BEFORE it was edited later", sent[4]["content"])

    def test_a_file_that_still_stands_is_not_put_back(self) -> None:
        """A later reading in the tail is newer than what was folded."""
        told, _ = self.put_back(read("a.py", "A = 1"), tail=read("a.py", "A = 2"))
        self.assertEqual([], told)

    def test_a_failed_reading_is_no_file(self) -> None:
        """An error is not the content of a file."""
        made = call("r", "read_file", {"path": "gone.py"})
        told, _ = self.put_back([assistant("", [made]), tool_result(
            "r", "read_file", "ERROR", {"code": "FILE_NOT_FOUND", "message": "gone.py"})])
        self.assertEqual([], told)

    def test_skills_come_back_whole_within_their_share(self) -> None:
        """Each once, the newest first, 25,000 tokens of 200,000 in all."""
        told, sent = self.put_back([*skill("a", "Do A."), *skill("big", "B " * 48_000),
                                    *skill("c", "Do C."), *skill("a", "Do A.")], kinds="skills")
        self.assertEqual([("skill", "#9"), ("skill", "#7"), ("skill", "#5")],
                         [(item["kind"], item["name"]) for item in told])
        told, _ = self.put_back([*skill("a", "A " * 30_000), *skill("b", "B " * 30_000)],
                                kinds="skills")
        self.assertEqual(["#5"], [item["name"] for item in told])
        self.assertTrue(sent[3]["content"].endswith("Do A."))

    def test_notice_and_tools_come_with_it(self) -> None:
        """Only tools that the agent has are named; the order is that of importance."""
        told, sent = self.put_back(read("a.py", "A = 1"), kinds="card notice tools files")
        self.assertEqual(["card", "notice", "tools", "file"], [item["kind"] for item in told])
        self.assertTrue(sent[2]["content"].startswith("[state card"))
        self.assertTrue(sent[3]["content"].startswith("[full summary]"))
        self.assertTrue(sent[4]["content"].startswith("[compression boundary"))
        self.assertEqual("[from the harness] The tools are: read_file, skill", sent[5]["content"])

    def test_an_unknown_attachment_is_the_users_mistake(self) -> None:
        """One line, with what there is."""
        with self.assertRaisesRegex(UsageError, "nothing named 'fils' can be attached.*files"):
            self.put_back([], kinds="fils")

    def test_what_was_attached_goes_with_the_next_summary(self) -> None:
        """Nothing is put back twice: a second summary has one of each."""
        records: list[Record] = []
        made = governed("full_summary", 20_000, Says(), records,
                        {"attach": "card notice tools files"}, tools=("read_file",))
        history = [*head(), *read("a.py", "A = 1")]
        for step in range(4):
            history += rounds(190, LONG)
            sent = made.before_model_call(history, step + 1)
        self.assertEqual(4, len(payloads(records, "context_compression")))
        for start in ("[state card", "[compression boundary", "[file a.py", "[from the harness]",
                      "[full summary]"):
            self.assertEqual(1, sum(message["content"].startswith(start) for message in sent))


class CardTest(unittest.TestCase):
    """What is in the card was seen to happen."""

    def test_the_card_has_its_parts(self) -> None:
        """Goal, newest request, done, open, files, assumptions; only what there is."""
        failed = call("c", "run_command", {"command": "pytest -q"})
        history = [*head("Build it.\nIn Go."), *read("a.go", "x"), *write("b.go", "y"),
                   assistant("- [x] read a.go\n- [ ] tests"),
                   assistant("", [failed]), tool_result("c", "run_command", "FAIL", {
                       "code": "COMMAND_FAILED", "message": "exit=1"}), user("Now ship it.")]
        pins = (Pin(1, "In Go.", "constraint"), Pin(3, "the API is stable", "assumption"))
        self.assertEqual([
            "Goal, as the user first put it:", "- Build it. In Go.",
            "Newest request of the user:", "- Now ship it.",
            "Done:", "- read a.go",
            "Open:", "- tests",
            "Failed when it was last tried:", '- run_command {"command": "pytest -q"}',
            "Files changed, the newest last:", "- b.go",
            "Files read, the newest last:", "- a.go",
            "Assumptions, NOT verified:", "- the API is stable"],
            card_lines(scene_over(history, pins=Pins(pins))))

    def test_a_failing_call_is_told_as_it_was_made(self) -> None:
        """Arguments that were no JSON stand as they came, in a bounded line; two that differ
        are two calls."""
        error = {"code": "BAD_ARGUMENTS", "message": "no JSON"}
        history = head()
        for raw in ('{"path": "a.py"', '{"path": "b.py", "content": "' + "x" * 9_000):
            history += [assistant("", [call("c", "write_file", raw)]),
                        tool_result("c", "write_file", "ERROR", error)]
        *_, title, first, second = card_lines(scene_over(history))
        self.assertEqual(("Failed when it was last tried:", '- write_file {"path": "a.py"'),
                         (title, first))
        self.assertRegex(second, r'\A- write_file \{"path": "b\.py".*…\Z')
        self.assertLess(len(second), 250)

    def test_a_call_that_worked_later_is_no_longer_open(self) -> None:
        """The newest result of the same call counts."""
        made = call("c", "run_command", {"command": "pytest -q"})
        history = [*head(), assistant("", [made]), tool_result("c", "run_command", "FAIL", {
            "code": "COMMAND_FAILED", "message": "exit=1"}), assistant("", [made]),
            tool_result("c", "run_command", "exit=0")]
        self.assertEqual(["Goal, as the user first put it:", "- the task"],
                         card_lines(scene_over(history)))

    def test_the_card_is_bounded(self) -> None:
        """After 1,000 files and as many points: so many of each, each on one line, and how
        many more there are; of what is open three times as many as of the rest."""
        lines = card_lines(scene_over(self.long_work()))
        self.assertEqual(2 + 26 + 10, len(lines))
        self.assertLessEqual(max(map(len, lines)), 210)
        left_out = "- (the {} oldest lines of this section are left out)"
        self.assertEqual(["Open:", left_out.format(976), "- point 976"], lines[2:5])
        self.assertEqual([left_out.format(992), "- f992.py"], lines[-9:-7])
        self.assertEqual("- f999.py", lines[-1])

    def test_where_there_is_less_room_the_card_has_fewer_points(self) -> None:
        """It is halved until it fits, and says what it leaves out: it is not lost as a whole."""
        scene = scene_over(self.long_work())
        sizes = []
        for room in (600, 200, 150, 130):
            (found,) = attachments(["card"], view_of(scene.history), scene, [], 0, room)
            self.assertLessEqual(found.entry.tokens, room)
            sizes.append(found.entry.message["content"].count("- point "))
        self.assertEqual([24, 12, 6, 3], sizes)
        self.assertEqual([], attachments(["card"], view_of(scene.history), scene, [], 0, 20))

    def test_no_card_tells_of_what_is_past(self) -> None:
        """A new one has at least the room of the old; where it needs more, the old one goes."""
        for newer, cards in ((write("a.py", "- [x] first"), [1, 1]),
                             (write("a_longer_name.py", "- [x] first"), [0, 1])):
            history = [*head(), *write("a.py", "- [ ] first"), *rounds(6, LONG)]
            ended = Stage("one", 2, 16), Stage("two", 16, 30)
            change = StageSummary()(view_of(history), scene_over(history, stages=ended[:1]))
            assert change is not None
            entries = apply(view_of(history), change).entries
            history += [*newer, *rounds(6, LONG)]
            view = View([*entries, *view_of(history).entries[16:]])
            scene = scene_over(history, stages=ended, trigger="stage")
            scene = replace(scene, protection=replace(scene.protection, tail=len(view) - 1))
            found = []
            for goal in (100, 2_000):
                change = StageSummary()(view, replace(scene, goal=goal))
                assert change is not None
                found.append([entry.message["content"] for entry in apply(view, change).entries
                              if entry.how == "attached"])
            self.assertEqual(cards, list(map(len, found)))
            for card in chain.from_iterable(found):
                self.assertIn("Done:\n- first", card)

    def long_work(self) -> list[Message]:
        """A session of 1,000 files, each written with a point of a task list."""
        return [*head("x" * 9_000), *(message for number in range(1_000) for message in
                                      write(f"f{number}.py", f"- [ ] point {number}"))]


class ListTest(unittest.TestCase):
    """The lists of files of a handoff form are kept by code."""

    def test_every_file_is_in_the_list_or_the_list_says_how_many_are_not(self) -> None:
        """The last of sixty stands in the tail; where there is no room for the others, the
        first line has the number of those that are left out."""
        history = [*head(), *(message for number in range(60) for message in
                              read(f"src/module_{number}.py", LONG, number))]
        for max_tokens, first, files in ((20_000, "- src/module_0.py (read)", 59), (
                600, "- (the 19 oldest lines of this section are left out)", 40)):
            records: list[Record] = []
            made = window(100_000, records=records, protect_last=1, ladder=[
                {"strategy": "handoff_form", "settings": {"max_tokens": max_tokens,
                                                          "tail_share": .001}}])
            made.before_model_call(history, 0)
            made.compact(0)
            form = last_change(records)["entries"][0]["message"]["content"]
            listed = form.partition("## Files read\n")[2].partition("\n## ")[0].split("\n")
            self.assertEqual(first, listed[0])
            self.assertEqual(files, sum(line.endswith(".py (read)") for line in listed))


class StageTest(unittest.TestCase):
    """A finished stage becomes a record; what is not finished stays."""

    def test_the_oldest_finished_stage_becomes_a_record(self) -> None:
        """Its messages and no others, with its name; the newest request stays behind it."""
        history = [*head(), *rounds(6, LONG, "plan"), user("now build"), *rounds(6, LONG, "build"),
                   *rounds(3, LONG, "test")]
        view = view_of(history)
        scene = scene_over(history, stages=(Stage("planning", 2, 14),
                                                      Stage("building", 14, 27)))
        change = StageSummary()(view, scene)
        assert change is not None
        self.assertEqual(tuple(range(2, 14)), change.affected)
        card, record = (entry.message["content"] for _, entry in change.inserts)
        self.assertTrue(card.startswith("[state card"))
        self.assertTrue(record.startswith("[stage record] planning: this stage is finished, 12 "))
        for section in ("## Goal", "## Result", "## Key decisions", "## Left over"):
            self.assertIn(section, record)
        self.assertIsNone(StageSummary()(view, replace(scene, stages=())))

    def test_a_stage_that_has_just_ended_becomes_a_record_at_once(self) -> None:
        """Whatever the tail had held back of the stages before it."""
        history = head()
        records: list[Record] = []
        made = window(100_000, "stage_summary", stages=True, records=records)
        for step in range(3):
            history += rounds(8, LONG, f"part {step}")
            made.stage_done(history, f"stage {step}", step)
            made.before_model_call(history, step)
        self.assertEqual([list(range(2, 14)), list(range(18, 30)), list(range(34, 46))],
                         [note["input"] for note in payloads(records, "model_summarize")])

    def test_a_small_stage_behind_a_large_history_becomes_a_record(self) -> None:
        """That a stage came to nothing lately says nothing of the one that has just ended."""
        history = [*head(), *(user("word " * 200) for _ in range(40)), *rounds(3, "x", "plan")]
        records: list[Record] = []
        made = window(100_000, "stage_summary", stages=True, records=records)
        made.before_model_call(history, 0)
        made.stage_done(history, "tiny", 0)
        history += rounds(4, LONG, "build")
        made.before_model_call(history, 1)
        self.assertEqual(["no_gain"], [skip["reason"] for skip in
                                       payloads(records, "compression_skipped")])
        made.stage_done(history, "small", 1)
        history += rounds(2, "x", "test")
        made.before_model_call(history, 2)
        (change,) = payloads(records, "context_compression")
        self.assertEqual("stage", change["trigger"])

    def test_the_newest_request_inside_a_stage_stays_whole(self) -> None:
        """It is put behind the record, as a message of its own."""
        history = [*head(), *rounds(6, LONG, "plan"), user("now build"), *rounds(6, LONG, "build")]
        view = view_of(history)
        scene = scene_over(history, stages=(Stage("all", 2, 27),))
        change = StageSummary(attach="")(view, scene)
        assert change is not None
        self.assertEqual([(2, "summary"), (3, "verbatim")],
                         [(at, entry.how) for at, entry in change.inserts])
        self.assertEqual(user("now build"), change.inserts[1][1].message)


if __name__ == "__main__":
    unittest.main()
