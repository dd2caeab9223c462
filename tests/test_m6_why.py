"""Milestone 6: why the model no longer knew a text, and what it got at a step."""

import json
import tempfile
import unittest
from pathlib import Path

from mini_agent.hostile import escaped
from mini_agent.lab.look import steps_at
from mini_agent.lab.steps import views
from mini_agent.lab.why import explain
from mini_agent.messages import assistant, call, tool_result, user
from mini_agent.trace import read_trace
from tests.labs import ROOT, SAMPLES, mini_agent

REFERENCE = ROOT / "traces" / "reference" / "m3-trace.jsonl"
POINT = "AssertionError: 4750 != 5000"


class WhyTest(unittest.TestCase):
    """`why TRACE TEXT`."""

    def why(self, *arguments):
        """What it knows, as JSON."""
        status, out, _ = mini_agent("why", *arguments, "--json")
        self.assertEqual(0, status)
        return json.loads(out)

    def test_the_point_in_the_middle_is_lost_by_lines_and_kept_by_error_lines(self):
        """The assertion on line 28 of 53: one policy drops it, the other does not."""
        path = SAMPLES / "middle-of-output.jsonl"
        lines = read_trace(path).messages()[3]["content"].splitlines()
        self.assertEqual((53, 28), (len(lines), lines.index(POINT)))
        forms = {policy: [(seen["first"], seen["last"], seen["form"]) for seen in self.why(
            path, POINT, "--policy", policy, "--window", "2k")["seen"]]
            for policy in ("clip", "clip_errors")}
        self.assertEqual("verbatim", forms["clip"][0][2])
        self.assertIn("handle", [form for _, _, form in forms["clip"]])
        self.assertEqual({"verbatim", "shortened"}, {form for _, _, form in forms["clip_errors"]})

    def test_it_names_message_tool_step_record_and_way_back(self):
        """In words, a line each."""
        status, out, _ = mini_agent("why", SAMPLES / "middle-of-output.jsonl", POINT,
                                    "--policy", "clip", "--window", "2k")
        self.assertEqual(0, status)
        self.assertIn('entered   message #3, tool of run_command {"command": "python3 check.py"}, '
                      "first sent at step 1\n", out)
        self.assertRegex(out, r"step \d+ +not there, behind a handle: tool_result_clipping "
                              r"\(seq \d+, threshold, \d+ -> \d+ tokens\)\n")
        self.assertRegex(out, r"now +the model can see it; (read_result\(handle=3\) gives it back; )?"
                              r"message #19 of the log has it\n")

    def test_of_parallel_calls_it_names_the_one_that_was_answered(self):
        """A result belongs to the call with its id, whatever came back first."""
        history = [user("go"), assistant("", [call("a", "read", {"path": "one"}),
                                              call("b", "read", {"path": "two"})]),
                   tool_result("b", "read", "second"), tool_result("a", "read", "first")]
        entered = explain("first", [], history)["entered"]
        self.assertEqual(['{"path": "one"}'], [place["arguments"] for place in entered])

    def test_a_trace_tells_of_its_own_run(self):
        """Without a policy: the views that were sent, the records with their seq."""
        known = self.why(REFERENCE, "N001")
        records = read_trace(REFERENCE).records
        causes = [seen["cause"] for seen in known["seen"] if seen["cause"]]
        self.assertTrue(causes)
        for cause in causes:
            record = records[cause["seq"]]
            self.assertEqual("context_compression", record["event"])
            self.assertEqual(cause["strategy"], record["payload"]["strategy"])
        steps = [(seen["first"], seen["last"]) for seen in known["seen"]]
        self.assertEqual([last + 1 for _, last in steps[:-1]], [first for first, _ in steps[1:]])

    def test_a_text_that_was_never_said(self):
        """Exit status 1, and it is said so."""
        status, out, _ = mini_agent("why", REFERENCE, "no such words")
        self.assertEqual(1, status)
        self.assertIn("it was never said in this session", out)

    def test_wrong_use_is_one_line(self):
        """An empty text, no file, an unknown policy."""
        for arguments in ((REFERENCE, ""), ("nothing.jsonl", "x"),
                          (REFERENCE, "x", "--policy", "publisht"),
                          (REFERENCE, "x", "--policy", "published", "--window", "0")):
            with self.subTest(arguments):
                status, out, err = mini_agent("why", *arguments)
                self.assertEqual((2, "", 1), (status, out, err.count("\n")))

    def test_what_is_said_after_the_last_call_was_never_sent(self):
        """The final answer stands in the log, and no model has seen it."""
        text = read_trace(REFERENCE).messages()[-1]["content"]
        known = self.why(REFERENCE, text)
        self.assertEqual((None, []), (known["entered"][-1]["first_seen"], known["seen"]))


