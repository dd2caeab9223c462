"""Milestone 3: the ways to slide a window, and what each of them loses."""

from __future__ import annotations

import re
import unittest
from collections.abc import Iterator
from types import SimpleNamespace

from mini_agent.compression.drop import (SlidingWindow, _enough, _moved, free_groups,
                                         handle_ranges, put_away, stored)
from mini_agent.compression.laws import Protection
from mini_agent.compression.pins import Pin, Pins
from mini_agent.compression.policies import find_policy, tools_of
from mini_agent.compression.view import Entry, View
from mini_agent.errors import ContextOverflowError, StrategyError
from mini_agent.messages import assistant, call, pairing_faults, tool_result, user
from mini_agent.trace import Record

from .policy_session import PolicySession
from .windows import head, rounds, window

DROPPED = re.compile(r"\[(\d+) older rounds? w(?:ere|as) dropped to make room: (\d+) messages?, "
                     r"(\S+) of the run log\]")
MIDDLE = re.compile(r"\[the middle was left out: (\d+) messages?, (.+?); (.+)\]")
STORED = re.compile(r"\[(\d+) older messages? w(?:ere|as) taken out: (.+?); (.+)\]")


def long_session(policy: str, rounds: int = 12, **settings: object) -> PolicySession:
    """Rounds of one result of 50 to 120 tokens each in a window of 800."""
    run = PolicySession(policy, 800, **settings)
    for number in range(rounds):
        run.round(f"f{number}", f"row {number} of it\n" * (18 + 11 * number % 23))
    run.ask()
    return run


class Sliding(unittest.TestCase):
    """Four variants on the same session."""

    def test_one_by_one_they_go_until_the_goal_is_met_and_no_further(self) -> None:
        """Five messages of ten tokens; the newest stays, whatever the goal."""
        view = View(Entry(user("x"), 10, (index,)) for index in range(5))
        for goal, gone in ((31, 2), (30, 2), (29, 3), (0, 4)):
            change = SlidingWindow("naive")(view, SimpleNamespace(goal=goal))
            self.assertEqual(change.affected, tuple(range(gone)))
        self.assertIsNone(SlidingWindow("naive")(view, SimpleNamespace(goal=50)))

    def test_keeping_the_head_keeps_pins_and_what_was_attached(self) -> None:
        """Of what stands before the tail, only messages that nobody protects go."""
        view = View(Entry(user("x"), 10, (index,)) for index in range(6))
        view.entries[1] = Entry(user("a file"), 10, (), "attached")
        pins = Pins((Pin(2, "x"),))
        scene = SimpleNamespace(goal=0, pins=pins, protection=Protection(frozenset({0}), 5))
        self.assertEqual(SlidingWindow("keep_head")(view, scene).affected, (3, 4))

    def test_without_a_store_nothing_is_put_into_one(self) -> None:
        """The session says so and, where nothing else can move, ends; a note that is made names
        no tool that the agent has not."""
        records: list[Record] = []
        made = window(800, policy="recall", records=records)
        with self.assertRaises(ContextOverflowError):
            made.before_model_call([*head(), *rounds(8, "x" * 800)], 8)
        failed = next(record["payload"] for record in records
                      if record["event"] == "compression_skipped")
        self.assertEqual(("failed", "recall: there is no store; give the run a folder"),
                         (failed["reason"], failed["detail"]))
        request = long_session("recall", tools=("read_result",)).ask()
        way = STORED.fullmatch(request[2]["content"])[3]
        self.assertEqual("read_result(handle=N) gives each of them back", way)

    def test_what_was_dropped_without_a_trace_can_be_taken_back(self) -> None:
        """An undo of it takes nothing out, and puts each message where it was."""
        for policy in ("naive", "keep_head"):
            run = long_session(policy)
            while run.window.state.undoable:
                run.window.undo(run.step)
            self.assertEqual(run.window.view.messages(), run.history, policy)

    def test_whole_rounds_says_how_many_rounds_are_gone(self) -> None:
        """One note behind the head counts all rounds dropped so far,
        and every call keeps its result."""
        run = long_session("whole_rounds")
        request = run.ask()
        rounds, messages, where = DROPPED.fullmatch(request[2]["content"]).groups()
        self.assertEqual((int(messages), where), (int(rounds) * 2, f"2-{int(rounds) * 2 + 1}"))
        self.assertEqual(len(request), 3 + 24 - int(messages))
        self.assertEqual(list(pairing_faults(request)), [])
        self.assertNotIn("read_result", request[2]["content"])

    def test_no_more_is_dropped_than_has_to_go(self) -> None:
        """With the youngest dropped round back, the view would be over the trigger again."""
        run = long_session("whole_rounds")
        last = run.entry(2).stands_for[-2:]
        size = sum(run.window.state.estimate.message(run.history[index]) for index in last)
        self.assertLessEqual(run.window.tokens, 800)
        self.assertGreater(run.window.tokens + size, 800 - 110)  # the newest round came since

    def test_snip_middle_keeps_the_first_round_and_leaves_handles(self) -> None:
        """The first round and the newest stand; what lay between is named by its handles."""
        run = long_session("snip_middle")
        request = run.ask()
        self.assertEqual(request[:4], run.history[:4])
        count, where, way = MIDDLE.fullmatch(request[4]["content"]).groups()
        self.assertEqual(where, f"#4-#{3 + int(count)}")
        self.assertEqual(way, "read_result(handle=N) gives each of them back")
        self.assertEqual(request[5:], run.history[4 + int(count):])

    def test_only_where_a_note_names_a_tool_the_agent_gets_it(self) -> None:
        """Of the variants of the window it is the one that leaves handles; `recall` has two."""
        for policy, tools in (("naive", set()), ("keep_head", set()), ("whole_rounds", set()),
                              ("snip_middle", {"read_result"}),
                              ("recall", {"read_result", "recall"})):
            self.assertEqual(tools_of(find_policy(policy)), tools, policy)

    def test_without_the_tool_the_way_back_is_the_run_log(self) -> None:
        """A note names no tool that the agent does not have."""
        self.assertIn("they are whole in the run log",
                      long_session("snip_middle", tools=()).ask()[4]["content"])

    def test_a_second_user_turn_in_the_middle_stays_verbatim(self) -> None:
        """What lies before and behind it gets a note each."""
        run = PolicySession("whole_rounds", 800)
        for number in range(14):
            if number == 3:
                run.say(user("Port 8080."), assistant("Yes."), user("No: port 9090."))
            run.round(f"f{number}", f"row {number} of it\n" * 28)
        contents = [message["content"] for message in run.ask()]
        self.assertIn("Port 8080.", contents)
        self.assertLess(contents.index("Port 8080."), contents.index("No: port 9090."))
        self.assertEqual([bool(DROPPED.fullmatch(text)) for text in contents[:7]],
                         [False, False, True, False, True, False, True])

    def test_spans_of_handles_are_short(self) -> None:
        """Neighbours are one span."""
        self.assertEqual(handle_ranges([2, 3, 4, 7, 9, 10]), "#2-#4, #7, #9-#10")


