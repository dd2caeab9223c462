"""Milestone 6: one pass over a recorded session for all policies, and the rows it ends in."""

import json
import re
import shutil
import unittest
from collections import Counter
from pathlib import Path

from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.lab.extremes import EXTREMES, lab_policy
from mini_agent.lab.facts import Probe, state_of
from mini_agent.lab.measures import KEYS, Tally
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Trial, replay
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.sessions.base import act_of
from mini_agent.messages import (
    assistant, call, groups, pairing_faults, system, text_of, tool_result, user)
from mini_agent.meter import prices
from mini_agent.tokens import estimator
from mini_agent.trace import line, read_trace
from tests.labs import ROOT, SAMPLES, mini_agent, recording
from tests.support import FolderTest

RULE, TASK = "只用 Python 标准库", "不要改动 DurationError 的报错文字"
POINT, SOURCE = "AssertionError: 5400 != 90", 'return "".join(parts)\n'


def rows_of(session, window, *policies, facts=(), **options):
    """{policy: (row, the last moments of its steps)} of a replay under these policies."""
    tallies, seen, trials = {}, {}, []
    for name in dict.fromkeys(("none", *policies)):
        tallies[name], seen[name] = Tally(session, facts, **options), []
        trials.append(Trial(session, lab_policy(name, session), window,
                            [tallies[name], _keep(seen[name])]))
    replay(session, trials)
    return {name: (tally.row(name, window, tallies["none"]), seen[name])
            for name, tally in tallies.items()}


def _keep(moments):
    """An observer that keeps each moment with the entries of its view."""
    return lambda moment: moments.append(
        moment._replace(view=list(moment.view.entries)))


class BaselineTest(unittest.TestCase):
    """The policy `none`."""

    def test_it_sends_everything_that_was_said_before(self):
        """At each step the view is the history so far, and costs 1."""
        session = recording(SAMPLES / "rename.json")
        row, moments = rows_of(session, 100_000)["none"]
        for moment in moments:
            self.assertEqual([session.messages[index] for index in range(moment.at)],
                             [entry.message for entry in moment.view])
        self.assertEqual((1.0, 0, 0.0, {}, 0, 0), tuple(row[key] for key in (
            "cost", "over_window_steps", "prefix_breaks", "compressions", "summary_tokens",
            "law_breaks")))
        self.assertEqual([1.0] * 6, [row[key] for key in (
            "far_recall", "far_in_context", "recall", "fresh", "lines", "reach")])

    def test_rows_have_exactly_the_keys_of_the_design(self):
        """In their order."""
        row, _ = rows_of(recording(SAMPLES / "lesson.jsonl"), 2_000)["none"]
        self.assertEqual(KEYS, tuple(row))
        self.assertEqual(
            "session format policy window steps peak_tokens sent_tokens summary_tokens cost "
            "summary_price over_window_steps far_recall far_in_context recall fresh lines reach "
            "prefix_breaks cached_tokens answer_tokens bill compressions law_breaks facts",
            " ".join(KEYS))

    def test_a_step_is_a_run_of_assistant_messages(self):
        """Consecutive ones are one call of the model, and what is behind the last is none."""
        history = [system("s"), user("u"), assistant("a"), assistant("b"), user("c"),
                   assistant("d"), user("e")]
        session = Recording("x", "test", history, estimator("chars4"))
        row, moments = rows_of(session, 1_000)["none"]
        self.assertEqual([(0, 2), (1, 5)], [(moment.step, moment.at) for moment in moments])
        self.assertEqual(2, row["steps"])


