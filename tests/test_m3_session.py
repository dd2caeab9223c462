"""Milestone 3, fourth layer: the whole published session, figure by figure."""

from __future__ import annotations

import json
import shutil
import sys
import unittest

from mini_agent.compression.state import rebuild
from mini_agent.loop import Outcome
from mini_agent.rhythm import all_compressions, peak, rows
from mini_agent.tokens import estimator
from mini_agent.trace import Record, line, read_trace
from tests.support import ROOT, FolderTest, command, m3_task, scripted

AGING, SUMMARY = "tool_result_aging", "rolling_summary"

# step: baseline tokens (messages), before governance (messages), sent (messages)
PUBLISHED = [
    (0, 135, 2, 135, 2, 135, 2), (1, 4276, 4, 4276, 4, 282, 4), (2, 5161, 6, 1167, 6, 1167, 6),
    (3, 5237, 8, 1243, 8, 517, 8), (4, 5897, 10, 1177, 10, 1177, 10),
    (5, 5965, 12, 1245, 12, 743, 12), (6, 8066, 14, 2844, 14, 900, 14),
    (7, 10611, 16, 3445, 16, 1064, 16), (8, 10681, 18, 1134, 18, 1134, 18),
    (9, 12773, 20, 3226, 20, 742, 7), (10, 15320, 22, 3289, 9, 906, 9),
    (11, 15389, 24, 975, 11, 975, 11), (12, 17928, 26, 3514, 13, 1130, 13),
    (13, 17991, 28, 1193, 15, 1193, 15)]
# seq, step, strategy, before, after, affected
COMPRESSIONS = [
    (8, 1, AGING, 4276, 282, [3]), (19, 3, AGING, 1243, 517, [5]), (30, 5, AGING, 1245, 743, [9]),
    (36, 6, AGING, 2844, 900, [13]), (42, 7, AGING, 3445, 1064, [15]),
    (53, 9, AGING, 3226, 1282, [19]), (54, 9, SUMMARY, 1282, 742, list(range(2, 16))),
    (61, 10, AGING, 3289, 906, [8]), (72, 12, AGING, 3514, 1130, [12])]
# threshold: aging at steps, summary at steps, largest window sent, (messages, tokens) at the end
_LOW = [1, 2, 4, 6, 7, 9, 10, 12]
EDITED = {
    900: (_LOW, [7, 9, 10, 11, 12, 13], 900, None), 950: (_LOW, [7, 9, 11, 12, 13], 939, (8, 990)),
    1000: (_LOW, [7, 10, 12], 960, (10, 1008)), 1150: (_LOW, [9, 13], 1134, (8, 990)),
    1192: ([1, 3, 5, 6, 7, 9, 10, 12], [9, 13], 1177, (8, 990)),
    1193: ([1, 3, 5, 6, 7, 9, 10, 12], [9], 1193, (16, 1244)),
    1242: ([1, 3, 5, 6, 7, 9, 10, 12], [9], 1193, (16, 1244)),
    1300: ([1, 4, 6, 7, 9, 10, 12], [10], 1282, (14, 1226)),
    1500: ([1, 4, 6, 7, 9, 10, 12], [11], 1446, (12, 1128)),
    1600: ([1, 4, 6, 7, 9, 10, 12], [12], 1515, (10, 1008)),
    2000: ([1, 6, 7, 9, 10, 12], [], 1971, (29, 1784)), 5000: ([2, 7, 10], [], 4276, (29, 4168))}


