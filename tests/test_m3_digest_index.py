"""Milestone 3: the index beside the history, the units, the choice of lines."""

from __future__ import annotations

import random
import re
import unittest
from dataclasses import astuple

from mini_agent.compression.admission import Pieces, common_size
from mini_agent.compression.chances import (CHANCES, PLAIN_CHANCE, QUOTES, RARE, SHARE, Worths,
                                            word_rarities, worth)
from mini_agent.compression.chronicle import Chronicle, Work
from mini_agent.compression.coverage import REACH, USED, candidates, filling, ranked_lines
from mini_agent.compression.index import HistoryIndex, HistoryLine
from mini_agent.compression.units import (BARE, DEFINITION, FAULT, IMPORT, MAX_CHARS, PLAIN,
                                          kind_of, unit_spans, telling, units)
from mini_agent.compression.verify import Support
from mini_agent.compression.vocabulary import Vocabulary
from mini_agent.extract import boxes, touched
from mini_agent.messages import Message, assistant, call, groups, text_of, tool_result, user
from mini_agent.texts import Texts
from mini_agent.words import GENERAL, names, rows_of, words

from .histories import random_messages
from .test_m3_digest import session
from .windows import head, window


def facts(cache: HistoryIndex | Chronicle | Work) -> object:
    """All that it knows; a line by its number, and what is known of each."""
    lines = cache.known.values() if isinstance(cache, HistoryIndex) else ()
    return plain(cache), [astuple(line) for line in lines]


