"""All milestones: files that are cut, damaged or strange are read or refused in one line."""

from __future__ import annotations

import copy
import json
import random
import re
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mini_agent.assembly import Setup
from mini_agent.compression.budget import MOST, window_tokens
from mini_agent.errors import MiniAgentError, TaskFileError, TraceError
from mini_agent.governance import govern
from mini_agent.hostile import escaped
from mini_agent.lab.check import check_file
from mini_agent.lab.session_steps import steps_at
from mini_agent.lab.show import show_step, show_trace
from mini_agent.lab.why import explain
from mini_agent.lab.whywords import why_lines
from mini_agent.runner import run_task
from mini_agent.strict_json import DEEPEST, loads
from mini_agent.tasks import load_task
from mini_agent.trace import line, read_trace
from tests.damage import refusal
from tests.support import ROOT, FolderTest, called
from tests.test_m5_session import places_in

REFERENCE = ROOT / "traces" / "reference" / "m3-trace.jsonl"
DAMAGES = 80
STRANGE = ("\0" * 50, "\ufeff", "\r\n", "\u202eabc\u2066", "a\u200bb\u200d", "\ud800", "\udfff x",
           "\x1b]0;title\x07", "\x9b31m", "\u2028",
           *(chr((plane << 16) + 0x1234) for plane in range(17)),
           *(chr((plane << 16) + 0xFFFF) for plane in range(17)))


def looks(path: Path) -> Iterator[Callable[[], Any]]:
    """Everything that reads a trace to show it."""
    yield lambda: list(show_trace(read_trace(path), str(path)))
    yield lambda: list(show_step(str(path), None, True))
    yield lambda: [list(why_lines(explain("ValueError", steps, history)))
                   for _, steps, history in steps_at(str(path))]
    yield lambda: list(check_file(str(path)))


class CutTest(FolderTest):
    """What a bad copy, an editor or another program leaves behind."""

    def test_one_damaged_value_is_shown_or_refused(self) -> None:
        """A value of a random record is replaced: nothing but a refusal is raised."""
        draw = random.Random(8)
        whole = read_trace(REFERENCE).records
        path = self.folder / "s.jsonl"
        for number in range(DAMAGES):
            at = draw.randrange(len(whole))
            records = [*whole[:at], copy.deepcopy(whole[at]), *whole[at + 1:]]
            holder, key = draw.choice(list(places_in(records[at])))
            holder[key] = draw.choice([None, -1, 10**30, "", "x", [], {}, [0], {"a": []},
                                       True, 0.5])
            path.write_text("".join(map(line, records)), encoding="utf-8")
            with self.subTest(number=number, at=at, key=key, value=holder[key]):
                for look in looks(path):
                    try:
                        look()
                    except MiniAgentError as error:
                        self.assertNotIn("\n", str(error))

    def test_bytes_that_are_no_record_are_named_with_their_line(self) -> None:
        """NULs, another encoding, a missing half, nesting, a number of 10,000 digits."""
        good = line({"type": "message", "step": 0, "message": {"role": "user", "content": "x"},
                     "seq": 0}).encode()
        path = self.folder / "t.jsonl"
        for bad in (b"\0" * 4096, good.decode().encode("utf-16"), b'{"seq":', b"\xff\xfe",
                    b'{"seq": 1, "a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
                    b'{"seq": ' + b"9" * 10_000 + b"}", b'{"seq": 1e999}', b'{"seq": NaN}'):
            path.write_bytes(good + bad + b"\n" + good)
            with self.subTest(bad=bad[:20]), self.assertRaises(TraceError) as raised:
                read_trace(path)
            self.assertIn(f"{path}:2: not a record", str(raised.exception))

    def test_no_line_about_a_fault_is_endless(self) -> None:
        """Whatever stands in a record, or is typed, what is said of it ends, remedy and all."""
        path = self.folder / "t.jsonl"
        rows = REFERENCE.read_text("utf-8").splitlines()
        rows[5] = rows[5].replace('"event": "', '"event": "' + "x" * 1_000_000)
        path.write_text("\n".join(rows[:9]) + "\n", encoding="utf-8")
        for words in (("show", path), ("compare", REFERENCE, "--window", "9" * 100_000),
                      ("run", "y" * 3_000), ("policies", "z" * 100_000)):
            status, _, said = called(*words)
            with self.subTest(words[0]):
                self.assertNotEqual(0, status)
                self.assertEqual(1, said.count("\n"))
                self.assertLess(len(said), 1_300)
                self.assertIn(" characters)", said)

    def test_a_byte_order_mark_and_crlf_do_no_harm(self) -> None:
        """A trace that went through an editor of another system reads the same."""
        raw = REFERENCE.read_bytes()
        path = self.folder / "t.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n"))
        self.assertEqual(read_trace(REFERENCE).records, read_trace(path).records)

    def test_a_line_of_10_mb_is_a_line(self) -> None:
        """Its size is no reason to refuse it."""
        path = self.folder / "t.jsonl"
        path.write_text(line({"type": "message", "step": 0, "seq": 0, "message": {
            "role": "user", "content": "x" * 10_000_000}}), encoding="utf-8")
        self.assertEqual(10_000_000, len(read_trace(path).messages()[0]["content"]))