class SessionTest(FolderTest):
    """The session under its own threshold."""

    outcome: Outcome
    records: list[Record]

    @classmethod
    def setUpClass(cls) -> None:
        once = cls("setUp")
        once.setUp()
        cls.outcome, cls.records = once.run_task("m3", **m3_task())
        once.doCleanups()

    def test_every_published_figure_comes_out(self) -> None:
        """Baseline, before governance and sent, tokens and messages, for all 14 steps."""
        _, baseline = self.run_task("m3", **m3_task(policy="none", compression={}, threshold=10**9))
        found = [(row.step, *(self._published(plain)), row.before, row.before_messages, row.sent,
                  row.messages) for row, plain in zip(rows(self.records), self._baseline())]
        self.assertEqual(PUBLISHED, found)
        self.assertEqual(71, len(baseline))

    def _baseline(self) -> list[int]:
        """How many messages of the history stand before each model call."""
        sizes, size = [], 0
        for record in self.records:
            size += record["type"] == "message"
            if record.get("event") == "model_call":
                sizes.append(size)
        return sizes

    def _published(self, messages: int) -> tuple[int, int]:
        history = [r["message"] for r in self.records if r["type"] == "message"]
        return estimator("published")(history[:messages]), messages

    def test_every_compression_has_its_published_record(self) -> None:
        """Record numbers, sizes and affected indexes of all eight agings and the summary."""
        self.assertEqual(COMPRESSIONS, [
            (c.seq, c.step, c.strategy, c.before, c.after, list(c.affected))
            for c in all_compressions(rows(self.records))])
        self.assertEqual(81, len(self.records))

    def test_the_session_ends_well_with_the_published_size(self) -> None:
        """16 messages and 1244 tokens, 93.37 % below the baseline at step 13."""
        self.assertTrue(self.outcome.done)
        self.assertEqual({"step": 13, "reason": "final_answer", "final_messages": 16,
                          "final_tokens": 1244}, self.records[-1]["payload"])
        self.assertEqual("93.37", f"{100 * (1 - 1193 / 17991):.2f}")
        self.assertEqual(1193, peak(rows(self.records)))

    def test_the_summary_record_is_followed_by_what_was_asked(self) -> None:
        """Input indexes, output and cost of the summariser stand in the next record."""
        asked = self.records[55]
        self.assertEqual("model_summarize", asked["event"])
        self.assertEqual(list(range(2, 16)), asked["payload"]["input"])
        summary = self.records[54]["payload"]["entries"][0]
        self.assertEqual(389, summary["tokens"])
        self.assertTrue(summary["message"]["content"].endswith(asked["payload"]["output"]))
        self.assertEqual([], self.records[54]["payload"]["unsupported"])

    def test_the_bytes_are_those_of_the_reference(self) -> None:
        """The same trace on every run, machine and Python version."""
        reference = ROOT / "traces" / "reference" / "m3-trace.jsonl"
        self.assertEqual(reference.read_text(encoding="utf-8"),
                         "".join(line(record) for record in self.records))

    def test_every_view_can_be_rebuilt_from_the_trace_alone(self) -> None:
        """The fold over the records has the tokens and messages of each model call."""
        calls = 0
        for record, view in rebuild(self.records, estimator("published")):
            if record.get("event") == "model_call":
                calls += 1
                self.assertEqual((record["payload"]["messages"], record["payload"]["tokens"]),
                                 (len(view), view.tokens))
        self.assertEqual(14, calls)

    def test_edited_thresholds_give_exactly_their_compressions(self) -> None:
        """The second table of the figures, row by row."""
        for threshold, (aging, summary, largest, end) in EDITED.items():
            with self.subTest(threshold):
                shutil.rmtree(self.folder / "workspace", ignore_errors=True)
                outcome, records = self.run_task("m3", **m3_task(threshold=threshold))
                table = rows(records)
                self.assertEqual(aging, self._steps(table, AGING))
                self.assertEqual(summary, self._steps(table, SUMMARY))
                self.assertEqual(largest, peak(table))
                last = records[-1]["payload"]
                if end is None:
                    self.assertEqual(("overflow", 13), (last["reason"], last["step"]))
                    self.assertIn("有 939 个 token,超出上限 900", outcome.detail)
                else:
                    self.assertEqual(end, (last["final_messages"], last["final_tokens"]))

    def _steps(self, table: list, strategy: str) -> list[int]:
        return [c.step for c in all_compressions(table) if c.strategy == strategy]


