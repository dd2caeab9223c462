"""Milestone 6: what a step needed, and whether a view still holds it."""

import random
import re
import unittest

from mini_agent.compression.view import Entry
from mini_agent.evidence import Evidence
from mini_agent.held import HeldEvidence, Shares
from mini_agent.finder import Finder, in_context, is_telling, places
from mini_agent.messages import assistant, call, system, text_of, tool_result, user
from mini_agent.words import GENERAL, WORD, lines, stands_at, words


def session(*parts):
    """System, task, then of each part a call with these arguments and its result."""
    history = [system("You help."), user("Fix it.")]
    for number, (arguments, result) in enumerate(parts):
        history += [assistant("", [call(f"c{number}", "tool", arguments)]),
                    tool_result(f"c{number}", "tool", result)]
    return history


def told(evidence, step, name="items"):
    """The texts of a step's items."""
    return [evidence.text(number) for number in getattr(evidence.steps[step], name)]


class ItemsTest(unittest.TestCase):
    """Which words and lines of a call are evidence."""

    def test_a_word_counts_once_a_tool_or_user_has_said_it(self):
        """Words that only the assistant knows are no evidence; numbers of the JSON are none."""
        evidence = Evidence(session(
            ({"path": "src/app.py", "line": 4711}, "def load_rows(path):"),
            ({"path": "src/app.py", "name": "load_rows", "line": 4711}, "ok")))
        self.assertEqual(([], ["load_rows"]), (told(evidence, 0), told(evidence, 1)))

    def test_general_knowledge_is_no_evidence(self):
        """A word of the stop list is not looked for, however often it was read."""
        self.assertIn("utf-8", GENERAL)
        evidence = Evidence(session(({"q": "x"}, "utf-8 and my_codec"),
                                    ({"q": "utf-8 my_codec"}, "ok")))
        self.assertEqual(["my_codec"], told(evidence, 1))

    def test_every_word_of_the_stop_list_is_a_word(self):
        """No entry of the list is without effect."""
        self.assertEqual([], [word for word in GENERAL if [word] != list(words(word))])

    def test_a_line_counts_behind_a_line_number(self):
        """A read result puts numbers before its lines; the line is found all the same."""
        evidence = Evidence(session(
            ({"path": "a"}, "   12\treturn total + rest\n   13\tpass"),
            ({"old": "    return total + rest\n"}, "ok")))
        self.assertEqual(["return total + rest"], told(evidence, 1, "lines"))

    def test_a_line_whose_end_cuts_a_word_is_another_line(self):
        """`return total` does not stand in `return totals`."""
        evidence = Evidence(session(({"path": "a"}, "x = 1; return totals_of"),
                                    ({"old": "return totals"}, "ok")))
        self.assertEqual([], told(evidence, 1))

    def test_a_line_without_two_words_is_no_evidence(self):
        """Rules of dashes and lone brackets identify nothing."""
        evidence = Evidence(session(({"path": "a"}, "-------- --------\n}   )   ] ;;;;"),
                                    ({"old": "-------- --------\n}   )   ] ;;;;"}, "ok")))
        self.assertEqual([], told(evidence, 1))

    def test_what_stands_in_too_many_messages_is_no_evidence(self):
        """At most 6 messages, or a fifth of those that are not the assistant's."""
        for often, expected in ((6, ["my_name"]), (7, [])):
            parts = [({"q": "x"}, "my_name")] * often + [({"q": "my_name"}, "ok")]
            with self.subTest(often):
                self.assertEqual(expected, told(Evidence(session(*parts)), often))
        many = [({"q": "x"}, "my_name" if at < 8 else "nothing") for at in range(38)]
        evidence = Evidence(session(*many, ({"q": "my_name"}, "ok")))
        self.assertEqual(["my_name"], told(evidence, 38))  # 8 of 40 are a fifth

    def test_chinese_runs_of_four_are_words(self):
        """A run is cut at 24 characters, in the call as in the text."""
        long = "这是一个很长很长很长很长很长很长很长很长的标识符号"
        evidence = Evidence(session(({"q": "x"}, f"错误:{long}。库存不足"),
                                    ({"q": f"{long} 库存不足"}, "ok")))
        self.assertEqual([long[:24], "库存不足"], told(evidence, 1))

    def test_of_a_path_the_part_behind_a_chinese_folder_is_a_word(self):
        """The same in the call as in a listing, and in the middle of a sentence."""
        for text in ("笔记/a.md", "读笔记/a.md，再说", "./笔记/a.md 12"):
            self.assertEqual(["/a.md"], list(words(text)))
        self.assertEqual(["请先读笔记", "/a.md"], list(words("请先读笔记/a.md")))
        evidence = Evidence(session(({"q": "x"}, "笔记/a.md\n笔记/b.md"),
                                    ({"path": "笔记/b.md"}, "ok")))
        self.assertEqual(["/b.md"], told(evidence, 1))

    def test_arguments_that_are_no_json_are_read_as_text(self):
        """What the model wrote counts, also where it is no object."""
        history = session(({"q": "x"}, "lost_name"))
        history += [assistant("", [call("c9", "tool", '{"q": "lost_name')]),
                    tool_result("c9", "tool", "bad")]
        self.assertEqual(["lost_name"], told(Evidence(history), 1))

    def test_assistant_messages_in_a_row_are_one_step(self):
        """Their calls are one set of items, and none of them is earlier than the other."""
        history = session(({"q": "x"}, "one_name two_name"))
        history += [assistant("I say one_name."),
                    assistant("", [call("c8", "tool", {"q": "one_name\ntwo_name"})]),
                    tool_result("c8", "tool", "ok")]
        evidence = Evidence(history)
        self.assertEqual(2, len(evidence.steps))
        self.assertEqual(["one_name", "two_name"], told(evidence, 1, "fresh"))

    def test_far_is_more_than_eight_messages_back(self):
        """The latest occurrence counts, the assistant's own included."""
        quiet = [({"q": "x"}, "nothing")]
        for between, expected in ((3, []), (4, ["my_name"])):
            evidence = Evidence(session(({"q": "x"}, "my_name"), *quiet * between,
                                        ({"q": "my_name"}, "ok")))
            with self.subTest(between):
                self.assertEqual(expected, told(evidence, between + 1, "far"))
        again = session(({"q": "x"}, "my_name"), *quiet * 3, ({"q": "my_name"}, "no"),
                        *quiet * 2, ({"q": "my_name"}, "ok"))
        self.assertEqual([], told(Evidence(again), 7, "far"))

    def test_fresh_is_what_the_assistant_never_wrote(self):
        """Its text and its arguments both count as written."""
        history = session(({"q": "x"}, "one_name two_name three_name"),
                          ({"q": "one_name"}, "ok"))
        history += [assistant("I think of two_name."), user("go on"),
                    assistant("", [call("c7", "t", {"q": "one_name\ntwo_name\nthree_name"})]),
                    tool_result("c7", "t", "ok")]
        self.assertEqual(["three_name"], told(Evidence(history), 3, "fresh"))