def plain(value: object) -> object:
    """What something is made of, dictionaries in their order."""
    if isinstance(value, HistoryLine):
        return value.number
    if isinstance(value, dict):
        return [(key, plain(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (HistoryIndex, Chronicle, Work, Worths, Vocabulary, Support)):
        return {name: plain(one) for name, one in vars(value).items()
                if name not in ("_history", "history", "_chronicle", "errors", "_names_in")}
    return value


def made(*texts: str, role: str = "tool") -> tuple[HistoryIndex, list[Message]]:
    """An index of messages with these texts."""
    history = [tool_result("c", "read", text) if role == "tool" else assistant(text)
               for text in texts]
    return HistoryIndex(history).grow(), history


class Index(unittest.TestCase):
    """A cache of facts: it grows with the history and never disagrees with it."""

    def test_an_index_that_has_grown_equals_a_fresh_one(self) -> None:
        """Whatever the steps in which it grew, on 100 random sessions and a made one."""
        for seed in range(100):
            rng = random.Random(seed)
            messages = list(random_messages(rng)) if seed else session(60)
            history: list[Message] = []
            grown = HistoryIndex(history)
            while len(history) < len(messages):
                history += messages[len(history):len(history) + rng.randint(1, 4)]
                grown.grow().work.grow()
            fresh = HistoryIndex(messages).grow()
            fresh.work.grow()
            self.assertEqual(facts(fresh), facts(grown))

    def test_what_happened_is_what_the_messages_say(self) -> None:
        """Files by what is covered, points and failing calls, as found in all messages anew."""
        for seed in range(100):
            rng = random.Random(seed)
            messages = list(random_messages(rng))
            index = HistoryIndex(messages).grow()
            for _ in range(5):
                covered = [at for group in groups(messages) if rng.random() < .7 for at in group]
                self.assertEqual(
                    list(touched([messages[at] for at in covered]).items()),
                    list(index.chronicle.touched(covered).items()))
            self.assertEqual(list(boxes(messages).items()), list(index.work.grow().points.items()))
            self.assertEqual([at for at, message in enumerate(messages)
                              if message["role"] == "user"], index.chronicle.users)

    def test_a_line_belongs_to_the_newest_message_that_has_it(self) -> None:
        """Read twice, it is kept once, and its handle is the newer one."""
        index, _ = made("the_name = first_value(1)", "other_name = 2 + 2",
                        "the_name = first_value(1)")
        self.assertEqual(index.known["the_name = first_value(1)"].last, 2)
        self.assertEqual(len(index.known), 2)

    def test_counts_tell_who_wrote_a_word_and_who_had_it(self) -> None:
        """Use is by messages of the assistant, sight by lines of the others."""
        history = [tool_result("a", "read", "path/to_it is the first one\n"
                                            "path/to_it is the second one"),
                   assistant("I edit", [call("b", "edit", {"path": "path/to_it"})]),
                   user("path/to_it is right")]
        index = HistoryIndex(history).grow()
        word = index.words.names.index("path/to_it")
        self.assertEqual((index.words.used[word], index.words.read[word], index.words.seen[word],
                          index.words.newest[word]), (1, 2, 3, 2))

    def test_files_are_listed_by_what_was_done_and_when(self) -> None:
        """A failed edit is none; the file touched last stands last."""
        history: list[Message] = []
        for n, (name, path, error) in enumerate((
                ("read_file", "a.py", None), ("edit_file", "b.py", None),
                ("read_file", "a.py", None),
                ("edit_file", "c.py", {"code": "NO", "message": "no"}))):
            history += [assistant("", [call(str(n), name, {"path": path})]),
                        tool_result(str(n), name, "x", error)]
        index = HistoryIndex(history).grow()
        self.assertEqual([("b.py", [], [3]), ("a.py", [1, 5], [])], [
            (path, [place.result for place in file.read], [place.result for place in file.changed])
            for path, file in index.chronicle.files.items()])

    def test_results_in_another_order_and_ids_used_twice_get_their_own_labels(self) -> None:
        """A result is labelled with the call that it answers, as pairing has it."""
        history = [assistant("", [call("x", "read_file", {"path": "1.py"}),
                                  call("y", "read_file", {"path": "2.py"}),
                                  call("x", "read_file", {"path": "3.py"})]),
                   tool_result("y", "read_file", "2"), tool_result("x", "read_file", "1"),
                   tool_result("x", "read_file", "3"), tool_result("z", "lost", "4")]
        index = HistoryIndex(history).grow()
        self.assertEqual(index.chronicle.labels, [
            "read_file 1.py; read_file 2.py; ...", "read_file 2.py", "read_file 1.py",
            "read_file 3.py", "lost"])


class Units(unittest.TestCase):
    """A text in pieces that can be copied."""

    def test_the_names_in_the_stretches_of_a_text_are_its_words(self) -> None:
        """In each message of 100 random sessions, but for what is general knowledge."""
        for seed in range(100):
            for message in random_messages(random.Random(seed)):
                text = text_of(message)
                self.assertEqual({name for stretch in text.split() for name in names(stretch)},
                                 {word for word in words(text) if word not in GENERAL}
                                 | {run[:24] for run in re.findall("[\u3400-\u9fff]{201,}", text)})

    def test_units_stand_in_the_text_in_order_and_within_bounds(self) -> None:
        """On random texts; a long line comes in pieces, a word alone stays with a neighbour."""
        for seed in range(300):
            for message in random_messages(random.Random(seed)):
                text, end = text_of(message), 0
                for start, stop in unit_spans(text):
                    self.assertGreaterEqual(start, end)
                    self.assertEqual(text[start:stop], text[start:stop].strip())
                    self.assertLessEqual(stop - start, 2 * MAX_CHARS)
                    end = stop

    def test_a_word_alone_stays_with_the_line_before_it(self) -> None:
        """A list of paths is no list of single words."""
        self.assertEqual(units("Files found:\nsrc/a.py\nsrc/b.py\n\nThat is all of them, I think."),
                         ["Files found:\nsrc/a.py\nsrc/b.py", "That is all of them, I think."])

    def test_a_word_by_itself_is_shown_only_with_enough_around_it(self) -> None:
        """30 characters of the unit before or behind it; other lines are left as they are."""
        short, long = "src/a.py\nold text", "src/a.py\nold text that has more to say of it"
        self.assertEqual((telling(short), telling(long)), ("old text", long))
        self.assertEqual(telling("src/a.py,\nb = 1\nsrc/b.py"), "src/a.py,\nb = 1")
        self.assertEqual(telling("src/a.py"), "src/a.py")
        index = HistoryIndex([assistant(short)]).grow()
        line, = index.lines[0]
        self.assertEqual(([index.words.names[n] for n in line.words], line.shows),
                         (["src/a.py"], ()))

    def test_kinds_are_seen_through_line_numbers(self) -> None:
        """What a tool put before a line does not hide what it is."""
        for unit, kind in (("import os, sys", IMPORT), ("12\u2192from a import b", IMPORT),
                           ("7: def parse(text):", DEFINITION), ("export async function go() {",
                                                                 DEFINITION),
                           ("x = 1 + 2", PLAIN), ("src/app.py", BARE)):
            self.assertEqual(kind_of(unit), kind, unit)
        self.assertEqual(kind_of("TypeError: x is None", failed=True), FAULT)


class Choice(unittest.TestCase):
    """Greedy coverage per token."""

    def test_a_word_that_is_held_counts_no_more(self) -> None:
        """Of two lines with the same words one is taken before a third with a new word."""
        index, _ = made("use alpha_one and beta_two now", "use alpha_one and beta_two then",
                        "and only gamma_three")
        lines = index.known.values()
        self.assertEqual([line.text for line in ranked_lines(index, lines, ())],
                         ["use alpha_one and beta_two now", "and only gamma_three"])
        again = list(ranked_lines(index, lines, (), coverage=False))
        self.assertEqual(again[1].text, "use alpha_one and beta_two then")
        held = [index.words.names.index(name) for name in ("alpha_one", "beta_two")]
        self.assertEqual(next(ranked_lines(index, lines, held)).text, "and only gamma_three")

    def test_a_word_is_kept_where_it_can_be_seen_what_it_is(self) -> None:
        """A path before another argument does not stand in for the line that tells of it."""
        edit = assistant("", [call("c", "edit", {"path": "src/a.py", "old": "x = some_name"})])
        index = HistoryIndex([edit, tool_result("c", "edit", "Changed src/a.py as asked."),
                              assistant("src/a.py\nwhat now?")]).grow()
        lines = candidates(index, [0, 1, 2], 100)
        self.assertEqual(next(ranked_lines(index, lines, ())).text,
                         "Changed src/a.py as asked.")
        self.assertEqual(index.home[index.words.names.index("src/a.py")].text,
                         "Changed src/a.py as asked.")

    def test_it_is_the_plain_greedy_choice(self) -> None:
        """The lazy heap takes what a full search at each turn would take."""
        for seed in range(20):
            index = HistoryIndex(session(25, seed)).grow()
            lines = candidates(index, list(range(len(index))), 10_000)
            self.assertEqual(list(filling(ranked_lines(index, lines, (), heading=0), 600)),
                             self.greedy(index, lines, 600))

    @staticmethod
    def greedy(index: HistoryIndex, lines: list[HistoryLine], room: float) -> list[HistoryLine]:
        gains = index.worths.now()
        left, chosen = set(lines), []
        while left and room > 0:
            best = min(left, key=lambda line: (-(sum(gains[word] for word in line.shows)
                                                 + line.quote) / line.cost, line.number))
            left.discard(best)
            if best.quote <= PLAIN_CHANCE and not any(gains[word] for word in best.shows):
                continue
            chosen.append(best)
            room -= best.cost
            for word in best.shows:
                gains[word] = 0
        return chosen

    def test_what_is_looked_at_does_not_grow_with_the_session(self) -> None:
        """After ten times as many steps no more lines are candidates than the bound says."""
        room = 300
        for steps in (150, 1_500):
            index = HistoryIndex(session(steps)).grow()
            lines = candidates(index, list(range(len(index))), room)
            largest = max(index.sizes)
            dearest = max(line.cost for line in index.known.values())
            self.assertLessEqual(sum(line.cost for line in lines),
                                 REACH * room + largest + USED * dearest)
            self.assertLessEqual(len(lines), USED + REACH * room)

    def test_the_chances_are_those_of_the_table(self) -> None:
        """Use, sight, age, paths, commonness: each as the table says."""
        history: list[Message] = [user("start")]
        history += [tool_result("r", "read", "was old_word here"),
                    assistant("I use used_once and used/path.py"),
                    tool_result("r", "read", "a/listed.py is one, a/named.py another"),
                    tool_result("r", "read", "used_once with used/path.py and seen_often\n"
                                "and a/named.py again\n"
                                + "\n".join(f"seen_often in the line number {n}"
                                            for n in range(5)))]
        history += [user(f"common_word {n}") for n in range(9)]
        history += [user("nothing") for _ in range(20)]
        index = HistoryIndex(history).grow()
        gains = index.worths.now()
        found = {name: gains[number] for number, name in enumerate(index.words.names)}
        self.assertEqual(found["old_word"], worth(CHANCES.seen[1]))
        self.assertEqual(found["used_once"], worth(CHANCES.used[1]))
        self.assertEqual(found["used/path.py"], worth(CHANCES.used[1] * CHANCES.path))
        self.assertEqual(found["seen_often"], worth(CHANCES.seen[5]))
        self.assertEqual(found["a/listed.py"], worth(CHANCES.seen[1]))
        self.assertEqual(found["a/named.py"], worth(CHANCES.seen[2] * CHANCES.path))
        self.assertEqual(found["common_word"], 0)
        rare = word_rarities(index.words)
        self.assertGreater(rare[index.words.names.index("old_word")], 0)
        self.assertEqual(rare[index.words.names.index("common_word")], 0)
        for numbers in (gains, rare, [line.quote for line in index.known.values()]):
            self.assertEqual({int}, set(map(type, numbers)))  # sums are alike in every Python

    def test_worths_that_have_grown_are_those_of_all_words_weighed_anew(self) -> None:
        """After each message of a made session and of random ones, as words age and grow common."""
        sessions = [session(120),
                    *(list(random_messages(random.Random(seed))) for seed in range(40))]
        for messages in sessions:
            history: list[Message] = []
            index = HistoryIndex(history)
            for message in messages:
                history.append(message)
                index.grow()
                self.assertEqual(index.worths.now(), [
                    self.weighed(index, word) for word in range(len(index.words.names))])

    @staticmethod
    def weighed(index: HistoryIndex, word: int) -> int:
        used, seen = index.words.used[word], index.words.seen[word]
        age = len(index) - index.words.newest[word]
        if not 0 < index.words.read[word] <= max(RARE, index.words.others / SHARE):
            return 0
        chance = CHANCES.used[min(used, 3)] if used else CHANCES.seen[min(seen, 5)]
        chance *= (CHANCES.young[1] if age <= CHANCES.young[0]
                   else CHANCES.old[1] if age >= CHANCES.old[0] else 1)
        return worth(chance * (CHANCES.path if "/" in index.words.names[word] and (
            used or seen > 1) else 1))

    def test_a_line_that_the_assistant_has_written_is_quoted_sooner(self) -> None:
        """By its kind, and twice that once it was written; a plain one of no word tells nothing."""
        index = HistoryIndex([tool_result("r", "read", "import os, sys\nhow are you all today?"),
                              assistant("how are you all today?"),
                              tool_result("r", "read", "and nothing else is in here")]).grow()
        first, second, third = index.known.values()
        self.assertEqual([first.quote, second.quote, third.quote], [
            QUOTES[IMPORT][False], QUOTES[PLAIN][True], QUOTES[PLAIN][False]])
        self.assertEqual([[*index.telling(at)] for at in range(3)], [[first], [second], []])


class Admission(unittest.TestCase):
    """A result in pieces, and the size to which the largest are cut."""

    def test_the_counts_of_a_cut_result_are_true(self) -> None:
        """Kept rows and characters, and what each gap leaves out, add up to the whole."""
        texts = Texts()
        for seed in range(200):
            rng = random.Random(seed)
            content = "\n".join(rng.choice(("", "}", "alpha_beta = gamma(delta)", "x" * 700,
                                            "many words " * 60, "  indented_name = 1"))
                                for _ in range(rng.randint(1, 30)))
            content += rng.choice(("", "\n"))
            history = [tool_result("c", "read", content)]
            index = HistoryIndex(history).grow()
            pieces = Pieces(content, index.lines[0], index)
            best = pieces.by_ends()
            rng.shuffle(best)
            kept = set(best[:rng.randint(0, len(best))])
            body, rows, chars = pieces.render(sorted(kept), texts)
            self.assertLessEqual(rows, len(rows_of(content)))
            if not re.search("characters? left out", body):
                gaps = map(int, re.findall(r"^\[\.\.\. (\d+) lines? left out", body, re.M))
                self.assertEqual(rows + sum(gaps), len(rows_of(content)))
            shown = [line for line in body.split("\n") if "left out" not in line]
            self.assertLessEqual(chars, len(content))
            self.assertLessEqual(chars, sum(map(len, shown)) + len(shown))
            for line in shown:
                self.assertIn(line, content)
            if kept == set(range(len(best))):
                self.assertEqual(body.rstrip(), content.rstrip())
                self.assertGreaterEqual(rows, len(rows_of(content.rstrip())))

    def test_ends_and_gaps_of_a_cut_result(self) -> None:
        """An exact rendering: indentation stays, the gap says how many lines it leaves out."""
        content = "\n".join(f"    value_{n} = {n} + other_value_{n}" for n in range(20))
        index = HistoryIndex([tool_result("c", "read", content)]).grow()
        pieces = Pieces(content, index.lines[0], index)
        body, rows, chars = pieces.render([0, 19], Texts())
        self.assertEqual(body, "    value_0 = 0 + other_value_0\n[... 18 lines left out ...]\n"
                               "    value_19 = 19 + other_value_19")
        self.assertEqual((rows, chars), (2, len("    value_0 = 0 + other_value_0"
                                                "value_19 = 19 + other_value_19")))

    def test_a_gap_says_lines_where_it_has_whole_ones_and_characters_where_it_cuts(self) -> None:
        """At the beginning, at the end, of all; blank lines at its ends are of it."""
        rows = [f"    value_{number} = {number} + other_value_{number}" for number in range(20)]
        many, one = "\n".join(rows), "alpha beta gamma delta. " * 80
        for content, kept, body in (
                (many, [19], f"[... 19 lines left out ...]\n{rows[19]}"),
                (many, [0], f"{rows[0]}\n[... 19 lines left out ...]"),
                (many, [], "[... 20 lines left out ...]"), (one, [], "[... 1 line left out ...]"),
                (f"\n\n{many}", [1], f"[... 3 lines left out ...]\n{rows[1]}\n"
                                     "[... 18 lines left out ...]"),
                (f"{many}\n\n\n", [18], f"[... 18 lines left out ...]\n{rows[18]}\n"
                                        "[... 3 lines left out ...]"),
                (one, [2], f"[... 600 characters left out ...]\n{one[600:898]}\n"
                           "[... 1022 characters left out ...]"),
                (f"{one}\n{rows[0]}", [0], f"{one[:298]}\n[... 1654 characters left out ...]"),
                (f"{rows[0]}\n{one}", [0], f"{rows[0]}\n[... 1 line left out ...]")):
            index = HistoryIndex([tool_result("c", "read", content)]).grow()
            pieces = Pieces(content, index.lines[0], index)
            self.assertEqual((body, len(kept)), pieces.render(kept, Texts())[:2])
            whole = pieces.render(range(len(pieces.by_ends())), Texts())
            self.assertEqual((content, pieces.rows), whole[:2])

    def test_the_ends_stay_and_then_the_most_telling_lines(self) -> None:
        """Each once, as long as there is room."""
        rows = [f"    value_{number} = {number} + other_value_{number}" for number in range(20)]
        rows[9] = "    AssertionError: 4750 != 5000"
        for count, room, chosen in (
                (20, 0, [0, 1, 18, 19]), (20, 20, [0, 1, 18, 19, 9]), (0, 9, []), (1, 0, [0]),
                (3, 0, [0, 1, 2]), (5, 0, [0, 1, 3, 4])):
            content = "\n".join(rows[:count])
            index = HistoryIndex([tool_result("c", "read", content)]).grow()
            self.assertEqual(chosen, Pieces(content, index.lines[0], index).by_value(room))

    def test_what_was_asked_for_in_its_size_is_not_cut_on_arrival(self) -> None:
        """By the tools that give back what left the window; any other result is."""
        content = "a line like any other\n" * 300
        for name, cut in (("read_file", True), ("read_result", False), ("recall", False)):
            history = [*head(), assistant("", [call("c", name, {})]),
                       tool_result("c", name, content)]
            made = window(4_000, "admission", trigger=1)
            made.before_model_call(history, 1)
            self.assertEqual(cut, made.view[-1].how == "shortened", name)

    def test_the_common_size_frees_what_has_to_go(self) -> None:
        """Never too little, and no more than a token for each that is cut."""
        self.assertEqual(common_size([10, 50, 100], 0), 100)
        self.assertEqual(common_size([10, 50, 100], -5), 100)
        self.assertEqual(common_size([10, 50, 100], 40), 60)
        self.assertEqual(common_size([10, 50, 100], 80), 35)
        self.assertEqual(common_size([], 5), 0)
        for seed in range(200):
            rng = random.Random(seed)
            sizes = [rng.randint(1, 500) for _ in range(rng.randint(1, 20))]
            excess = rng.randint(1, sum(sizes))
            size = common_size(sizes, excess)
            freed = sum(max(0, one - size) for one in sizes)
            self.assertGreaterEqual(freed, excess)
            self.assertLess(freed - excess, len(sizes))


if __name__ == "__main__":
    unittest.main()