class CostTest(unittest.TestCase):
    """The arithmetic of the row, by hand."""

    def test_cost_is_a_tenth_for_what_was_sent_before(self):
        """Relative to the same sum without compression; a break is a step, of 100."""
        history = [system("s" * 40), user("u" * 40)]
        for number in range(3):
            history += [assistant("", [call(f"c{number}", "t", {})]),
                        tool_result(f"c{number}", "t", "x" * 400)]
        history.append(assistant("done"))
        session = Recording("x", "test", history, estimator("chars4"))
        head, made, result = 14, 4 + 8 + 1 + 1, 104
        grown = [2 * head + number * (made + result) for number in range(4)]
        rows = rows_of(session, 300, "whole_rounds")
        plain = sum(.1 * old + new - old for old, new in zip([0, *grown], grown))
        self.assertEqual(sum(grown), rows["none"][0]["sent_tokens"])
        row, moments = rows["whole_rounds"]
        self.assertEqual([0, 0, 0, 1], [moment.prefix < moment.before for moment in moments])
        price = sum(.1 * moment.prefix + moment.sent - moment.prefix for moment in moments)
        self.assertEqual(2 * head, moments[3].prefix)
        self.assertEqual(round(price / plain, 4), row["cost"])
        self.assertEqual(25.0, row["prefix_breaks"])
        self.assertEqual(sum(moment.sent for moment in moments), row["sent_tokens"])
        self.assertEqual(max(moment.sent for moment in moments), row["peak_tokens"])

    def test_a_bill_is_new_cached_and_answered_at_their_prices(self):
        """In millions of tokens; what a summariser reads is new, what it writes an answer."""
        session = recording(SAMPLES / "lesson.jsonl")
        made = prices("3,0.5,15")
        rows = rows_of(session, 1_200, "published", "clip", prices=made)
        answers = sum(session.tokens[at] for call in session.calls for at in call)
        for row, moments in rows.values():
            summaries = [record["payload"] for moment in moments for record in moment.records
                         if record["event"] == "model_summarize"]
            self.assertEqual(row["policy"] == "published", bool(summaries))
            read = sum(session.tokens[at] for payload in summaries for at in payload["input"])
            written = sum(estimator("runs").text(payload["output"]) for payload in summaries)
            cached = sum(moment.prefix for moment in moments)
            self.assertEqual((cached, answers), (row["cached_tokens"], row["answer_tokens"]))
            self.assertEqual(round((3 * (row["sent_tokens"] - cached + read) + .5 * cached
                                    + 15 * (answers + written)) / 1e6, 6), row["bill"])
        self.assertIsNone(rows_of(session, 1_200)["none"][0]["bill"])

    def test_summaries_are_paid_apart(self):
        """What the summariser read and wrote, in tokens of the same estimator."""
        session = recording(SAMPLES / "lesson.jsonl")
        row, moments = rows_of(session, 1_200, "published")["published"]
        notes = [record["payload"] for moment in moments for record in moment.records
                 if record["event"] == "model_summarize"]
        self.assertTrue(notes)
        self.assertEqual(sum(
            sum(session.tokens[index] for index in note["input"])
            + estimator("runs").text(note["output"]) for note in notes), row["summary_tokens"])


