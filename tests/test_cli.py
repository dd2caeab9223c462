"""The command line: results, exit statuses, and one line for each mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import unittest
from dataclasses import replace
from shutil import copytree
from unittest import mock

from mini_agent.compression.catalogue import POLICIES
from mini_agent.compression.policies import SETTINGS, STRATEGIES, find_policy, make_policy
from mini_agent.governance import recorded_governance
from mini_agent.trace import read_trace
from tests.support import ROOT, SCRIPTS, FolderTest, answered, called, mini_agent

DONE = {"content": "done"}


class RunTest(FolderTest):
    """`mini-agent run`."""

    def test_the_final_text_goes_to_standard_output(self) -> None:
        """A task that is done prints its answer, nothing else, and exits with 0."""
        done = mini_agent("run", str(self.write_task(replies=[DONE])), "--workspace",
                          str(self.folder), "--plain")
        self.assertEqual((0, "done\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_a_task_that_is_not_done_exits_with_1_and_says_why(self) -> None:
        """Each ending that is no answer is one line on standard error."""
        for reply, reason in (({"inject": "error"}, "model_error"),
                              ({"tool_calls": [{"name": "list_files"}]}, "script_exhausted")):
            with self.subTest(reason):
                done = answered("run", str(self.write_task(replies=[reply])), "--workspace",
                                str(self.folder))
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertTrue(done.stderr.startswith(f"mini-agent: {reason}: "), done.stderr)
                self.assertEqual(1, done.stderr.count("\n"))

    def test_json_gives_the_outcome_as_an_object(self) -> None:
        """--json prints reason, text and detail."""
        done = answered("run", str(self.write_task(replies=[DONE])), "--json", "--workspace",
                        str(self.folder))
        self.assertEqual({"reason": "final_answer", "text": "done", "detail": ""},
                         json.loads(done.stdout))

    def test_options_replace_window_and_policy_of_the_task(self) -> None:
        """--window and --policy stand in run_start in place of the task's own."""
        trace = self.folder / "t.jsonl"
        task = self.write_task(replies=[DONE], threshold=5000)
        answered("run", str(task), "--workspace", str(self.folder), "--trace", str(trace),
                 "--window", "700", "--policy", "clip")
        start = next(read_trace(trace).events("run_start"))
        self.assertEqual({"name": "clip", "window": 700}, start["policy"])


