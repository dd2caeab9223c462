"""Milestone 5: the conversation: what is typed, told, asked for and kept."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import queue
import random
import struct
import termios
import unittest
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from mini_agent.chat.contents import contents
from mini_agent.chat.keyboard import Keyboard
from mini_agent.chat.lines import Lines
from mini_agent.chat.narrator import Narrator
from mini_agent.chat.permission import Permission
from mini_agent.chat.screen import Screen, Style, joined_to_fit, style_of
from mini_agent.chat.wrap import Wrap, wrapped
from mini_agent.columns import fitted, is_wide, name_to_fit, unbroken, width
from mini_agent.compression.policies import find_policy, policy_names
from mini_agent.errors import ContextOverflowError, ModelError, ToolError, UsageError
from mini_agent.hostile import exposed
from mini_agent.interrupts import Interrupts
from mini_agent.messages import call
from mini_agent.meter import Prices, prices
from mini_agent.models.base import Reply
from mini_agent.texts import Texts
from mini_agent.tools.workspace import MAX_BYTES, Workspace
from mini_agent.trace import Record, read_trace
from tests.sessions import counting
from tests.support import FolderTest
from tests.talks import Talk, Terminal
from tests.windows import head, rounds, window

WRITE = Reply("", (call("c", "write_file", {"path": "a.txt", "content": "one\ntwo\n"}),))
EDIT = Reply("", (call("c", "edit_file", {"path": "a.txt", "old": "two", "new": "2"}),))
RUN = Reply("", (call("c", "run_command", {"command": "python -c 'print(6 * 7)'"}),))
DONE = Reply("done")


class Screens(unittest.TestCase):
    """What reaches a terminal."""

    def test_no_control_character_of_anybody_reaches_the_terminal(self) -> None:
        """Escapes, bells, returns, marks of direction: whole, in pieces, unfinished."""
        draw = random.Random(1)
        pieces = ["\x1b[31m", "\x1b]0;title\x07", "\x1bP1;2q\x1b\\", "\r", "\b", "\x9b2J", "\x00",
                  "\u202e", "\u2066", "\x7f", "plain", "漢字", "\n", "\t", " ", "\x1b", "]52;c;"]
        for _ in range(300):
            out, err = Terminal(), Terminal()
            screen = Screen(out, err, Style(columns=draw.choice([20, 80])))
            screen.begin_answer()
            for _ in range(draw.randrange(1, 20)):
                text = "".join(draw.choice(pieces) for _ in range(3))
                draw.choice([screen.answer, screen.tell, screen.row])(text)
            screen.end_answer()
            seen = (out.getvalue() + err.getvalue()).replace("\r\x1b[K", "").replace("\n", "")
            self.assertEqual("", "".join(letter for letter in seen if letter != "\t"
                                         and (letter < " " or "\x7f" <= letter <= "\x9f"
                                              or letter in "\u202e\u2066")))

    def test_an_answer_and_what_is_told_meanwhile_stand_on_lines_of_their_own(self) -> None:
        """On one terminal, letter by letter: what passes is wiped, a word that is not whole
        waits, and nothing is said twice."""
        both = Terminal()
        screen = Screen(both, both, Style(columns=12))

        def shows(expected: str, act: Callable[..., None], *given: str) -> None:
            before = len(both.getvalue())
            act(*given)
            self.assertEqual(expected, both.getvalue()[before:], given)
        for expected, act, *given in (
                ("...", screen.begin_answer), ("", screen.answer, "\n"),
                ("", screen.answer, "  he"), ("", screen.answer, "llo"),
                ("\r\x1b[Khello a", screen.answer, " a "), ("", screen.transient_row, "running"),
                ("\na long note\nfor a narrow\nscreen\n", screen.tell,
                 "a long note for a narrow screen"),
                ("big world", screen.answer, "big world "), ("\nagain", screen.answer, " again\t"),
                ("\n", screen.whole_answer, "hello big world again"), ("", screen.end_answer),
                ("...", screen.begin_answer), ("\r\x1b[Kshort\n", screen.whole_answer, "short"),
                ("...", screen.begin_answer), ("\r\x1b[Kquick\n", screen.tell, "quick"),
                ("a very l...", screen.transient_row, "a very long way"),
                ("\r\x1b[Kend\n", screen.row, "end"),
                ("a long ro...\n", screen.row, "a long row it is")):
            shows(expected, act, *given)

    def test_in_a_pipe_and_for_a_screen_reader_lines_stay_and_are_whole(self) -> None:
        """Nothing is broken, wiped or put between the words of an answer."""
        for out, plain in ((io.StringIO(), True), (io.StringIO(), False), (Terminal(), True)):
            err = io.StringIO()
            screen = Screen(out, err, Style(plain=plain, columns=12))
            screen.answer("one answer that is ")
            screen.tell("a note that is long, and more", whole=not plain)
            screen.answer("long\n")
            screen.end_answer()
            if plain:
                screen.begin_answer()
            self.assertEqual("a note that is long, and more\n", err.getvalue())
            self.assertEqual("one answer that is\nlong\n" if out.isatty() else
                             "one answer that is long\n", out.getvalue())
        self.assertEqual(["> ", "you: "], [Style(plain=plain).prompt for plain in (False, True)])

    def test_each_line_has_its_colour_where_there_are_colours(self) -> None:
        """And none where none was asked for; it is there at once."""
        seen = io.BytesIO()
        screen = Screen(io.StringIO(), io.TextIOWrapper(seen), Style(color=True))
        screen.tell("a\nb", "red")
        screen.tell("c")
        self.assertEqual(b"\x1b[31ma\x1b[0m\n\x1b[31mb\x1b[0m\nc\n", seen.getvalue())

    def test_what_is_asked_shows_every_character(self) -> None:
        """What cannot be seen is shown as its escape; lines stay lines."""
        self.assertEqual("rm \\u202egnp.txt\\x1b[8m\n-rf", exposed("rm \u202egnp.txt\x1b[8m\n-rf"))
        self.assertEqual("漢字 é\\u200b", exposed("漢字 é\u200b"))
        for letter in "\xa0\u2003\u2800\u3164\u115f\u034f\ufe0f\U000e0101":  # a blank, or nothing
            self.assertEqual(letter.encode("unicode_escape").decode(), exposed(letter))

    def test_a_text_in_pieces_is_wrapped_like_the_whole(self) -> None:
        """Between words and beside wide characters; no line is too long but of one word."""
        draw = random.Random(2)
        for _ in range(300):
            text = "".join(draw.choice(["word ", "a", " ", "漢", "\n", "longer_word", "é"])
                           for _ in range(draw.randrange(60)))
            columns = draw.choice([10, 20, 40])
            wrap, told, rest = Wrap(), "", text
            while rest:
                size = draw.randrange(1, 9)
                told += wrap.feed(rest[:size], columns)
                rest = rest[size:]
            told += wrap.end(columns)
            self.assertEqual(wrapped(text, columns), told)
            self.assertEqual("".join(text.split()), "".join(told.split()))
            for line in told.split("\n"):
                if not line.startswith(" "):
                    self.assertTrue(width(line) <= columns or " " not in line.rstrip(), line)

    def test_code_is_left_as_it_is(self) -> None:
        """Indented lines, tables and what stands between fences can be copied."""
        code = ("    x = 'a long line of code'\n```\ny = 'another long line'\n```\n"
                "| a | long | row |")
        self.assertEqual(code, wrapped(code, 10))

    def test_wide_characters_take_two_columns(self) -> None:
        """Also where a line is cut."""
        self.assertEqual((2, 1, 0), (width("漢"), width("é"), width("\u0301")))
        self.assertEqual("漢字...", fitted("漢字漢字漢字", 8))
        self.assertEqual("...e\u0301/b", name_to_fit("/漢/e\u0301/b", 6))

    def test_a_long_text_is_looked_at_as_far_as_it_is_shown_and_once(self) -> None:
        """The row of a call that writes a whole Chinese file, and a word that comes in letters."""
        with mock.patch("mini_agent.columns.width", wraps=width) as looked:
            self.assertEqual(38 * "漢" + "...", fitted(10_000 * "漢", 80))
        self.assertLess(looked.call_count, 100)
        wrap = Wrap()
        with mock.patch("mini_agent.chat.wrap.is_wide", wraps=is_wide) as looked:
            self.assertEqual({""}, {wrap.feed("a", 80) for _ in range(1_000)})
        self.assertEqual((1_000, 1_000 * "a"), (looked.call_count, wrap.end(80)))
        with mock.patch("mini_agent.chat.wrap.width", wraps=width) as looked:
            self.assertEqual(1_000 * "a b ",
                             "".join(wrap.feed("a b ", 10_000) for _ in range(1_000))
                             + wrap.end(10_000) + " ")
        self.assertLess(sum(len(call.args[0]) for call in looked.call_args_list), 10 * 4_000)

    def test_a_word_is_cut_beside_wide_letters(self) -> None:
        """And nowhere else, however many letters it has."""
        self.assertEqual(["é" * 9, "漢", "字", "a"], unbroken("é" * 9 + "漢字a"))
        self.assertEqual([["漢"], ["a"]], list(map(unbroken, ("漢", "a"))))

    def test_a_status_keeps_what_matters_most(self) -> None:
        """Parts that do not fit are left out, the later ones first."""
        parts = ["12 % of 200,000", "cost 0.0120", "in 8,400 out 200", "digest"]
        self.assertEqual("12 % of 200,000 | cost 0.0120 | digest", joined_to_fit(parts, 40))
        self.assertEqual("12 % of 200,000", joined_to_fit(parts, 20))
        self.assertEqual("12 % of...", joined_to_fit(parts, 10))
        self.assertEqual(" | ".join(parts[:2]), joined_to_fit(parts, 29))
        self.assertEqual(" | ".join(parts), joined_to_fit(parts, 80))

    def test_colours_and_signs_are_for_terminals_that_want_them(self) -> None:
        """NO_COLOR, TERM=dumb, --plain, a pipe."""
        import io
        terminal = Terminal()
        self.assertEqual((True, False), _look(style_of(terminal, {}, False)))
        self.assertEqual((False, False), _look(style_of(terminal, {"NO_COLOR": "1"}, False)))
        self.assertEqual((False, True), _look(style_of(terminal, {"TERM": "dumb"}, False)))
        self.assertEqual((False, True), _look(style_of(terminal, {}, True)))
        self.assertEqual((False, True), _look(style_of(io.StringIO(), {}, False)))

    def test_a_stream_that_has_no_such_letters_gets_others(self) -> None:
        """An ASCII terminal ends no session."""
        import io
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        Screen(out, out).tell("漢 é ok")
        out.seek(0)
        self.assertEqual("? ? ok\n", out.read())


def _look(style: Style) -> tuple[bool, bool]:
    return style.color, style.plain


class Messages(unittest.TestCase):
    """Lines become messages."""

    def made(self, *lines: str) -> list[str]:
        maker = Lines()
        return [message for line in lines if (message := maker.add(line)) is not None]

    def test_a_backslash_goes_on_and_fences_hold_many_lines(self) -> None:
        """Blank lines and backslashes inside of fences are part of the message."""
        self.assertEqual(["one"], self.made("one"))
        self.assertEqual(["one\ntwo"], self.made("one\\", "two"))
        self.assertEqual(["a\n\nb\\", "c"], self.made('"""', "a", "", "b\\", '"""', "c"))


class WhileItWorks(unittest.TestCase):
    """What a terminal has for the listener."""

    def test_each_line_is_kept_that_was_there_when_listening_ends(self) -> None:
        """A question throws away what was typed ahead: whole lines must be out of its reach."""
        typed = [f"line {number}" for number in range(100)]
        mine, theirs = os.openpty()
        with open(mine, "wb", buffering=0) as terminal, open(theirs, encoding="utf-8") as source:
            sent = "".join(f"{line}\n" for line in typed).encode()
            terminal.write(sent)
            while struct.unpack("i", fcntl.ioctl(source, termios.FIONREAD,
                                                 b"\0" * 4))[0] < len(sent):
                pass  # the system takes a moment to hand it over
            told: list[str] = []
            keyboard = Keyboard(source, Interrupts(), io.StringIO(), told.append, told.append)
            with keyboard.listening():
                pass
            self.assertEqual(typed, keyboard.typed())
        self.assertEqual(2 * typed, told)

    def test_a_line_is_whole_however_long_and_what_was_begun_goes_on(self) -> None:
        """A terminal cuts lines at 4,095 bytes; a paste ends them in carriage returns."""
        mine, theirs = os.openpty()
        told: queue.Queue[str] = queue.Queue()
        with open(mine, "wb", buffering=0) as terminal, open(theirs, encoding="utf-8") as source:
            keyboard = Keyboard(source, Interrupts(), io.StringIO(), told.put, told.put)
            with keyboard.listening():
                terminal.write("汉".encode() * 3_000 + b"\rtwice\x7f\x7f\x7fo\r" + b"gone\x15ha")
                self.assertEqual(["汉" * 3_000, "two"], [told.get(timeout=120) for _ in range(2)])
            self.assertEqual(["汉" * 3_000, "two"], keyboard.typed())
            terminal.write(b"lf\n")
            self.assertEqual("half", keyboard.message("> "))

    def test_a_terminal_that_has_gone_without_a_signal_is_the_end_of_what_is_typed(self) -> None:
        """Nothing breaks: neither the question, nor what is told, nor listening behind it."""
        mine, theirs = os.openpty()
        with open(theirs, "r+b", buffering=0) as raw, \
                io.TextIOWrapper(raw, "utf-8", write_through=True) as source:
            keyboard = Keyboard(source, Interrupts(), source, print, print)
            screen = Screen(source, source)
            with keyboard.listening():
                os.close(mine)
                with self.assertRaises(EOFError):
                    keyboard.ask("well? ")
                screen.tell("heard by nobody")
            with self.assertRaises(EOFError):
                keyboard.message("> ")


class Talking(FolderTest):
    """A conversation from its first line to its end."""

    def talk(self, replies: list, lines: list, **options: object) -> Talk:
        return Talk(self.folder, replies, lines, **options)

    def test_answers_go_to_standard_output_all_else_beside_it(self) -> None:
        """The trace is a session that has ended."""
        talk = self.talk([counting(1), DONE, Reply("again")], ["hi", "and?"])
        self.assertEqual(("done\nagain\n", 0), (talk.out.getvalue(), talk.status))
        self.assertIn("> count n=1\n  ok, 0.0 s, 889 characters\n", talk.told)
        self.assertEqual("run_end", read_trace(self.folder / "s.jsonl").records[-1]["event"])

    def test_a_path_and_a_comment_are_words_for_the_model(self) -> None:
        """A command is a name behind a slash, whatever blank comes behind it."""
        words = ["/etc/hosts is wrong", "/usr/lib/a.py:3: error\n/help", "// TODO", "/* why? */"]
        talk = self.talk([Reply("done")] * len(words),
                         [*words, "/nope", "/", "/ help", "/pin\tconstraint // TODO", "/quit\n"])
        self.assertEqual(words, [message["content"] for message in talk.model.asked[-1]
                                 if message["role"] == "user"])
        for told in ("no command /nope", "no command /;", "pinned as constraint"):
            self.assertIn(told, talk.told)

    def test_nothing_said_is_nothing_kept(self) -> None:
        """A conversation that ends at once has no records, and no trace."""
        talk = self.talk([], [])
        self.assertEqual((0, False), (talk.status, (self.folder / "s.jsonl").exists()))

    def test_blank_lines_begin_nothing(self) -> None:
        """Before the first word, and when nothing is due."""
        self.assertEqual(0, self.talk([], ["", "  "]).status)
        self.assertFalse((self.folder / "s.jsonl").exists())
        self.assertEqual(1, len(self.talk([DONE], ["hi", ""]).model.asked))

    def test_a_session_that_is_taken_up_goes_on_where_something_is_due(self) -> None:
        """Whose last turn was interrupted waits for an empty line; in a pipe it does not."""
        told = "(the last turn was interrupted; an empty line goes on)\n"
        for replies, lines, terminal, asked, hint in (
                ([ModelError("down")], ["hi"], True, 1, False),
                ([KeyboardInterrupt()], ["hi"], True, 0, True),
                ([KeyboardInterrupt()], ["hi"], False, 1, False), ([DONE], ["hi"], True, 0, False)):
            self.talk(replies, lines)
            talk = self.talk([DONE], [], terminal=terminal, again=True)
            self.assertEqual((0, asked, hint),
                             (talk.status, len(talk.model.asked), told in talk.told))
            self.assertEqual("run_end", read_trace(self.folder / "s.jsonl").records[-1]["event"])
        last = read_trace(self.folder / "s.jsonl").records[-1]
        self.assertEqual("closed", last["payload"]["reason"])
        self.assertEqual(0, self.talk([], [], terminal=False, again=True).status)

    def test_the_status_above_the_prompt_has_the_last_answer_too(self) -> None:
        """It is what goes into the next request."""
        self.assertIn("32 % of 32,000", self.talk([Reply("word " * 9_000)], ["hi"]).told)

    def test_a_failed_turn_is_told_in_one_line_and_an_empty_line_tries_again(self) -> None:
        """The session is as it was; nothing is said twice."""
        talk = self.talk([ModelError("no route"), DONE], ["hi", ""])
        self.assertIn("mini-agent: model_error: no route\n", talk.told)
        self.assertEqual(talk.model.asked[0], talk.model.asked[1])
        self.assertEqual("done\n", talk.out.getvalue())
        self.assertIn("(an empty line tries again)\n", talk.told)
        self.assertEqual(0, self.talk([ModelError("no route")], ["hi"]).status)

    def test_ctrl_c_once_ends_the_step_twice_the_program(self) -> None:
        """What is said in between begins to count anew."""
        talk = self.talk([KeyboardInterrupt()], ["hi", KeyboardInterrupt, "never"])
        self.assertEqual((130, ["never"]), (talk.status, [*talk.keyboard.lines]))
        self.assertNotIn("(Ctrl-C again", talk.told)
        self.assertNotIn("mini-agent: interrupted", talk.told)
        self.assertEqual(130, self.talk([], [KeyboardInterrupt, KeyboardInterrupt]).status)
        talk = self.talk([DONE], [KeyboardInterrupt, KeyboardInterrupt("begun"), "hi"])
        self.assertEqual((0, "done\n"), (talk.status, talk.out.getvalue()))
        talk = self.talk([KeyboardInterrupt(), DONE], ["hi", "go on", KeyboardInterrupt, "/quit"])
        self.assertEqual((0, "done\n"), (talk.status, talk.out.getvalue()))
        self.assertIn("(Ctrl-C again ends the program)", talk.told)

    def test_in_a_pipe_the_last_turn_is_the_status_and_nobody_is_asked(self) -> None:
        """No prompt, no status line; what needs leave is denied."""
        talk = self.talk([RUN, DONE], ["hi"], terminal=False)
        self.assertEqual(("done\n", 0), (talk.out.getvalue(), talk.status))
        self.assertIn("nobody is there to be asked", talk.model.asked[1][-1]["content"])
        self.assertNotIn("% of", talk.told)
        self.assertNotIn("resume with", talk.told)
        talk = self.talk([ModelError("down")], ["hi"], terminal=False)
        self.assertEqual((1, False), (talk.status, "tries again" in talk.told))
        for replies, lines in (([KeyboardInterrupt()], ["hi", "never"]),
                               ([], [KeyboardInterrupt, "never"])):
            talk = self.talk(replies, lines, terminal=False)
            self.assertEqual((130, ["never"]), (talk.status, [*talk.keyboard.lines]))

    def test_the_status_line_has_share_price_tokens_and_drift(self) -> None:
        """As the endpoint counted them, with the user's prices."""
        usage = {"prompt_tokens": 3_200, "completion_tokens": 100, "cached_tokens": 1_200}
        talk = self.talk([Reply("done", usage=usage)], ["hi"], prices=Prices(3, .3, 15))
        drift = next(read_trace(self.folder / "s.jsonl").events("model_usage"))["drift"]
        self.assertIn("10 % of 32,000 | cost 0.0079 | in 3,200 (cached 1,200) out 100 | "
                      f"drift {drift:+,}\n", talk.told)

    def test_the_command_that_goes_on_can_be_copied(self) -> None:
        """Also where the name of a folder has a blank."""
        folder = self.folder / "my work"
        folder.mkdir()
        self.assertIn(f"resume with: mini-agent resume '{folder / 's.jsonl'}'\n",
                      Talk(folder, [DONE], ["hi"]).told)

    def test_narrow_and_plain_nothing_is_wider_than_the_screen(self) -> None:
        """At 40 columns, and for a screen reader: words, no bars and no signs."""
        lines = ["hi", "/context", "/help", "/policy", "/nonsense", "/why x", "/undo"]
        replies = [counting(1), Reply("word " * 60)]
        talk = self.talk(replies, lines, columns=40)
        *told, last = (talk.out.getvalue() + talk.told).splitlines()
        for line in told:
            self.assertLessEqual(width(line), 40, line)
        self.assertEqual(f"resume with: mini-agent resume {self.folder / 's.jsonl'}", last,
                         "in one piece, to be copied")
        plain = self.talk(replies, lines, plain=True)
        self.assertIn("call: count n=1\nended: ok, ", plain.told)
        self.assertNotIn("[S", plain.told)
        self.assertNotIn("\x1b", plain.told + plain.out.getvalue())

    def test_every_command_does_what_its_help_says(self) -> None:
        """Pin, stage, compact, undo, policy, model, save, why: each in the records."""
        copy = self.folder / "copy.jsonl"
        talk = self.talk(
            [*[counting(number) for number in range(8)], DONE, Reply("as two")],
            ["hi", "/pin", "/pin parameter count 3 line 7 of", "/stage first", "/compact numbers",
             "/undo", "/policy published", "/model two", "say it", f"/save {copy}", "/save",
             "/why count 3", "/context", "/help", "/quit", "never said"])
        records = read_trace(self.folder / "s.jsonl")
        pins = list(records.events("pin"))
        self.assertEqual([("constraint", "hi"), ("parameter", "count 3 line 7 of")],
                         [(pin["kind"], pin["text"]) for pin in pins])
        self.assertEqual(["first"], [stage["name"] for stage in records.events("stage")])
        self.assertEqual(1, len(list(records.events("undo"))))
        self.assertEqual([{"name": "published", "window": 32_000, "reserve": 4_096}, None], [
            told.get("policy") for told in records.events("settings")])
        self.assertEqual("two", list(records.events("settings"))[1]["model"])
        self.assertIn("why count 3", talk.told)
        self.assertIn("results", talk.told)
        self.assertTrue((self.folder / "s.jsonl").read_bytes().startswith(copy.read_bytes()))
        self.assertNotIn("never said", (self.folder / "s.jsonl").read_text(encoding="utf-8"))

    def test_each_command_says_what_it_has_done(self) -> None:
        """With the numbers before and after, to the token."""
        talk = self.talk([*[counting(number) for number in range(8)], DONE],
                         ["hi", "/pin", "/pin parameter count 3 line 7 of", "/stage first",
                          "/compact numbers", "/undo", "/policy published", "/compact", "/compact",
                          "/context"], columns=200)
        told = talk.told[talk.told.index("pinned as"):]
        said = [row for row in told.splitlines() if not row.startswith("~") and "% of" not in row]
        self.assertEqual(["pinned as constraint: message #1",
                          "pinned as parameter: a stretch of message #9", "stage first has ended"],
                         said[:3])
        first, back, again = (
            [int(number.replace(",", "")) for number in row.removesuffix(" tokens").split(" -> ")]
            for row in (said[3], said[4], said[6]))
        self.assertGreater(first[0], first[1])
        self.assertEqual(first[1], back[0])
        self.assertGreater(again[0], again[1])
        self.assertEqual(f"policy published: {find_policy('published').about}", said[5])
        self.assertEqual(f"nothing gained: still {again[1]:,} tokens", said[7])
        steps = [change["step"] for change in read_trace(self.folder / "s.jsonl").events(
            "context_compression") if change["trigger"] == "manual"]
        self.assertEqual([talk.session.step] * len(steps), steps)
        self.assertEqual(list(contents(talk.session.window, talk.screen.style))[1], said[8])

    def test_the_policies_are_listed_and_the_one_in_use_is_marked(self) -> None:
        """One from a file stands above them, since no name is its own."""
        for policy, marked in (("clip", ["clip (now)"]), (str(self.own("clip")), [
                "clip (now, from a file)"])):
            talk = self.talk([DONE], ["hi", "/policy"], policy=policy, columns=400)
            rows = [row for row in talk.told.splitlines() if ": " in row]
            self.assertNotIn("mini-agent: ", talk.told.rpartition("resume with")[0])
            self.assertEqual(marked, [row.partition(":")[0] for row in rows if "(now" in row])
            self.assertLessEqual({f"{name}: {find_policy(name).about}" for name in policy_names()
                                  if name != "clip"}, set(rows))
        self.assertNotIn("(now", self.talk([], ["/policy"]).told)  # nothing has begun

    def own(self, name: str) -> Path:
        """A policy of the user's own, which is called like one of ours."""
        path = self.folder / "own.json"
        path.write_text(json.dumps({"name": name, "source": "me", "about": "my own", "ladder": [
            {"strategy": "sliding_window"}]}), encoding="utf-8")
        return path

    def test_what_a_user_has_to_know_of_the_window_is_said(self) -> None:
        """From the third summary on that long threads lose; why a summary has failed; and,
        where three have, that no other is tried and what tries again."""
        lines = [line for number in range(4) for line in ("more " * 60 + str(number), "/compact")]
        talk = self.talk([Reply("word " * 300) for _ in range(4)], lines, policy="handoff_note")
        self.assertEqual(2, talk.told.count("! Long threads and many compressions make"))
        records: list[Record] = []
        made = window(2_000, "rolling_summary", summaries=["raise"] * 3, records=records)
        with self.assertRaises(ContextOverflowError):
            made.before_model_call([*head(), *rounds(12, "x\n" * 400)], 12)
        said = io.StringIO()
        narrator = Narrator(Screen(io.StringIO(), said, Style(columns=80)))
        for record in records:
            narrator(record)
        failed = ("~ rolling_summary failed: rolling: the summariser failed: the summariser "
                  "failed\n(injected)\n")
        self.assertEqual(failed * 3 + "! 3 summaries in a row have failed: none is tried by itself "
                         "any more; /compact\ntries again\n", said.getvalue())

    def test_what_is_wrong_with_a_command_is_one_line(self) -> None:
        """And changes nothing."""
        for line, says in (("/contxt", "did you mean context"), ("/policy no", "no policy 'no'"),
                           ("/undo", "no compression to undo"), ("/stage", "needs a name"),
                           ("/pin never was said", "word for word"), ("/why", "empty text"),
                           (f"/save {self.folder}", "there is a file already"),
                           ("/save /dev/null/x", "cannot be written"),
                           ("/save " + "n" * 300, "cannot be written (File name too long)"),
                           ("/save ~nobody-at-all/x", "not a name of a file"),
                           ("/save a\0b", "not a name of a file (it has a NUL)"),
                           ("/save .", "there is a file already"),
                           ("/policy a\0b.json", "cannot be read (embedded null")):
            with self.subTest(line):
                talk = self.talk([DONE], ["hi", line])
                told = [row for row in talk.told.splitlines() if row.startswith("mini-agent:")]
                self.assertEqual(1, len(told), talk.told)
                self.assertIn(says, talk.told.replace("\n", " "))
        self.assertIn("say something first", self.talk([], ["/context"]).told)

    def test_prices_are_three_numbers(self) -> None:
        """Anything else is refused with the form that is wanted."""
        self.assertEqual(Prices(3, .3, 15), prices("3,0.3,15"))
        self.assertEqual(Prices(0, 0, 999_999), prices("0,0,999999"))  # nothing is a price, too
        for text in ("", "3", "1,2", "a,b,c", "1,2,3,4", "-1,2,3", "nan,1,1", "inf,1,1",
                     "1,1,1000000"):
            with self.subTest(text), self.assertRaisesRegex(UsageError, "IN,CACHED,OUT"):
                prices(text)