class LessonTest(unittest.TestCase):
    """The lesson's case: twelve messages, 1,959 tokens, windows of 1,800, 1,950 and 2,000."""

    @classmethod
    def setUpClass(cls):
        cls.session = recording(SAMPLES / "lesson.jsonl")

    def at_step_5(self, window, *policies):
        """{policy: (view, its moment)} before the sixth call."""
        rows = rows_of(self.session, window, *policies)
        return {name: (moments[5].view, moments[5]) for name, (_, moments) in rows.items()}

    def test_it_is_the_case_of_the_lesson(self):
        """Twelve messages between 1,950 and 2,000 tokens; 17 lines, the point in the middle."""
        self.assertEqual(12, self.session.calls[5].start)
        self.assertEqual(1_959, sum(self.session.tokens[:12]))
        lines = self.session.messages[5]["content"].splitlines()
        self.assertEqual((17, 11), (len(lines), lines.index(POINT)))

    def test_naive_loses_system_and_task(self):
        """From the front, message by message, the two that matter most go first."""
        view, moment = self.at_step_5(1_800, "naive")["naive"]
        self.assertEqual(list(range(2, 12)), [entry.stands_for[0] for entry in view])
        self.assertIn(4, [law for law, _ in moment.broken])

    def test_keeping_the_head_orphans_a_result(self):
        """The call of the first read goes, its result stays."""
        view, moment = self.at_step_5(1_950, "keep_head")["keep_head"]
        self.assertEqual([0, 1, *range(3, 12)], [entry.stands_for[0] for entry in view])
        self.assertEqual([(2, "result 'call_0_0' without its call")],
                         list(pairing_faults([entry.message for entry in view])))
        self.assertEqual([1], [law for law, _ in moment.broken])

    def test_nothing_is_dropped_while_it_fits(self):
        """At 2,000 no policy of dropping does anything: none knows what is nearly full."""
        views = self.at_step_5(2_000, "naive", "keep_head", "whole_rounds")
        for name, (view, moment) in views.items():
            with self.subTest(name):
                self.assertEqual((12, []), (len(view), list(moment.made)))

    def test_whole_rounds_lose_the_source_that_the_next_edit_needs(self):
        """Lawful, and yet the read file is gone when the agent quotes from it."""
        view, moment = self.at_step_5(1_800, "whole_rounds")["whole_rounds"]
        self.assertEqual([], list(pairing_faults([entry.message for entry in view])))
        self.assertNotIn(3, [index for entry in view for index in entry.stands_for
                             if entry.how == "verbatim"])
        needed = self.session.messages[12]["tool_calls"][0]["arguments"]["old"].splitlines()
        self.assertIn(SOURCE.strip(), [line.strip() for line in needed])
        self.assertFalse(any(SOURCE.strip() in text_of(entry.message) for entry in view))
        row, _ = rows_of(self.session, 1_800, "whole_rounds")["whole_rounds"]
        self.assertEqual((0.0, 0.5), (row["far_recall"], row["lines"]))

    def test_rules_survive_all_but_the_naive(self):
        """The facts of the last step, for system and task."""
        rows = rows_of(self.session, 1_800, "naive", "keep_head", "clip", facts=(RULE, TASK))
        self.assertEqual({name: ["gone" if name == "naive" else "verbatim"] * 2 for name in rows},
                         {name: list(row["facts"].values()) for name, (row, _) in rows.items()})

    def test_first_and_last_lines_lose_the_point_and_error_lines_keep_it(self):
        """The seventeen lines of the failing test, clipped in both ways."""
        rows = rows_of(self.session, 1_800, "clip", "clip_errors", facts=(POINT,))
        self.assertEqual({"none": "verbatim", "clip": "handle", "clip_errors": "verbatim"},
                         {name: row["facts"][POINT] for name, (row, _) in rows.items()})


    def test_a_fact_is_followed_from_the_step_behind_the_one_that_said_it(self):
        """Not said yet, there, behind a handle; what is never said is gone."""
        said = self.session.messages[2]["content"]  # by the first call: no view had it then
        tally = Tally(self.session, (POINT, said, "never said"))
        replay(self.session, [Trial(self.session, find_policy("clip"), 1_800, [tally])])
        self.assertEqual([([(0, ""), (2, "verbatim"), (5, "handle")], "handle"),
                          ([(0, ""), (1, "verbatim")], "verbatim"), ([(0, "")], "gone")],
                         [(probe.states, probe.state) for probe in tally.probes])
        self.assertEqual("gone", Probe(POINT, self.session.messages).state)

    def test_a_fact_is_followed_as_a_look_at_each_whole_view_finds_it(self):
        """Every fifteenth word of the session, at every step, under every policy."""
        history = self.session.messages
        met = set()
        words = dict.fromkeys(word for at in range(len(history)) for word in self.session.words(at))
        for name in policy_names():
            probes = [Probe(word, history) for word in [*words][::15]]

            def look(moment, probes=probes):
                for probe in probes:
                    holders = {at for at in range(moment.at) if probe.fact in text_of(history[at])}
                    self.assertEqual(state_of(probe.fact, moment.view, holders),
                                     probe.states[-1][1], (probe.fact, moment.step))

            with self.subTest(name):
                replay(self.session, [Trial(self.session, find_policy(name), 1_800,
                                            [*probes, look])])
                met.update(state for probe in probes for _, state in probe.states)
        self.assertEqual({"", "verbatim", "summary", "handle", "gone"}, met)