class Groups(unittest.TestCase):
    """Which groups may leave, how many of them do, and what of them is known afterwards."""

    def put_away(self, goal: int, note_tokens: int) -> tuple[int, ...] | None:
        """The entries of a view of four messages of ten tokens that leave for a goal."""
        view = View()
        for at in range(4):
            view.append(Entry(assistant(str(at)), 10, (at,), "verbatim"))
        scene = SimpleNamespace(goal=goal, entry=lambda message, covered, how: Entry(
            message, note_tokens, tuple(covered), how))
        change = put_away("s", view, scene, iter([range(at, at + 1) for at in range(4)]),
                          lambda covered, scene: "a note")
        return change and change.affected

    def test_no_more_leaves_than_the_goal_asks_for(self) -> None:
        """To the token; and nothing does where the notes take all the room."""
        self.assertEqual([(), (0,), (0, 1), (0, 1)],
                         [self.put_away(goal, 1) or () for goal in (40, 31, 30, 21)])
        self.assertIsNone(self.put_away(9, 40))
        view = View([Entry(assistant("x"), 10, (at,), "verbatim") for at in range(3)])
        self.assertEqual([[0], [0, 1]], [_enough(view, [range(at, at + 1) for at in range(3)], need)
                                         for need in (10, 11)])

    def test_a_note_stays_where_nothing_new_is_beside_it_or_it_is_long(self) -> None:
        """Long is one for over a hundred messages, and for more than what is new."""
        for noted, new, moved in ((5, 0, []), (5, 1, [range(2)]), (100, 1, [range(2)]),
                                  (101, 1, [range(1, 2)]), (150, 150, [range(2)]),
                                  (151, 150, [range(1, 2)])):
            view = View([Entry(user("note"), 1, tuple(range(noted)), "summary")] + [
                Entry(user("x"), 1, tuple(range(noted, noted + new)), "verbatim")] * bool(new))
            self.assertEqual(moved, list(_moved(view, range(len(view)))), (noted, new))

    def test_what_is_attached_or_protected_is_in_no_group_that_may_leave(self) -> None:
        """Nor is the tail."""
        view = View()
        for covered, how in (((0,), "verbatim"), ((), "attached"), ((1,), "verbatim"),
                             ((2,), "verbatim")):
            view.append(Entry(assistant("x"), 1, covered, how))
        scene = SimpleNamespace(protection=SimpleNamespace(verbatim=frozenset({0}), tail=3))
        self.assertEqual([range(2, 3)], list(free_groups(view, scene)))

    def test_what_went_to_the_store_is_read_off_the_records(self) -> None:
        """Of changes of `recall` alone; what was given back from there, and what is no message
        of the history, is not."""
        def record(strategy: str, *covered: int) -> Record:
            return {"event": "context_compression", "payload": {
                "strategy": strategy, "entries": [{"stands_for": covered}]}}
        history = [user("a"), assistant("", [call("c", "read", {})]),
                   tool_result("c", "read", "b"), tool_result("c", "recall", "c"), user("d")]
        self.assertEqual({1: "read {}", 2: "b"}, stored(
            [{"type": "message"}, record("recall", 1, 2, 3, 99), record("s", 4)], history))


