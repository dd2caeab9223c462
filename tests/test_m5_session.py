"""Milestone 5: the trace is the session."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mini_agent.audit import Line, audit
from mini_agent.compression.policies import find_policy
from mini_agent.errors import MiniAgentError, PromptTooLongError, TraceError, UsageError
from mini_agent.messages import Message, call, pairing_faults
from mini_agent.meter import Prices
from mini_agent.models.base import Reply
from mini_agent.session import Session
from mini_agent.trace import Record, TraceFile, line, parse_record, read_trace
from tests.sessions import Counter, Speaker, counting, started, taken_up
from tests.support import ROOT, FolderTest, called, listening

CUTS, DAMAGES = 100, 150


def long_session(folder: Path) -> tuple[bytes, list[tuple[int, list[Message]]]]:
    """(the trace of a session of 31 steps, (records before it, request) of each model call).

    It has batches, several turns, a pin, a stage, a compression by hand and an undo.
    """
    numbers = iter(range(1_000))
    model = Speaker()
    asked: list[tuple[int, list[Message]]] = []
    session, file = started(folder, model, "Count <pin>up to a hundred</pin>.",
                            extra=(Counter(),))

    def turn(said: str, *sizes: int) -> None:
        model.replies = [counting(*(next(numbers) for _ in range(size))) for size in sizes]
        model.replies.append(Reply(f"done: {said}"))
        outcome = session.turn(said)
        assert outcome.done, outcome

    with file:
        complete = model.complete

        def noted(messages: Any, tools: Any) -> Reply:
            asked.append((session.meter.records - 1, list(messages)))
            return complete(messages, tools)

        model.complete = noted  # type: ignore[method-assign]
        turn("Count <pin>up to a hundred</pin>.", *[1, 2, 1, 1, 3, 1, 1, 2])
        turn("Go on.", *[1] * 6)
        session.window.take_in(session.agent.history)
        session.window.compact(session.step, "numbers")
        session.window.undo(session.step)
        turn("And now faster.", *[2, 2, 2, 1])
        session.window.stage_done(session.agent.history, "fast", session.step)
        session.use(session.window.policy, 3_500)
        turn("The last ones.", *[1] * 8)
        session.finish(session.turn())
    return (folder / "s.jsonl").read_bytes(), asked


class KilledAnywhere(FolderTest):
    """A session is cut off at any byte, and taken up from what is left."""

    @classmethod
    def setUpClass(cls) -> None:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            cls.whole, cls.asked = long_session(Path(folder))
        cls.ends = [at + 1 for at, byte in enumerate(cls.whole) if byte == 0x0a]

    def cut(self, size: int) -> tuple[Session, Speaker, Counter, TraceFile, list[Record]]:
        path = self.folder / "cut.jsonl"
        path.write_bytes(self.whole[:size])
        records = read_trace(path).records
        model, counter = Speaker(), Counter()
        session, file = taken_up(path, model, extra=(counter,))
        return session, model, counter, file, records

    def check(self, size: int) -> None:
        """What holds wherever it is cut."""
        session, model, counter, file, records = self.cut(size)
        before = [record["message"] for record in records if record["type"] == "message"]
        with file:
            due = session.due
            outcome = session.turn() if due else None
        path = self.folder / "cut.jsonl"
        self.assertTrue(path.read_bytes().startswith(self.whole[:size].rpartition(b"\n")[0]))
        history = session.agent.history
        self.assertEqual(before, history[:len(before)])
        self.assertEqual([], counter.runs)
        self.assertEqual([], list(pairing_faults(history)))
        for added in history[len(before):] if before else ():
            self.assertEqual("INTERRUPTED", added["error"]["code"])
        if due:
            self.assertEqual("model_error", outcome.reason)
            self.assertEqual([], list(pairing_faults(model.asked[0])))
        if len(history) == len(before) and due and (sent := self.sent_next(len(records))):
            self.assertEqual(sent, model.asked[0])
            self.compared += 1
        found = [finding for finding in audit([Line(*pair) for pair in enumerate(
            map(parse_record, path.read_bytes().splitlines()), 1)], goes_on=True)
            if finding.kind != "transcript"]
        self.assertEqual([], found)

    def sent_next(self, count: int) -> list[Message] | None:
        """The request behind the first `count` records, None where a person acts before it."""
        at, request = next((at, request) for at, request in self.asked if at >= count - 1)
        between = [parse_record(line) for line in self.whole.splitlines()[count:at]]
        by_hand = [record for record in between if record["type"] == "message"
                   or record["event"] in ("undo", "settings", "stage", "pin")
                   or record["payload"].get("trigger") == "manual"]
        return None if by_hand else request

    def test_at_random_records_and_bytes_the_request_is_what_the_records_determine(self) -> None:
        """Whatever is confirmed is there; no call runs again; where no call was open the
        request is the one that the session itself sent next."""
        draw = random.Random(5)
        places = [*self.ends[:3], *draw.sample(self.ends, CUTS // 2), *(
            draw.randrange(self.ends[0], len(self.whole)) for _ in range(CUTS // 2))]
        self.compared = 0
        for size in places:
            with self.subTest(size=size):
                self.check(size)
        self.assertGreater(self.compared, CUTS // 4)

    def test_killed_again_while_resuming_it_comes_to_the_same_request(self) -> None:
        """The records of a resume are records like others."""
        compared = 0
        for size in self.ends[12::40]:
            session, model, _, file, records = self.cut(size)
            with file:
                if not session.due:
                    continue
                session.turn()
            resumed = (self.folder / "cut.jsonl").read_bytes()
            lines = resumed.splitlines(keepends=True)
            for count in range(len(records), len(lines) + 1):
                (self.folder / "cut.jsonl").write_bytes(b"".join(lines[:count]))
                again = Speaker()
                second, file = taken_up(self.folder / "cut.jsonl", again, extra=(Counter(),))
                with file, self.subTest(size=size, count=count):
                    second.turn()
                    self.assertEqual(model.asked[0], again.asked[0])
                    compared += 1
        self.assertGreater(compared, 5)


class Goes(FolderTest):
    """What goes on in a session that is taken up again."""

    def test_settings_reports_and_prices_go_on_where_they_were(self) -> None:
        """Policy, window, what the endpoint counted, and the learned window."""
        usage = {"prompt_tokens": 1_600, "completion_tokens": 20, "cached_tokens": 1_000}
        model = Speaker([counting(1, usage=usage), Reply("done", usage=usage)])
        session, file = started(self.folder, model, "go", window=None, extra=(Counter(),))
        with file:
            session.turn("go")
            session.use(find_policy("digest"), 9_000)
            session.window.note(session.step, learned_window=5_000)
            session.window.take_in(session.agent.history)
            predicted = session.window.predicted
        again, file = taken_up(session.path, Speaker(), extra=(Counter(),))
        with file:
            self.assertEqual("digest", again.window.policy.name)
            self.assertEqual(5_000, again.window.budget.window)
            self.assertEqual(predicted, again.window.predicted)
            self.assertEqual((3_200, 2_000, 40), (again.meter.prompt, again.meter.cached,
                                                  again.meter.answer))
            self.assertAlmostEqual(.0048, Prices(3, .3, 15).of(again.meter))

    def test_what_a_request_counted_and_the_order_of_steps_are_rebuilt(self) -> None:
        """A drift that is not the difference, a step behind a later one, tokens that are none:
        found in their lines, before anything is summed up."""
        usage = {"prompt_tokens": 1_600, "completion_tokens": 20, "cached_tokens": 0}
        model = Speaker([counting(1, usage=usage), Reply("done", usage=usage)])
        session, file = started(self.folder, model, "go", window=9_000, extra=(Counter(),))
        with file:
            session.turn("go")
        records = read_trace(session.path).records
        self.assertEqual([], [found for found in audit(
            [Line(*pair) for pair in enumerate(records, 1)], goes_on=True)])
        used = next(record["seq"] for record in records if record.get("event") == "model_usage")
        said = next(record["seq"] for record in records if record["type"] == "message"
                    and record["message"]["role"] == "assistant")
        changes = (((used, "payload", "drift"), 7, f"{used + 1} drift is 7, rebuilt it is "),
                   *(((used, "payload", "cached_tokens"), value,
                      f"{used + 1} cached_tokens is {value!r}, which is no number")
                     for value in ("x", -1, 1.5, None, True)),
                   ((said, "step"), 9, f"{said + 4} step 0 behind step 9"),
                   ((said, "step"), None, f"{said + 1} no step None"))
        for (seq, *keys), value, expected in changes:
            changed = copy.deepcopy(records)
            place: dict[str, Any] = changed[seq]
            for key in keys[:-1]:
                place = place[key]
            place[keys[-1]] = value
            found = [f"{line} {text}" for line, _, text in audit(
                [Line(*pair) for pair in enumerate(changed, 1)], goes_on=True)]
            self.assertIn(expected, "\n".join(found))

    def test_every_refusal_speaks_the_language_of_the_session(self) -> None:
        """Of a tool, and of the guard before it."""
        model = Speaker([Reply("", (call("a", "read_file", {"path": "../x"}),
                                    call("b", "write_file", {"path": "../x", "content": ""})))])
        session, file = started(self.folder, model, "写一个文件")
        with file:
            session.turn("写一个文件")
        self.assertEqual(2 * ["ERROR OUTSIDE_WORKSPACE: 路径在工作区之外: ../x"],
                         [message["content"] for message in session.agent.history[-2:]])

    def test_another_policy_brings_the_tools_that_its_texts_speak_of(self) -> None:
        """What it puts behind a handle can be read; the tools are counted, recorded by the
        change of policy, and the same again on resume. Back again, they are gone."""
        def names(session: Session) -> list[str]:
            return [tool["name"] for tool in session.agent.tools.declarations()]

        model = Speaker([counting(1, 2), Reply("done"), Reply("", (
            call("r", "read_result", {"handle": 3}),)), Reply("read")])
        session, file = started(self.folder, model, "go", policy="none", window=None,
                                extra=(Counter(),))
        with file:
            session.turn("go")
            before, few = names(session), session.window.tokens
            self.assertNotIn("read_result", before)
            session.use(find_policy("recall"), 9_000)
            more = names(session)
            self.assertEqual({"read_result", "recall", "pin"}, {*more} - {*before})
            self.assertGreater(session.window.tokens, few)
            self.assertTrue(session.turn("and now").done)
            self.assertIn("count 1 line 0", session.agent.history[-2]["content"])
            session.window.take_in(session.agent.history)
        again, file = taken_up(session.path, Speaker(), extra=(Counter(),))
        with file:
            self.assertEqual((more, session.window.tokens), (names(again), again.window.tokens))
            again.use(find_policy("none"), None)
            self.assertEqual(before, names(again))
        found = [finding for finding in audit([Line(*pair) for pair in enumerate(
            read_trace(session.path).records, 1)], goes_on=True) if finding.kind != "transcript"]
        self.assertEqual([], found)

    def test_tools_that_one_policy_leaves_out_are_whole_again_under_another(self) -> None:
        """`lean_input` sends some of them short; the next one knows nothing of that."""
        session, file = started(self.folder, Speaker([Reply("hi"), Reply("well")]), "go",
                                policy="lean_input", window=9_000)
        sent: list[Any] = []
        with file:
            asked = session.model.model
            complete = asked.complete
            asked.complete = lambda messages, tools: (  # type: ignore[method-assign]
                sent.append(tools) or complete(messages, tools))
            session.turn("go")
            session.use(find_policy("digest"), 9_000)
            session.turn("and now")
        self.assertLess(len(sent[0]), len(session.agent.tools.declarations()))
        self.assertEqual(session.agent.tools.declarations(), sent[1])

    def test_a_window_that_an_endpoint_names_governs_from_then_on(self) -> None:
        """Without a known window nothing is compressed before; afterwards it is."""
        refusal = PromptTooLongError("too long", window=3_000, tokens=4_400)
        model = Speaker([*map(counting, range(10)), refusal, Reply("done")])
        session, file = started(self.folder, model, "go", window=None, extra=(Counter(),))
        with file:
            self.assertTrue(session.turn("go").done)
        self.assertEqual(3_000, session.window.budget.window)
        again, file = taken_up(session.path, Speaker(), extra=(Counter(),))
        file.close()
        self.assertEqual(3_000, again.window.budget.window)

    def test_a_run_of_a_task_file_can_be_gone_on_with(self) -> None:
        """Any trace of ours is a session: its policy, its estimator, its language."""
        trace = self.folder / "run.jsonl"
        trace.write_bytes((ROOT / "traces/reference/m3-trace.jsonl").read_bytes())
        model = Speaker([Reply("well")])
        session, file = taken_up(trace, model)
        with file:
            self.assertEqual(("published", "published", False), (
                session.window.policy.name, session.window.state.estimate.name, session.due))
            self.assertTrue(session.turn("And now?").done)
        self.assertEqual("And now?", model.asked[0][-1]["content"])

    def test_a_call_that_had_begun_is_told_of_and_not_run_again(self) -> None:
        """The model hears that nobody knows what it has done."""
        model = Speaker([counting(1, 2)])
        session, file = started(self.folder, model, "go", extra=(Counter(),))
        with file:
            session.turn("go")
        lines = session.path.read_bytes().splitlines(keepends=True)
        last = max(at for at, line in enumerate(lines) if b'"tool_call"' in line)
        session.path.write_bytes(b"".join(lines[:last + 1]))
        counter, model = Counter(), Speaker()
        again, file = taken_up(session.path, model, extra=(counter,))
        with file:
            again.turn()
        self.assertEqual([], counter.runs)
        self.assertIn("whether it has had any effect is not known", model.asked[0][-1]["content"])
        self.assertEqual("INTERRUPTED", model.asked[0][-1]["error"]["code"])


class Killed(FolderTest):
    """Real processes."""

    def start(self, trace: Path) -> "subprocess.Popen[str]":
        """A session whose command leaves a mark and then waits for the end of a pipe."""
        os.mkfifo(self.folder / "wait")
        (self.folder / "block.py").write_text(
            "open('mark', 'a').write('x')\nopen('wait').read()\n", encoding="utf-8")
        task = self.write_task(replies=[{"content": "I run it.", "tool_calls": [{
            "name": "run_command", "arguments": {"command": "python block.py"}}]}])
        return subprocess.Popen(
            [sys.executable, "-m", "mini_agent", "chat", "run it", "--script", str(task), "--yes",
             "--workspace", str(self.folder), "--trace", str(trace)], cwd=ROOT, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=listening)

    def test_after_kill_9_the_lock_is_free_and_the_command_is_not_run_again(self) -> None:
        """While it lives nobody else may write; afterwards the session goes on."""
        trace = self.folder / "s.jsonl"
        with self.start(trace) as process:
            with open(self.folder / "wait", "w", encoding="utf-8"):  # opens once the command reads
                with self.assertRaisesRegex(UsageError, "another process, or a session that"):
                    TraceFile(trace, fresh=False)
                process.send_signal(signal.SIGKILL)
                process.wait()
                model = Speaker([Reply("I see.")])
                session, file = taken_up(trace, model)
                with file:
                    self.assertTrue(session.turn().done)
        self.assertEqual("x", (self.folder / "mark").read_text(encoding="utf-8"))
        self.assertEqual("INTERRUPTED", model.asked[0][-1]["error"]["code"])
        self.assertEqual("I run it.", model.asked[0][-2]["content"])

    def test_ctrl_c_ends_the_command_and_the_program_with_130(self) -> None:
        """One request: the call gets its result, the trace its end."""
        trace = self.folder / "s.jsonl"
        with self.start(trace) as process:
            with open(self.folder / "wait", "w", encoding="utf-8"):
                process.send_signal(signal.SIGINT)
                self.assertEqual(130, process.wait())
        self.ended_well(trace)

    def ended_well(self, trace: Path) -> None:
        records = read_trace(trace).records
        *_, result = (record["message"] for record in records if "message" in record)
        self.assertEqual("INTERRUPTED", result["error"]["code"])
        self.assertEqual("interrupted", records[-1]["payload"]["reason"])

    def test_a_kill_or_a_closed_terminal_ends_the_command_too(self) -> None:
        """Nothing that the agent has started lives on, and the trace has its end."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            trace = self.folder / f"{number}.jsonl"
            with self.subTest(number), self.start(trace) as process:
                with self.assertRaises(BrokenPipeError):  # of a command that reads no more
                    with open(self.folder / "wait", "w", encoding="utf-8") as pipe:
                        process.send_signal(number)
                        self.assertEqual(130, process.wait())
                        pipe.write("x")
                self.ended_well(trace)
            (self.folder / "wait").unlink()