class Leave(FolderTest):
    """Before something is written or run."""

    def asked(self, reply: Reply, *answers: str, **options: object) -> Talk:
        return Talk(self.folder, [reply, DONE], ["hi", *answers], **options)

    def result(self, talk: Talk) -> str:
        return talk.model.asked[1][-1]["content"]

    def test_reading_and_looking_is_free(self) -> None:
        """Nobody is asked."""
        (self.folder / "skills").mkdir()
        (self.folder / "skills" / "x.md").write_text("x", encoding="utf-8")
        looks = Reply("", tuple(call("c", name, arguments) for name, arguments in (
            ("list_files", {}), ("read_file", {"path": "skills/x.md"}),
            ("search_text", {"pattern": "x"}), ("skill", {"name": "x"}), ("pin", {"handle": 1}),
            ("describe_tool", {"name": "write_file"}))))
        for read_only in (False, True):
            talk = self.asked(looks, policy="lean_input", read_only=read_only)
            self.assertEqual([], talk.keyboard.asked)
            self.assertEqual([], [result["error"] for result in talk.model.asked[1]
                                  if result.get("error", {}).get("code") == "DENIED"])
            self.assertEqual("x", talk.model.asked[1][-3]["content"])

    def test_a_new_file_is_shown_whole_and_written_after_a_yes(self) -> None:
        """Every line of it, as a diff."""
        talk = self.asked(WRITE, "y")
        self.assertIn("  write_file a.txt (a new file):\n  --- a/a.txt\n  +++ b/a.txt\n"
                      "  @@ -0,0 +1,2 @@\n  +one\n  +two\n", talk.told)
        self.assertEqual("one\ntwo\n", (self.folder / "a.txt").read_text(encoding="utf-8"))

    def test_a_huge_file_that_is_replaced_is_told_by_its_size(self) -> None:
        """Nobody looks through a million lines that go; what is to stand there is shown whole."""
        (self.folder / "a.txt").write_bytes(b"\n" * 1_000_100)
        said = self.asked(WRITE, "n").told
        self.assertIn("  write_file a.txt (in place of 1,000,100 bytes):\n  --- a/a.txt\n", said)
        self.assertIn("  @@ -0,0 +1,2 @@\n  +one\n  +two\n", said)
        self.assertLess(len(said), 1_000)

    def test_a_file_that_is_written_as_it_is_shows_that_nothing_changes(self) -> None:
        """An empty diff would look as if something were hidden."""
        (self.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
        self.assertIn("  write_file a.txt:\n  (nothing changes)\n", self.asked(WRITE, "y").told)
        (self.folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
        self.assertIn("  write_file a.txt:\n  (only the ends of lines change)\n",
                      self.asked(WRITE, "y").told)

    def test_a_no_changes_nothing_and_its_reason_reaches_the_model(self) -> None:
        """As DENIED."""
        talk = self.asked(WRITE, "n use b.txt instead")
        self.assertEqual("ERROR DENIED: the user said no: use b.txt instead", self.result(talk))
        self.assertFalse((self.folder / "a.txt").exists())
        self.assertEqual("ERROR DENIED: the user said no", self.result(self.asked(WRITE, "no")))

    def test_an_edit_shows_its_diff_and_one_that_cannot_be_is_not_asked_for(self) -> None:
        """It fails by itself."""
        (self.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
        talk = self.asked(EDIT, "y")
        self.assertIn("   one\n  -two\n  +2\n", talk.told)
        self.assertEqual("one\n2\n", (self.folder / "a.txt").read_text(encoding="utf-8"))
        talk = self.asked(EDIT)
        self.assertEqual([], talk.keyboard.asked)
        self.assertIn("NO_MATCH", self.result(talk))

    def test_a_command_is_shown_whole_and_always_is_for_its_tool(self) -> None:
        """Other tools are still asked for; what is no answer is asked again."""
        talk = Talk(self.folder, [RUN, RUN, WRITE, DONE], ["hi", "sure", "a", "n"])
        self.assertIn("  run:\n  python -c 'print(6 * 7)'\n", talk.told)
        self.assertEqual(3, len(talk.keyboard.asked))
        self.assertIn("\nanswer y, a, or n; after n you may give a reason\n", talk.told)
        self.assertIn("42", self.result(talk))
        self.assertFalse((self.folder / "a.txt").exists())

    def test_a_command_that_cannot_be_run_is_not_asked_for(self) -> None:
        """It would be asked for once more, with a shell."""
        for line, code in (("cd x && make", "COMMAND_NOT_ALLOWED"), ("echo 'one", "BAD_ARGUMENTS"),
                           (" ", "BAD_ARGUMENTS")):
            talk = self.asked(Reply("", (call("c", "run_command", {"command": line}),)))
            self.assertEqual([], talk.keyboard.asked)
            self.assertIn(code, self.result(talk))

    def test_what_hides_in_a_command_is_seen(self) -> None:
        """Escapes and marks of direction stand there as such."""
        hidden = Reply("", (call("c", "run_command", {"command": "echo \x1b[2K\u202etxt", "shell":
                                                      True, "timeout": 5}),))
        talk = self.asked(hidden, "n")
        self.assertIn("  run (in a shell) (at most 5 s):\n  echo \\x1b[2K\\u202etxt\n", talk.told)

    def test_outside_of_the_workspace_nothing_is_asked_or_written(self) -> None:
        """Whatever the user would have said."""
        outside = Reply("", (call("c", "write_file", {"path": "../x.txt", "content": ""}),))
        talk = self.asked(outside, yes=True)
        self.assertIn("OUTSIDE_WORKSPACE", self.result(talk))
        self.assertIn("OUTSIDE_WORKSPACE", self.result(self.asked(outside)))

    def test_yes_asks_nothing_and_read_only_offers_nothing_that_writes(self) -> None:
        """The model is not even told of such tools."""
        self.assertEqual([], self.asked(WRITE, yes=True).keyboard.asked)
        self.assertTrue((self.folder / "a.txt").exists())
        talk = self.asked(RUN, read_only=True)
        self.assertIn("UNKNOWN_TOOL", self.result(talk))

    def asking(self, name: str, **arguments: Any) -> str:
        """All that is shown of a call, and asked; "" where nobody is asked."""
        shown: list[str] = []

        def ask(prompt: str) -> str:
            shown.append(prompt)
            return "y"

        permission = Permission(
            Workspace(self.folder), SimpleNamespace(ask=ask),  # type: ignore[arg-type]
            SimpleNamespace(tell=lambda text, whole: shown.append(text)),  # type: ignore[arg-type]
            SimpleNamespace(paused=contextlib.nullcontext), Texts)  # type: ignore[arg-type]
        permission(SimpleNamespace(name=name), arguments)  # type: ignore[arg-type]
        return "\n".join(shown)

    def test_a_file_that_cannot_be_shown_is_asked_for_all_the_same(self) -> None:
        """A folder, a file too large: why, and what would stand there."""
        (self.folder / "folder").mkdir()
        with open(self.folder / "large", "wb") as file:
            file.truncate(MAX_BYTES + 1)
        for path, why in (("folder", "not a regular file: folder"),
                          ("large", "large has 50000001 bytes, more than 50000000 are not read")):
            self.assertEqual(f"  write_file {path} ({why}):\n  --- a/{path}\n  +++ b/{path}\n"
                             "  @@ -0,0 +1 @@\n  +one\nwrite_file? y(es), a(lways), n(o)"
                             " [reason]: ",
                             self.asking("write_file", path=path, content="one\n"))

    def test_any_other_tool_is_asked_for_with_all_its_arguments(self) -> None:
        """What this program knows nothing of is no reason to let it pass."""
        self.assertEqual('  delegate {\n   "task": "count 一",\n   "writes": [\n    "a"\n   ]\n  }\n'
                         "delegate? y(es), a(lways), n(o) [reason]: ",
                         self.asking("delegate", task="count 一", writes=["a"]))

    def test_a_child_is_asked_for_unless_it_can_only_read(self) -> None:
        """What may run a command may do anything, whatever it was told to do."""
        for free in ({}, {"tools": ["read_file", "search_text"]}, {"writes": []}):
            self.assertEqual("", self.asking("delegate", task="x", **free))
        for asked in ({"writes": ["a"]}, {"tools": ["read_file", "run_command"]}):
            self.assertIn("delegate? ", self.asking("delegate", task="x", **asked))

    def test_where_only_reading_is_allowed_nobody_is_asked_for_more(self) -> None:
        """Whatever the tool is called: the model is told why."""
        nobody: Any = SimpleNamespace()
        permission = Permission(Workspace(self.folder), nobody, nobody, nobody, Texts,
                                read_only=True)
        permission(SimpleNamespace(name="read_file"), {})  # type: ignore[arg-type]
        with self.assertRaises(ToolError) as caught:
            permission(SimpleNamespace(name="run_command"), {})  # type: ignore[arg-type]
        self.assertEqual(("DENIED", Texts()("denied_read_only")),
                         (caught.exception.code, caught.exception.message))

    def test_an_edit_that_will_fail_is_not_asked_for(self) -> None:
        """Of a file that is not there, of no words, of words that stand there twice."""
        (self.folder / "a.txt").write_text("one one\n", encoding="utf-8")
        for path, old in (("none", "one"), ("a.txt", ""), ("a.txt", "two"), ("a.txt", "one")):
            self.assertEqual("", self.asking("edit_file", path=path, old=old, new="x"))


if __name__ == "__main__":
    unittest.main()