class StrangeTextTest(FolderTest):
    """Every plane of Unicode, both directions, no width, halves of characters."""

    def test_any_text_goes_through_a_run_and_its_trace(self) -> None:
        """In the task's every text field, in arguments and in their names."""
        for text in STRANGE:
            path = self.folder / "task.json"
            path.write_text(json.dumps({
                "name": text, "system": text, "task": f"{text}.", "replies": [
                    {"content": text, "tool_calls": [
                        {"name": text, "arguments": {text: text}},
                        {"name": "read_file", "arguments": {"path": text}}]},
                    {"content": f"{text}."}]}), encoding="ascii")
            task = load_task(path)
            records: list[Any] = []
            with self.subTest(text=ascii(text)):
                setup = Setup(self.folder, task.model(), sinks=[records.append])
                outcome = run_task(task, setup, govern(task))
                self.assertTrue(outcome.done, outcome)
                written = "".join(map(line, records))
                self.assertEqual(records, [loads(row) for row in
                                           written.encode("utf-8").decode().split("\n") if row])
                self.assertTrue(all(row.isprintable() for row in map(escaped, show_trace(
                    self._trace(written), text))))

    def _trace(self, written: str) -> Any:
        path = self.folder / "t.jsonl"
        path.write_bytes(written.encode("utf-8"))
        return read_trace(path)

    def test_any_text_goes_through_every_command(self) -> None:
        """In pins, stages, patterns, commands, contents, names of files, facts: in a trace, the
        page, the table, JSON and CSV nothing is lost, and nothing reaches a terminal raw."""
        pieces = [text for text in STRANGE if "\0" not in text]
        for at, text in enumerate(("".join(pieces[:12]), " ".join(pieces[12:]),
                                   "</script><!--]]>&amp;${x}\\u2028")):
            (self.folder / "ws").mkdir(exist_ok=True)
            text = text.encode("utf-8", "replace").decode()
            name = text.replace("/", "_")[:40]
            (self.folder / "ws" / f"{name}.txt").write_text(f"{text} line\n" * 20, encoding="utf-8")
            calls = [{"name": tool, "arguments": given} for tool, given in (
                ("read_file", {"path": f"{name}.txt"}), ("list_files", {}),
                ("write_file", {"path": "out.txt", "content": text}),
                ("search_text", {"pattern": text, "path": "."}),
                ("run_command", {"command": f"echo '{text}'"}))]
            pins = [{"text": "keep " + text.replace("<", "").replace(">", "").replace('"', ""),
                     "kind": "constraint"}]
            task = self.write_task(
                name=text, system=text, task=text, window=9000, policy="stages", pins=pins,
                replies=[*({"content": text, "tool_calls": calls, **({"stage": text} if step == 3
                            else {})} for step in range(5)), {"content": f"{text}."}])
            trace = self.folder / f"{name}.jsonl"
            page = self.folder / "page.html"
            for words in (("run", task, "--workspace", self.folder / "ws", "--trace", trace),
                          ("check", trace), ("show", trace), ("show", trace, "--diff"),
                          ("why", trace, text), ("convert", trace),
                          ("compare", trace, "--policy", "digest,stages", "--window", "4k",
                           "--fact", text, "--evidence", "--html", page),
                          ("compare", trace, "--policy", "clip", "--fact", text, "--csv")):
                with self.subTest(at, command=words[0]):
                    status, out, err = called(*words)
                    shown = out + err
                    self.assertEqual(0, status, shown[-300:])
                    shown.encode("utf-8")
                    if words[0] != "convert" and words[-1] != "--csv":
                        self.assertFalse([sign for sign in "\x1b\x9b\x07\u202e" if sign in shown])
            data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>',
                             page.read_text(encoding="utf-8"), re.DOTALL)
            self.assertEqual([text], json.loads(data[1])["facts"])

    def test_lone_surrogates_in_a_trace_become_a_mark(self) -> None:
        """What was read can be written again, by whoever goes on with it."""
        path = self.folder / "t.jsonl"
        path.write_text('{"type": "message", "step": 0, "message": {"role": "user", '
                        '"content": "a\\uD800b \\ud83d\\ude00"}, "seq": 0}\n', encoding="ascii")
        self.assertEqual("a\ufffdb \U0001f600", read_trace(path).messages()[0]["content"])