class Refused(FolderTest):
    """Traces that no session can rest on."""

    @classmethod
    def setUpClass(cls) -> None:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            whole, _ = long_session(Path(folder))
        cls.records = [parse_record(line) for line in whole.splitlines()]

    def refused(self, records: list[Any], says: str) -> None:
        path = self.folder / "s.jsonl"
        path.write_text("".join(map(line, records)), encoding="utf-8")
        before = path.read_bytes()
        with self.assertRaisesRegex((TraceError, UsageError), says):
            taken_up(path, Speaker())
        self.assertEqual(before, path.read_bytes())
        with TraceFile(path, fresh=False):  # it is free again
            pass

    def changed(self, at: int, **changes: Any) -> list[Any]:
        records = copy.deepcopy(self.records)
        records[at]["payload"].update(changes)
        return records

    def at(self, name: str) -> int:
        return next(at for at, record in enumerate(self.records) if record.get("event") == name)

    def test_a_trace_whose_records_are_not_true_is_refused_with_its_line(self) -> None:
        """Sequence, pairing, arithmetic, laws: the first that is wrong is named."""
        change, call_ = self.at("context_compression"), self.at("model_call")
        result = next(at for at, record in enumerate(self.records)
                      if record["type"] == "message" and record["message"]["role"] == "tool")
        told = self.records[change]["payload"]
        grown = copy.deepcopy(told["entries"])
        grown[0]["message"]["content"] *= 40
        torn = [record for record in self.records[:result + 1]
                if record.get("message", {}).get("role") != "assistant"]
        bare = [record for record in torn if record.get("event") not in ("tool_call",
                                                                         "tool_result")]
        for what, records, says in (
                ("seq", [*self.records[:9], *self.records[10:]], r"s\.jsonl:10: .*seq 10 where 9"),
                ("call", renumbered(torn), rf"s\.jsonl:{result - 2}: .*no message has made"),
                ("pairing", renumbered(bare), rf"s\.jsonl:{len(bare)}: .*'c0' without its call"),
                ("form", self.changed(call_, step="1"), rf"s\.jsonl:{call_ + 1}: .*step"),
                ("sum", self.changed(change, before_tokens=told["before_tokens"] + 1),
                 rf"s\.jsonl:{change + 1}: .*before_tokens is"),
                ("size", self.changed(change, entries=grown), rf"s\.jsonl:{change + 1}: .*"),
                ("law", self.changed(change, affected_indexes=[0], entries=[]),
                 rf"s\.jsonl:{change + 1}: .*"),
                ("sent", self.changed(call_, messages=99),
                 rf"s\.jsonl:{call_ + 1}: .*messages is 99"),
                ("policy", self.changed(0, policy={"name": "no_such"}), r"no policy 'no_such'"),
                ("format", self.changed(0, format=99), "not a session of format 1"),
                ("empty", [], "not a session of format 1")):
            with self.subTest(what):
                self.refused(records, says)

    def test_no_damaged_trace_raises_anything_but_a_refusal(self) -> None:
        """One value of a random record is replaced: it is refused, or it was no matter."""
        draw = random.Random(11)
        path = self.folder / "s.jsonl"
        for number in range(DAMAGES):
            records = copy.deepcopy(self.records[:draw.randrange(4, 60)])
            holder, key = draw.choice(list(places_in(draw.choice(records))))
            holder[key] = draw.choice([None, -1, 10**9, "", "x", [], {}, [0], True, 0.5])
            path.write_text("".join(map(line, records)), encoding="utf-8")
            with self.subTest(number=number, key=key, value=holder[key]):
                try:
                    session, file = taken_up(path, Speaker(), extra=(Counter(),))
                except MiniAgentError as error:
                    self.assertIn("s.jsonl", str(error))
                else:
                    file.close()