class DriverTest(FolderTest):
    """`scripts/drive_m3.py` as a user runs it."""

    def test_the_driver_prints_the_table_and_writes_its_four_files(self) -> None:
        """A row a step, the closing line, and files with the same bytes as the reference."""
        done = command("scripts/drive_m3.py", "--traces", str(self.folder))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("   9  12773 (20)  3226 (20)   742 (7)     "
                      "53: aging [19]; 54: summary [2..15]\n", done.stdout)
        self.assertTrue(done.stdout.endswith(
            "final_answer: aging in 8 steps, a summary in 1; peak 1193 tokens against 17991\n"
            "at step 13 1193 tokens against 17991: 93.37 % below the baseline; at the end 16 "
            "messages, 1244 tokens\n"))
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[:-2])), 80)
        reference = ROOT / "traces" / "reference" / "m3-trace.jsonl"
        self.assertEqual(reference.read_bytes(), (self.folder / "m3-trace.jsonl").read_bytes())
        self.assertEqual(71, len(read_trace(self.folder / "m3-baseline.jsonl").records))
        tokens = json.loads((self.folder / "m3-tokens.json").read_text("utf-8"))
        self.assertEqual([row[1] for row in PUBLISHED], [s["tokens"] for s in tokens["baseline"]])
        self.assertEqual([row[5] for row in PUBLISHED], [s["sent"] for s in tokens["steps"]])

    def test_an_overflow_is_one_clear_line_with_a_complete_trace(self) -> None:
        """Threshold 900: status 1, no traceback, the table, and a trace with its run_end."""
        task = self.write_task(**m3_task(threshold=900))
        done = scripted("drive_m3", "--task", task, "--traces", self.folder)
        self.assertEqual(1, done.returncode)
        self.assertEqual(1, done.stderr.count("\n"))
        self.assertIn("第 13 步有 939 个 token,超出上限 900,且无法移动: 摘要 586", done.stderr)
        last = read_trace(self.folder / "m3-trace.jsonl").records[-1]
        self.assertEqual("overflow", last["payload"]["reason"])

    def test_a_first_request_that_does_not_fit_is_one_clear_line(self) -> None:
        """Threshold 134: nothing is sent, which is said; the baseline is drawn all the same."""
        task = self.write_task(**m3_task(threshold=134))
        done = scripted("drive_m3", "--task", task, "--traces", self.folder)
        self.assertEqual((1, 1), (done.returncode, done.stderr.count("\n")))
        self.assertTrue(done.stdout.endswith("\noverflow: nothing was sent\n"))
        self.assertIn("第 0 步有 135 个 token,超出上限 134", done.stderr)

    def test_where_utf8_cannot_be_shown_the_chart_is_plain_ascii(self) -> None:
        """An ASCII terminal gets * o - v S and no escape codes."""
        done = command("scripts/drive_m3.py", "--traces", str(self.folder),
                       PYTHONIOENCODING="ascii")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(done.stdout.isascii())
        self.assertIn("* compressed  o baseline  - threshold  v aging  S summary", done.stdout)

    def test_the_picture_is_one_file_with_two_panels(self) -> None:
        """Well-formed SVG, no network, a mark for each aging and the summary."""
        import xml.etree.ElementTree as tree
        scripted("drive_m3", "--traces", self.folder)
        text = (self.folder / "m3-curve.svg").read_text(encoding="utf-8")
        root = tree.fromstring(text)
        self.assertEqual(4, len(root.findall(".//{*}polyline")))
        marks = [node.text for node in root.iter() if node.text in ("▼", "★")]
        self.assertEqual((16, 2), (marks.count("▼"), marks.count("★")))
        self.assertNotIn("href", text)


class WatchTest(FolderTest):
    """`scripts/watch_m3.py`, with the clock handed in."""

    def test_each_save_says_what_changed_and_a_broken_file_is_one_line(self) -> None:
        """Compressions that appeared and went, peak and end; a half-saved file, then on again."""
        sys.path.insert(0, str(ROOT / "scripts"))
        self.addCleanup(sys.path.remove, str(ROOT / "scripts"))
        from watch_m3 import watch
        task = self.write_task(**m3_task())
        text = task.read_text(encoding="utf-8")
        saves = iter([text[:900], text.replace('"threshold": 1200', '"threshold": 1300'),
                      text.replace('"threshold": 1200', '"threshold": 134')])

        def sleep(seconds: float) -> None:
            following = next(saves, None)
            if following is None:
                raise KeyboardInterrupt
            task.write_text(following, encoding="utf-8")

        said: list[str] = []
        with self.assertRaises(KeyboardInterrupt):
            watch(task, sleep, said.append)
        self.assertEqual(4, len(said))
        self.assertRegex(said[3], r"\Aoverflow: 0 compressions, .*\n  窗口: 第 0 步有 135 个 token,")
        self.assertIn("final_answer: 9 compressions, peak 1193 tokens, 1244 at the end", said[0])
        self.assertRegex(said[1], r"^not run: .*task\.json:\d+:\d+: broken JSON in .*; ")
        self.assertNotIn("\n", said[1])
        self.assertEqual(
            "final_answer: 8 compressions, peak 1282 tokens, 1226 at the end\n"
            "  + tool_result_aging at step 4\n  + rolling_summary at step 10\n"
            "  - tool_result_aging at step 3\n  - tool_result_aging at step 5\n"
            "  - rolling_summary at step 9\n  peak: 1193 -> 1282 (+89)\n"
            "  end: 1244 -> 1226 (-18)", said[2])


if __name__ == "__main__":
    unittest.main()
