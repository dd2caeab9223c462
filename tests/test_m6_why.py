"""Milestone 6: why the model no longer knew a text, and what it got at a step."""

import json
import tempfile
import unittest
from pathlib import Path

from mini_agent.compression.tools import page_chars, read_result_tool
from mini_agent.compression.view import Entry
from mini_agent.errors import TraceError
from mini_agent.hostile import escaped
from mini_agent.lab.progress import ProgressLine
from mini_agent.lab.session_steps import ReplayOptions, steps_at
from mini_agent.lab.sessions import left_out, open_sessions
from mini_agent.lab.show import show_trace
from mini_agent.lab.steps import TraceStep, steps_of_trace, views
from mini_agent.lab.why import explain
from mini_agent.lab.whywords import why_lines
from mini_agent.messages import assistant, call, tool_result, user
from mini_agent.rhythm import Row, rows
from mini_agent.texts import Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Trace, Tracer, line, read_trace
from tests.labs import ROOT, SAMPLES, mini_agent

REFERENCE = ROOT / "traces" / "reference" / "m3-trace.jsonl"
VALID = ROOT / "tests" / "data" / "sessions" / "valid"
POINT = "AssertionError: 4750 != 5000"


def change(seq, affected, *made):
    """The record of a change; `made` are its entries: at, text, what it stands for, how."""
    return {"seq": seq, "payload": {
        "step": 0, "strategy": "s", "trigger": "threshold", "before_tokens": 9,
        "after_tokens": 5, "affected_indexes": affected, "entries": [
            {"at": at, "message": user(text), "tokens": 1, "stands_for": covers, "how": how}
            for at, text, covers, how in made]}}


def arriving(*history):
    """The entries of messages, as they come into the view."""
    return [Entry(message, 3, (at,), "verbatim") for at, message in enumerate(history)]


