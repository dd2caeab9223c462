"""Milestone 2: the registry, and the tools that read and write files."""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from mini_agent.data_uris import without_data
from mini_agent.errors import ToolError, UsageError
from mini_agent.hostile import clean_output
from mini_agent.messages import Message, call
from mini_agent.texts import Texts
from mini_agent.tools import standard_tools
from mini_agent.tools.base import Tool, ToolBox
from mini_agent.tools.workspace import Workspace


class ToolCase(unittest.TestCase):
    """A workspace of its own in a folder of its own, and short ways to call tools."""

    language = "en"

    def setUp(self) -> None:
        outer = tempfile.TemporaryDirectory()
        self.addCleanup(outer.cleanup)
        self.outer = Path(os.path.realpath(outer.name))
        self.root = self.outer / "ws"
        self.root.mkdir()
        self.texts = Texts(self.language)
        self.workspace = Workspace(self.root, self.texts)
        self.box = ToolBox(standard_tools(self.workspace), self.texts)

    def put(self, path: str, data: str | bytes) -> Path:
        """A file in the workspace, its bytes exactly `data`."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return file

    def ask(self, name: str, /, **arguments: Any) -> Message:
        return self.box.run(call("call_0_0", name, arguments))

    def ok(self, name: str, /, **arguments: Any) -> str:
        """The content of a result that is no error."""
        result = self.ask(name, **arguments)
        self.assertNotIn("error", result, result["content"])
        return str(result["content"])

    def fails(self, code: str, name: str, /, **arguments: Any) -> str:
        """The content of a result that is the error `code`, without `ERROR CODE: `."""
        result = self.ask(name, **arguments)
        self.assertEqual(result.get("error", {}).get("code"), code, result["content"])
        start = f"ERROR {code}: {result['error']['message']}"
        self.assertTrue(result["content"].startswith(start), result["content"])
        return str(result["content"].removeprefix(f"ERROR {code}: "))


class Crashing:
    """A tool that raises what it is given."""

    name, description, parameters = "crash", "", {"type": "object"}

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, **arguments: Any) -> str:
        raise self.error


class BoxTest(ToolCase):
    def test_tools_are_declared_in_a_fixed_order(self) -> None:
        """The model is told of the same tools in the same order, each with a closed schema."""
        names = ("list_files", "read_file", "search_text", "write_file", "edit_file", "run_command")
        self.assertEqual(self.box.names, names)
        for name, declared in zip(names, self.box.declarations(), strict=True):
            self.assertEqual(list(declared), ["name", "description", "parameters"])
            self.assertEqual(declared["name"], name)
            self.assertIs(declared["parameters"]["additionalProperties"], False)
        json.dumps(self.box.declarations())

    def test_two_tools_of_one_name_are_refused(self) -> None:
        """A name means one tool; the mistake is found when the registry is made."""
        with self.assertRaises(UsageError):
            ToolBox([Crashing(KeyError()), Crashing(KeyError())], self.texts)

    def test_an_unknown_tool_names_the_close_ones_and_all(self) -> None:
        """A model that misremembers a name gets what it needs to go on."""
        self.assertEqual(
            self.fails("UNKNOWN_TOOL", "read_fil"),
            "there is no tool read_fil (did you mean read_file, edit_file, write_file?); the tools "
            "are: list_files, read_file, search_text, write_file, edit_file, run_command")

    def test_arguments_that_are_no_object_say_where(self) -> None:
        """Broken JSON is answered with line and column, other JSON with what it is."""
        for raw, fault in (('{"path": "a"', "line 1 column 13: Expecting ',' delimiter"),
                           ('{\n "path": a}', "line 2 column 10: Expecting value"),
                           ("[1, 2]", "it is array"), ("null", "it is null"),
                           ("", "line 1 column 1: Expecting value"),
                           ('{"a": 1}', "it is an object inside a string")):
            with self.subTest(raw=raw):
                result = self.box.run(call("call_0_0", "read_file", raw))
                self.assertEqual(result["content"], "ERROR INVALID_JSON: the arguments are not a "
                                                    f"JSON object: {fault}")

    def test_every_fault_of_the_arguments_is_listed_at_once(self) -> None:
        """Missing, unknown with a close name, wrong type with what was found, too small."""
        self.assertEqual(
            self.fails("BAD_ARGUMENTS", "read_file", pth="a", start_line=0, end_line="9"),
            "path is missing; pth is unknown (did you mean path?); start_line must be at least 1, "
            "not 0; end_line must be integer, not string '9'")

    def test_a_bool_is_no_integer_and_nan_no_number(self) -> None:
        """Python's and JavaScript's odd values do not slip through the types."""
        self.put("a", "text\n")
        self.assertEqual(self.fails("BAD_ARGUMENTS", "read_file", path="a", start_line=True),
                         "start_line must be integer, not boolean True")
        self.assertEqual(
            self.fails("BAD_ARGUMENTS", "run_command", command="true", timeout=float("nan")),
            "timeout must be number, not string 'NaN'")

    def test_null_for_an_optional_argument_means_not_given(self) -> None:
        """Models that fill in every argument are understood; a needed one is still needed."""
        self.put("a", "text\n")
        self.assertEqual(self.ok("read_file", path="a", start_line=None, end_line=None), "text\n")
        self.assertEqual(self.fails("BAD_ARGUMENTS", "read_file", path=None),
                         "path must be string, not null")

    def test_an_exception_inside_a_tool_is_a_result(self) -> None:
        """Class and words in one line, without the workspace's root; even for sys.exit."""
        for error, message in ((KeyError("x"), "KeyError: 'x'"), (ValueError(), "ValueError"),
                               (SystemExit(3), "SystemExit: 3"),
                               (RecursionError("a\nb"), "RecursionError: a b"),
                               (OSError(f"{self.root}/x"), "OSError: ./x")):
            with self.subTest(error=error):
                box = ToolBox([Crashing(error)], self.texts, scrub=self.workspace.scrub)
                result = box.run(call("call_7_1", "crash", {}))
                self.assertEqual(result, {
                    "role": "tool", "tool_call_id": "call_7_1", "name": "crash",
                    "content": f"ERROR TOOL_CRASHED: {message}",
                    "error": {"code": "TOOL_CRASHED", "message": message}})

    def test_an_interrupt_passes_through(self) -> None:
        """Ctrl-C is the loop's to handle, not a tool's failure."""
        with self.assertRaises(KeyboardInterrupt):
            ToolBox([Crashing(KeyboardInterrupt())], self.texts).run(call("c", "crash", {}))

    def test_a_hook_may_deny_a_call(self) -> None:
        """It is asked with the checked arguments, before the tool does anything."""
        def permit(tool: Tool, arguments: dict[str, Any]) -> None:
            if tool.name == "write_file" and arguments["path"] == "a":
                raise ToolError("DENIED", "not this file")
        self.box = ToolBox(standard_tools(self.workspace), self.texts, permit)
        self.assertEqual(self.fails("DENIED", "write_file", path="a", content=""), "not this file")
        self.assertFalse((self.root / "a").exists())
        self.ok("write_file", path="b", content="")

    def test_output_is_cleaned_as_a_terminal_shows_it(self) -> None:
        """Escapes and control characters go, of a redrawn line the last state stays."""
        for raw, shown in (("\x1b[1;31mred\x1b[0m", "red"), ("a\r\nb\r\n", "a\nb\n"),
                           (" 10%\r 50%\r100%\ndone", "100%\ndone"), ("50%\r", "50%"),
                           ("\x1b]0;title\x07text", "text"), ("\x1b]0;no end\nnext", "\nnext"),
                           ("|\b/\b-\bok", "ok"), ("a\0b\x07c\x7f", "abc"),
                           ("\t中\ud800", "\t中\ufffd"),
                           ("\x1b\x1b[31m[31mx", "[31mx"), ("\x9b31mx", "x"), (None, "")):
            with self.subTest(raw=raw):
                self.assertEqual(clean_output(raw), shown)
                self.assertEqual(clean_output(shown), shown)

    def test_data_that_is_spelt_out_is_its_type_and_size(self) -> None:
        """1,000 characters of base64 and more; a shorter one stays, and so does what is none."""
        for before, after in (
                ("data:image/png;base64," + "A" * 1_002 + "==", "[image image/png, 751 bytes]"),
                ("data:image/svg+xml;charset=utf-8;base64," + "_-" * 500,
                 "[image image/svg+xml, 750 bytes]"),
                ("data:font/woff2;base64," + "A" * 1_003 + "=", "[data font/woff2, 752 bytes]"),
                ("data:;base64," + "A" * 1_000, "[data text/plain, 750 bytes]")):
            with self.subTest(after=after):
                self.assertEqual(f'<img src="{after}">\n({after})\n{after}\nB',
                                 without_data(f'<img src="{before}">\n({before})\n{before}\nB'))
        for text in ("data:image/png;base64," + "A" * 999, "A" * 2_000, ";base64," + "A" * 2_000,
                     "data:image/png," + "A" * 2_000, "data:image/png;base64,\n" + "A" * 2_000):
            self.assertEqual(text, without_data(text))

    def test_data_that_may_have_been_cut_says_so(self) -> None:
        """At the end of a text, and before a note in brackets; padding is an end as well."""
        uri = "data:image/png;base64," + "A" * 4_000
        self.assertEqual("[image image/png, 3000 bytes or more]", without_data(uri))
        self.assertEqual("[image image/png, 3000 bytes or more]\n[... 9 characters "
                         "left out ...]\nA",
                         without_data(uri + "\n[... 9 characters left out ...]\nA"))
        self.assertEqual("[image image/png, 3002 bytes]", without_data(uri + "AAA="))

    def test_no_result_has_data_spelt_out(self) -> None:
        """A file, a command that succeeds or fails, whatever a tool says: measured whole, before
        anything is cut; the file is as it was."""
        page = '<img src="data:image/png;base64,' + "A" * 400_000 + '">\nafter\n'
        shown = '<img src="[image image/png, 300000 bytes]">\nafter\n'
        self.put("page.html", page)
        self.assertEqual(shown, self.ok("read_file", path="page.html"))
        code = "print(open('page.html').read(), end='')"
        self.assertEqual(f"exit=0\n{shown.rstrip()}",
                         self.ok("run_command", command=f'python3 -c "{code}"'))
        self.assertEqual(f"exit=3\n{shown.rstrip()}", self.fails(
            "COMMAND_FAILED", "run_command", command=f'python3 -c "{code}; raise SystemExit(3)"'))
        self.box = ToolBox([Crashing(ToolError("ODD", "odd", page))], self.texts)
        self.assertEqual(f"odd\n{shown}", self.fails("ODD", "crash"))
        self.assertEqual(page, (self.root / "page.html").read_text(encoding="utf-8"))

    def test_cleaning_takes_time_in_proportion_to_the_text(self) -> None:
        """A hostile file cannot make the cleaning slow."""
        for piece in ("\x1b]", "\x1bP", "\x1b[1;", "\r", "\b", "a\r", "\x1b[", "\x9b1"):
            with self.subTest(piece=piece):
                start = time.process_time()
                clean_output(piece * 200_000)
                self.assertLess(time.process_time() - start, 5)


