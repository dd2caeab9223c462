"""Milestone 6: the linter of transcripts, and of our own traces."""

import copy
import json
import os
import re
import tempfile
import unittest
from collections import Counter
from itertools import count, product
from pathlib import Path

from mini_agent.audit import Line, audit
from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.errors import UsageError
from mini_agent.governance import governed_by
from mini_agent.lab.check import MENDED, check_file
from mini_agent.lab.convert import records_of
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.steps import steps_of_trace
from mini_agent.messages import assistant, call, system, tool_result, user
from mini_agent.tokens import estimator
from mini_agent.trace import FORMAT, Tracer, line, read_trace
from tests.histories import random_case, with_acts
from tests.labs import REAL, ROOT, SAMPLES, mini_agent
from tests.lawbook import live
from tests.support import called
from tests.test_m3_digest import session
from tests.windows import head, rounds, window

REFERENCE = ROOT / "traces" / "reference" / "m3-trace.jsonl"


class TraceTest(unittest.TestCase):
    """Our own traces: everything that can be checked from the file alone."""

    def setUp(self):
        self.records = read_trace(REFERENCE).records
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def findings(self, records):
        """What is found, without the file's name."""
        path = self.folder / "t.jsonl"
        path.write_text("".join(map(line, records)), encoding="utf-8")
        return [text.removeprefix(f"{path}:") for text in check_file(str(path))]

    def test_a_file_that_cannot_be_read_keeps_nobody_from_the_others(self):
        """It is named on standard error, and the exit status is 2, also as JSON."""
        wrong = self.folder / "cut.jsonl"
        wrong.write_text(REFERENCE.read_text(encoding="utf-8")[:-9], encoding="utf-8")
        told = "cannot be read (No such file or directory); name a trace or a recorded session\n"
        for plain in ((), ("--json",)):
            status, out, err = mini_agent("check", self.folder / "none", wrong, REFERENCE, *plain)
            self.assertEqual((2, 1), (status, err.count("\n")))
            self.assertTrue(err.endswith(told))
            self.assertIn("the last line is cut off", out)
        self.assertEqual((2, ""), mini_agent("check", self.folder / "none", "--json")[:2])

    def test_a_message_that_names_an_event_is_none(self):
        """An argument may be spelt like the event that the traces of sub-agents are found by."""
        made = next(made for record in self.records if record["type"] == "message"
                    for made in record["message"].get("tool_calls", ()))
        made["arguments"]["query"] = "subagent_end"
        self.assertFalse([text for text in self.findings(self.records) if "sub-agent" in text])

    def test_traces_that_runs_wrote_are_true(self):
        """The reference trace and the shipped ones have nothing wrong."""
        for path in (REFERENCE, *SAMPLES.glob("*.jsonl")):
            with self.subTest(path.name):
                self.assertEqual([], list(check_file(str(path))))

    def test_a_trace_whose_endpoint_repeats_its_ids_is_true(self):
        """Some give the same id to each step: it goes out renewed, and stands in the trace."""
        told = [json.loads(re.sub(r"call_\d+_0", "same", line(record)))
                for record in self.records]
        self.assertEqual([], self.findings(told))

    def test_each_falsehood_is_found_where_it_stands(self):
        """One thing changed in the reference trace, one line that says so."""
        at = next(record["seq"] for record in self.records
                  if record.get("event") == "context_compression")
        summary = next(record["seq"] for record in self.records if record.get("event") ==
                       "context_compression" and record["payload"]["strategy"] == "rolling_summary")
        call_at = next(record["seq"] for record in self.records
                       if record.get("event") == "model_call" and record["seq"] > at)
        first, call, result, failed = (
            next(record["seq"] for record in self.records if record.get("event") == event
                 and record["payload"].get("ok", good) == good)
            for event, good in (("model_call", True), ("tool_call", True), ("tool_result", True),
                                ("tool_result", False)))
        for where, change, expected in (
                (at, ("payload", "before_tokens", 1),
                 "trace: before_tokens is 1, rebuilt it is 4276"),
                (at, ("payload", "after_messages", 9),
                 "trace: after_messages is 9, rebuilt it is 4"),
                (at, ("payload", "prefix_kept", 3), "trace: prefix_kept is 3, rebuilt it is"),
                (at, ("payload", "affected_indexes", [1]), "law 4 (protection): "),
                (at, ("payload", "affected_indexes", [77]), "trace: context_compression: not as"),
                (at, ("payload", "entries", []), "law 2 (conservation): "),
                (at, ("payload", "entries", None), "trace: context_compression: not as"),
                (first, ("payload", "tokens", 7), "trace: tokens is 7, rebuilt it is"),
                (call_at, ("payload", "tokens", 7), "trace: tokens is 7, rebuilt it is"),
                (call_at, ("payload", "tokens", 99_999), "trace: tokens is 99999, rebuilt it is"),
                (call_at, ("payload", "messages", 7), "trace: messages is 7, rebuilt it is"),
                (result, ("payload", "chars", 7), "chars is 7, rebuilt it is"),
                (result, ("payload", "ok", False), "do not agree whether it failed"),
                (result, ("payload", "id", "other"), "the tool_result before it is of 'other'"),
                (failed, ("payload", "code", "X"), "code is 'X', in the message it is 'FILE_NOT"),
                (call, ("payload", "name", "other"), "no message has made the call 'call_0_0'"),
                (call, ("payload", "arguments", {}), "no message has made the call 'call_0_0'"),
                (call_at, ("payload", "step", 5), "step 5 where 0 is at work"),
                (at, ("payload", "step", 3), "step 3 where 0 is at work"),
                (result + 1, ("message", "name", "other"),
                 "a result of 'other', the call was for 'read_file'"),
                (0, ("payload", "format", 99), "trace: format 99, known is 1"),
                (0, ("payload", "policy", {"name": "nothing"}), "cannot be checked: "),
                (len(self.records) - 1, ("payload", "final_messages", 1),
                 "final_messages is 1, rebuilt it is"),
                (len(self.records) - 1, ("payload", "final_tokens", 1),
                 "final_tokens is 1, rebuilt it is"),
                (2, ("message", "role", "robot"), "transcript: no role 'robot'"),
                (2, ("message", "content", " "), "transcript: an empty"),
                (2, ("message", "content", None), "the content is NoneType, not text")):
            records = copy.deepcopy(self.records)
            place, key, value = change
            records[where][place][key] = value
            with self.subTest(expected):
                found = self.findings(records)
                behind = where in (result, failed)  # it is held against the message
                line_number = where + 1 + behind
                self.assertTrue([text for text in found if expected in text and text.startswith(
                    f"{line_number}: ")], found[:3])
        records = copy.deepcopy(self.records)
        records[summary]["payload"]["entries"][0]["tokens"] += 1
        self.assertTrue([text for text in self.findings(records)
                         if "of an entry tokens is" in text])
        records = copy.deepcopy(self.records)
        records[summary]["payload"]["entries"][0]["message"]["role"] = "robot"
        self.assertIn(f"{summary + 1}: trace: of an entry: no role 'robot'", self.findings(records))
        records = copy.deepcopy(self.records)
        records[summary]["payload"]["entries"][0]["how"] = "retold"
        self.assertEqual([f"{summary + 1}: trace: an entry is 'retold', known is verbatim, "
                          "shortened, summary, attached"], self.findings(records))

    def test_a_beginning_that_makes_no_sense_is_a_finding_and_reads_no_file(self):
        """Whatever stands there for policy, window and estimator; of a policy's name, too."""
        own = {"name": "published", "window": 1_200}
        other = self.folder / "other.json"
        os.mkfifo(other)  # its reader would wait for ever
        for policy, says in (
                ({**own, "window": 1e308}, "no window 1e+308"),
                ({**own, "window": True}, "no window"),
                ({**own, "window": 10**400}, "no window 10"),
                ({**own, "window": "1k"}, "no window"),
                ({**own, "name": str(other)}, "no policy"), ({**own, "name": [1]}, "no policy [1]"),
                ({**own, "user_share": 1e308}, "at most 1"), ({**own, "file": 5}, "object"),
                ({**own, "file": {"name": "x", "ladder": [], "user_share": 1e308}}, "at most 1"),
                ({**own, "file": {"name": "x", "ladder": [], "reserve": "x"}}, "reserve must be"),
                ({**own, "file": {"name": "x", "ladder": [], "trigger": .8}}, "no trigger 0.8")):
            records = copy.deepcopy(self.records)
            records[0]["payload"]["policy"] = policy
            with self.subTest(says):
                found = self.findings(records)[0]
                self.assertIn("1: trace: laws and sizes cannot be checked: ", found)
                self.assertIn(says, found)
        records[0]["payload"] |= {"policy": own, "estimator": ["runs"]}
        self.assertIn("no estimator is named", self.findings(records)[0])
        status, _, told = mini_agent("why", self.folder / "t.jsonl", "error")
        self.assertEqual((2, 1), (status, told.count("\n")), told)

    def test_a_view_that_did_not_get_smaller_breaks_the_third_law(self):
        """A change has to gain, whatever its record says."""
        records = copy.deepcopy(self.records)
        change = next(record for record in records
                      if record.get("event") == "context_compression")
        entry = change["payload"]["entries"][0]
        entry["message"]["content"] *= 50
        self.assertTrue(any("law 3 (strict gain)" in text for text in self.findings(records)))

    def test_what_hands_did_is_true_under_every_policy(self):
        """Undone changes and younger pins: dropped messages come back, which is no breach."""
        for name, seed in product(policy_names(), (12, 324)):
            case = with_acts(random_case(seed, policy=name, settings=()), seed)
            start = governed_by(find_policy(name), case.window, case.estimate).as_recorded()
            records = []
            Tracer(records.append).event("run_start", format=FORMAT, language=case.language,
                                         **start)
            for record in live(case).records:
                moved = record["payload"] if record.get("event") == "undo" else {}
                moved.update(seq=moved["seq"] + 1) if moved else None
                records.append({**record, "seq": record["seq"] + 1})
            with self.subTest(name, seed=seed):
                self.assertEqual([], [finding for finding in audit(list(map(
                    Line, count(1), records)), goes_on=True) if finding.kind != "transcript"])

    def test_an_undo_that_leads_elsewhere_is_found(self):
        """It has to bring back what the change before it took, and nothing else."""
        made = window(1_000, "sliding_window", records=(records := []), estimate="runs")
        history = [*head(), *rounds(4, "row\n" * 200)]
        made.before_model_call(history, 0)
        made.undo(0)
        records = copy.deepcopy(records)  # what comes back is the same message
        change, = (record for record in records if record["event"] == "undo")
        change["payload"]["entries"][0]["message"]["content"] = "something else"
        seq = change["payload"]["seq"]
        found = list(audit([Line(1, record) for record in [
            *({"type": "message", "step": 0, "message": message, "seq": 0} for message in history),
            *records]], goes_on=True))
        self.assertIn(f"undo: it does not lead back to the view before seq {seq}",
                      [finding.text for finding in found])

    def test_the_language_of_a_run_is_in_its_trace(self):
        """A task may name another than that of its words; a pin is said in it, and is found."""
        for language, said in (("zh", "Read it, please."), ("en", "读这个文件。")):
            path, trace = self.folder / "task.json", self.folder / "t.jsonl"
            words = '<pin kind="assumption">file 1 is it</pin>'
            path.write_text(json.dumps({
                "system": "s", "task": said, "language": language, "window": 2_500,
                "policy": "handoff_five", "replies": [*({"content": words, "tool_calls": [
                    {"name": "run_command", "arguments": {"command": "seq 900"}}]}
                    for _ in range(4)), {"content": "done"}]}))
            status, _, told = called("run", path, "--workspace", self.folder, "--trace", trace)
            self.assertEqual((0, ""), (status, told))
            with self.subTest(language):
                records = read_trace(trace).records
                self.assertEqual(language, records[0]["payload"]["language"])
                self.assertTrue(any(record.get("event") == "context_compression"
                                    for record in records))
                self.assertEqual([], list(check_file(str(trace))))
        records[0]["payload"]["language"] = ["en"]
        self.assertIn("1: trace: no language ['en']", self.findings(records))

    def test_a_record_that_is_missing_is_found(self):
        """By what is no beginning and no end, and by the gap in seq."""
        last = len(self.records) - 1
        for gone, says in (
                (0, "1: trace: the first record is not a run_start"),
                (5, "6: trace: seq 6 where 5 should stand"),
                (last, f"{last}: trace: the run has no end: it was killed or goes on")):
            with self.subTest(gone):
                self.assertIn(says, self.findings(self.records[:gone] + self.records[gone + 1:]))

    def test_a_run_that_ended_before_its_first_call_is_true(self):
        """Its task alone was over the window: sizes are told of what was never sent."""
        path, trace = self.folder / "task.json", self.folder / "t.jsonl"
        path.write_text(json.dumps({"system": "s", "task": "word " * 40, "threshold": 10,
                                    "replies": [{"content": "done"}]}))
        status, _, _ = called("run", path, "--workspace", self.folder, "--trace", trace)
        end = read_trace(trace).records[-1]["payload"]
        self.assertEqual((1, "overflow", 2), (status, end["reason"], end["final_messages"]))
        self.assertEqual([], list(check_file(str(trace))))

    def test_a_handle_that_points_at_nothing_breaks_the_ninth_law(self):
        """Honesty: what is named can be had."""
        records = copy.deepcopy(self.records)
        entry = next(record for record in records if record.get("event") ==
                     "context_compression")["payload"]["entries"][0]
        entry["message"]["content"] = "read_result(handle=900)"
        self.assertTrue(any("law 9 (honesty): handle 900 points at nothing" in text
                            for text in self.findings(records)))

    def test_a_line_that_a_digest_has_not_copied_breaks_the_ninth_law(self):
        """Under a handle stand lines of the message that it names; words above the first one,
        and handles in the words of users, are no such claims."""
        history, made = session(40), []
        window(2_500, policy="digest", records=made, estimate="runs").make_ready(history, 40)
        tracer = Tracer((records := []).append)
        tracer.event("run_start", format=FORMAT, **governed_by(
            find_policy("digest"), 2_500, "runs").as_recorded())
        for message in history:
            tracer.message(40, message)
        for record in made:
            tracer.event(record["event"], **record["payload"])
        (entry,), = (record["payload"]["entries"] for record in made
                     if record["payload"].get("strategy") == "coverage_digest")
        whole = entry["message"]["content"]
        number, copied = re.search(r"\n\[#(\d+) read_file .*\]\n(.*)", whole).groups()

        def found(text):
            entry["message"]["content"] = text
            return [fault for fault in self.findings(records) if "law 9" in fault]

        self.assertEqual([], found(whole))
        self.assertEqual([], found(whole.replace("\n", "\nnothing said this\n", 1)))
        told, = found(whole.replace(copied, f"not {copied}"))
        self.assertIn(f"law 9 (honesty): message {number} has no line 'not {copied}'", told)
        entry["message"]["content"] = whole
        asking = next(record for record in records
                      if record["type"] == "message" and record["message"].get("tool_calls"))
        asking["message"]["tool_calls"][0]["arguments"] = "none"  # no fault of the digest's record
        self.assertEqual([], [fault for fault in self.findings(records)
                              if "not as a record" in fault])

    def test_a_handle_that_stands_in_what_is_copied_is_no_promise(self):
        """A tool may have spoken of handles of its own; whoever copies its lines invents none."""
        records = copy.deepcopy(self.records)
        change = next(record for record in records
                      if record.get("event") == "context_compression")
        entry = change["payload"]["entries"][0]
        source = [record["message"] for record in records
                  if record["type"] == "message"][entry["stands_for"][0]]
        copied = "\nhandle=900 handle=" + 5_000 * "9"  # Python makes no number of so many digits
        source["content"] += copied
        entry["message"]["content"] += copied
        self.assertEqual([], [text for text in self.findings(records)
                              if "law 9" in text or "not as a record" in text])

    def test_broken_and_cut_lines_are_findings_and_not_the_end(self):
        """Each with its number; the others are still checked."""
        path = self.folder / "t.jsonl"
        raw = REFERENCE.read_bytes().split(b"\n")
        raw[7] = b'{"type": "messag'
        path.write_bytes(b"\n".join(raw)[:-20])
        found = "\n".join(check_file(str(path)))
        self.assertIn(f"{path}:8: trace: not a record: ", found)
        self.assertIn(f"{path}:{len(raw) - 1}: trace: the last line is cut off after", found)
        self.assertIn(f"{path}:9: trace: seq 8 where 7 should stand", found)

    def test_a_run_that_goes_on_may_have_open_calls(self):
        """Only in its last group, and it is said that it has no end."""
        last = max(record["seq"] for record in self.records if record["type"] == "message"
                   and record["message"].get("tool_calls"))
        self.assertEqual([f"{last + 1}: trace: the run has no end: it was killed or goes on"],
                         self.findings(self.records[:last + 1]))


