"""Milestone 3: the estimators, by hand, by a slow reference, and by true counts.

The samples in tests/data/tokens are the project's own texts, of the kinds that an
agent meets; scripts/count_tokens.py wrote the true counts of five tokenizers beside
them. No tokenizer is needed to run these tests.
"""

from __future__ import annotations

import json
import random
import re
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

from mini_agent.counts import _PIECE, Counts, counts
from mini_agent.errors import UsageError
from mini_agent.json_length import json_length
from mini_agent.messages import assistant, call, system, tool_result, user
from mini_agent.tokens import ESTIMATORS, PROFILES, by_lines, estimator

SAMPLES = Path(__file__).parent / "data" / "tokens"

# The estimator that is meant for each family of tokenizers in counts.json.
ESTIMATOR_OF = {"o200k": "runs", "deepseek": "runs", "qwen": "runs:qwen",
                "claude": "runs:claude", "claude4.7": "runs:claude4.7"}

# Kinds that agents meet now and then, where single texts may be 10 to 30 % off.
ODD = {"ansi", "base64", "crlf", "emoji", "french", "german", "hex", "japanese",
       "korean", "numbers", "russian", "timestamps"}


def reference(text: str) -> Counts:
    """`counts` by the letter of its rules, character by character: slow and plain."""
    def runs(pattern: str) -> list[str]:
        return re.findall(pattern, text)

    def between(*ranges: tuple[int, int]) -> int:
        return sum(first <= ord(c) <= last for c in text for first, last in ranges)

    marks = runs(r"[\x00-\x08\x0b\x0c\x0e-\x1f!-/:-@\[-`{-\x7f]+")
    return Counts(
        letter_runs=len(runs("[A-Za-z]+")),
        letters=len(runs("[A-Za-z]")),
        capitals=len(runs("[A-Z]")),
        digit_runs=len(runs("[0-9]+")),
        digits=len(runs("[0-9]")),
        punctuation_runs=len(marks),
        punctuation=sum(len(run) // 8 + len(run) % 8 for run in marks),
        gaps=len(runs("[\r\n]+")) + len(runs("[ \t]{2,}")),
        white=len(runs("[ \t\r\n]")),
        u0080=between((0x80, 0x7FF)),
        u0800=between((0x800, 0x1FFF)),
        u2000=between((0x2000, 0x2FFF)),
        u3040=between((0x3040, 0x3FFF)),
        han=between((0x4000, 0x9FFF)),
        hangul=between((0xA000, 0xDFFF)),
        wide=between((0x3000, 0x303F), (0xE000, 0xFFFF)),
        astral=between((0x10000, 0x10FFFF)))


def random_texts(seed: int, number: int, length: int) -> Iterable[str]:
    """Texts with runs of everything: words, controls, every plane of Unicode."""
    chance = random.Random(seed)
    characters: list[Callable[[], str]] = [
        lambda: chr(chance.randrange(0x80)), lambda: chance.choice("abzAMZ"),
        lambda: chance.choice("0189"), lambda: chance.choice("-=_#\x00\x1b\x7f"),
        lambda: chance.choice("\r\n"), lambda: chance.choice(" \t"),
        lambda: chr(chance.randrange(0x80, 0x3100)), lambda: chr(chance.randrange(0x110000)),
        lambda: chance.choice("\x7f\x80\u07ff\u0800\u1fff\u2000\u2fff\u3000\u303f\u3040\u3fff"
                              "\u4000\u9fff\ua000\ud800\udfff\ue000\uffff\U00010000\U0010ffff"),
        lambda: chance.choice("中文\uff0c。「」ひカ한글🙂👩‍💻")]
    for _ in range(number):
        size, text = chance.randrange(length), ""
        while len(text) < size:
            one = chance.choice(characters)
            text += "".join(one() for _ in range(chance.choice((1, 1, 2, 3, 9, 20))))
        yield text


def samples() -> list[dict[str, Any]]:
    """The records of counts.json, each with its text."""
    records: list[dict[str, Any]] = json.loads((SAMPLES / "counts.json").read_text("utf-8"))[
        "samples"]
    for record in records:
        record["text"] = (SAMPLES / f"{record['name']}.txt").read_bytes().decode("utf-8")
    return records


def errors(records: Iterable[dict[str, Any]], family: str, name: str = "") -> list[float]:
    """Signed errors in percent of the family's estimator, or of the one named."""
    count = estimator(name or ESTIMATOR_OF[family]).text
    return [100 * (count(record["text"]) / record["counts"][family] - 1)
            for record in records]


class EstimateTest(unittest.TestCase):
    """The rules of each estimator, and how far they are from true counts."""

    def assert_counts(self, text: str, **expected: int) -> None:
        """The counts of a text are these, and 0 elsewhere."""
        found = {name: n for name, n in counts(text)._asdict().items() if n}
        self.assertEqual(found, expected, repr(text))

    # The published formula

    def test_published_counts_a_han_character_as_one_and_four_others_as_one(self) -> None:
        """Han is U+4E00 to U+9FFF and nothing else; full-width marks are others."""
        text = estimator("published").text
        for sample, expected in (
                ("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("中", 1), ("中文字", 3),
                ("中abcd", 2), ("中abcde", 3), ("中\uff0c文\u3002", 3), ("\u4e00\u9fff", 2),
                ("\u4dff\ua000", 1), ("ひらがな", 1), ("🙂🙂🙂🙂🙂", 2)):
            with self.subTest(sample):
                self.assertEqual(text(sample), expected)

    def test_published_rounds_up_once_a_message(self) -> None:
        """Two messages of five characters are 2 x (4 + 2), one of ten is 4 + 3."""
        count = estimator("published")
        self.assertEqual(count([user("abcde"), user("fghij")]), 12)
        self.assertEqual(count([user("abcdefghij")]), 7)
        self.assertEqual(count([system(""), user("")]), 8)
        self.assertEqual(count([]), 0)

    def test_published_counts_a_call_by_its_name_alone(self) -> None:
        """Arguments, invalid arguments and opaque reasoning add nothing."""
        count = estimator("published")
        calls = [call("c1", "read_file", {"path": "a" * 400}), call("c2", "ls", "{broken")]
        message = assistant("好的ok", calls, opaque={"host": "x" * 400})
        self.assertEqual(count.message(message), 4 + 2 + 1 + (8 + 9) + (8 + 2))
        self.assertEqual(count.message(tool_result("c1", "read_file", "12345678")), 4 + 2)

    def test_published_takes_declarations_as_nothing(self) -> None:
        """The M3 figures do not know what a tool declaration costs."""
        self.assertEqual(estimator("published").declarations([{"name": "ls"}]), 0)

    # Around the text

    def test_a_message_is_four_tokens_and_its_parts(self) -> None:
        """Content, 8 + name and arguments of each call, and opaque reasoning."""
        arguments, opaque = {"路径": "a b.txt", "n": 3}, {"host": {"signature": "c3R5"}}
        calls = [call("c1", "read_file", arguments), call("c2", "ls", '{"path": ')]
        message = assistant("Two calls.", calls, opaque)
        for name in ESTIMATORS[1:]:
            count = estimator(name)
            with self.subTest(name):
                self.assertEqual(count.message(message), (
                    4 + count.text("Two calls.")
                    + 8 + len("read_file") + count.text('{"路径": "a b.txt", "n": 3}')
                    + 8 + len("ls") + count.text('{"path": ')
                    + count.text('{"host": {"signature": "c3R5"}}')))

    def test_messages_are_the_sum_of_each(self) -> None:
        """So a message is counted once, and its number kept."""
        messages = [system("Be brief."), user("Hi"), assistant("", [call("1", "ls", {})]),
                    tool_result("1", "ls", "a\nb", error={"code": "X", "message": "y"})]
        for name in ESTIMATORS:
            count = estimator(name)
            with self.subTest(name):
                self.assertEqual(count(messages), sum(map(count.message, messages)))
                self.assertEqual(count(iter(messages)), count(messages))

    def test_declarations_count_as_the_json_of_each_tool(self) -> None:
        """Each has its own price; none at all cost nothing."""
        tools = [{"name": "ls", "description": "列出文件"}, {"name": "cat"}]
        for name in ESTIMATORS[1:]:
            count = estimator(name)
            with self.subTest(name):
                self.assertEqual(count.declarations(tools), sum(
                    count.text(json.dumps(tool, ensure_ascii=False)) for tool in tools))
                self.assertEqual(count.declarations([]), 0)

    def test_chars_are_a_third_or_a_quarter_rounded_up(self) -> None:
        """Every character is alike to them."""
        for name, text, expected in (
                ("chars3", "", 0), ("chars3", "abc", 1), ("chars3", "abc中", 2),
                ("chars4", "abcd", 1), ("chars4", "abcde", 2), ("chars4", "🙂" * 9, 3)):
            with self.subTest(name=name, text=text):
                self.assertEqual(estimator(name).text(text), expected)

    def test_every_estimator_has_the_name_by_which_it_is_found(self) -> None:
        """The name stands beside its numbers; `runs` is the default."""
        self.assertEqual(ESTIMATORS, ("published", "runs", "runs:qwen", "runs:claude",
                                      "runs:claude4.7", "chars3", "chars4"))
        self.assertEqual([estimator(name).name for name in ESTIMATORS], list(ESTIMATORS))
        self.assertEqual(estimator().name, "runs")

    def test_an_unknown_name_is_a_usage_error_with_close_names(self) -> None:
        """One line says what was given and what would do."""
        with self.assertRaises(UsageError) as caught:
            estimator("runs:claud")
        self.assertEqual(caught.exception.value, "runs:claud")
        self.assertIn("use runs:claude or", str(caught.exception))
        with self.assertRaises(UsageError) as caught:
            estimator("?")
        self.assertIn(" or ".join(ESTIMATORS), str(caught.exception))

    # The table of runs, row by row

    def test_the_costs_are_those_of_the_measured_table(self) -> None:
        """Here by row, as the measurement gave them: default, qwen, claude, claude4.7."""
        table = dict(
            letter_runs=(680, 670, 505, 280), letters=(83, 82, 115, 275),
            capitals=(250, 250, 355, 725), digit_runs=(1120, 730, 945, 1170),
            digits=(330, 980, 330, 330), punctuation_runs=(240, 300, 905, 400),
            punctuation=(250, 210, 120, 590), gaps=(940, 920, 960, 810),
            white=(15, 15, 48, 48), u0080=(480, 550, 800, 835),
            u0800=(850, 1100, 1030, 1040), u2000=(900, 850, 1100, 1100),
            u3040=(700, 650, 780, 800), han=(690, 690, 1060, 1120),
            hangul=(750, 820, 1360, 1370), wide=(1200, 1200, 2400, 2300),
            astral=(2200, 1300, 2800, 2800))
        self.assertEqual(list(PROFILES), ["default", "qwen", "claude", "claude4.7"])
        self.assertEqual(tuple(table), Counts._fields)
        self.assertEqual(list(zip(*PROFILES.values())), list(table.values()))

    def test_letters_are_counted_by_run_by_letter_and_by_capital(self) -> None:
        """A run may mix cases; anything else ends it, an accented letter too."""
        self.assert_counts("helloWORLD", letter_runs=1, letters=10, capitals=5)
        self.assert_counts("café", letter_runs=1, letters=3, u0080=1)
        self.assert_counts("aéb", letter_runs=2, letters=2, u0080=1)

    def test_digits_are_counted_by_run_and_by_digit(self) -> None:
        """Letters and digits are neighbours, not one run."""
        self.assert_counts("x12y345", letter_runs=2, letters=2, digit_runs=2, digits=5)

    def test_punctuation_is_all_other_ascii_by_run_and_by_character(self) -> None:
        """Control characters belong to it."""
        self.assert_counts("({", punctuation_runs=1, punctuation=2)
        self.assert_counts("\x00\x0b\x1b\x7f", punctuation_runs=1, punctuation=4)

    def test_eight_punctuation_characters_in_a_row_count_as_one(self) -> None:
        """The same or not; what is left of the run counts singly."""
        for length, expected in ((7, 7), (8, 1), (9, 2), (15, 8), (16, 2), (83, 13)):
            self.assert_counts("-" * length, punctuation_runs=1, punctuation=expected)
        self.assert_counts("+-*/<=>!", punctuation_runs=1, punctuation=1)
        self.assert_counts("---- ----", punctuation_runs=2, punctuation=8, white=1)

    def test_gaps_are_line_breaks_and_two_or_more_blanks(self) -> None:
        """A single blank is free of it; CR LF is one run, and a tab is a blank."""
        self.assert_counts(" ", white=1)
        self.assert_counts(" \t", gaps=1, white=2)
        self.assert_counts("\r\n\n", gaps=1, white=3)
        self.assert_counts("\n    \n", gaps=3, white=6)
        self.assert_counts("\n \n", gaps=2, white=3)

    def test_scripts_are_counted_by_character_from_border_to_border(self) -> None:
        """The first and the last character of each row of the table."""
        for name, borders in (
                ("u0080", "\u0080\u07ff"), ("u0800", "\u0800\u1fff"),
                ("u2000", "\u2000\u2fff"), ("u3040", "\u3040\u3fff"),
                ("han", "\u4000\u9fff"), ("hangul", "\ua000\ud7ff\ud800\udfff"),
                ("wide", "\u3000\u303f\ue000\uffff"), ("astral", "\U00010000\U0010ffff")):
            self.assert_counts(borders, **{name: len(borders)})

    def test_runs_are_thousandths_rounded_up(self) -> None:
        """Worked by hand from the columns `default` and `claude4.7`."""
        for text, default, claude47 in (
                ("", 0, 0),
                ("hello", 2, 2),         # 680+5*83 = 1095; 280+5*275 = 1655
                ("IO", 2, 3),            # 680+2*(83+250) = 1346; 280+2*1000 = 2280
                ("2024", 3, 3),          # 1120+4*330 = 2440; 1170+1320 = 2490
                ("()", 1, 2),            # 240+2*250 = 740; 400+2*590 = 1580
                ("--------", 1, 1),      # 240+250 = 490; 400+590 = 990
                ("\n\n", 1, 1),          # 940+2*15 = 970; 810+2*48 = 906
                ("    ", 1, 2),          # 940+4*15 = 1000; 810+4*48 = 1002
                (" ", 1, 1),             # 15; 48
                ("éé", 1, 2),            # 960; 1670
                ("กก", 2, 3),            # 1700; 2080
                ("——", 2, 3),            # 1800; 2200
                ("ひら", 2, 2),          # 1400; 1600
                ("中文", 2, 3),          # 1380; 2240
                ("한글", 2, 3),          # 1500; 2740
                ("\uff0c。", 3, 5),     # 2400; 4600
                ("🙂", 3, 3),            # 2200; 2800
                ("x = 1", 3, 4)):        # 763+1450+490+30 = 2733; 555+1500+990+96 = 3141
            with self.subTest(text):
                self.assertEqual(estimator("runs").text(text), reference_tokens(text, "default"))
                self.assertEqual((estimator("runs").text(text),
                                  estimator("runs:claude4.7").text(text)), (default, claude47))

    # Properties

    def test_counts_are_those_of_the_reference(self) -> None:
        """On random texts of every plane, whatever the size of a piece."""
        for piece in (2, 3, 8, 61, _PIECE):
            with mock.patch("mini_agent.counts._PIECE", piece):
                for text in random_texts(piece, 200, 120):
                    self.assertEqual(counts(text), reference(text), (piece, text))

    def test_a_length_of_json_is_that_of_what_would_be_written(self) -> None:
        """On random values with texts of every plane, and all that JSON escapes."""
        dice = random.Random(8)
        texts = [*random_texts(8, 100, 60), "", '"\\\b\f\n\r\t', "".join(map(chr, range(0x80)))]

        def made(depth: int) -> Any:
            kind = dice.randrange(8 if depth else 5)
            if kind > 4:
                inside = [made(depth - 1) for _ in range(dice.randrange(4))]
                return inside if kind == 7 else dict(zip(dice.sample(texts, len(inside)), inside))
            return (dice.choice(texts), dice.randrange(-9, 10**9), dice.random(), None, True)[kind]

        for value in [made(3) for _ in range(2_000)]:
            self.assertEqual(json_length(value), len(json.dumps(value, ensure_ascii=False)), value)

    def test_a_text_of_many_pieces_counts_as_the_reference(self) -> None:
        """Runs, and eights of punctuation, go on over the border of a piece."""
        for unit in ("-", " ", "word", "\n", "a1 ", "中文 text, ", "é-é--------"):
            text = unit * (2 * _PIECE // len(unit) + 5)
            self.assertEqual(counts(text), reference(text), unit)

    def test_the_samples_count_as_the_reference(self) -> None:
        """Real texts too."""
        for sample in samples():
            with self.subTest(sample["name"]):
                self.assertEqual(counts(sample["text"]), reference(sample["text"]))

    def test_the_same_text_gives_the_same_number(self) -> None:
        """An estimator keeps nothing from one call to the next."""
        texts = list(random_texts(1, 20, 200))
        for name in ESTIMATORS:
            count = estimator(name).text
            self.assertEqual(list(map(count, texts)), list(map(count, texts)), name)

    def test_lone_surrogates_are_counted_and_raise_nothing(self) -> None:
        """Other agents' logs have them; they count with Hangul, as bytes do."""
        for name in ESTIMATORS:
            self.assertGreater(estimator(name).text("a\ud800b\udfff"), 0, name)

    def test_a_text_has_no_more_tokens_than_its_lines_and_one_more_for_each(self) -> None:
        """So that a summary is bounded by lines that were counted once."""
        chance = random.Random(8)
        pool = [line for text in random_texts(12, 200, 60) for line in text.split("\n")]
        for name in ESTIMATORS:
            count = estimator(name).text
            for _ in range(200):
                lines = chance.choices([*pool, "", "    x = 1", "-" * 9, "中文"],
                                       k=chance.randint(1, 9))
                self.assertLessEqual(count("\n".join(lines)),
                                     sum(count(line) + 1 for line in lines), (name, lines))

    def test_a_text_is_counted_by_its_lines_to_the_same_number(self) -> None:
        """A line break ends every run: carriage returns and breaks in a row are one break."""
        for name in ESTIMATORS:
            estimate = estimator(name)
            for text in [*random_texts(13, 300, 150), "a\r\n\nb", "\n\n", " \n ", ""]:
                self.assertEqual(by_lines(estimate, text), estimate.text(text), (name, text))

    def test_a_text_cut_in_two_differs_by_three_tokens_at_most(self) -> None:
        """By six under `claude4.7`, where eight marks are 4.5 cheaper than their halves."""
        chance = random.Random(7)
        for name in ESTIMATORS:
            count, limit = estimator(name).text, 6 if name == "runs:claude4.7" else 3
            for text in [*random_texts(11, 200, 150), "-" * 16, "=" * 80, " " * 9]:
                cut = chance.randrange(len(text) + 1)
                parts = count(text[:cut]) + count(text[cut:])
                self.assertLessEqual(abs(parts - count(text)), limit, (name, text, cut))

    # True counts

    def test_every_sample_has_its_counts(self) -> None:
        """A sample that was added or edited must be counted anew."""
        records = samples()
        self.assertGreaterEqual(len(records), 40)
        self.assertEqual({record["name"] for record in records},
                         {path.stem for path in SAMPLES.glob("*.txt")})
        for record in records:
            self.assertEqual(record["characters"], len(record["text"]), record["name"])
            self.assertEqual(set(record["counts"]), set(ESTIMATOR_OF), record["name"])

    def test_runs_are_off_by_six_percent_on_common_kinds(self) -> None:
        """Mean of the absolute errors; 8 % with DeepSeek and Claude 4.7. Bias: 4 %."""
        common = [sample for sample in samples() if sample["kind"] not in ODD]
        for family in ESTIMATOR_OF:
            with self.subTest(family):
                found = errors(common, family)
                self.assertLess(fmean(map(abs, found)),
                                8 if family in ("deepseek", "claude4.7") else 6)
                self.assertLess(abs(fmean(found)), 4)

    def test_runs_are_off_by_ten_percent_with_the_odd_kinds(self) -> None:
        """One sample in six is odd here, far more than in a session."""
        everything = samples()
        for family in ESTIMATOR_OF:
            with self.subTest(family):
                self.assertLess(fmean(map(abs, errors(everything, family))), 10)

    def test_runs_have_a_bias_within_ten_percent_by_kind(self) -> None:
        """In four common kinds, but for three pairs: DeepSeek packs Chinese tighter."""
        wider = {("chinese", "deepseek"): 18, ("chinese", "claude4.7"): 12,
                 ("json", "claude4.7"): 12}
        for kind in ("python", "json", "log", "chinese"):
            records = [sample for sample in samples() if sample["kind"] == kind]
            for family in ESTIMATOR_OF:
                with self.subTest(kind=kind, family=family):
                    self.assertLess(abs(fmean(errors(records, family))),
                                    wider.get((kind, family), 10))

    def test_the_usual_formulas_are_off_by_twice_as_much(self) -> None:
        """So `runs` is worth its code, with every tokenizer."""
        everything = samples()
        for family in ESTIMATOR_OF:
            ours = fmean(map(abs, errors(everything, family)))
            for name in ("published", "chars3", "chars4"):
                with self.subTest(family=family, name=name):
                    self.assertGreater(
                        fmean(map(abs, errors(everything, family, name))), 2 * ours)


def reference_tokens(text: str, profile: str) -> int:
    """Tokens by `reference` and the costs of a profile."""
    costs = PROFILES[profile]
    return -(-sum(n * cost for n, cost in zip(reference(text), costs)) // 1000)


if __name__ == "__main__":
    unittest.main()