class BadInputTest(FolderTest):
    """What a user did wrong: one line with what, where and what to do, status 2."""

    def refused(self, *arguments: str, says: str) -> None:
        """The command exits with 2 and one line that matches, and writes nothing."""
        before = sorted(self.folder.rglob("*"))
        status, out, said = called(*arguments)
        self.assertEqual((2, ""), (status, out), said)
        self.assertEqual(1, said.count("\n"), said)
        self.assertRegex(said, says)
        self.assertEqual(before, sorted(self.folder.rglob("*")))

    def task_refused(self, says: str, **fields: object) -> None:
        """A task file with these fields is refused."""
        path = self.write_task(**{"replies": [DONE], **fields})
        self.refused("run", str(path), "--trace", str(self.folder / "no.jsonl"), says=says)

    def test_a_task_file_that_is_not_there(self) -> None:
        """A wrong name, and a folder in place of a file."""
        self.refused("run", str(self.folder / "none.json"), says=r"none\.json: .*No such file.*; ")
        self.refused("run", str(self.folder), says=r": .*Is a directory.*; name a JSON file")

    def test_a_name_that_no_file_can_have_is_one_of_no_file(self) -> None:
        """Whatever the version of Python says of it."""
        name = "n" * 300
        for arguments, says in ((("resume", name), "there is no such trace; name"),
                                (("show", f"{name}#2"), "there is no log of sub-agent 2; it has"),
                                (("show", name), "cannot be read (File name too long); name")):
            with self.subTest(arguments):
                status, _, error = called(*arguments)
                self.assertEqual((2, 1), (status, error.count("\n")))
                self.assertIn(says, error)

    def test_broken_json_is_named_with_line_column_and_field(self) -> None:
        """The place of the fault, and the field in which it stands."""
        path = self.folder / "task.json"
        path.write_text('{\n "name": "x",\n "replies": [\n  {"content": oops}\n ]\n}', "utf-8")
        self.refused("run", str(path),
                     says=r"task\.json:4:15: broken JSON in replies\[0\]\.content: .*; complete or "
                     r"correct it at this place$")

    def test_two_objects_in_a_file_are_sent_to_compare(self) -> None:
        """Nothing is broken in either of them: one object is what a task file has."""
        path = self.folder / "task.json"
        path.write_text("{}\n{}\n", "utf-8")
        self.refused("run", str(path), says=r"task\.json:2:1: broken JSON.*: Extra data; give one "
                     r"object; a recorded session is replayed by compare$")

    def test_wrong_fields_are_named_with_their_path(self) -> None:
        """A wrong type, an unknown key, a negative threshold, two limits."""
        self.task_refused(r"task\.json:1:\d+: threshold must be integer, not string 'x'; ",
                          threshold="x")
        self.task_refused(r"threshold must be at least 1, not -5", threshold=-5)
        self.task_refused(r"treshold is unknown \(did you mean threshold\?\)", treshold=5)
        self.task_refused(r"replies\[0\]\.content must be string, not integer 5",
                          replies=[{"content": 5}])
        self.task_refused(r"replies\[0\]\.tool_calls\[0\]\.name is missing",
                          replies=[{"tool_calls": [{}]}])
        self.task_refused(r"replies\[0\]\.inject must be one of 'error', 'empty', .*, not 'x'",
                          replies=[{"inject": "x"}])
        self.task_refused(r"summaries\[1\] must be one of 'ok', .*, not 'bad'",
                          summaries=["ok", "bad"])
        self.task_refused(r"window stands beside a threshold", threshold=5, window=5)

    def test_the_place_of_a_field_is_its_line_and_column(self) -> None:
        """A wrong value by its own place, a missing one by that of its object."""
        for text, says in (('{\n "system": "s", "task": "t",\n "replies": 5}',
                            ":3:13: replies must"),
                           ('{"system":"s","task":"t","replies":5}', ":1:36: replies must"),
                           ('{\n "system": "s", "task": "t",\n "replies": [\n  {"tool_calls":'
                            '\n   [ {}]}]}',
                            r":5:6: replies\[0\]\.tool_calls\[0\]\.name is missing"),
                           ("\n []", ":2:2: the file holds no object")):
            with self.subTest(says):
                path = self.folder / "task.json"
                path.write_text(text, encoding="utf-8")
                self.refused("run", str(path), says=says)

    def test_what_no_schema_can_judge_is_placed_too(self) -> None:
        """A setting, a policy, a pin, and the policy of a sub-agent: line, column and field."""
        text = """{"system": "s", "task": "t", "replies": [{"content": "d", "tool_calls": [
            {"name": "delegate"}], "children": {"0": {"replies": [{"content": "d"}]}}}],
            "threshold": 900, "policy": "layered",
            "compression": {"lines": 3},
            "pins": [{"text": "Keep it."}]}"""
        path = self.folder / "task.json"
        for old, new, says in (
                ('"lines": 3', '"lines": -3', r":4:38: compression\.lines: lines must be at least"),
                ('"layered",\n            "compression": {"lines": 3}',
                 '"digest",\n            "compression": {"digest": 40}',  # as if it were percent
                 r":4:39: compression\.digest: digest must be at most 1, not 40"),
                ('"lines"', '"line"', r":4:37: compression\.line: no setting 'line'"),
                ("layered", "layers", r":3:41: policy: no policy 'layers'; did you mean layered"),
                ("Keep it.", "a</pin>b", r":5:22: pins\[0\]: this pin cannot be written as a mark"),
                ("Keep it.", "", r":5:22: pins\[0\]: this pin cannot be .*; give a text without"),
                ("Keep it.", "word " * 200, r":5:22: pins\[0\]: there is no room for this pin"),
                ('"0": {', '"0": {"policy": "clip", "window": 9, "compression": {"line": 1},',
                 r":2:\d+: replies\[0\]\.children\.0\.compression\.line: no setting 'line'")):
            with self.subTest(says):
                self.assertIn(old, text)
                path.write_text(text.replace(old, new), encoding="utf-8")
                self.refused("run", str(path), says=f"task.json{says}")

    def test_a_recorded_session_is_sent_to_compare(self) -> None:
        """Whoever gives `run` a log, of one list or of many lines, is told what takes it."""
        for name in ("log-review-zh.json", "lesson.jsonl"):
            self.refused("run", f"workspace/sessions/{name}",
                         says="a recorded session is replayed by compare")

    def test_a_sub_agent_that_could_not_begin_is_refused_before_anything_runs(self) -> None:
        """Its policy, a setting, or no window for it: the run went on without it, all well."""
        call = {"name": "delegate", "arguments": {"task": "look"}}
        for script, says in (({"policy": "clipp", "window": 9_000}, "no policy 'clipp'; did you"),
                             ({"policy": "clip"}, "policy 'clip' needs a window"),
                             ({"policy": "clip", "window": 9_000, "compression": {"line": 3}},
                              "no setting 'line'.* did you mean lines")):
            with self.subTest(says):
                script["replies"] = [DONE]
                self.task_refused(rf"replies\[0\]\.children\.0.* {says}", replies=[
                    {"tool_calls": [call], "children": {"0": script}}, DONE])

    def test_a_reply_that_says_nothing_is_refused(self) -> None:
        """An empty reply has to be asked for with inject."""
        self.task_refused(r'replies\[1\] says nothing \(ask for it with "inject": "empty"\)',
                          replies=[DONE, {"content": ""}])
        self.task_refused("task says nothing", task=" \n")

    def test_a_fault_of_calls_needs_a_call(self) -> None:
        """Without one the fault that was asked for would not be shown, and nobody told."""
        for inject in ("bad_json", "unknown_tool"):
            self.task_refused(rf"replies\[0\]\.inject: {inject} is a fault of calls, and there are "
                              "none", replies=[{"content": "d", "inject": inject}])

    def test_wrong_compression_settings_are_named(self) -> None:
        """Unknown, of another type, negative, and settings without a threshold."""
        for settings, says in (({"head_char": 1},
                                r"no setting 'head_char'.*did you mean head_chars"),
                               ({"name": "clip"}, "no setting 'name' in policy 'published'"),
                               ({"data": {}}, "no setting 'data' in policy 'published'"),
                               ({"head_chars": "1"},
                                "must be integer, not string '1'; the default is 160"),
                               ({"tail_chars": -1}, "must be at least 0, not -1; the default"),
                               ({"breaks": [{}]}, r"breaks\[0\] must be integer, not object")):
            with self.subTest(says):
                self.task_refused(says, threshold=100, compression=settings)
        self.task_refused("there is no threshold", compression={"head_chars": 1})
        for settings, says in (({"user_share": 5}, "user_share must be at most 1, not 5"),
                               ({"breaks": [99]}, r"breaks\[0\] must be at most 9, not 99"),
                               ({"trigger": "lots"}, "compression.trigger: no trigger 'lots'"),
                               ({"trigger": 10**30}, "compression.trigger: no trigger 1000"),
                               ({"attach": "cards"}, r"compression.attach: nothing named 'cards'")):
            with self.subTest(says):
                self.task_refused(says, window=9_000, policy="two_layer", compression=settings)
        self.task_refused(r"task.json:1:\d+: policy: no policy 'clipp'; did you mean clip",
                          window=9_000, policy="clipp")
        self.task_refused("a reserve of 200000 of 200000 tokens leaves nothing", window=100,
                          policy="digest", compression={"reserve": 200_000})

    def test_a_wrong_option_is_told_in_one_line_that_says_where_help_is(self) -> None:
        """Missing, unknown, of another kind, out of bounds."""
        for arguments, says in (((), "COMMAND; see mini-agent --help"),
                                (("run",), "TASK.json; see mini-agent run --help"),
                                (("check", "x", "--frob"), "unrecognized arguments: --frob; see"),
                                (("show", "x", "--step", "y"),
                                 "--step: invalid int value: 'y'; see"),
                                (("compare", "x", "--evidence", "-1"),
                                 "-1 is not a length; give a"),
                                (("run", "x", "--max-steps", "0"),
                                 "--max-steps: 0 is not a limit; give")):
            with self.subTest(says):
                self.refused(*arguments, says=says)

    def test_a_mistyped_command_is_shown_those_that_can_be_typed(self):
        """What a session starts for itself is not among them."""
        for word, told in (("comparee", "did you mean compare?"), ("chlid", "--help lists them")):
            done = answered(word, "workspace/sessions")
            self.assertEqual(2, done.returncode)
            self.assertIn(told, done.stderr)
            self.assertNotIn("child", done.stderr)

    def test_an_unknown_policy_is_answered_with_close_names(self) -> None:
        """A mistyped policy is no guess."""
        self.task_refused(r"no policy 'publishd'; did you mean published\?", policy="publishd",
                          threshold=100)
        task = self.write_task(replies=[DONE], policy="publishd", threshold=100)
        self.refused("run", str(task), "--policy", "none", "--trace", str(self.folder / "no.jsonl"),
                     says=r"task\.json:1:\d+: policy: no policy 'publishd'; did you mean published")

    def test_a_workspace_that_is_not_there(self) -> None:
        """A wrong folder is said before anything is written."""
        task = self.write_task(replies=[DONE])
        self.refused("run", str(task), "--workspace", str(self.folder / "no"), "--trace",
                     str(self.folder / "t.jsonl"), says="the workspace is not a folder; ")


