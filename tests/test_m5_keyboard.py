"""Milestone 5: what is typed, from a pipe, from a terminal, and while the model works."""

from __future__ import annotations

import fcntl
import io
import os
import queue
import stat
import struct
import sys
import termios
import threading
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TextIO
from unittest import mock

from mini_agent.chat.keyboard import HISTORY, Keyboard, line_editing
from mini_agent.chat.listener import Keys
from mini_agent.interrupts import Interrupts
from tests.support import FolderTest
from tests.talks import Terminal


class Fingers(Terminal):
    """A terminal at which these lines are typed; an exception among them is raised."""

    def __init__(self, *typed: Any) -> None:
        super().__init__()
        self.typed = [*typed]

    def readline(self, size: int | None = -1, /) -> str:
        line = self.typed.pop(0) if self.typed else ""
        if isinstance(line, BaseException):
            raise line
        return str(line)


class Answering(io.StringIO):
    """A stream for prompts; what is asked there is answered at once."""

    def __init__(self, answer: Callable[[], object]) -> None:
        super().__init__()
        self._answer = answer

    def write(self, text: str) -> int:
        self._answer()
        return super().write(text)


def keyboard_of(source: TextIO, prompts: TextIO | None = None,
                on_kept: Callable[[str], None] = str) -> tuple[Keyboard, list[str]]:
    """A keyboard, and what it remembers."""
    remembered: list[str] = []
    keyboard = Keyboard(source, Interrupts(), prompts or io.StringIO(), on_kept, str)
    keyboard.remember = remembered.append
    return keyboard, remembered


@contextmanager
def terminal() -> Iterator[tuple[TextIO, Callable[[str], None]]]:
    """The program's end of a terminal, and a function that types while nobody reads; what it
    types is there then."""
    mine, theirs = os.openpty()
    with open(mine, "wb", buffering=0) as keys, open(theirs, encoding="utf-8") as source:
        def press(text: str) -> None:
            keys.write(text.encode())
            while not struct.unpack("i", fcntl.ioctl(source, termios.FIONREAD, b"\0" * 4))[0]:
                pass  # the system takes a moment to hand it over
        yield source, press


class Lines(unittest.TestCase):
    """What comes out of a stream, message by message."""

    def test_a_pipe_gives_lines_without_ends_marks_and_prompts(self) -> None:
        """And nothing is remembered; what was begun at its end is a message."""
        source = io.StringIO("\ufeffone\r\ntwo\\\nthree\n\nbegun\\\n", newline="")
        prompts = io.StringIO()
        keyboard, remembered = keyboard_of(source, prompts)
        self.assertEqual(["one", "two\nthree", "", "begun"],
                         [keyboard.message("> ") for _ in range(4)])
        for read in (keyboard.message, keyboard.ask):
            with self.assertRaises(EOFError):
                read("> ")
        self.assertEqual(("", []), (prompts.getvalue(), remembered))

    def test_a_terminal_is_prompted_for_each_line_and_words_are_remembered(self) -> None:
        """Of blank lines nothing is; a letter that the locale lacks ends nothing."""
        prompts = io.StringIO()
        keyboard, remembered = keyboard_of(Fingers("one\\\n", "two\n", " \n", "x\n"), prompts)
        self.assertEqual(["one\ntwo", " ", "x"], [keyboard.message("> ") for _ in range(3)])
        self.assertEqual(("> ... > > ", ["one\ntwo", "x"]), (prompts.getvalue(), remembered))
        keyboard, _ = keyboard_of(Fingers("é\n"))
        keyboard.remember = mock.Mock(side_effect=ValueError)
        self.assertEqual("é", keyboard.message("> "))

    def test_a_paste_of_many_lines_is_one_message(self) -> None:
        """It comes as one line. Quotes around it go, those in it stay; it may end a message."""
        for typed, message in (
                (['a\n"""\nb\n"""\nc\n'], 'a\n"""\nb\n"""\nc'),
                (['"""\na\n\nb\n"""\n'], "a\n\nb"),
                (['"""\n', 'a\n"""\nb\n"""\n'], 'a\n"""\nb'),
                (['"""\n', "a\nb\n", '"""\n'], "a\nb"), (["a\nb\\\n", "c\n"], "a\nb\nc")):
            keyboard, _ = keyboard_of(Fingers(*typed, "next\n"))
            self.assertEqual([message, "next"], [keyboard.message("> ") for _ in range(2)])

    def test_a_question_that_is_left_ends_its_line(self) -> None:
        """What is told of it next does not stand behind it."""
        for left in (EOFError(), KeyboardInterrupt()):
            prompts = io.StringIO()
            keyboard, _ = keyboard_of(Fingers(left), prompts)
            with (mock.patch("mini_agent.chat.keyboard.termios", None),
                  self.assertRaises(type(left))):
                keyboard.ask("y? ")
            self.assertEqual("y? \n", prompts.getvalue())

    def test_an_interrupt_says_whether_a_message_was_begun(self) -> None:
        """By a line of it, or in the line editor; anew for each message."""
        for typed, line, begun in (
                ([KeyboardInterrupt()], "", False), ([KeyboardInterrupt()], "some", True),
                (["a\\\n", KeyboardInterrupt()], "", True),
                ([SystemError("two of them")], "some", True)):
            keyboard, _ = keyboard_of(Fingers(*typed, KeyboardInterrupt(), "next\n"))
            keyboard.line = lambda line=line: line
            with self.assertRaises(KeyboardInterrupt):
                keyboard.message("> ")
            self.assertEqual(begun, keyboard.begun)
            keyboard.line = str
            with self.assertRaises(KeyboardInterrupt):
                keyboard.message("> ")
            self.assertFalse(keyboard.begun)
            self.assertEqual("next", keyboard.message("> "))