class Looked(list):
    """A history that counts how many messages were taken out of it, in slices too."""

    looks = 0

    def __getitem__(self, at):
        self.looks += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
        return super().__getitem__(at)

    def __iter__(self):
        self.looks += len(self)
        return super().__iter__()


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
        """In words, a line each; a replay has a policy and a window, and no record in a file."""
        status, out, _ = mini_agent("why", SAMPLES / "middle-of-output.jsonl", POINT,
                                    "--policy", "clip", "--window", "2k")
        self.assertEqual(0, status)
        self.assertEqual(f"middle-of-output.jsonl under clip at 2000: {POINT!r}",
                         out.splitlines()[0])
        self.assertIn('entered   message #3, tool of run_command {"command": "python3 check.py"}, '
                      "first sent at step 1\n", out)
        self.assertRegex(out, r"step \d+ +not there, behind a handle: tool_result_clipping "
                              r"\(threshold, \d+ -> \d+ tokens\)\n")
        self.assertRegex(out,
                         r"now +the model can see it; (read_result\(handle=3\) gives it back; )?"
                              r"message #19 of the log has it\n")

    def test_of_parallel_calls_it_names_the_one_that_was_answered(self):
        """A result belongs to the call with its id, whatever came back first."""
        history = [user("go"), assistant("", [call("a", "read", {"path": "one"}),
                                              call("b", "read", {"path": "two"})]),
                   tool_result("b", "read", "second"), tool_result("a", "read", "first")]
        entered = explain("first", [], history)["entered"]
        self.assertEqual(['{"path": "one"}'], [place["arguments"] for place in entered])

    def test_the_results_of_one_step_are_each_looked_at_a_few_times(self):
        """However many there are: a step of very many calls is explained as quickly as many."""
        def looks(size):
            calls = [call(f"c{n}", "read", {"n": n}) for n in range(size)]
            history = Looked([user("go"), assistant("", calls), *(
                tool_result(one["id"], "read", f"the fact {n}") for n, one in enumerate(calls))])
            self.assertEqual(['{"n": 0}', f'{{"n": {size - 1}}}'], [
                place["arguments"] for place in explain("the fact", [], history)["entered"]
                ][::size - 1])
            return history.looks

        self.assertLess(looks(200), 11 * looks(20))

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
                          (REFERENCE, "x", "--window", "900"),  # nothing would be replayed in it
                          (REFERENCE, "x", "--policy", "published", "--window", "0")):
            with self.subTest(arguments):
                status, out, err = mini_agent("why", *arguments)
                self.assertEqual((2, "", 1), (status, out, err.count("\n")))

    def test_what_is_said_after_the_last_call_was_never_sent(self):
        """The final answer stands in the log, and no model has seen it."""
        text = read_trace(REFERENCE).messages()[-1]["content"]
        known = self.why(REFERENCE, text)
        self.assertEqual((None, []), (known["entered"][-1]["first_seen"], known["seen"]))
        at = len(read_trace(REFERENCE).messages()) - 1
        self.assertEqual([f"entered   message #{at}, assistant, never sent", "now       the window "
                          f"shows no handle of it; message #{at} of the log has it"],
                         list(why_lines(known)))

    def test_a_message_that_was_cut_before_it_was_sent_is_told_so(self):
        """The model has never seen it there: one was aged on arrival, the next one was whole."""
        known = self.why(REFERENCE, "N170")
        self.assertEqual([(3, 1, False), (5, 2, True)], [
            (place["message"], place["first_seen"], place["with_text"])
            for place in known["entered"][:2]])
        out = mini_agent("why", REFERENCE, "N170")[1]
        self.assertIn('{"path": "long_notes.txt"}, first sent at step 1, already without it\n', out)

    def test_what_only_a_summary_says_is_found_there(self):
        """No message has it, and the model has seen it: with the record that put it there."""
        status, out, _ = mini_agent("why", REFERENCE, "已折叠 14 条")
        self.assertEqual(0, status)
        self.assertRegex(out, r"never said in this session .*\n"
                              r"  step 9-13 +only in what was put into the window: "
                              r"rolling_summary \(seq 54, threshold, \d+ -> \d+ tokens\)\n"
                              r"  now +the model can see it; no message has it\n$")
        self.assertEqual([], self.why(REFERENCE, "已折叠 14 条")["now"]["log"])

    def test_what_was_put_there_and_taken_away_is_gone_to_the_end(self):
        """A summary that the next one replaces, and steps in which nothing more happens."""
        history = [user("go"), assistant("a"), user("b"), assistant("c")]
        arrived = arriving(*history)
        steps = [TraceStep(0, 2, arrived[:2], [change(5, [1], (1, "only here", [1], "summary"))]),
                 TraceStep(1, 3, arrived[2:3], []),
                 TraceStep(2, 3, [], [change(9, [1, 2], (1, "other words", [1, 2], "summary"))]),
                 TraceStep(3, 4, arrived[3:], [])]
        found = explain("only here", steps, history)
        self.assertEqual([(0, 1, "made", 5), (2, 3, "gone", 9)], [
            (seen["first"], seen["last"], seen["form"], seen["cause"]["seq"])
            for seen in found["seen"]])
        self.assertEqual("now       the window shows no handle of it; no message has it",
                         list(why_lines(found))[-1])

    def test_a_trace_that_was_moved_without_its_folder_names_the_logs_that_are_missing(self):
        """A sub-agent may have known it."""
        alone = Path(self.enterContext(tempfile.TemporaryDirectory())) / "alone.jsonl"
        alone.write_bytes((ROOT / "traces" / "reference" / "m4-trace.jsonl").read_bytes())
        status, out, _ = mini_agent("why", alone, "gw-2 GET /search?q=chair")
        self.assertEqual((1, "; ".join(f"the log of sub-agent {number} is missing"
                                       for number in (1, 2, 3)) + "\n"),
                         (status, out.partition("not part of the session: ")[2]))

    def test_only_of_a_sub_agent_it_is_said_how_its_parent_can_have_it(self):
        """The second session of another agent's file has a number too, and no parent."""
        child = "212 of 4380 requests failed"
        out = mini_agent("why", ROOT / "traces" / "reference" / "m4-trace.jsonl", child)[1]
        self.assertRegex(out,
                         r"\n  above +read_child\(child=1, message=\d+\) gives it to the parent\n")
        asked = f"{ROOT}/traces/reference/m4-trace.jsonl#1"
        self.assertEqual(out.partition("m4-trace.jsonl#1: ")[2],
                         mini_agent("why", asked, child)[1].partition("m4-trace.jsonl#1: ")[2])
        out = mini_agent("why", VALID / "responses_calls.jsonl", "b.py")[1]
        self.assertIn("responses_calls.jsonl#2: 'b.py'\n  entered   message #1, user, ", out)
        self.assertNotIn("above", out)
        numbered = Path(self.enterContext(tempfile.TemporaryDirectory()), "12")
        numbered.write_bytes(REFERENCE.read_bytes())
        self.assertNotIn("above", mini_agent("why", numbered, "N170")[1])

    def test_the_page_of_a_long_result_is_named_that_gives_the_text_back(self):
        """Whatever the window: `read_result` with these arguments has the text in its answer."""
        rows = [f"row {number} {'x' * 30}" for number in range(200)]
        long = "y" * 900 + " the end of it " + "y" * 900
        history = [user("go"), assistant("", [call("a", "read", {"path": 'a\n"b"'})]),
                   tool_result("a", "read", "\n".join([*rows, long, "last row"]))]
        for handle, text, part in (
                (2, "row 3 ", {}), (2, "row 150 ", {"start": 151}), (2, "last row", {"start": 202}),
                (2, f"{'x' * 30}\nrow 77", {"start": 77}), (2, "yyy", {"start": 201}),
                (2, "the end of it", {"start": len("\n".join(rows)) + 903, "unit": "chars"}),
                (1, 'a\n"b"', {}), (0, "go", {})):
            with self.subTest(text):
                place = explain(text, [], history)["entered"][0]
                self.assertEqual((handle, part), (place["message"], place["part"]))
                for window in (1_000, 32_000, None):
                    read = read_result_tool(history, Texts(), page_chars(window))
                    said = read(handle, **part).partition("\n")[2]
                    self.assertIn(text if handle != 1 else r'a\n\"b\"', said)

    def test_what_was_done_since_the_last_request_is_told_apart(self):
        """A window compressed by hand, or a compression taken back, is what the model gets next."""
        records = []
        tracer = Tracer(records.append)
        tracer.event("run_start", format=1, task="t")
        for step, text in ((0, "go"), (1, "the fact")):
            tracer.message(step, user(text))
            tracer.event("model_call", step=step, messages=2 * step + 1, tokens=7)
            tracer.message(step, assistant("on"))
        change = {"step": 2, "strategy": "s", "before_messages": 4, "after_messages": 2,
                  "before_tokens": 9, "after_tokens": 5, "affected_indexes": [1, 2, 3],
                  "trigger": "manual", "prefix_kept": 3, "entries": [
                      {"at": 1, "message": user("summed up"), "tokens": 2, "stands_for": [1, 2, 3],
                       "how": "summary"}]}
        tracer.event("context_compression", **change)
        trace = Path(self.enterContext(tempfile.TemporaryDirectory())) / "t.jsonl"
        trace.write_text("".join(map(line, records)), encoding="utf-8")
        out = mini_agent("why", trace, "the fact")[1]
        self.assertEqual(["  step 1         verbatim in #2",
                          f"  since then     gone: s (seq {len(records) - 1}, manual, "
                          "9 -> 5 tokens)",
                          "  now       the window shows no handle of it; message #2 of the log "
                          "has it"],
                         out.splitlines()[-3:])
        self.assertEqual([True, False],
                         [seen["sent"] for seen in self.why(trace, "the fact")["seen"]])
        self.assertEqual([(0, 1)], [(seen["first"], seen["last"])
                                    for seen in self.why(trace, "go")["seen"]])
        self.assertEqual([1, None], [place["first_seen"]
                                     for place in self.why(trace, "on")["entered"]])
        self.assertEqual(2, len(mini_agent("show", trace, "--json")[1].splitlines()))

    def test_what_was_put_back_is_attached_and_no_summary(self):
        """A file that was read, put beside a summary as it is: the same words, another promise."""
        history = [user("go"), user("the fact"), assistant("on")]
        arrived = arriving(*history)
        made = change(7, [1], (1, "summed up", [1], "summary"),
                      (2, "a.txt: the fact", [], "attached"))
        found = explain("the fact",
                        [TraceStep(0, 2, arrived[:2], []),
                         TraceStep(1, 3, arrived[2:], [made])], history)
        self.assertEqual(["step 1         only in what was attached: s (seq 7, threshold, "
                          "9 -> 5 tokens)",
                          "now       the model can see it; message #1 of the log has it"],
                         list(why_lines(found))[-2:])
        seen, = explain("a.txt", [TraceStep(0, 2, arrived[:2], [made])], history)["seen"]
        self.assertEqual("made", seen["form"])  # nobody has said it

    def test_what_only_a_summary_still_has_is_not_said_to_be_verbatim(self):
        """Of an old message and of a new one, the new one alone stands there as it was."""
        history = [user("go"), user("the fact"), assistant("on"), user("again the fact")]
        arrived = arriving(*history)
        made = change(7, [1], (1, "so far: the fact", [1], "summary"))
        found = explain("the fact", [
            TraceStep(0, 2, arrived[:2], []), TraceStep(1, 3, arrived[2:3], [made]),
            TraceStep(2, 4, arrived[3:], [])], history)
        self.assertEqual([("verbatim", [1]), ("summary", [1]), ("verbatim", [3])],
                         [(seen["form"], seen["messages"]) for seen in found["seen"]])

    def test_a_message_in_a_span_whose_every_message_can_be_read_again_is_not_lost(self):
        """A digest names its first and last message; the handles of others it names beside."""
        history = [user("go"), user("one fact"), user("other fact"), assistant("on")]
        arrived = arriving(*history)
        header = Texts()("digest_header", count=2, first=0, last=3,
                         way_back=Texts()("way_back_any_tool"))
        made = change(7, [1, 2], (1, f"{header}\n[#2 user]", [1, 2], "summary"))
        for text, ways in (("one fact", ([], [1])), ("other fact", ([2], [])),
                           ("fact", ([2], [1]))):
            now = explain(text, [TraceStep(0, 4, arrived, [made])], history)["now"]
            self.assertEqual(ways, (now["handles"], now["spans"]))

    def test_steps_that_differ_in_messages_that_are_not_named_are_one(self):
        """Only more of them, and no record that did it, though one did something else: of each,
        it is told when it came."""
        history = [user(f"fact {number}") for number in range(9)]
        arrived = arriving(*history)
        changes = {5: [change(6, [], (6, "x", [], "attached"))],
                   7: [change(7, [1], (1, "fact", [1], "shortened"))]}
        found = explain("fact", [TraceStep(at, at + 1, arrived[at:at + 1], changes.get(at, []))
                                 for at in range(9)], history)
        self.assertEqual([
            *[(at, at, at + 1, None) for at in range(4)], (4, 6, 7, None), (7, 8, 8, 7)], [
            (seen["first"], seen["last"], len(seen["messages"]),
             seen["cause"] and seen["cause"]["seq"]) for seen in found["seen"]])
        self.assertEqual([*zip(range(9), [True] * 9)], [
            (place["first_seen"], place["with_text"]) for place in found["entered"]])

    def test_how_far_a_replay_has_come_is_told(self):
        """Of how many messages how many are replayed; then the line is wiped."""
        told = []

        class Told(ProgressLine):
            def __call__(self, done):
                told.append(done)

            def end(self):
                told.append("end")

        def line_for(total):
            told.append(total)
            return Told(total, None, float)
        (_, steps, history), = steps_at(str(SAMPLES / "rename.json"), ReplayOptions(
            "clip", progress=line_for))
        self.assertEqual([len(history), *(step.history for step in steps), "end"], told)

    def test_what_took_a_handle_away_is_named(self):
        """The text was gone before: clipped, and the placeholder then summed up."""
        history = [user("go"), assistant("", [call("a", "read", {})]),
                   tool_result("a", "read", "the fact"), assistant("on"), assistant("on")]
        arrived = arriving(*history)
        cut = (2, "[cut: read_result(handle=2)]", [2], "shortened")
        steps = [TraceStep(0, 1, arrived[:1], []),
                 TraceStep(1, 3, arrived[1:3], [change(5, [2], cut)]),
                 TraceStep(2, 4, arrived[3:4], []),
                 TraceStep(3, 5, arrived[4:], [
                     change(9, [1, 2], (1, "a summary", [1, 2], "summary"))])]
        self.assertEqual([(1, 2, "handle", 5), (3, 3, "gone", 9)], [
            (seen["first"], seen["last"], seen["form"], seen["cause"]["seq"])
            for seen in explain("the fact", steps, history)["seen"]])

    def test_of_several_changes_of_a_step_the_last_that_touched_the_text_is_named(self):
        """Not the one behind it that took its handle away, nor one of another message."""
        history = [user("go"), user("the fact"), assistant("on")]
        cut = change(5, [1], (1, "[cut: read_result(handle=1)]", [1], "shortened"))
        handle = change(6, [1], (1, "a summary", [1], "summary"))
        other = change(7, [2], (2, "[cut]", [2], "shortened"))
        for changes, form in (([cut, other], "handle"), ([cut, handle, other], "gone")):
            step = TraceStep(0, 3, arriving(*history), changes)
            seen, = explain("the fact", [step], history)["seen"]
            self.assertEqual((form, 5), (seen["form"], seen["cause"]["seq"]))
        seen = explain("the fact", [TraceStep(0, 3, arriving(*history), [cut]),
                                    TraceStep(1, 3, [], [handle, other])], history)["seen"]
        self.assertEqual([("handle", 5), ("gone", 6)],
                         [(sight["form"], sight["cause"]["seq"]) for sight in seen])

    def test_a_summary_with_the_words_is_seen_as_one_of_the_messages_that_had_them(self):
        """It stands for others too; and before the words were said, nothing is told of them."""
        history = [user("go"), user("on"), user("the fact"), assistant("on")]
        arrived = arriving(*history)
        steps = [TraceStep(0, 2, arrived[:2], []), TraceStep(1, 4, arrived[2:], []),
                 TraceStep(2, 4, [], [change(5, [1, 2], (1, "the fact, told", [1, 2], "summary"))])]
        self.assertEqual([(1, 1, "verbatim", [2]), (2, 2, "summary", [2])], [
            (seen["first"], seen["last"], seen["form"], seen["messages"])
            for seen in explain("the fact", steps, history)["seen"]])

    def test_what_was_cut_when_it_was_first_sent_is_not_taken_for_sent_when_it_is_back(self):
        """A change that was taken back later: the first request was without it."""
        history = [user("go"), user("the fact")]
        arrived = arriving(*history)
        steps = [TraceStep(0, 2, arrived, [change(3, [1], (1, "[cut]", [1], "shortened"))]),
                 TraceStep(1, 2, [], [change(6, [1], (1, "the fact", [1], "verbatim"))])]
        found = explain("the fact", steps, history)
        self.assertEqual([("gone", 0), ("verbatim", 1)],
                         [(seen["form"], seen["first"]) for seen in found["seen"]])
        self.assertEqual([(0, False)], [(place["first_seen"], place["with_text"])
                                        for place in found["entered"]])

    def test_a_result_whose_call_is_not_there_is_told_without_arguments(self):
        """A log may begin behind it."""
        place, = explain("the fact", [], [tool_result("a", "read", "the fact")])["entered"]
        self.assertEqual(("tool", "read", ""), (place["role"], place["tool"], place["arguments"]))

    def test_words_that_stand_there_in_another_spelling_are_named(self):
        """Capitals, blanks, a broken line, the JSON in which `show` prints a call."""
        history = [user("go"),
                   assistant("", [call("a", "read", {"path": 'say "hi".txt', "end": 7})]),
                   tool_result("a", "read", "The Code\nis (x+y)*2,\n用户登\n录失败")]
        for text, nearly in (("the code is",
                              {"message": 2, "where": "text", "words": "The Code\nis"}),
                             ("(X + Y) * 2", {"message": 2, "where": "text", "words": "(x+y)*2"}),
                             ("用户登录", {"message": 2, "where": "text", "words": "用户登\n录"}),
                             (r'read {"path": "say \"hi\".txt"',
                              {"message": 1, "where": "call", "words": ""})):
            with self.subTest(text):
                found = explain(text, [], history)
                self.assertEqual(([], [nearly]), (found["entered"], found["nearly"]))
        self.assertEqual([[], []], [explain(text, [], history)["nearly"] for text in (".*", "\n")])
        letters, = explain("i̇ΣÄ", [], [user("a İ σ\n ä b")])["nearly"]
        self.assertEqual("İ σ\n ä", letters["words"])
        self.assertEqual(["nearly    message #2 has 'The Code is'"],
                         list(why_lines(explain("the code is", [], history)))[1:])
        self.assertEqual([], explain("The Code", [], history)["nearly"])
        thought = [user("go"), assistant("on", (), {"anthropic": [{"thinking": "I guess 7"}]})]
        self.assertEqual("nearly    message #1 has it in its thinking",
                         list(why_lines(explain("I guess", [], thought)))[1])

    def test_a_log_that_its_own_agent_has_compressed_says_so(self):
        """Replayed whole, it shows what the model may not have had; so does the trace of it."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        trace = folder / "t.jsonl"
        log = VALID / "claude_code.jsonl"
        self.assertEqual(0, mini_agent("convert", log, "--trace", trace)[0])
        first = read_trace(trace).messages()[0]["content"]
        marks = [told["step"] for told in read_trace(trace).events("host_compression")]
        self.assertEqual([3, 4], marks)
        for path in (log, trace):
            self.assertEqual(marks, self.why(path, first)["host"])
            self.assertIn("compressed its own context before step 3, 4, which is not replayed",
                          mini_agent("why", path, first)[1])
            self.assertEqual(marks,
                             [int(row[:4]) for row in mini_agent("show", path)[1].splitlines()
                                     if "the recorded agent compressed its own" in row])
        self.assertEqual([], self.why(log, first, "--policy", "clip")["host"])

    def test_what_of_a_log_was_not_read_is_named_where_nothing_is_found(self):
        """Sub-agents, summaries and thinking are in the file, and no part of the session."""
        log = VALID / "claude_code.jsonl"
        unread = "unread    not part of the session: " + left_out(open_sessions(log)[0].notes)
        status, out, _ = mini_agent("why", log, "no such words")
        self.assertEqual((1, True), (status, out.endswith(f"  {unread}\n")))
        self.assertEqual(
            "2 texts of a summary, 1 block of thinking, 3 records of a sub-agent",
            left_out({"subagent_records": 3, "thinking": 1, "summaries": 2, "images": 4}))
        self.assertEqual("", left_out({"thinking": "many"}))

    def test_what_could_not_be_read_is_named_where_nothing_is_found(self):
        """The text may have stood there: a line that is cut off, in a trace and in another log."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for source, told in ((REFERENCE, ": the last line is cut off after "),
                             (VALID / "claude_code.jsonl", "1 line that could not be read\n")):
            cut = folder / source.name
            cut.write_bytes(source.read_bytes()[:-9])
            status, out, _ = mini_agent("why", cut, "no such words")
            self.assertEqual((1, True), (status, told in out.partition("unread    ")[2]), out)


