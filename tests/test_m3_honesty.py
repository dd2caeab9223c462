"""Milestone 3: every claim that a text in the view makes is true (law 9)."""

from __future__ import annotations

import re
import tempfile
import unittest
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import Formatter

from mini_agent.compression.store import FolderStore
from mini_agent.compression.view import Entry
from mini_agent.texts import LANGUAGES, TEXTS, Texts

from .fuzz import case_of, names
from .honesty import CLAIMS, Checker, lies, unsorted
from .lawbook import checker_of, live
from .policy_session import PolicySession

SESSIONS = 60  # seeds at most; it stops when every claim was met
PINS = {key for key in CLAIMS if key.startswith("pin_")}
RARE = {"skill_restored", "file_stale", "user_handle", *PINS}  # held by tests of their own
VERBS = "is|was|has|does|needs|its|this"  # what ends in an s behind a number and is no noun


def seen() -> Iterator[tuple[Checker, str, Entry, int]]:
    """(checker, text, entry, row) of each text that random sessions put into a view, once."""
    found: set[str] = set()
    for seed, name in product(range(SESSIONS), names()):
        if found >= CLAIMS.keys() - RARE and found & PINS:
            return
        life = live(case_of(name, seed))
        checker = checker_of(life)
        for entry in {id(entry): entry for sent in life.sent.values() for entry in sent}.values():
            list(checker.false_claims(entry))
        for key, (entry, row) in checker.seen.items():
            if key not in found:
                found.add(key)
                yield checker, key, entry, row


class Honesty(unittest.TestCase):
    """The checker misses no text, and sees a lie where there is one."""

    def test_no_text_escapes_the_checker(self) -> None:
        """A new text has to be sorted: it makes a claim that is verified, or none."""
        self.assertEqual(unsorted(), [])

    def test_each_claim_is_met_and_each_wrong_number_is_seen(self) -> None:
        """Random sessions make every claim; a number of it made wrong is found out."""
        met = set()
        for checker, key, entry, row in seen():
            met.add(key)
            rows = entry.message["content"].split("\n")
            for lie in lies(checker.patterns[key], rows[row]):
                told = "\n".join([*rows[:row], lie, *rows[row + 1:]])
                with self.subTest(key=key, lie=lie[:120]):
                    self.assertTrue(list(checker.false_claims(
                        entry._replace(message={**entry.message, "content": told}))))
        self.assertEqual(CLAIMS.keys() - met - RARE, set())
        self.assertTrue(met & PINS)

    def test_what_was_offloaded_is_on_the_disk_whole(self) -> None:
        """The file is named by its content and holds the whole of the original."""
        with tempfile.TemporaryDirectory() as place:
            run = PolicySession("two_layer", 200_000, scale=False,
                                store=FolderStore(Path(place) / "run.d"))
            for number in range(3):
                run.round(f"f{number}", f"row {number}\n" * 9_000)
            run.ask()
            moved = [entry for entry in run.entries if entry.how == "shortened"]
            self.assertEqual(len(moved), 3)
            files = {path.read_text("utf-8") for path in Path(place).glob("run.d/results/*.txt")}
            self.assertEqual(files, {run.history[entry.stands_for[0]]["content"]
                                     for entry in moved})

    def test_a_cut_line_is_a_line_of_its_result_though_an_empty_one_ends_it(self) -> None:
        """The checker had taken the end behind the last line for what a number stands before."""
        run = PolicySession("clip", 1_000)
        run.round("f0", f"{'long line ' * 45}\n" + "}\n}\nlast\n")
        for number in range(1, 4):
            run.round(f"f{number}", f"row {number}\n" * 200)
        run.ask()
        checker = Checker(run.history, "en", ("read_result",), run.store)
        cut = [entry for entry in run.entries
               if "of this line left out" in entry.message["content"]]
        self.assertEqual([3], [entry.stands_for[0] for entry in cut])
        self.assertEqual([], list(checker.false_claims(cut[0])))

    def test_a_number_and_its_noun_agree(self) -> None:
        """In every English text: one has the singular with its verb, two have the plural."""
        for key, (text, _) in TEXTS.items():
            nouns = [form for _, _, form, _ in Formatter().parse(text) if form]
            for number in (1, 2):
                said = Texts()(key, **dict.fromkeys(re.findall(r"{(\w+)", text), number))
                for form in nouns:
                    one, _, many = form.partition("|")
                    self.assertIn(f"{number} {one if number == 1 else many or one + 's'}", said)
        said = [Texts()("lines_left_out", count=count) for count in (1, 2)]
        self.assertEqual(["- (the 1 oldest line of this section is left out)",
                          "- (the 2 oldest lines of this section are left out)"], said)
        said = [Texts()("rounds_dropped", rounds=count, count=3 - count, spans="#1")
                for count in (1, 2)]
        self.assertEqual(
            ["[1 older round was dropped to make room: 2 messages, #1 of the run log]",
             "[2 older rounds were dropped to make room: 1 message, #1 of the run log]"], said)

    def test_a_number_is_never_in_front_of_a_noun_of_its_own(self) -> None:
        """The noun stands in the field, `{count:line}`, so that a new one cannot be missed; and
        so does a verb that goes with it."""
        for key, (text, _) in TEXTS.items():
            self.assertNotRegex(text, r"{\w+:[^}|]*} (?:are|were|have|do|stand|need)\b", key)
            self.assertNotRegex(text, r"{\w+} (?:(?!of )\w+ )?(?!(?:%s)\b)\w+s\b" % VERBS, key)

    def test_both_languages_make_the_same_claims(self) -> None:
        """A text has the same fields in English and in Chinese."""
        for key, texts in TEXTS.items():
            fields = [set(re.findall(r"{(\w+)", text)) for text in texts]
            self.assertEqual(len(fields), len(LANGUAGES), key)
            self.assertEqual(fields[0], fields[1], key)


if __name__ == "__main__":
    unittest.main()