class AtATerminal(unittest.TestCase):
    """What is typed at a real one."""

    def test_what_was_kept_comes_first_and_a_command_is_no_word_for_the_model(self) -> None:
        """`typed` gives what stands before it; `message` the command, and what is behind it. All
        of it is remembered by the line editor."""
        with terminal() as (source, press):
            keyboard, remembered = keyboard_of(source)
            press("a\n/b/c\n/undo\nc\n")
            with keyboard.listening():
                pass
            self.assertEqual((["a", "/b/c"], []), (keyboard.typed(), keyboard.typed()))
            self.assertEqual(["/undo", "c"], [keyboard.message("> ") for _ in range(2)])
            self.assertEqual(["a", "/b/c", "/undo", "c"], remembered)

    def test_keys_that_have_no_letter_leave_none(self) -> None:
        """An arrow in front of a command does not make it a word for the model; Ctrl-W and
        Ctrl-U take back what they do at a prompt, a lone Escape swallows no line."""
        for keys, typed in (
                (("\x1b[D/quit\r",), ["/quit"]), (("a\x1b[A\x7fb\r",), ["b"]),
                (("\x1b[1;5Cx\x1bOPy\x1b[3~\r",), ["xy"]), (("a\x1b", "[Cb\r"), ["ab"]),
                (("q\x1b\r",), ["q"]),
                (("\x1b\x1b[Aq\r",), ["q"]), (("one two \x17three\r",), ["one three"]),
                (("one\x17\x17b\r",), ["b"]), (("a\x15b\x01\x0c\tc\x9b\r",), ["b\tc"]),
                (("\x1b[" + "1" * 30 + "\r",), ["1" * 9]),
                (("\x1b[200~\x04a\x15\x7f\x17b\r\x1b[201~\r",), ["ab\n"])):  # pasted, not pressed
            with self.subTest(keys):
                made = Keys()
                self.assertEqual(typed, [line for part in keys for line in
                                         made.add(part.encode())])
                self.assertFalse(made.ended)

    def test_a_paste_of_many_lines_while_the_model_works_is_one_message(self) -> None:
        """A terminal that marks pastes is asked to, as long as it is listened to. A path in the
        paste is no command, and what is pasted and not sent goes on at the prompt."""
        with terminal() as (source, press):
            prompts = io.StringIO()
            keyboard, _ = keyboard_of(source, prompts)
            keyboard.pastes = True
            press("see: \x1b[200~Traceback:\r  File x\r/lib/a\r\x1b[201~?\r"
                  "\x1b[200~one\ntwo\x1b[201~")
            with keyboard.listening():
                self.assertEqual("\x1b[?2004h", prompts.getvalue())
            self.assertEqual("\x1b[?2004h\x1b[?2004l", prompts.getvalue())
            self.assertEqual(["see: Traceback:\n  File x\n/lib/a\n?"], keyboard.typed())
            press("\n")
            self.assertEqual("one\ntwo", keyboard.message("> "))

    def test_it_is_silent_while_somebody_listens_and_as_before_then(self) -> None:
        """It shows what is typed again; no descriptor is left open."""
        with terminal() as (source, _):
            keyboard, _ = keyboard_of(source)
            before, open_before = termios.tcgetattr(source), os.listdir("/dev/fd")
            with keyboard.listening():
                self.assertFalse(termios.tcgetattr(source)[3] & termios.ECHO)
            self.assertEqual((before, open_before),
                             (termios.tcgetattr(source), os.listdir("/dev/fd")))
            self.assertTrue(before[3] & termios.ECHO)

    def test_an_answer_is_typed_after_its_question(self) -> None:
        """What was typed ahead is thrown away; then it is listened again."""
        with terminal() as (source, press):
            keyboard, _ = keyboard_of(source, Answering(lambda: press("yes\n")))
            press("typed ahead\n")
            self.assertEqual("yes", keyboard.ask("sure? "))
            with keyboard.listening():
                self.assertEqual("yes", keyboard.ask("sure? "))
                self.assertFalse(termios.tcgetattr(source)[3] & termios.ECHO)

    def test_where_the_input_ended_while_the_model_worked_it_stays_ended(self) -> None:
        """Ctrl-D is no line: nobody is asked again, and nobody listens."""
        mine, theirs = os.openpty()
        with open(mine, "wb", buffering=0) as keys, open(theirs, encoding="utf-8") as source:
            kept: queue.Queue[str] = queue.Queue()
            keyboard, _ = keyboard_of(source, on_kept=kept.put)
            threads = threading.active_count()
            with keyboard.listening():
                keys.write(b"word\n\x04")
                self.assertEqual("word", kept.get(timeout=120))
                while threading.active_count() > threads:
                    pass  # it has to read the last key
            self.assertEqual("word", keyboard.message("> "))
            for _ in range(2):
                with keyboard.listening(), self.assertRaises(EOFError):
                    keyboard.message("> ")


