"""Milestone 3, third layer: closed groups, `rolling_summary` and what protects from it."""

from __future__ import annotations

import unittest
from dataclasses import replace

from mini_agent.errors import LawError
from mini_agent.compression.laws import Protection, check, named, protected_users, start_of_last
from mini_agent.compression.overflow import immovable
from mini_agent.compression.pins import Pin, Pins
from mini_agent.compression.view import Change, Entry, View, apply
from mini_agent.messages import assistant, call, pairing_faults, tool_result, user
from mini_agent.texts import Texts
from tests.support import payloads
from tests.windows import head, rounds, window

SUMMARY = "rolling_summary"
LONG = "first line\n" + "y" * 400


class SummaryTest(unittest.TestCase):
    """One message in the place of a run of whole groups."""

    def test_only_whole_groups_are_replaced(self) -> None:
        """No view has a call without its results, wherever the tail begins."""
        for keep in range(7):
            with self.subTest(keep):
                asked = assistant("look", [call(f"p{n}", "read", {}) for n in range(3)])
                history = [*head(), *rounds(4, LONG), asked,
                           *(tool_result(f"p{n}", "read", LONG) for n in (1, 0, 2))]
                made = window(700, SUMMARY, protect_last=keep)
                sent = made.before_model_call(history, 5)
                self.assertEqual([], list(pairing_faults(sent)))
                self.assertEqual(history[-max(keep, 0):] if keep else [], sent[len(sent) - keep:])

    def test_head_and_tail_are_protected(self) -> None:
        """System, first user message and the last four messages are sent as they were."""
        history = [*head(), *rounds(6, LONG)]
        sent = window(650, SUMMARY).before_model_call(history, 6)
        self.assertEqual(history[:2], sent[:2])
        self.assertEqual(history[-4:], sent[3:])
        self.assertEqual(7, len(sent))

    def test_a_summary_quotes_actions_and_first_lines(self) -> None:
        """The published form to the letter, in English."""
        history = [*head(), *rounds(3, LONG), *rounds(2, "ok")]
        sent = window(350, SUMMARY).before_model_call(history, 5)
        self.assertEqual(
            "[rolling summary] 6 older messages folded; of each step its action and the first "
            "line of each result are kept, the whole is in the run log\n"
            "1. Action: next 0\n   read result: first line (2 lines)\n"
            "2. Action: next 1\n   read result: first line (2 lines)\n"
            "3. Action: next 2\n   read result: first line (2 lines)", sent[2]["content"])

    def test_a_later_summary_is_written_from_the_originals(self) -> None:
        """The second summary covers the first one's messages and quotes them anew."""
        records: list = []
        history = [*head(), *rounds(6, LONG)]
        made = window(700, SUMMARY, records=records)
        made.before_model_call(history, 6)
        history += rounds(5, LONG)
        sent = made.before_model_call(history, 11)
        told = payloads(records, "context_compression")
        self.assertEqual(list(range(2, 10)), told[0]["entries"][0]["stands_for"])
        self.assertEqual(list(range(2, 20)), told[1]["entries"][0]["stands_for"])
        self.assertEqual(1, sent[2]["content"].count("[rolling summary]"))
        self.assertIn("1. Action: next 0", sent[2]["content"])

    def test_a_user_message_parts_two_runs(self) -> None:
        """What users said in the middle stays where it was, and is never summarised."""
        history = [*head(), *rounds(4, LONG), user("mind the port"), *rounds(5, LONG)]
        sent = window(700, SUMMARY).before_model_call(history, 9)
        self.assertIn(user("mind the port"), sent)
        self.assertEqual(2, sum(m["content"].startswith("[rolling summary]") for m in sent))


class OverflowTest(unittest.TestCase):
    """When nothing may move, the run ends with a name for what is in the way."""

    def test_each_part_that_is_in_the_way_has_its_name(self) -> None:
        """What is large comes first, of two alike the one that is first in the alphabet."""
        history = [*head(), *rounds(2), assistant("done")]
        entries = [Entry(message, 10 + at, (at,)) for at, message in enumerate(history)]
        entries[2:4] = [Entry(user("so far"), 12, (2, 3), "summary"),
                        Entry(user("a file"), 3, (), "attached")]
        self.assertEqual([("older messages", 29), ("the newest messages", 16), ("summaries", 15),
                          ("user messages", 11), ("system message", 10), ("tool declarations", 10)],
                         immovable(View(entries), Protection(frozenset({1}), 6), 10))