class ActsTest(FolderTest):
    """What was done to the window of a run of ours is done to every window of its replay."""

    def stages(self) -> Path:
        """A task with a stage that a reply ends and one that the model ends."""
        steps = [{"content": f"read {number}", "tool_calls": [
            {"name": "read_file", "arguments": {"path": "long_notes.txt", "start_line": number,
                                                "end_line": number + 9}}]}
                 for number in range(1, 9)]
        done = {"content": "so far", "tool_calls": [
            {"name": "stage_done", "arguments": {"name": "second"}}]}
        return self.write_task(policy="stages", window=60_000, replies=[
            *steps[:3], {**steps[3], "stage": "first"}, *steps[4:], done, steps[0],
            {"content": "end"}])

    def test_stages_are_records_at_the_steps_of_the_run(self) -> None:
        """Of a trace, and of a task file, which is run for it: as in the run itself."""
        task, trace = self.stages(), self.folder / "run.jsonl"
        place = shutil.copytree(ROOT / "workspace/m3", self.folder / "m3")
        self.assertEqual(0, mini_agent("run", task, "--workspace", place, "--trace", trace)[0])
        keys = "step strategy trigger before_tokens after_tokens affected_indexes".split()
        told = [[payload[key] for key in keys]
                for payload in read_trace(trace).events("context_compression")]
        self.assertEqual(["stage"] * len(told), [change[2] for change in told])
        self.assertEqual(2, sum(change[1] == "stage_summary" for change in told))
        for path in (trace, task):
            _, out, _ = mini_agent("show", path, "--policy", "stages", "--window", "60k",
                                   "--workspace", place, "--json")
            self.assertEqual(told, [[payload[key] for key in keys] for row in out.splitlines()
                                    for payload in json.loads(row)["changes"]], path)

    def test_pins_of_a_user_are_carried_by_every_policy(self) -> None:
        """From the message on before which they were set."""
        history = [system("s"), user("u")]
        for number in range(30):
            made = call(f"c{number}", "read_file", {"path": f"{number}.txt"})
            history += [assistant(f"step {number}", [made]), tool_result(
                f"c{number}", "read_file", f"the port is 80{number}\n" + "words of a file\n" * 60)]
        pin = {"index": 7, "text": "the port is 802", "kind": "parameter", "protect": "",
               "by": "user"}
        acts = [act for act in (act_of(8, "pin", pin), act_of(12, "pin", {**pin, "index": "7"}),
                                act_of(12, "pin", {**pin, "by": "mark"}),
                                act_of(12, "stage", {"name": 3})) if act]
        self.assertEqual(1, len(acts))
        session = Recording("x", "test", history, estimator("runs"), acts)
        for policy in policy_names():
            with self.subTest(policy):
                last = rows_of(session, 3_000, policy)[policy][1][-1]
                rows = [row for entry in last.view for row in entry.message["content"].split("\n")]
                if 4 not in find_policy(policy).breaks:
                    self.assertTrue(any(re.search(r"is 802\b", row) for row in rows), rows[:60])

    def test_a_trace_that_was_mended_has_lost_its_places(self) -> None:
        """Where messages were made up, nobody knows before which one something was done."""
        said = [{"role": "user", "content": "u"},
                {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "name": "t", "arguments": {}}]}, {"role": "user", "content": "v"}]
        records = [*({"type": "message", "step": 0, "message": message} for message in said),
                   {"type": "event", "event": "stage", "payload": {"step": 0, "name": "one"}}]
        path = self.folder / "t.jsonl"
        path.write_text("".join(line({**record, "seq": seq}) for seq, record in enumerate(records)),
                        encoding="utf-8")
        session, = open_sessions(path)
        self.assertEqual((4, []), (len(session.messages), session.acts))


class ExtremesTest(unittest.TestCase):
    """The two policies that only the lab has."""

    def setUp(self):
        self.rows = rows_of(recording(SAMPLES / "rename.json"), 2_000, "oracle", "bag_of_words",
                            "whole_rounds")

    def test_the_oracle_holds_what_will_be_used(self):
        """A bound from above."""
        row = self.rows["oracle"][0]
        self.assertEqual((1.0, 0), (row["far_recall"], row["over_window_steps"]))

    def test_the_bag_has_recall_without_context(self):
        """Which is why the one is never shown without the other."""
        row = self.rows["bag_of_words"][0]
        self.assertEqual((1.0, 0.5714), (row["far_recall"], row["far_in_context"]))

    def test_they_keep_the_laws_and_the_window(self):
        """Like any policy of the house, each view is whole groups and fits."""
        for name in EXTREMES:
            row, moments = self.rows[name]
            self.assertEqual({name: row["compressions"][name]}, row["compressions"])
            for moment in moments:
                with self.subTest((name, moment.step)):
                    self.assertLessEqual(moment.sent, 2_000)
                    self.assertEqual([], list(pairing_faults(
                        [entry.message for entry in moment.view])))