class HostileTest(ToolCase):
    JUNK: tuple[Any, ...] = (
        "", ".", "..", "../..", "/", "/etc/passwd", "a", "a/b", "link/x", "loop", "fifo", "\0",
        "\ud800", "中文", "{x}", "%s", "x" * 300, "x/" * 3000, "(a+)+$", "[", "-rf", "'", "a|b",
        None, True, 0, -1, 1.5, 10 ** 30, 2 ** 20_000, float("nan"), float("inf"), [], [1], {},
        {"a": None})

    def test_every_call_gets_exactly_one_result_whatever_it_says(self) -> None:
        """1,500 random calls in both languages: one result each, nothing outside is touched."""
        self.put("a/b", "text\n")
        (self.root / "link").symlink_to(self.outer, target_is_directory=True)
        (self.root / "loop").symlink_to("loop")
        os.mkfifo(self.root / "fifo")
        for language in ("en", "zh"):
            texts, chance = Texts(language), random.Random(2)
            box = ToolBox(standard_tools(Workspace(self.root, texts)), texts)
            known = {each["name"]: list(each["parameters"]["properties"])
                     for each in box.declarations()}
            for number in range(750):
                name = chance.choice([*known, *known, "nothing", "", "read_file\n"])
                keys = [*known.get(name, []), "\ud800", "zzz"]
                arguments: Any = {key: chance.choice(self.JUNK) for key in keys
                                  if chance.random() < .6}
                if number % 50 == 0:
                    arguments = chance.choice(("[" * 100_000, "{", "1" * 5_000, None, [1], 3))
                result = box.run(call(f"call_{number}", name, arguments))
                self.assertEqual((result["role"], result["tool_call_id"]),
                                 ("tool", f"call_{number}"))
                self.assertEqual(result["content"].startswith("ERROR "), "error" in result, result)
                self.assertNotIn("TOOL_CRASHED", result["content"], arguments)
                self.assertNotIn(str(self.outer), result["content"])
                json.dumps(result, ensure_ascii=False).encode("utf-8")
        self.assertEqual(sorted(os.listdir(self.outer)), ["ws"])


if __name__ == "__main__":
    unittest.main()