class ShapeTest(unittest.TestCase):
    """Records that were damaged, or written by a stranger."""

    def test_a_record_that_does_not_fit_is_refused_with_its_number(self):
        """Numbers that are none, a key that is missing: one line, and not a crash."""
        whole = read_trace(REFERENCE).records
        for event, path, value, says in (
                ("context_compression", ("entries", 0, "stands_for", 0), [], "stands_for[0] must"),
                ("context_compression", ("before_tokens",), "9", "must be integer, not string"),
                ("context_compression", ("trigger",), None, "trigger must be string, not null"),
                ("context_compression", ("after_tokens",), ..., "after_tokens is missing"),
                ("model_call", ("step",), "x", "step must be integer, not string 'x'")):
            records = json.loads(json.dumps(whole))
            damaged = next(record for record in records if record.get("event") == event)
            inner = damaged["payload"]
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            if value is ...:
                del inner[path[-1]]
            with self.subTest(path), self.assertRaises(TraceError) as caught:
                list(steps_of_trace(records, estimator("published")))
            self.assertIn(says, str(caught.exception))
            self.assertEqual(f"seq {damaged['seq']}", caught.exception.place)


class ShowTest(unittest.TestCase):
    """`show TRACE --step N --diff`."""

    def test_a_message_is_shown_as_it_was_said(self):
        """Whatever was sent of it: one that was aged before its first request, a call,
        a child's."""
        said = read_trace(REFERENCE).messages()
        status, out, _ = mini_agent("show", REFERENCE, "--message", "3")
        self.assertEqual((0, f"m3-trace.jsonl #3 tool read_file, {len(said[3]['content'])} "
                          "characters",
                          said[3]["content"].splitlines()),
                         (status, out.splitlines()[0],
                          [row[4:] for row in out.splitlines()[1:]]))
        self.assertIn('    -> read_file {"path": "long_notes.txt"}\n',
                      mini_agent("show", REFERENCE, "--message", "2")[1])
        self.assertEqual(said[3], json.loads(
            mini_agent("show", REFERENCE, "--message", "3", "--json")[1]))
        child = ROOT / "traces" / "reference" / "m4-trace.jsonl#2"
        self.assertTrue(mini_agent("show", child, "--message", "0")[1].startswith(
            "m4-trace.jsonl#2 #0 system, "))
        for more, told in ((("99",), "there is no message 99; messages are 0 to "),
                           (("-1",), "there is no message -1;"),
                           (("3", "--diff"), "a message belongs to no step"),
                           (("3", "--step", "1"), "a message belongs to no step")):
            status, out, err = mini_agent("show", REFERENCE, "--message", *more)
            self.assertEqual((2, "", True), (status, out, told in err), err)

    def test_what_happened_between_the_steps_is_shown(self):
        """A window that was learned, a failed summary, a retry, an undo, an overflow, a resume;
        an outcome without gain is no news."""
        trace = self.enterContext(tempfile.TemporaryDirectory()) + "/t.jsonl"
        records = []
        tracer = Tracer(records.append)
        tracer.event("run_start", format=1, task="t")
        for step in (0, 1):
            tracer.event("model_call", step=step, messages=1, tokens=7)
            for name, payload in (
                    ("model_retry", {"status": 503, "attempt": 1, "wait": 1}),
                    ("settings", {"learned_window": 6000}), ("settings", {"policy": "clip"}),
                    ("compression_skipped", {"strategy": "s", "reason": "no_gain"}),
                    ("compression_skipped",
                     {"strategy": "s", "reason": "failed", "detail": "no\ntext"}),
                    ("compression_skipped",
                     {"strategy": "s", "reason": "breaker_open", "failures": 3}),
                    ("undo", {"seq": 4}), ("stage", {"name": "one"})) if step else ():
                tracer.event(name, step=step, **payload)
        tracer.event("resume", step=4)
        tracer.event("interrupted")
        Path(trace).write_text("".join(map(line, records)), encoding="utf-8")
        told = [row[30:] for row in mini_agent("show", trace)[1].splitlines()[3:]]
        self.assertEqual([
            "3: 503: asked again",
            "4: the endpoint has refused it: its window is 6000 tokens",
            '5: settings {"policy": "clip"}',
            "7: s failed: no text",
            "8: 3 summaries in a row have failed: none is tried by itself any more",
            "9: undo of 4", "10: the stage one ends", "11: resumed", "12: interrupted"], told)

    def test_a_row_is_a_step_whole_whether_it_was_sent_twice_or_not_at_all(self):
        """Messages alone where nobody counted; a refused request made smaller and sent again;
        one that was too big is not sent."""
        def told(event, **payload):
            records.append({"type": "event", "event": event, "payload": payload,
                            "seq": len(records)})

        def smaller(step, before, after, messages=9):
            told("context_compression", step=step, strategy="s", before_messages=messages,
                 after_messages=messages - 1, before_tokens=before, after_tokens=after,
                 affected_indexes=[1])
        records = []
        told("run_start", task="t", policy={"name": "clip"})
        told("model_call", step=0, messages=3)
        smaller(1, 100, 80)
        told("model_call", step=1, messages=8, tokens=85)
        smaller(1, 80, 60, 8)
        told("model_call", step=1, messages=7, tokens=65)
        told("context_overflow", step=2, messages=9, tokens=99, hard=90)
        self.assertEqual(["before      sent        what happened", "(3)         (3)",
                          "105 (9)     65 (7)      2: s [1]", "                        4: s [1]",
                          "99 (9)      nothing     6: nothing more can be moved: 99 tokens, over "
                          "90"], [row[6:] for row in show_trace(Trace(records), "t")][1:])
        self.assertEqual([Row(2, 99, 9, 0, 0, ())], rows(records)[2:])
        self.assertEqual("task t under clip", next(show_trace(Trace(records), "t")))
        told("model_usage", step=1, prompt_tokens=50)
        self.assertEqual("(sizes are estimates: the endpoint last counted 50, where 65 stands "
                         "here)", list(show_trace(Trace(records), "t"))[-1])
        records[-1]["payload"]["prompt_tokens"] = 70
        self.assertNotIn("estimates", list(show_trace(Trace(records), "t"))[-1])
        nobody = [records[0], records[1], {**records[-1], "payload": {
            "step": 0, "prompt_tokens": 1_000}}]  # has estimated anything
        self.assertNotIn("estimates", list(show_trace(Trace(nobody), "t"))[-1])
        del records[-1]
        records[0]["payload"] = {"task": "t"}
        self.assertEqual("task t", next(show_trace(Trace(records), "t")))
        for policy, said in (
                ({"name": "digest", "window": 6_000, "reserve": 40_000},
                 "under digest at 6000, 1200 of it free for the answer"),
                ({"name": "published", "window": 1_200, "head_chars": 9},
                 'under published at 1200 {"head_chars": 9}'),
                ({"name": "theirs", "window": 6_000, "reserve": 40_000},
                 'under theirs at 6000 {"reserve": 40000}'),
                ({"name": "own", "window": 6_000, "file": {"name": "own"}},
                 "under own (of a file) at 6000"),
                ("mine", '"mine"'), (["mine"], '["mine"]'), (5, "5"),
                ({"window": 9}, '{"window": 9}')):
            records[0]["payload"] = {"task": "t", "policy": policy}
            self.assertEqual(f"task t {said}", next(show_trace(Trace(records), "t")))
        del records[-1]["payload"]["step"]
        with self.assertRaisesRegex(TraceError, r"seq 6: the context_overflow does not fit "
                                                r"\(KeyError\('step'\)\); mini-agent check"):
            rows(records)

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
        self.assertTrue(out.startswith("step 0: 2 messages, 135 tokens\n"))
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
                         [(one["step"], one["tokens"],
                           [entry["message"] for entry in one["entries"]])
                          for one in told])
        changes = list(read_trace(REFERENCE).events("context_compression"))
        self.assertEqual(changes, [change for one in told for change in one["changes"]])
        self.assertEqual([payload["tokens"] for payload in read_trace(REFERENCE).events(
            "model_call")], [one["sent"] for one in told])
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
        nine = mini_agent("show", REFERENCE, "--step", "9", "--diff")[1].splitlines()
        self.assertEqual([f"- [{at}]" for at in range(2, 16)] + ["+ [2]", "+ [5]", "+ [6]"],
                         [row.partition("] ")[0] + "]" for row in nine if row[0] in "-+"])

    def test_it_is_told_which_messages_an_entry_stands_for(self):
        """One, a run of them, some of a run, or none where it was put beside them."""
        messages = [user(str(at)) for at in range(6)]
        records = [{"type": "message", "step": 0, "message": message, "seq": at}
                   for at, message in enumerate(messages)]
        records.append({"type": "event", "event": "context_compression", **change(
            6, [1, 2, 4], (1, "a", [1, 2], "summary"), (3, "b", [4], "shortened"),
            (4, "c", [], "attached"))})
        again = change(7, [1, 3], (1, "d", [1, 2, 4], "summary"))
        records.append({"type": "event", "event": "context_compression", **again})
        call = {"type": "event", "event": "model_call", "payload": {"step": 0}}
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for count, spans in ((7, ["#0", "#1-2", "#3", "#4", "(attached)", "#5"]),
                             (8, ["#0", "#1-4 (3)", "#3", "(attached)", "#5"])):
            path = folder / f"{count}.jsonl"
            path.write_text("".join(map(line, [*records[:count], {**call, "seq": count}])))
            out = mini_agent("show", path, "--step", "0")[1]
            self.assertEqual(spans, [row.partition("] ")[2].partition(" user, ")[0]
                                     for row in out.splitlines() if row.startswith("[")])
            self.assertIsNone(json.loads(mini_agent("show", path, "--json")[1])["sent"])

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

    def test_steps_that_do_not_fit_are_marked(self):
        """As many as `compare` counts over the window; without a policy there is none."""
        log = SAMPLES / "lesson.jsonl"
        asked = (log, "--policy", "none", "--window", "1800")
        row, = json.loads(mini_agent("compare", *asked, "--json")[1])
        rows = [line for line in mini_agent("show", *asked)[1].splitlines()
                if "over the window" in line]
        self.assertEqual((3, 3), (row["over_window_steps"], len(rows)))
        self.assertTrue(all(int(line.split()[1]) > 1800 for line in rows), rows)
        most = max(int(line.split()[1]) for line in rows)
        self.assertNotIn("over the window", mini_agent("show", *asked[:-1], most)[1])
        self.assertNotIn("over the window", mini_agent("show", SAMPLES / "rename.json")[1])

    def test_steps_over_what_a_policy_leaves_of_the_window_are_marked(self):
        """A policy that keeps half of it free ends a session there: `compare` counts these too."""
        half = Path(self.enterContext(tempfile.TemporaryDirectory()), "half.json")
        half.write_text(json.dumps({"name": "half", "reserve": 100_000, "ladder": [
            {"strategy": "result_offload", "settings": {"max_chars": 10_000_000}}]}),
                        encoding="utf-8")
        asked = (SAMPLES / "lesson.jsonl", "--policy", half, "--window", "3600")
        row = json.loads(mini_agent("compare", *asked, "--json")[1])[1]
        self.assertEqual((3, 2270), (row["over_window_steps"], row["peak_tokens"]))
        self.assertEqual(3, mini_agent("show", *asked)[1].count(
            "over the window less what the policy keeps free: it would not have been answered"))

    def test_a_file_of_several_sessions_is_shown_by_name(self):
        """Only those that have the step need it."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "two.jsonl"
        one, two = ([{"role": "user", "content": text}, {"role": "assistant", "content": "y"}]
                    for text in "wx")
        path.write_text("".join(json.dumps({"messages": messages}) + "\n"
                                for messages in (one, two * 2)), encoding="utf-8")
        status, out, _ = mini_agent("show", path, "--step", "1")
        self.assertEqual((0, 2, 1), (status, out.count("two.jsonl"), out.count("step 1:")))
        self.assertEqual(2, mini_agent("show", path, "--step", "2")[0])
        self.assertEqual(["two.jsonl#1 #1 assistant, 1 character", "    y",
                          "two.jsonl#2 #1 assistant, 1 character", "    y"],
                         mini_agent("show", path, "--message", "1")[1].splitlines())
        self.assertEqual(["two.jsonl#2 #2 user, 1 character", "    x"],
                         mini_agent("show", path, "--message", "2")[1].splitlines())
        self.assertEqual(["two.jsonl#2 #3 assistant, 1 character", "    y"],
                         mini_agent("show", path, "--message", "3")[1].splitlines())
        self.assertIn("there is no message 4; messages are 0 to 3\n",
                      mini_agent("show", path, "--message", "4")[2])

    def test_one_of_several_sessions_is_named_as_compare_names_it(self):
        """By a name or a number; a name that none has is answered with those that there are."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "two.jsonl"
        path.write_text("".join(json.dumps({**name, "messages": [
            {"role": "user", "content": text}, {"role": "assistant", "content": text}]}) + "\n"
            for name, text in (({"id": "a#b"}, "one"), ({}, "two"))), encoding="utf-8")
        for name, text in (("a#b", "one"), ("2", "two")):
            asked = f"{path}#{name}"
            self.assertEqual([f"two.jsonl#{name} as it was recorded"],
                             mini_agent("show", asked)[1].splitlines()[:1])
            self.assertEqual([f"two.jsonl#{name} #1 assistant, 3 characters", f"    {text}"],
                             mini_agent("show", asked, "--message", "1")[1].splitlines())
            self.assertEqual([0, 1], [mini_agent("why", asked, word)[0] for word in (
                text, "two" if text == "one" else "one")])
        status, out, err = mini_agent("show", f"{path}#c")
        self.assertEqual((2, ""), (status, out))
        self.assertTrue(err.endswith("two.jsonl: there is no session 'two.jsonl#c'; it has "
                                     "two.jsonl#a#b, two.jsonl#2\n"), err)

    def test_what_was_taken_back_has_made_nothing_smaller(self):
        """Compressed by hand and undone; compressed by hand before something was said."""
        records = [{"type": "event", "event": event, "payload": payload, "seq": seq}
                   for seq, (event, payload) in enumerate([
                       *[(name, {"step": 0, "strategy": "s", "before_messages": 5, "seq": 0,
                                 "after_messages": 3, "before_tokens": 90, "after_tokens": 60,
                                 "affected_indexes": [1]}) for name in (
                                     "context_compression", "undo")],
                       ("model_call", {"step": 0, "messages": 6, "tokens": 100}),
                       ("context_compression", {
                           "step": 1, "strategy": "s", "before_messages": 6, "after_messages": 4,
                           "before_tokens": 100, "after_tokens": 70, "affected_indexes": [1]}),
                       ("context_compression", {
                           "step": 1, "strategy": "s", "before_messages": 5, "after_messages": 3,
                           "before_tokens": 80, "after_tokens": 50, "affected_indexes": [1]}),
                       ("model_call", {"step": 1, "messages": 3, "tokens": 55})])]
        self.assertEqual([(100, 6, 100, 6, 1), (115, 7, 55, 3, 2)], [
            (row.before, row.before_messages, row.sent, row.messages, len(row.compressions))
            for row in rows(records)])

    def test_large_sizes_keep_apart_from_what_happened(self):
        """Six digits and three; the columns are made for less."""
        records = []
        tracer = Tracer(records.append)
        tracer.event("run_start", format=1, task="t")
        tracer.event("model_call", step=0, messages=1234, tokens=150_696)
        tracer.event("resume", step=0)
        trace = self.enterContext(tempfile.TemporaryDirectory()) + "/t.jsonl"
        Path(trace).write_text("".join(map(line, records)), encoding="utf-8")
        self.assertEqual("   0  150696 (1234)  150696 (1234)  2: resumed",
                         mini_agent("show", trace)[1].splitlines()[2])

    def test_a_step_that_is_not_there_is_one_line(self):
        """With the steps that are."""
        status, out, err = mini_agent("show", REFERENCE, "--step", "99")
        self.assertEqual((2, ""), (status, out))
        self.assertIn("there is no step 99; steps are 0 to 13\n", err)
        unasked = Path(self.enterContext(tempfile.TemporaryDirectory())) / "x.json"
        unasked.write_text(json.dumps([{"role": "user", "content": "x"}]))
        self.assertIn("there is no step 0; no model was called in it\n",
                      mini_agent("show", unasked, "--step", "0")[2])

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