class HeldTest(unittest.TestCase):
    """What a view holds."""

    def setUp(self):
        quiet = [({"q": "x"}, "nothing")]
        self.history = session(
            ({"q": "x"}, "before it stands alpha_one, and behind it a good deal of text\n"
                         "beta_two is here"), *quiet * 5,
            ({"q": "alpha_one beta_two"}, "ok"))
        self.evidence = Evidence(self.history)
        self.step = self.evidence.steps[6]

    def shares(self, *contents, how="summary"):
        """The shares of the last step where the view has only these texts."""
        held = HeldEvidence(self.evidence)
        for content in contents:
            held.enter(Entry(user(content), 1, (), how))
        return held.shares(self.step)

    def test_nothing_held_is_zero_and_all_held_is_one(self):
        """A verbatim entry holds what its message holds."""
        held = HeldEvidence(self.evidence)
        self.assertEqual(Shares(0, 0, 0, 0, None, 0), held.shares(self.step))
        held.enter(Entry(self.history[3], 1, (3,)))
        self.assertEqual(Shares(1, 1, 1, 1, None, 1), held.shares(self.step))

    def test_a_word_alone_is_held_but_not_in_context(self):
        """The bag of words has recall, and no context."""
        self.assertEqual(Shares(.5, .5, 0, .5, None, .5), self.shares("words: alpha_one gamma"))

    def test_what_stands_behind_a_handle_can_be_reached(self):
        """As long as an entry shows that of a message which has the item, for which it stands."""
        held = HeldEvidence(self.evidence)
        note = Entry(user("2 messages are left out: #2-#3; read_result(handle=N)"), 1, (2, 3),
                     "summary")
        for entry, reach in ((note, 1), (note._replace(stands_for=(2,)), 0), (
                note._replace(message=user("3 messages of the run log")), 0), (
                note._replace(message=user("#" + "3" * 5_000)), 0)):
            held.enter(entry)
            self.assertEqual(Shares(0, 0, 0, 0, None, reach), held.shares(self.step))
            held.leave(entry)
            self.assertEqual(0, held.shares(self.step).reach)

    def test_thirty_characters_around_are_context(self):
        """Before, behind, or fifteen on each side, as they stood."""
        said = text_of(self.history[3])
        at = said.index("alpha_one")
        for stretch in (said[:at + 9], said[at:at + 39], said[at - 15:at + 24]):
            enough = len(stretch) == 39
            with self.subTest(stretch):
                self.assertEqual(.5 * enough, self.shares(f"[{stretch}]").far_in_context)

    def test_a_whole_line_is_context(self):
        """However short, if there is more in it than the word."""
        self.assertEqual(.5, self.shares("#3: beta_two is here").far_in_context)
        self.assertFalse(in_context("word_one", "word_one and", ["a\nword_one\nb"]))

    def test_a_line_that_is_held_is_its_own_context(self):
        """Nothing has to stand around it, not even the rest of a line."""
        line = "return the sum of both"
        evidence = Evidence(session(({"q": "x"}, line), *[({"q": "x"}, "nothing")] * 5,
                                    ({"q": line}, "ok")))
        held = HeldEvidence(evidence)
        held.enter(Entry(user(line), 1, (), "summary"))
        self.assertEqual(Shares(1, 1, 1, 1, 1, 1), held.shares(evidence.steps[6]))

    def test_a_part_of_a_longer_word_is_no_context(self):
        """Neither in the original nor in the view: `/w/cli` is not in `/w/cli/cmd`."""
        line = "the module lives in /w/cli"
        self.assertTrue(in_context("/w/cli", f"3. {line}", [line]))
        for original, text in ((line, f"{line}/cmd"), (f"{line}/cmd", f"3. {line}/cmd"),
                               (f"{line}/cmd", f"{line}\n/w/cli")):
            with self.subTest(original, text=text):
                self.assertFalse(in_context("/w/cli", text, [original]))

    def test_in_context_is_what_a_plain_search_finds(self):
        """Each stretch of each original looked for in the text, at a place of the word."""
        dice = random.Random(9)
        word, found = "ab/c", 0
        for _ in range(600):
            text, *originals = ("".join(dice.choice(("ab/c", "d ", " e", "\n", "x/", "  "))
                                        for _ in range(dice.randrange(30))) for _ in range(3))
            start, stop = sorted((dice.randrange(50), dice.randrange(50)))
            originals.append(f"{originals[0]}{text[start:stop]}")
            plainly = any(
                stands_at(word, text, place.start() + at.start() - start)
                for original in originals
                for at in re.finditer(word, original) if stands_at(word, original, at.start())
                for start, stretch in self.surroundings(original, at.start(), at.end())
                for place in re.finditer(f"(?={re.escape(stretch)})", text))
            found += plainly
            self.assertEqual(plainly, in_context(word, text, originals), (text, originals))
        self.assertTrue(60 < found < 540, found)

    @staticmethod
    def surroundings(original, at, end):
        for start, stop in ((at - 30, end), (at, end + 30), (at - 15, end + 15)):
            if start >= 0 and stop <= len(original):
                yield start, original[start:stop]
        start = original.rfind("\n", 0, at) + 1
        line = original[start:].partition("\n")[0].strip()
        if len(line) > end - at:
            yield original.index(line, start), line

    def test_a_word_stands_where_the_rule_of_words_finds_it(self):
        """Any word at any place, against all that `words` finds in the text."""
        dice = random.Random(4)
        for _ in range(400):
            text = "".join(dice.choice("ab_1./-~ (\n\u4e00\u4e01\u4e02") for _ in range(14))
            found = {found.span() for found in WORD.finditer(text)}
            stands = {(start, end) for start in range(14) for end in range(start + 3, 15)
                      if list(words(text[start:end])) == [text[start:end]]
                      and stands_at(text[start:end], text, start)}
            self.assertEqual({(start, end) for start, end in found
                              if list(words(text[start:end]))}, stands, text)

    def test_a_word_inside_a_longer_one_is_not_held(self):
        """Words are found at their boundaries."""
        self.assertEqual(0, self.shares("alpha_one_more xbeta_two").recall)

    def test_a_step_over_the_window_counts_zero(self):
        """Otherwise the policy that lets everything overflow would win."""
        held = HeldEvidence(self.evidence)
        held.enter(Entry(self.history[3], 1, (3,)))
        self.assertEqual(Shares(0, 0, 0, 0, None, 0), held.shares(self.step, over=True))

    def test_a_step_without_items_counts_nowhere(self):
        """There is nothing to hold in it."""
        self.assertEqual(Shares(*[None] * 6),
                         HeldEvidence(self.evidence).shares(self.evidence.steps[0]))

    def test_entries_that_come_and_go_leave_what_is_there(self):
        """Thousands of random views: the counts are those of the entries of the moment."""
        chance = random.Random(3)
        names = [f"name_{number}" for number in range(30)]
        history = session(*(({"q": " ".join(chance.sample(names, 3))},
                             " some text ".join(chance.sample(names, 4))) for _ in range(60)))
        evidence = Evidence(history)
        held, inside = HeldEvidence(evidence), []
        for _ in range(3000):
            if inside and chance.random() < .5:
                held.leave(inside.pop(chance.randrange(len(inside))))
            elif chance.random() < .5:
                at = chance.randrange(len(history))
                inside.append(Entry(history[at], 1, (at,)))
                held.enter(inside[-1])
            else:
                inside.append(Entry(user(" ".join(chance.sample(names, 5))), 1, (), "summary"))
                held.enter(inside[-1])
            step = chance.choice(evidence.steps)
            texts = [text_of(entry.message) for entry in inside]
            expected = [number for number in step.items if not any(
                next(places(evidence.text(number), text), None) is not None for text in texts)]
            self.assertEqual(expected, held.missing(step))