class ShowTest(unittest.TestCase):
    """`show TRACE --step N --diff`."""

    def test_the_views_are_those_that_were_sent(self):
        """As many messages and tokens as each `model_call` of the trace says."""
        sent = [(payload["step"], payload["messages"], payload["tokens"])
                for payload in read_trace(REFERENCE).events("model_call")]
        (_, steps, _), = steps_at(str(REFERENCE))
        self.assertEqual(sent, [(taken.step, len(view), view.tokens)
                                for taken, view in views(steps)])

    def test_a_step_is_shown_whole(self):
        """Each entry with its place, what it stands for, how, and its text."""
        status, out, _ = mini_agent("show", REFERENCE, "--step", "0")
        self.assertEqual(0, status)
        messages = read_trace(REFERENCE).messages()
        self.assertTrue(out.startswith("step 0: 2 messages, "))
        self.assertIn("[1] #1 user, verbatim, ", out)
        for message in messages[:2]:
            self.assertIn(f"    {message['content']}\n", out)

    def test_what_was_sent_can_be_had_as_json(self):
        """Message by message as it was sent, under each what it stands for; a step a line."""
        status, out, _ = mini_agent("show", REFERENCE, "--json")
        told = [json.loads(line) for line in out.splitlines()]
        (_, steps, _), = steps_at(str(REFERENCE))
        self.assertEqual([(taken.step, view.tokens, view.messages())
                          for taken, view in views(steps)],
                         [(one["step"], one["tokens"], [entry["message"] for entry in one["entries"]])
                          for one in told])
        changes = list(read_trace(REFERENCE).events("context_compression"))
        self.assertEqual(changes, [change for one in told for change in one["changes"]])
        self.assertEqual(list(range(2, 16)), told[9]["entries"][2]["stands_for"])
        nine = json.loads(mini_agent("show", REFERENCE, "--json", "--step", "9")[1])
        self.assertEqual(told[9], nine)
        self.assertEqual(2, mini_agent("show", REFERENCE, "--json", "--diff")[0])

    def test_a_difference_names_what_left_and_what_came(self):
        """A change of the step first; what is as before is not shown."""
        change = next(read_trace(REFERENCE).events("context_compression"))
        status, out, _ = mini_agent("show", REFERENCE, "--step", change["step"], "--diff")
        self.assertEqual(0, status)
        self.assertIn(f"    {change['strategy']} (threshold): {change['before_tokens']} -> "
                      f"{change['after_tokens']} tokens\n", out)
        self.assertIn("tool read_file, shortened, ", out)
        self.assertNotIn("[0] #0 system", out)

    def test_tool_declarations_count_before_and_after(self):
        """What a request has besides its messages is in both sizes, and is named at the step."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        read = {"name": "read_file", "arguments": {"path": "long.txt"}}
        (folder / "long.txt").write_text("a line like any other\n" * 900, encoding="utf-8")
        task = {"name": "t", "system": "s", "task": "t", "window": 2_000, "policy": "digest",
                "replies": [{"content": "", "tool_calls": [read]}, {"content": "done"}]}
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        trace = folder / "trace.jsonl"
        self.assertEqual(0, mini_agent("run", folder / "task.json", "--workspace", folder,
                                       "--trace", trace)[0])
        sent = [payload["tokens"] for payload in read_trace(trace).events("model_call")]
        change, = read_trace(trace).events("context_compression")
        before, after = change["before_tokens"], change["after_tokens"]
        rows = mini_agent("show", trace)[1].splitlines()
        self.assertEqual([f"{before + sent[1] - after} (4)", f"{sent[1]} (4)"],
                         [rows[3][6:18].strip(), rows[3][18:30].strip()])
        self.assertLess(after, sent[1])
        self.assertIn(f" messages, {after} tokens; {sent[1]} as sent, with tool declarations\n",
                      mini_agent("show", trace, "--step", "1")[1])

    def test_arguments_that_are_no_json_are_told_as_they_stood(self):
        """Not as an empty object, which nobody wrote."""
        history = [user("go"), assistant("", [call("a", "read", '{"path": ')]),
                   tool_result("a", "read", "what came of it")]
        entered = explain("what came", [], history)["entered"]
        self.assertEqual(['{"path": '], [place["arguments"] for place in entered])

    def test_another_agents_log_is_shown_as_it_was_or_under_a_policy(self):
        """A row a step, a line a change; with a policy the view that it would have sent."""
        log = ROOT / "workspace" / "sessions" / "rename.json"
        status, out, _ = mini_agent("show", log)
        self.assertEqual(0, status)
        self.assertTrue(out.startswith("rename.json as it was recorded\nstep  sent        what"))
        call = ("show", log, "--policy", "clip", "--window", "2000")
        rows = mini_agent(*call)[1].splitlines()
        self.assertEqual(("rename.json under clip at 2000", len(out.splitlines())),
                         (rows[0], sum(row[:4].strip().isdecimal() for row in rows) + 2))
        changed = next(row.split() for row in rows if "tool_result_clipping" in row)
        step, sent = changed[:2]
        shown = mini_agent(*call, "--step", step, "--diff")[1]
        self.assertIn(f" messages, {sent} tokens\n", shown.splitlines(keepends=True)[0])
        self.assertIn("tool_result_clipping (threshold): ", shown)

    def test_a_file_of_several_sessions_is_shown_by_name(self):
        """Only those that have the step need it."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "two.jsonl"
        turn = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
        path.write_text("".join(json.dumps({"messages": turn * number}) + "\n"
                                for number in (1, 2)), encoding="utf-8")
        status, out, _ = mini_agent("show", path, "--step", "1")
        self.assertEqual((0, 2, 1), (status, out.count("two.jsonl"), out.count("step 1:")))
        self.assertEqual(2, mini_agent("show", path, "--step", "2")[0])

    def test_a_step_that_is_not_there_is_one_line(self):
        """With the steps that are."""
        status, out, err = mini_agent("show", REFERENCE, "--step", "99")
        self.assertEqual((2, ""), (status, out))
        self.assertIn("there is no step 99; steps are 0 to 13\n", err)

    def test_control_characters_reach_no_terminal(self):
        """They are shown as escapes; a tab stays."""
        self.assertEqual("\\x1b[31mred\\x07\t中 \\u202e", escaped("\x1b[31mred\x07\t中 \u202e"))
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "x.json"
        path.write_text(json.dumps([{"role": "user", "content": "\x1b]0;title\x07"},
                                    {"role": "assistant", "content": "x"}]))
        self.assertEqual(0, mini_agent("convert", path, "--trace", folder / "t.jsonl")[0])
        out = mini_agent("show", folder / "t.jsonl", "--step", "0")[1]
        self.assertIn("    \\x1b]0;title\\x07\n", out)
        for arguments in (("why", folder / "t.jsonl", "title"),):
            self.assertNotIn("\x1b", mini_agent(*arguments)[1])


class InventedTest(unittest.TestCase):
    """A summary that names what nobody has seen."""

    def test_it_is_listed_as_unsupported(self):
        """In the record of the shipped sample, where everybody can look."""
        found = [payload["unsupported"] for payload in read_trace(
            SAMPLES / "invented-summary.jsonl").events("context_compression")
            if payload.get("unsupported")]
        self.assertEqual(1, len(found))
        self.assertLessEqual({"normalize_timezone", "timezone.py", "118"}, set(found[0]))


if __name__ == "__main__":
    unittest.main()