class CountTest(unittest.TestCase):
    """What a row counts is what was recorded."""

    def test_a_step_is_over_the_window_with_one_token_more_than_it_has(self):
        """Not with as many."""
        session = recording(SAMPLES / "lesson.jsonl")
        sizes = [moment.sent for moment in rows_of(session, 10**6)["none"][1]]
        for window, over in ((sizes[-1], 0), (sizes[-1] - 1, 1), (sizes[-2] - 1, 2)):
            self.assertEqual(over, rows_of(session, window)["none"][0]["over_window_steps"])

    def test_a_run_that_would_have_ended_is_over_though_it_is_below_the_window(self):
        """Where a policy keeps a tenth free for the answer,
        what nobody can move may not fill it."""
        session = Recording("s", "f", [system("s"), user("word " * 15_200), assistant("done")],
                            estimator("chars4"))
        row, (moment,) = rows_of(session, 20_000, "two_layer")["two_layer"]
        self.assertEqual((1, True), (row["over_window_steps"], 18_000 < moment.sent < 20_000))

    def test_whoever_waits_is_told_how_far_the_walk_has_come(self):
        """At each step, in messages of the history."""
        session, told = recording(SAMPLES / "lesson.jsonl"), []
        replay(session, [Trial(session, lab_policy("none", session), 1_800, [])], told.append)
        self.assertEqual([call.start for call in session.calls], told)

    def test_each_compression_is_counted_under_its_strategy(self):
        """As many as there are records of it."""
        row, moments = rows_of(recording(SAMPLES / "lesson.jsonl"), 1_800, "layered")["layered"]
        self.assertEqual(Counter(record["payload"]["strategy"] for moment in moments
                                 for record in moment.records
                                 if record["event"] == "context_compression"), row["compressions"])
        self.assertGreater(row["compressions"]["tool_result_clipping"], 0)

    def test_what_a_step_needed_and_what_was_held_come_to_its_shares(self):
        """[items, held, far items, held]: their means are those of the row."""
        session = recording(SAMPLES / "lesson.jsonl")
        tally, counts = Tally(session), []
        bare, nothing = Tally(session, evidence=False), []
        replay(session, [
            Trial(session, lab_policy("none", session), 1_800, []),
            Trial(session, lab_policy("whole_rounds", session), 1_800, [
                tally, lambda moment: counts.append(tally.needed_and_held(moment.step)),
                bare, lambda moment: nothing.append(bare.needed_and_held(moment.step))])])
        row = tally.row("whole_rounds", 1_800, tally)
        for first, key in ((0, "recall"), (2, "far_recall")):
            shares = [count[first + 1] / count[first] for count in counts if count[first]]
            self.assertEqual(round(sum(shares) / len(shares), 4), row[key])
            self.assertLess(row[key], 1)
        self.assertEqual([[]] * len(counts), nothing)


class OnceTest(unittest.TestCase):
    """What all policies share is done once."""

    def test_characters_are_counted_once_for_all_policies(self):
        """The session, and beside it only what changes have put in, or have tried to."""
        session = recording(SAMPLES / "rename.json")
        read = session.estimate.characters
        self.assertEqual(sum(len(text_of(message)) for message in session.messages), read)
        rows_of(session, 100_000, *policy_names())
        self.assertEqual(read, session.estimate.characters)

    def test_a_text_is_split_once_for_all_policies(self):
        """The evidence of a history is made once, and verbatim entries are not read again."""
        session = recording(SAMPLES / "rename.json")
        evidence, asked = session.evidence, []
        find = evidence.find

        class Counting:
            first_line, texts, numbers = find.first_line, find.texts, find.numbers

            def __call__(self, text):
                asked.append(text)
                return find(text)

        evidence.find = Counting()
        rows = rows_of(session, 2_000, "whole_rounds", "clip_errors")
        made = [text_of(entry.message) for _, moments in rows.values() for moment in moments
                for entry in moment.made if entry.how != "verbatim"]
        self.assertEqual(sorted(made), sorted(asked))

    def test_the_order_of_policies_changes_nothing(self):
        """Trials do not see each other."""
        session = recording(SAMPLES / "lesson.jsonl")
        names = policy_names()
        forward = rows_of(session, 1_800, *names)
        backward = rows_of(recording(SAMPLES / "lesson.jsonl"), 1_800, *reversed(names))
        self.assertEqual({name: row for name, (row, _) in forward.items()},
                         {name: row for name, (row, _) in backward.items()})

    def test_each_view_is_groups_and_its_tokens_are_those_of_its_entries(self):
        """For every policy of the house that breaks no law of pairing."""
        session = recording(SAMPLES / "lesson.jsonl")
        for name, (_, moments) in rows_of(session, 1_800, *policy_names()).items():
            lawful = 1 not in find_policy(name).breaks
            for moment in moments:
                messages = [entry.message for entry in moment.view]
                with self.subTest((name, moment.step)):
                    self.assertEqual(moment.sent, sum(entry.tokens for entry in moment.view))
                    self.assertEqual(moment.sent, sum(map(session.estimate.message, messages)))
                    if lawful:
                        self.assertEqual([], list(pairing_faults(messages)))
                        self.assertEqual(len(messages), sum(map(len, groups(messages))))


if __name__ == "__main__":
    unittest.main()