class TranscriptTest(unittest.TestCase):
    """Logs of other agents."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, messages):
        """The findings about a chat list, without the file's name."""
        path = self.folder / "chat.json"
        path.write_text(json.dumps(messages), encoding="utf-8")
        return [text.removeprefix(f"{path}: ") for text in check_file(str(path))]

    def test_what_a_provider_would_refuse_is_found(self):
        """Ids used twice, arguments that are no JSON, empty messages, missing results."""
        made = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        bad = {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{"}}
        good = [{"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [made]},
                {"role": "tool", "tool_call_id": "a", "content": "r"}]
        self.assertEqual([], self.check(good))
        self.assertEqual(["message 3: transcript: the call id 'a' was used before"],
                         self.check(good + good[1:]))
        self.assertEqual(
            ["message 3: transcript: the call 'b' has no result",
             "message 3: transcript: the arguments of 'b' are not a JSON object"],
            self.check([*good, {"role": "assistant", "tool_calls": [bad]}]))
        self.assertEqual(
            ["message 4: transcript: the arguments of 't' are not a JSON object"],
            self.check([*good, {"role": "user", "content": "u"},
                        {"role": "assistant", "function_call": bad["function"]},
                        {"role": "function", "name": "t", "content": "r"}]))
        self.assertEqual(["message 3: transcript: an empty user message"],
                         self.check([*good, {"role": "user", "content": " "}]))
        huge = "x" * 400_001
        self.assertEqual(["message 3: transcript: 400001 characters in one message"],
                         self.check([*good, {"role": "user", "content": huge}]))

    def test_what_a_reader_mends_is_told_with_its_place(self):
        """A line for each, at the message that came of it; as many as the notes count."""
        def result(name, text="r"):
            return {"role": "tool", "tool_call_id": name, "content": text}

        def calls(*names):
            return {"role": "assistant", "tool_calls": [
                {"id": name, "type": "function", "function": {"name": "t", "arguments": "{}"}}
                for name in names]}

        for messages, told in (
                ([calls("a"), result("a"), result("a", "again")],
                 "message 1: transcript: a second result of the call 'a'"),
                ([calls("a"), result("a"), result("q")],
                 "message 3: transcript: a result without its call 'q'"),
                ([calls("a", "b"), result("b")],
                 "message 1: transcript: the call 'a' has no result"),
                ([calls("a"), {"role": "user", "content": "wait"}, result("a")],
                 "message 3: transcript: it stands between a call and its result"),
                ([{"role": "assistant", "content": "x"}, {"role": "system", "content": "late"}],
                 "message 2: transcript: a system message that is not the first"),
                ([{"role": "assistant", "content": ""}, {"role": "assistant", "content": "x"}],
                 "message 1: transcript: a message without text and calls stood before it")):
            with self.subTest(told):
                self.assertEqual([told], self.check([{"role": "user", "content": "u"}, *messages]))
        self.assertEqual(
            ["message 3: transcript: it stands between a call and its result",
             "message 4: transcript: the result of an earlier call came only after it"],
            self.check([{"role": "user", "content": "u"}, calls("a"),
                        {"role": "user", "content": "wait"},
                        {"role": "assistant", "content": "x"}, result("a")]))

    def test_every_mending_has_its_place(self):
        """Of all formats: what the notes count of it, and no more, is told."""
        folder, seen = ROOT / "tests" / "data" / "sessions" / "valid", Counter[str]()
        for path in sorted(folder.iterdir()):
            if path.name.endswith(".expected.json"):
                continue
            for session in open_sessions(path):
                with self.subTest(session.name):
                    self.assertEqual({note: number for note, number in session.notes.items()
                                      if note in MENDED},
                                     Counter(fault.note for fault in session.mended))
                    seen.update(fault.note for fault in session.mended)
        self.assertEqual({"late_results"}, MENDED.keys() - seen)  # tested above

    def test_bytes_that_are_no_text_are_told_with_their_line(self):
        """Not those of a log that quotes the sign for them itself."""
        path = self.folder / "bad.jsonl"
        path.write_bytes('{"messages": [{"role": "user", "content": "\ufffd"}]}\n'.encode()
                         + b'{"messages": [{"role": "user", "content": "\xff"}]}\n')
        found = [text for text in check_file(str(path)) if "UTF-8" in text]
        self.assertEqual(1, len(found))
        self.assertIn(".jsonl:2: transcript: bytes that are no UTF-8", found[0])

    def test_lines_that_cannot_be_read_are_findings(self):
        """With the number of the line."""
        path = self.folder / "cut.jsonl"
        lines = (SAMPLES / "lesson.jsonl").read_bytes().splitlines()
        path.write_bytes(b"\xff" + b"\n".join([b"{", *lines]))
        self.assertEqual(f"{path}:1: ", next(check_file(str(path)))[:len(str(path)) + 4])

    def test_as_json_each_finding_has_its_place_its_kind_and_its_text(self):
        """One list, also for several files and for none; the rows say the same."""
        trace, log = self.folder / "t.jsonl", self.folder / "log.jsonl"
        trace.write_bytes(REFERENCE.read_bytes() + b'{"cut')
        log.write_text('{"role": "user", "content": ""}\n{\n'
                       '{"role": "assistant", "content": "x"}\n', encoding="utf-8")
        status, out, err = mini_agent("check", trace, log, SAMPLES / "rename.json", "--json")
        found = json.loads(out)
        self.assertEqual((1, "", 1), (status, err, out.count("\n")))
        self.assertEqual(["file", "line", "message", "kind", "text"], list(found[0]))
        self.assertIn({"file": str(log), "line": 2, "message": None, "kind": "transcript",
                       "text": "Expecting"}, [{**one, "text": one["text"][:9]} for one in found])
        rows = mini_agent("check", trace, log)[1].splitlines()
        self.assertEqual(rows, [
            one["file"]
            + (f":{one['line']}" if one["message"] is None else f": message {one['message']}")
            + f": {one['kind']}: {one['text']}" for one in found])
        self.assertLess({None}, {one["message"] for one in found})
        self.assertEqual((0, "[]\n", ""), mini_agent("check", SAMPLES / "rename.json", "--json"))

    def test_the_exit_status_says_whether_there_was_any(self):
        """0 for none, 1 for one, 2 for what is no session."""
        self.assertEqual((0, "", ""), mini_agent("check", SAMPLES / "rename.json"))
        path = self.folder / "x.json"
        path.write_text('[{"role": "user", "content": ""}, {"role": "assistant", "content": "x"}]')
        status, out, _ = mini_agent("check", path)
        self.assertEqual((1, 1), (status, out.count("\n")))
        status, out, err = mini_agent("check", self.folder / "nothing")
        self.assertEqual((2, "", 1), (status, out, err.count("\n")))


class ConvertTest(unittest.TestCase):
    """Another agent's log as one of our traces."""

    def assert_converts(self, path, folder):
        """Each session of a file becomes a trace without a law broken, and reads as before."""
        for session in open_sessions(path):
            trace = folder / "t.jsonl"
            trace.write_text("".join(map(line, records_of(session))), encoding="utf-8")
            found = [text for text in check_file(str(trace)) if ": transcript: " not in text]
            self.assertEqual([], found)
            back = open_sessions(trace)[0]
            self.assertEqual((session.messages, session.steps), (back.messages, back.steps))
            self.assertEqual([(mark.at, mark.format, mark.tokens, mark.kind)
                              for mark in session.host_compressions],
                             [(mark.at, mark.format, mark.tokens, mark.kind)
                              for mark in back.host_compressions])

    def test_each_format_converts_and_reads_back(self):
        """The shipped samples and the small files of each format."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        files = [*SAMPLES.iterdir(), *(path for path in (
            ROOT / "tests" / "data" / "sessions" / "valid").iterdir()
            if not path.name.endswith(".expected.json"))]
        self.assertGreater(len(files), 30)
        for path in files:
            with self.subTest(path.name):
                self.assert_converts(path, folder)

    def test_real_sessions_convert_without_a_law_broken(self):
        """All that can be read under SESSIONS."""
        if not REAL.is_dir():
            self.skipTest("SESSIONS names no folder of recorded sessions")
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        read = 0
        for path in sorted(REAL.glob("*/*")):
            try:
                open_sessions(path)
            except UsageError:
                continue
            read += 1
            with self.subTest(path.name):
                self.assert_converts(path, folder)
        self.assertGreater(read, 20)

    def test_the_records_are_those_of_a_run_without_a_window(self):
        """In the order of the design; a recorded compression stands where it was."""
        from mini_agent.lab.sessions import HostCompression, LogSession

        messages = [system("s"), user("u"),
                    assistant("x", [call("a", "t", {"k": 1}), call("b", "t", {})]),
                    tool_result("a", "t", "one"),
                    tool_result("b", "t", "two", {"code": "C", "message": "m"}), assistant("y")]
        session = LogSession("n", "f", messages, [0, 0, 0, 0, 0, 1],
                             [HostCompression(5, "f", 77, "summary")])
        self.assertEqual(
            ["run_start", "system", "user", "model_call", "assistant", "tool_call", "tool_result",
             "tool", "tool_call", "tool_result", "tool", "host_compression", "model_call",
             "assistant", "run_end"],
            [record.get("event") or record["message"]["role"] for record in records_of(session)])
        self.assertEqual([(0, 2, 0), (1, 5, 0)], [  # nobody has counted what was sent
            (taken.step, taken.history, taken.sent)
            for taken in steps_of_trace(records_of(session), estimator("runs"))])

    def test_it_never_replaces_the_log_that_it_reads(self):
        """One clear line, and the log is as it was."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        log = folder / "log.json"
        log.write_bytes((SAMPLES / "rename.json").read_bytes())
        status, _, err = mini_agent("convert", log, "--trace", log)
        self.assertEqual((2, 1), (status, err.count("\n")))
        self.assertEqual((SAMPLES / "rename.json").read_bytes(), log.read_bytes())
        self.assertEqual(0, mini_agent("convert", log, "--trace", folder / "out.jsonl")[0])
        self.assertEqual((0, "", ""), mini_agent("check", folder / "out.jsonl"))


if __name__ == "__main__":
    unittest.main()