class ShowTest(FolderTest):
    """`mini-agent show` and `mini-agent tokens`."""

    def test_show_tells_the_compressions_of_a_trace(self) -> None:
        """The reference trace is shown with its steps, compressions and ending."""
        done = mini_agent("show", "traces/reference/m3-trace.jsonl")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("   9  3226 (20)   742 (7)     53: tool_result_aging [19]\n"
                      "                              54: rolling_summary [2..15]\n", done.stdout)
        self.assertIn("ended at step 13: final_answer", done.stdout)

    def test_show_says_that_a_last_line_was_cut(self) -> None:
        """The rest is shown, the warning goes to standard error."""
        whole = (ROOT / "traces" / "reference" / "m3-trace.jsonl").read_bytes()
        cut = self.folder / "cut.jsonl"
        cut.write_bytes(whole[:-40])
        done = answered("show", str(cut))
        self.assertEqual(0, done.returncode)
        self.assertIn("the last line is cut off", done.stderr)

    def test_a_pipe_is_looked_at_as_the_file_is(self) -> None:
        """It can be read once, and its start was missing in what came next."""
        trace = ROOT / "traces" / "reference" / "m3-trace.jsonl"
        pipe = self.folder / "again" / trace.name
        pipe.parent.mkdir()
        os.mkfifo(pipe)
        for command in (["show", "T"], ["show", "T", "--message", "3"], ["why", "T", "N170"],
                        ["show", "T", "--policy", "clip", "--step", "2"]):
            with self.subTest(command):
                of_file, of_pipe = ([*map(str, (place if word == "T" else word
                                                for word in command))] for place in (trace, pipe))
                writer = threading.Thread(target=pipe.write_bytes, args=(trace.read_bytes(),))
                writer.start()
                found = answered(*of_pipe)
                writer.join()
                self.assertEqual(0, found.returncode, found.stderr)
                self.assertEqual(re.sub(r"\S*(?=m3-trace)", "", answered(*of_file).stdout),
                                 re.sub(r"\S*(?=m3-trace)", "", found.stdout))

    def test_what_is_wrong_in_a_pipe_is_told_of_the_pipe(self) -> None:
        """Not of the copy that is made of it; a place in what cannot be read twice is not told."""
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        task = json.dumps({"system": "s", "task": "t", "window": 2000, "policy": "digset",
                           "replies": [{"content": "x"}]}, indent=1)
        policy = '{"name": "mine", "ladder": [{"strategy": "nothing"}]}'
        for command, text, said in (
                (["show"], "junk", "no JSON: "), (["show"], "{}\n{\n{}\n", ""),
                (["run"], task, "policy: no policy 'digset'"),
                (["policies"], policy, "ladder[0].strategy: no strategy 'nothing'")):
            with self.subTest(command):
                writer = threading.Thread(target=pipe.write_text, args=(text,))
                writer.start()
                found = answered(*command, str(pipe))
                writer.join()
                self.assertEqual((2, 1), (found.returncode, found.stderr.count("\n")))
                self.assertRegex(found.stderr, rf"\Amini-agent: {pipe}(:\d+)?: {re.escape(said)}")

    def test_a_broken_trace_is_named_with_its_line(self) -> None:
        """A broken line that is not the last: status 1, its number."""
        broken = self.folder / "broken.jsonl"
        first, *_ = (ROOT / "traces" / "reference" / "m3-trace.jsonl").read_text(
            encoding="utf-8").splitlines(keepends=True)
        broken.write_text(first + '{"type": "nothing"}\n{}\n', encoding="utf-8")
        done = answered("show", str(broken))
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"broken\.jsonl:2: not a record")

    def test_tokens_gives_a_row_a_file_and_a_column_an_estimator(self) -> None:
        """The notes of milestone 3 have 4,100 tokens by the published formula."""
        done = answered("tokens", "--json", "workspace/m3/long_notes.txt")
        row, = json.loads(done.stdout)
        self.assertEqual((16400, 4100, 4100, 5467),
                         (row["characters"], row["published"], row["chars4"], row["chars3"]))
        table = answered("tokens", "workspace/m3/long_notes.txt", "README.md").stdout
        self.assertEqual(3, len(table.splitlines()))
        self.assertLessEqual(max(map(len, table.splitlines())), 110)

    def test_numbers_of_large_files_stand_apart(self) -> None:
        """A column is as wide as its numbers need: two of eight digits were one of sixteen."""
        class Many:
            def text(self, text: str) -> int:
                return 56_483_624

        with mock.patch("mini_agent.tokens.estimator", lambda name: Many()):
            _, table, _ = called("tokens", "README.md")
        self.assertEqual(7, table.splitlines()[1].split().count("56483624"))

    def test_a_reader_that_closes_early_is_no_error(self) -> None:
        """`mini-agent show ... | head -1` ends quietly."""
        process = subprocess.Popen(
            [sys.executable, "-m", "mini_agent", "show", "traces/reference/m3-trace.jsonl"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(b"", process.stderr.read())
        process.stderr.close()
        process.wait()


class PoliciesTest(FolderTest):
    """`mini-agent policies`."""

    def test_each_policy_is_a_row_with_what_it_is_for(self) -> None:
        """In the order of the catalogue."""
        done = answered("policies")
        self.assertEqual([policy["name"] for policy in POLICIES],
                         re.findall(r"^\S+", done.stdout, re.M))
        self.assertEqual(" ".join(f"{policy['name']} {policy['about']}" for policy in POLICIES),
                         " ".join(done.stdout.split()))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_one_policy_is_printed_as_the_data_that_makes_it(self) -> None:
        """What is printed, read again, is the same policy."""
        for name in ("clip_errors", "two_layer", "naive"):
            made = make_policy(json.loads(called("policies", name, "--json")[1]), name)
            self.assertEqual(find_policy(name), made)

    def test_what_a_policy_file_can_have_is_listed(self) -> None:
        """Each setting of a policy and of each strategy, with its default as JSON has it; what is
        listed can be written into a file, and leaves everything as it was."""
        parts = json.loads(called("policies", "--strategies", "--json")[1])
        self.assertEqual([*SETTINGS], [*parts[0]["settings"]])
        self.assertEqual(["", *STRATEGIES], [part["strategy"] for part in parts])
        told = called("policies", "--strategies")[1]
        for part in parts:
            for name, value in part["settings"].items():
                self.assertIn(f"\n  {json.dumps(name)}: {json.dumps(value)}", told)
        self.assertIn('\n  "keep": "ends"   of ["ends", "errors"]\n', told)
        self.assertIn('\n  "reserve": 0   tokens that stay free for the answer\n', told)
        bare = [{"strategy": name} for name in STRATEGIES]
        whole = [{"strategy": part["strategy"], "settings": part["settings"]} for part in parts[1:]]
        given = {name: value for name, value in parts[0]["settings"].items() if value is not None}
        plain, full = (self.folder / name for name in ("plain.json", "full.json"))
        plain.write_text(json.dumps({"name": "p", "source": "", "ladder": bare}))
        full.write_text(json.dumps({"name": "p", "source": "", **given, "ladder": whole}))
        self.assertEqual(find_policy(str(plain)), find_policy(str(full)))

    def test_one_policy_is_told_of_in_words(self) -> None:
        """What it does, where it comes from, which laws it breaks, its trigger and its rungs."""
        told = answered("policies", "naive").stdout.splitlines()
        self.assertEqual(told[0], "naive: drops the oldest messages until it fits, the task first; "
                         "tears calls from results")
        self.assertEqual(told[2:5], ["from      the first idea of everybody",
                                     "breaks    law 1 (pairing), law 4 (protection)",
                                     "trigger   over the window"])
        self.assertEqual(told[7:], ["1. sliding_window (variant='naive', keep_first=1)",
                                    "   Drops the oldest until the view fits."])

    def test_a_policy_file_is_used_wherever_a_name_is(self) -> None:
        """It is told of, run, compared; its trace has it whole, and can be gone on with."""
        path = self.folder / "mine.json"
        path.write_text(json.dumps({"name": "mine", "about": "clips early", "trigger": "30%",
                                    "ladder": [{"strategy": "tool_result_clipping",
                                                "settings": {"min_chars": 200, "keep_rounds": 0}},
                                               {"strategy": "rolling_summary"}]}))
        _, told, _ = called("policies", path)
        self.assertTrue(told.startswith("mine: clips early\n"))
        trace = self.folder / "trace.jsonl"
        done = answered("run", str(SCRIPTS / "m3_task.json"), "--workspace",
                        str(copytree(ROOT / "workspace" / "m3", self.folder / "m3")),
                        "--policy", str(path), "--window", "6000", "--trace", str(trace))
        self.assertEqual(done.returncode, 0, done.stderr)
        start = next(read_trace(trace).events("run_start"))
        self.assertEqual(start["policy"]["file"]["trigger"], "30%")
        governed = recorded_governance(start, "trace")
        self.assertEqual(replace(governed.policy, source=""),
                         replace(find_policy(str(path)), source=""))
        self.assertEqual(governed.budget.soft, 1_800)
        self.assertEqual(0, called("check", trace)[0])
        status, compared, said = called("compare", trace, "--policy", f"none,{path}", "--json",
                                        "--window", "6000")
        self.assertEqual(0, status, said)
        self.assertEqual([row["policy"] for row in json.loads(compared)],
                         ["none", str(path)])

    def test_a_wrong_policy_file_is_one_line_with_place_and_field(self) -> None:
        """Wrong JSON, type, key, strategy, setting, trigger: each says where and what."""
        path = self.folder / "mine.json"
        ladder = [{"strategy": "recall"}]
        for data, said in (("{", r"mine.json:1:2: broken JSON"), ("[]", "holds no object"),
                           ({"name": "x"}, r"mine.json:1:1: ladder is missing"),
                           ({"name": 3, "ladder": ladder}, r"mine.json:1:\d+: name must be string"),
                           ({"name": "x", "ladder": ladder, "goal": 1}, "goal is unknown"),
                           ({"name": "x", "ladder": [{"strategy": "recal"}]},
                            r"no strategy 'recal'; did you mean recall"),
                           ({"name": "x", "ladder": [{"strategy": "recall", "settings": {"a": 1}}]},
                            "unknown setting 'a'"),
                           ({"name": "x", "ladder": [{"strategy": "recall", "settings": {
                               "asks_model": True}}]}, "unknown setting 'asks_model'"),
                           ({"name": "x", "ladder": [{"strategy": "recall", "settings": {
                               "tools": []}}]}, "unknown setting 'tools'; known are: none"),
                           ({"name": "x", "ladder": [{"strategy": "input_budget", "settings": {
                               "always": [{}]}}]}, r"always\[0\] must be string, not object; the "),
                           ('{"name": "x",\n "ladder": [{"strategy": "recal"}]}',
                            r"mine.json:2:26: ladder\[0\].strategy: no strategy 'recal'; did"),
                           ('{"name": "x",\n "ladder": [\n  {"strategy": "recall",\n   "settings":'
                            ' {"a": 1}}]}', r"mine.json:4:22: ladder\[0\].settings.a: unknown s"),
                           ('{"name": "x", "ladder": [],\n "name": "y"}',
                            "mine.json:2:2: name occurs tw"),
                           ({"name": "x", "ladder": ladder, "estimator": "tea"}, "must be one of"),
                           ({"name": "x", "ladder": ladder, "trigger": "lots"},
                            "no trigger 'lots'"),
                           ({"name": "x", "ladder": ladder, "trigger": .8}, "no trigger 0.8; give"),
                           ({"name": "x", "ladder": ladder, "target": -16384},
                            r"mine.json:1:\d+: target: no trigger -16384"),
                           ({"name": "x", "ladder": ladder, "target": ""}, "no trigger ''"),
                           ({"name": "x", "ladder": ladder, "reserve": 200_000},
                            r"mine.json:1:\d+: reserve: a reserve of 200000 of 200000 tokens"),
                           ({"name": "x", "ladder": ladder, "trigger": f"{10**400}%"},
                            "no trigger"),
                           ({"name": "x", "ladder": [{"strategy": "recall", "trigger": [1]}]},
                            r"mine.json:1:\d+: ladder\[0\].trigger: no trigger \[1\]"),
                           ({"name": "x", "ladder": ladder, "user_share": 80}, "at most 1"),
                           ({"name": "x", "ladder": [{"strategy": "admission", "settings": {
                               "share": 1e308}}]}, r"must be at most 1, not 1e\+308"),
                           ({"name": "x", "ladder": ladder, "breaks": [11]}, "at most 9")):
            path.write_text(data if isinstance(data, str) else json.dumps(data))
            status, out, told = called("policies", path)
            self.assertEqual((2, "", 1), (status, out, told.count("\n")))
            self.assertRegex(told, said)

    def test_a_wrong_name_is_refused_with_close_ones(self) -> None:
        """One line, status 2."""
        done = answered("policies", "clip_error")
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")))
        self.assertIn("clip_errors", done.stderr)


class HelpTest(unittest.TestCase):
    """Help is short, and shows one example a command."""

    def test_every_command_has_one_example(self) -> None:
        """The example of each command begins with its name."""
        from mini_agent.cli import make_parser
        commands = make_parser().commands
        self.assertTrue(commands)
        for name, parser in commands.items():
            with self.subTest(name):
                self.assertIn(f"example: mini-agent {name}", " ".join(parser.format_help().split()))

    def test_every_command_with_something_to_read_has_the_same_two_forms(self) -> None:
        """--json for a program, --plain for a screen reader; `convert` prints records alone."""
        from mini_agent.cli import make_parser
        for option in ("--json", "--plain"):
            self.assertEqual(["convert"], [name for name, parser in make_parser().commands.items()
                                           if option not in parser.format_help()])


if __name__ == "__main__":
    unittest.main()