class WordsTest(unittest.TestCase):
    """What is known of a text, said in lines."""

    def found(self, entered=(), seen=(), nearly=(), host=(), **now):
        """A finding; what is not named is as if nothing were known of it."""
        return {"entered": list(entered), "seen": list(seen), "nearly": list(nearly),
                "host": list(host),
                "now": {"form": "", "handles": [], "spans": [], "log": [], **now}}

    def place(self, index, **more):
        """A message that has the text."""
        return {"message": index, "role": "user", "tool": "", "arguments": "", "first_seen": 0,
                "with_text": True, "part": {}, **more}

    def sight(self, form, messages=(3,), **more):
        """Steps in which it was seen in one form."""
        return {"first": 2, "last": 2, "form": form, "messages": list(messages), "cause": None,
                "sent": True, **more}

    def test_five_of_many_are_named_and_the_others_are_counted(self):
        """Just five are all named: of those that have it, nearly have it, stand in a view."""
        near = [{"message": at, "where": "text", "words": "A  b"} for at in range(7)]
        for count, entered, seen, nearly in (
                (5, [], "verbatim in #0, #1, #2, #3, #4", []),
                (6, ["          and 1 more message, the last is #5"],
                 "verbatim in #0, #1, #2, #3, #4 and 1 more", ["          and 1 more message"]),
                (7, ["          and 2 more messages, the last is #6"],
                 "verbatim in #0, #1, #2, #3, #4 and 2 more", ["          and 2 more messages"])):
            told = list(why_lines(self.found(map(self.place, range(count)), [
                self.sight("verbatim", range(count))], log=range(count))))
            self.assertEqual(entered, told[5:-2])
            self.assertEqual(f"step 2         {seen}", told[-2])
            self.assertEqual(nearly, list(why_lines(self.found(nearly=near[:count])))[6:])

    def test_what_was_said_again_behind_a_compression_of_the_recorded_agent_is_told(self):
        """It had that; of what it had before, nobody knows."""
        for steps, told in (((1, 3), "not have had this"), ((1, 3, 4, 6),
                            "not have had this, until it was said again: step 4")):
            entered = [self.place(at, first_seen=step) for at, step in enumerate(steps)]
            last = list(why_lines(self.found(entered, [self.sight("verbatim")], host=[2, 3])))[-1]
            self.assertTrue(last.endswith(told), last)

    def test_how_each_was_first_sent_is_told(self):
        """With the text, already without it, or never."""
        for more, says in (
                ({}, "user, first sent at step 0"),
                ({"with_text": False}, "user, first sent at step 0, already without it"),
                ({"first_seen": None, "with_text": False}, "user, never sent"),
                ({"role": "tool", "tool": "read", "arguments": "{}"},
                 "tool of read {}, first sent at step 0")):
            self.assertEqual(f"entered   message #4, {says}",
                             next(why_lines(self.found([self.place(4, **more)]))))

    def test_each_form_and_each_way_back_has_its_words(self):
        """And what a recorded agent did to its own context is a reservation."""
        forms = {"shortened": "in a shortened #3", "summary": "only in a summary", "gone": "gone",
                 "handle": "not there, behind a handle", "attached": "only in what was attached",
                 "made": "only in what was put into the window"}
        for form, words in forms.items():
            told = list(why_lines(self.found([self.place(3)], [self.sight(form, last=5)], log=[3])))
            self.assertEqual(f"step 2-5       {words}", told[1])
        for now, words in (
                ({"form": "verbatim", "log": [3]},
                 "the model can see it; message #3 of the log has it"),
                ({"form": "summary", "handles": [2, 3], "log": [2, 3]}, "the model can see it; "
                 "read_result(handle=3, start=7) gives it back; message #3 of the log has it"),
                ({"form": "gone", "spans": [2], "log": [2]}, "read_result(handle=2, start=5) gives "
                 "it back, though the window names only the span of its message; message #2 of "
                 "the log has it"),
                ({"form": "gone", "log": [3]},
                 "the window shows no handle of it; message #3 of the log has it"),
                ({"form": "made"}, "the model can see it; no message has it")):
            entered = [self.place(index, part={"start": 2 * index + 1})
                       for index in [*now.get("handles", []), *now.get("spans", [])]]
            told = list(why_lines(self.found(entered, [self.sight("verbatim", sent=False)],
                                             host=[4, 6], **now)))[len(entered) or 1:]
            self.assertEqual(["since then     verbatim in #3", f"now       {words}",
                              "but       the recorded agent compressed its own context before "
                              "step 4, 6, which is not replayed: from then on it may not have had "
                              "this"],
                             told)
        self.assertEqual(1, len(list(why_lines(self.found(host=[4])))))

    def test_of_very_many_compressions_of_the_recorded_agent_only_some_are_named(self):
        """The line stays a line."""
        *_, last = why_lines(self.found(seen=[self.sight("gone")], host=[*range(9)]))
        self.assertIn("before step 0, 1, 2, 3, 4 and 4 more, which is not replayed", last)


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