def renumbered(records: list[Any]) -> list[Any]:
    """The records with their numbers in order."""
    return [{**record, "seq": at} for at, record in enumerate(records)]


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every value inside of a record."""
    for key, inner in (value.items() if isinstance(value, dict) else enumerate(value)
                       if isinstance(value, list) else ()):
        yield value, key
        yield from places_in(inner)


class StoreOfASession(FolderTest):
    """What has left the window is found on resume, whatever became of the store."""

    def script(self, name: str, *replies: dict[str, Any]) -> Path:
        path = self.folder / name
        path.write_text(json.dumps({"system": "s", "task": "t", "replies": [
            *({"content": "now", "tool_calls": [reply]} for reply in replies),
            {"content": "done"}]}), encoding="utf-8")
        return path

    def test_the_trace_is_what_counts(self) -> None:
        """Gone, emptied, damaged, of another program, with lies in it: the same hits."""
        for number in range(8):
            (self.folder / f"f{number}.txt").write_text("\n".join(
                f"name_{number}_{row} = load_{row}(x)" for row in range(60)), encoding="utf-8")
        trace, folder = self.folder / "t" / "t.jsonl", self.folder / "t" / "t.d"
        store = folder / "store.sqlite"
        first = self.script("first.json", *({"name": "read_file", "arguments": {
            "path": f"f{number % 8}.txt"}} for number in range(10)))
        then = self.script("then.json", {"name": "recall", "arguments": {"query": "name_0_5"}})
        self.assertEqual(0, called("chat", "hello", "--script", first, "--workspace", self.folder,
                                   "--trace", trace, "--policy", "recall", "--window", "4500")[0])
        shutil.copytree(self.folder / "t", self.folder / "kept")

        def lie() -> None:
            with contextlib.closing(sqlite3.connect(store)) as base, base:
                base.execute("UPDATE said SET text = 'name_0_5 is a lie'")

        hits = []
        for damage in (lambda: None, store.unlink, lambda: store.write_bytes(b""), lie,
                       lambda: store.write_bytes(b"garbage" * 99), lambda: shutil.rmtree(folder)):
            shutil.rmtree(self.folder / "t")
            shutil.copytree(self.folder / "kept", self.folder / "t")
            damage()
            self.assertEqual(0, called("resume", trace, "again", "--script", then,
                                       "--workspace", self.folder)[0])
            hits += [message["content"] for message in read_trace(trace).messages()
                     if message.get("name") == "recall"]
        self.assertIn("hits 1 to 1 of 1 message", hits[0])
        self.assertEqual([hits[0]] * 6, hits)


if __name__ == "__main__":
    unittest.main()