class Recall(unittest.TestCase):
    """What leaves the view is in the store before it is gone."""

    def test_all_that_the_note_names_is_in_the_store(self) -> None:
        """Each message behind the note, calls included, can be searched."""
        run = long_session("recall")
        count, where, way = STORED.fullmatch(run.ask()[2]["content"]).groups()
        self.assertEqual(sorted(run.store.texts), list(run.entry(2).stands_for))
        self.assertEqual((int(count), where), (len(run.store.texts), f"#2-#{int(count) + 1}"))
        self.assertEqual(way, "recall(query) searches the store for what stood in them; "
                         "read_result(handle=N) gives each of them back")
        self.assertIn('read_file {"path": "f0"}', run.store.texts[2])

    def test_it_goes_down_to_the_target_and_rarely_breaks_the_prefix(self) -> None:
        """The target of 65 % leaves room for several rounds before the next change."""
        steps = [change["step"]
                 for change in long_session("recall", 30).events("context_compression")]
        self.assertTrue(all(later - earlier >= 2 for earlier, later in zip(steps, steps[1:])))
        self.assertGreater(len(steps), 3)

    def test_what_was_read_back_is_not_stored_again(self) -> None:
        """Results of `read_result` and `recall` leave the view, but not for the store."""
        run = PolicySession("recall", 800)
        for number in range(12):
            run.round("12", f"row {number} of it\n" * 28,
                      tool="read_result" if number % 2 else "read_file")
        run.ask()
        self.assertEqual({run.history[index]["role"] for index in run.store.texts},
                         {"assistant", "tool"})
        self.assertNotIn("read_result", {run.history[index].get("name")
                                         for index in run.store.texts})

    def test_a_store_that_fails_leaves_everything_and_a_record(self) -> None:
        """The view is as it was; over the limit the run ends with what it could not move."""
        run = PolicySession("recall", 800, store=Full())
        with self.assertRaises(ContextOverflowError):
            for number in range(12):
                run.round(f"f{number}", f"row {number} of it\n" * 28)
        self.assertEqual([entry.how for entry in run.entries], ["verbatim"] * len(run.entries))
        self.assertEqual(run.events("compression_skipped")[0]["reason"], "failed")

    def test_an_earlier_note_is_folded_into_the_next(self) -> None:
        """Up to 100 messages there is one note between two messages that stay."""
        run = long_session("recall", 40)
        self.assertEqual([entry.how for entry in run.entries].count("summary"), 1)

    def test_a_long_session_has_few_notes_and_each_message_is_moved_few_times(self) -> None:
        """After 600 rounds a handful of notes stand for all, and the records stay short."""
        run = long_session("recall", 600)
        notes = [entry for entry in run.entries if entry.how == "summary"]
        self.assertLess(len(notes), 6)
        covered = [index for note in notes for index in note.stands_for]
        self.assertEqual(covered, list(range(2, covered[-1] + 1)))
        moved = sum(len(item["stands_for"]) for change in run.events("context_compression")
                    for item in change["entries"])
        self.assertLess(moved, 12 * len(covered))


class Full:
    """A store without room."""

    def put(self, index: int, text: str) -> None:
        raise StrategyError("no room")

    def unknown(self, indexes: Iterator[int]) -> list[int]:
        return list(indexes)

    def remember(self, texts: dict[int, str]) -> None:
        raise StrategyError("no room")