class LawTest(unittest.TestCase):
    """`check` refuses each way of breaking a law, and names it."""

    def setUp(self) -> None:
        history = [*head(), *rounds(2, "x" * 40)]
        self.history = history
        self.view = View(Entry(message, 10, (index,)) for index, message in enumerate(history))
        self.small = Entry(user("s"), 1, (2, 3), "summary")

    def _refused(self, change: Change, protection: Protection, law: int, says: str = "") -> None:
        with self.assertRaises(LawError) as caught:
            self._passes(change, protection)
        self.assertEqual(law, caught.exception.law, caught.exception)
        self.assertIn(says, str(caught.exception))

    def _passes(self, change: Change, protection: Protection) -> None:
        check(self.view, apply(self.view, change), change,
              replace(protection, history=self.history))

    def _entry(self, *stands_for: int, text: str = "s", how: str = "summary") -> Entry:
        return Entry(user(text), 1, stands_for, how)

    def test_a_split_group_is_refused(self) -> None:
        """A result may not go without its call."""
        self._refused(Change("s", (3,), (), {"dropped": [3]}), Protection(tail=6), 1)

    def test_a_message_that_nobody_names_is_refused(self) -> None:
        """What leaves is behind one entry or named as dropped."""
        self._refused(Change("s", (2, 3), ((2, Entry(user("s"), 1, (2,), "summary")),)),
                      Protection(tail=6), 2)

    def test_no_gain_is_refused(self) -> None:
        """The same size is not smaller."""
        self._refused(Change("s", (2, 3), ((2, Entry(user("s"), 20, (2, 3), "summary")),)),
                      Protection(tail=6), 3)

    def test_protected_messages_and_the_tail_are_refused(self) -> None:
        """Neither the first user message nor the tail may be summarised."""
        both = Entry(user("s"), 1, (1, 2, 3), "summary")
        self._refused(Change("s", (1, 2, 3), ((1, both),)), Protection(frozenset({1}), 6), 4)
        self._refused(Change("s", (2, 3), ((2, self.small),)), Protection(tail=2), 4)

    def test_each_message_is_accounted_for_once(self) -> None:
        """Behind two entries, behind one that took it from elsewhere, dropped and there, lost."""
        both, alone = self._entry(2, 3), self._entry(3)
        for inserts, dropped, says in (
                (((2, both), (3, alone)), [], "a history message would stand behind two entries"),
                (((2, self._entry(2, 3, 4)),), [], "messages that were not affected: [4]"),
                (((2, both),), [3], "messages [3] are not dropped by it"),
                (((2, both),), [4], "messages [4] are not dropped by it"),
                (((2, self._entry(2)),), [], "messages [3] would be lost without a word")):
            with self.subTest(says):
                self._refused(Change("s", (2, 3), inserts, {"dropped": dropped}),
                              Protection(tail=6), 2, says)
        self._passes(Change("s", (2, 3), (), {"dropped": [2, 3]}), Protection(tail=6))

    def test_protected_words_stand_as_they_were_or_whole_in_a_summary(self) -> None:
        """Neither dropped, nor in a message that is called a shorter one."""
        whole, protection = "so far: the task, then", Protection(frozenset({1}), 6)
        for kept in (self._entry(1, 2, 3, text=whole), self.view[1]):
            dropped = [index for index in (2, 3) if index not in kept.stands_for]
            self._passes(Change("s", (1, 2, 3), ((1, kept),), {"dropped": dropped}), protection)
        for inserts, dropped in (
                ((), [1, 2, 3]), (((1, self._entry(1, 2, 3, text="so far: the")),), []),
                (((1, self._entry(1, 2, 3, text=whole, how="shortened")),), [])):
            self._refused(Change("s", (1, 2, 3), inserts, {"dropped": dropped}), protection, 4,
                          "message 1 has to stay verbatim")

    def test_of_the_tail_only_results_are_shortened_and_where_that_is_allowed(self) -> None:
        """Each by itself; what was attached is no message, and may go."""
        shorter = Entry(tool_result("c0", "read", "x"), 1, (3,), "shortened")
        change = Change("s", (3,), ((3, shorter),))
        self._passes(change, Protection(tail=2))
        for wrong, protection in (
                (change, Protection(tail=2, shorten_tail=False)),
                (Change("s", (2,), ((2, Entry({**self.history[2], "content": ""}, 1, (2,),
                                              "shortened")),)), Protection(tail=2)),
                (Change("s", (3,), (), {"dropped": [3]}), Protection(tail=2)),
                (Change("s", (3, 5), ((3, shorter._replace(stands_for=(3, 5))),)),
                 Protection(tail=2))):
            self._refused(wrong, protection, 4, "belongs to the protected tail")
        self.view.append(Entry(user("a file"), 9, (), "attached"))
        self._passes(Change("s", (6,), ()), Protection(tail=2))

    def test_a_batch_is_torn_wherever_it_is_cut(self) -> None:
        """By its call, by any of its results, by a result with another id."""
        self.history = [*head(), assistant("", [call(f"p{n}", "t", {}) for n in range(3)]),
                        *(tool_result(f"p{n}", "t", "") for n in range(3)), assistant("done")]
        self.view = View(Entry(message, 10, (at,)) for at, message in enumerate(self.history))
        for gone in ((2,), (3,), (4,), (5,), (2, 3), (4, 5), (3, 4, 5)):
            self._refused(Change("s", gone, (), {"dropped": list(gone)}), Protection(tail=9), 1)
        self._refused(Change("s", (4,),
                             ((4, Entry(tool_result("p9", "t", "x"), 1, (4,), "shortened")),)),
                      Protection(tail=9), 1)
        self._passes(Change("s", (2, 3, 4, 5), (), {"dropped": [2, 3, 4, 5]}), Protection(tail=9))

    def test_a_law_is_shown_with_its_number_and_its_name(self) -> None:
        """Nine of them, as in the head of the module."""
        self.assertEqual(
            ["pairing", "conservation", "strict gain", "protection", "determinism", "stable prefix",
             "rebuild", "all or nothing", "honesty"],
            [named(law).removeprefix(f"law {law} (").removesuffix(")") for law in range(1, 10)])

    def test_what_is_called_verbatim_is_its_one_message(self) -> None:
        """Neither other words nor two messages can be called so."""
        for inserts in (((2, self.view[2]), (3, Entry(tool_result("c0", "read", "x"), 1, (3,)))),
                        ((2, Entry(self.history[2], 1, (2, 3))),)):
            self._refused(Change("s", (2, 3), inserts), Protection(tail=6), 2)

    def test_a_pin_stands_in_the_entry_of_its_message_or_is_lost(self) -> None:
        """The same words in another entry are there by chance; carried, they are enough."""
        pins = Pins((Pin(3, "x" * 40),))
        protection = Protection(tail=6, pins=pins, history=self.history)
        self._refused(Change("s", (2, 3), ((2, self.small),)), protection, 4)
        by_chance = Entry(user("x" * 40), 1, (4, 5), "summary")
        self._refused(Change("s", (2, 3, 4, 5), ((2, self.small), (3, by_chance))), protection, 4)
        carried = Entry(user(pins.carry("s", (2, 3))), 1, (2, 3), "summary")
        change = Change("s", (2, 3), ((2, carried),))
        check(self.view, apply(self.view, change), change, protection)

    def test_an_assumption_needs_no_mark_where_its_message_stands(self) -> None:
        """A message that is put back as it was says what it has always said."""
        pins = Pins((Pin(3, "x" * 40, "assumption"),))
        change = Change("s", (2, 3, 4, 5), ((2, self.view[2]), (3, self.view[3])),
                        {"dropped": [4, 5]})
        check(self.view, apply(self.view, change), change,
              Protection(tail=6, pins=pins, history=self.history))

    def test_a_result_stays_behind_its_call(self) -> None:
        """Shortened, but behind the next call, it is torn from its own."""
        shorter = Entry(tool_result("c0", "read", "x"), 1, (3,), "shortened")
        self._refused(Change("s", (3,), ((4, shorter),)), Protection(tail=6), 1)

    def test_a_lawful_change_passes(self) -> None:
        """A whole group behind one smaller entry is what the laws are for."""
        change = Change("s", (2, 3), ((2, self.small),))
        after = apply(self.view, change)
        check(self.view, after, change, Protection(frozenset({0, 1}), 4))
        self.assertEqual((5, 41), (len(after), after.tokens))

    def test_the_tail_goes_back_to_the_start_of_its_group(self) -> None:
        """However long a batch is, the tail takes it whole."""
        asked = assistant("", [call(f"p{n}", "t", {}) for n in range(5)])
        history = [*head(), asked, *(tool_result(f"p{n}", "t", "") for n in range(5))]
        view = View(Entry(message, 1, (index,)) for index, message in enumerate(history))
        self.assertEqual([8, 2, 2, 2, 2, 2, 2, 1, 0], [start_of_last(view, n) for n in range(9)])

    def test_users_words_are_kept_newest_first_within_their_share(self) -> None:
        """First and newest always, the others as far as the share goes."""
        self.assertEqual(set(), protected_users([], 20))
        users = [(1, 50), (4, 30), (7, 30), (9, 500)]
        self.assertEqual({1, 9}, protected_users(users, 20))
        self.assertEqual({1, 7, 9}, protected_users(users, 30))
        self.assertEqual({1, 4, 7, 9}, protected_users(users, 60))


class LanguageTest(unittest.TestCase):
    """Texts that the harness writes follow the task's language."""

    def test_every_text_exists_in_both_languages_with_the_same_fields(self) -> None:
        """No key has an empty side, and both sides take the same fields."""
        import re
        from mini_agent.texts import TEXTS
        for key, (english, chinese) in TEXTS.items():
            with self.subTest(key):
                self.assertTrue(english and chinese)
                fields = [sorted(set(re.findall(r"\{(\w+)", text))) for text in (english, chinese)]
                self.assertEqual(*fields)

    def test_one_han_character_for_ten_letters_is_chinese(self) -> None:
        """The rule of the design, at its border."""
        from mini_agent.texts import language_of
        self.assertEqual("zh", language_of("一" + "a" * 10))
        self.assertEqual("en", language_of("一" + "a" * 11))
        self.assertEqual("en", language_of("123"))
        self.assertEqual("ERROR", Texts("en")("aging_code", code="ERROR").split()[-1])


if __name__ == "__main__":
    unittest.main()