class FinderTest(unittest.TestCase):
    """Finding is exact, and reads each text once."""

    def test_it_finds_what_a_plain_search_finds(self):
        """Random texts of few words, so that lines and anchors meet in every way."""
        chance = random.Random(5)
        vocabulary = ["a_b", "c.d", "x", "yy", "zzz9", "(", "=", "--", "\t", "汉字汉字"]

        def text(length):
            return " ".join(chance.choice(vocabulary) for _ in range(length))

        asked = list(dict.fromkeys(
            line for _ in range(300) for line in lines(text(chance.randrange(4, 9)))))
        asked = [line for line in asked if is_telling(line)]
        names = ["a_b", "c.d", "zzz9", "汉字汉字"]
        find = Finder(names, asked)
        self.assertGreater(len(asked), 100)
        for _ in range(200):
            said = "\n".join(text(chance.randrange(3, 14)) for _ in range(6))
            expected = [number for number, item in enumerate([*names, *asked])
                        if next(places(item, said), None) is not None]
            self.assertEqual(expected, list(find(said)))

    def test_a_long_word_and_a_long_rule_take_no_time(self):
        """Ten million characters without a second word are read once, not from each place."""
        find = Finder((), ["one two three"])
        self.assertEqual((), find("w" * 2_000_000 + "\n" + "-" * 2_000_000))
        self.assertEqual((0,), find("w" * 2_000_000 + " one two three"))


if __name__ == "__main__":
    unittest.main()