class JsonTest(FolderTest):
    """What Python's parser takes and JSON has not."""

    def test_a_task_file_that_is_no_plain_json_is_one_line(self) -> None:
        """Nesting, digits, encodings, NULs: each with its file, and no traceback."""
        path = self.folder / "t.json"
        deep = '{"system": "s", "task": "t", "replies": [{"content": "c", "tool_calls": [' \
               '{"name": "n", "arguments": {"a": %s}}]}]}'
        for raw in (b"[" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000, b"\0" * 5000, b"",
                    '{"system": "é"}'.encode("latin-1"), '{"system": "a"}'.encode("utf-16"),
                    (deep % ("[" * 900 + "]" * 900)).encode(), (deep % ("9" * 10_000)).encode(),
                    b'{"system": "s", "task": "t", "window": 1e999, "replies": []}',
                    b'{"system": "s", "task": "t", "window": NaN, "replies": []}'):
            path.write_bytes(raw)
            with self.subTest(raw=raw[:40]), self.assertRaises(TaskFileError) as raised:
                load_task(path)
            self.assertIn(str(path), str(raised.exception))
            self.assertLess(len(str(raised.exception)), 600)

    def test_of_two_values_under_one_key_none_is_taken_in_silence(self) -> None:
        """In any object of a task file, with the line and column of the second."""
        path = self.folder / "t.json"
        path.write_text('{"system": "s", "task": "t", "replies": [{"content": "c"},\n'
                        '  {"content": "a", "cont\\u0065nt": "b"}]}')
        with self.assertRaises(TaskFileError) as raised:
            load_task(path)
        self.assertIn(f"{path}:2:20: replies[1].content occurs twice", str(raised.exception))

    def test_a_window_has_a_largest_number(self) -> None:
        """One that a trace could not be resumed with is refused before anything runs."""
        path = self.folder / "t.json"
        for limit, fits in ((MOST, True), (MOST + 1, False)):
            path.write_text('{"system": "s", "task": "t", "window": %s, "replies": []}' % limit)
            self.assertEqual(fits, not refusal(lambda: load_task(path)))
            self.assertEqual(fits, not refusal(lambda limit=limit: window_tokens(
                f"{limit // 1_000 + (limit > MOST)}k")))
        for text, tokens in (("32000", 32_000), ("32k", 32_000), (" 1M ", 1_000_000)):
            self.assertEqual(tokens, window_tokens(text))
        for text in ("", "k", "m", "1mk", "1.5m", "-1", "٣", "1_000"):
            self.assertIn("no window", refusal(lambda text=text: window_tokens(text)))

    def test_numbers_that_json_has_not_are_text(self) -> None:
        """They cannot get into a trace as something that no other program reads."""
        self.assertEqual(["NaN", "1e999", "-Infinity", 1.5], loads("[NaN, 1e999, -Infinity, 1.5]"))

    def test_nesting_has_one_limit(self) -> None:
        """A hundred levels are read, one more is refused, however deep Python could go."""
        self.assertTrue(loads("[" * DEEPEST + "]" * DEEPEST))
        for depth in (DEEPEST + 1, 900, 100_000):
            with self.assertRaisesRegex(ValueError, "nested too deep"):
                loads("[" * depth + "]" * depth)

    def test_text_behind_a_value_is_refused(self) -> None:
        """At its place, as `json.loads` says it; blanks are nothing."""
        self.assertEqual({}, loads(" \r\n{} \t"))
        with self.assertRaisesRegex(json.JSONDecodeError, "char 4"):
            loads("{}  {}")


if __name__ == "__main__":
    unittest.main()