class Editing(FolderTest):
    """The line editor, where Python has one."""

    def test_lines_are_remembered_in_a_file_of_the_users_own(self) -> None:
        """Its folder is made; what was read once is read again, but for pastes of many lines;
        one that cannot be written ends nothing."""
        done: list[tuple[Any, ...]] = []

        def note(name: str) -> Callable[..., None]:
            def act(*given: Any) -> None:
                done.append((name, *given))
                if name == "write_history_file":
                    given[0].write_text("x\n", encoding="utf-8")
            return act
        history = ["line", "a\npaste", "another", "two\nlines"]
        editor = SimpleNamespace(
            get_line_buffer=lambda: "half", get_current_history_length=lambda: len(history),
            get_history_item=lambda number: history[number - 1],
            remove_history_item=lambda at: history.pop(at), **{name: note(name) for name in (
            "read_history_file", "set_history_length", "set_auto_history", "add_history",
            "write_history_file", "set_startup_hook", "insert_text", "parse_and_bind")})
        path = self.folder / "new" / "history"
        keyboard, _ = keyboard_of(Terminal())
        with mock.patch.dict(sys.modules, {"readline": editor}):
            with line_editing(keyboard, path):
                keyboard.remember("a line")
                self.assertEqual("half", keyboard.line())
            self.assertEqual([("read_history_file", path), ("set_history_length", HISTORY),
                              ("set_auto_history", False),
                              ("parse_and_bind", "set convert-meta off"),
                              ("add_history", "a line"),
                              ("write_history_file", path)], done)
            self.assertEqual(["line", "another"], history)
            self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode))
            self.assertEqual(0o700, stat.S_IMODE(path.parent.stat().st_mode))
            done.clear()
            for nowhere in (None, path / "below"):
                with line_editing(keyboard, nowhere):
                    done.clear()
                self.assertEqual([], done)
            with line_editing(keyboard, None, pastes=True):
                self.assertIn(("parse_and_bind", "set enable-bracketed-paste on"), done)
        keyboard, remembered = keyboard_of(Terminal())
        with mock.patch.dict(sys.modules, {"readline": None}), line_editing(keyboard, path):
            keyboard.remember("without an editor")
        self.assertEqual(["without an editor"], remembered)


if __name__ == "__main__":
    unittest.main()
