"""Milestone 2: writing and editing, and the boundary of the workspace."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import tracemalloc
import unittest
from pathlib import Path
from unittest import mock

from mini_agent.errors import UsageError
from mini_agent.tools import workspace
from mini_agent.tools.edit import as_seen, closest, line_number, occurrences, replaced, unified_diff
from mini_agent.tools.workspace import Workspace
from .test_m2_tools import ToolCase

CODE = ("def one():\n    total = 0\n    return total\n\n\n"
        "def two():\n    total = 2\n    return total\n")


class WriteTest(ToolCase):
    def test_a_file_is_made_with_its_folders_and_counted(self) -> None:
        """The result says characters and lines; the bytes are UTF-8, as they were given."""
        self.assertEqual(self.ok("write_file", path="a/b/c.txt", content="é\r\n二\n3"),
                         "wrote a/b/c.txt: 6 characters / 3 lines")
        self.assertEqual((self.root / "a/b/c.txt").read_bytes(), "é\r\n二\n3".encode("utf-8"))
        self.assertEqual(self.ok("write_file", path="a/b/c.txt", content=""),
                         "wrote a/b/c.txt: 0 characters / 0 lines")

    def test_the_mode_of_a_file_stays(self) -> None:
        """A script is still executable after it was written anew."""
        self.put("run", "x").chmod(0o751)
        self.ok("write_file", path="run", content="y")
        self.assertEqual(stat.S_IMODE((self.root / "run").stat().st_mode), 0o751)

    def test_a_write_that_fails_leaves_the_old_file(self) -> None:
        """Whatever fails, the old bytes are there and nothing else is."""
        self.put("a", "old")
        for name in ("os.replace", "os.fchmod"):
            full = OSError(28, "No space left on device")
            with self.subTest(name=name), mock.patch(name, side_effect=full):
                self.assertEqual(self.fails("FILE_ERROR", "write_file", path="a", content="new"),
                                 "a: No space left on device")
            self.assertEqual((self.root / "a").read_bytes(), b"old")
            self.assertEqual(os.listdir(self.root), ["a"])

    def test_a_folder_or_a_file_in_the_way_is_an_error(self) -> None:
        """Nothing is replaced but a regular file."""
        self.put("a/b", "x")
        os.mkfifo(self.root / "pipe")
        for path, code in (("a", "NOT_A_FILE"), (".", "NOT_A_FILE"), ("a/b/c", "NOT_A_FOLDER"),
                           ("pipe", "NOT_A_FILE"), ("x" * 300, "FILE_ERROR")):
            with self.subTest(path=path):
                self.fails(code, "write_file", path=path, content="new")


class EditTest(ToolCase):
    def test_the_one_match_is_replaced_and_the_diff_returned(self) -> None:
        """The diff has a/ and b/ paths and true line numbers, and says what was left unchanged."""
        self.put("src/a.py", "".join(f"{n}\n" for n in range(100)) + CODE)
        self.assertEqual(
            self.ok("edit_file", path="src/a.py", old="    total = 2\n",
                    new="    total = 3\n    # more\n"),
            "--- a/src/a.py\n+++ b/src/a.py\n@@ -104,5 +104,6 @@\n \n \n def two():\n"
            "-    total = 2\n+    total = 3\n+    # more\n     return total")
        self.assertTrue((self.root / "src/a.py").read_text(encoding="utf-8").endswith(
            "    total = 3\n    # more\n    return total\n"))

    @unittest.skipUnless(shutil.which("patch"), "needs the program patch")
    def test_the_diff_can_be_applied(self) -> None:
        """`patch` makes the new file from the old one, with and without a newline at the end."""
        for before, old, new in (
                (CODE, "total = 2", "total = 3"), (CODE, CODE[:11], ""), ("a\nb", "b", "c"),
                ("a\nb", "b", "c\n"), ("a\n", "a\n", "a\nb"), ("a", "a", "b\n")):
            with self.subTest(before=before, old=old):
                self.put("f", before)
                diff = self.ok("edit_file", path="f", old=old, new=new)
                copy = self.put("copy", before)
                subprocess.run(["patch", "-s", str(copy)], input=diff + "\n", encoding="utf-8",
                               check=True)
                self.assertEqual(copy.read_bytes(), (self.root / "f").read_bytes())

    def test_no_match_names_the_closest_lines(self) -> None:
        """Equal but for its indentation first, else similar ones, each with its number."""
        self.put("a.py", CODE)
        for old, hint in (
                ("total = 2\nreturn", "the closest line is 7\n7:     total = 2"),
                ("def three():", "the closest lines are 1, 6\n1: def one():\n6: def two():"),
                ("%%%%", "no line comes close")):
            self.assertEqual(self.fails("NO_MATCH", "edit_file", path="a.py", old=old, new=""),
                             f"old does not stand in a.py (8 lines); {hint}")
        self.assertEqual((self.root / "a.py").read_text(encoding="utf-8"), CODE)

    def test_several_matches_are_refused_with_their_lines(self) -> None:
        """Overlapping places count too; the file is not touched."""
        self.put("a.py", CODE)
        self.put("b", "x\n=====\n")
        for path, old, lines in (("a.py", "return total", "3, 8"), ("b", "====", "2, 2")):
            self.assertEqual(self.fails("SEVERAL_MATCHES", "edit_file", path=path, old=old, new=""),
                             f"old stands 2 times in {path}, in lines {lines}; add lines around it")
        self.assertEqual((self.root / "a.py").read_text(encoding="utf-8"), CODE)

    def test_an_edit_without_effect_is_refused(self) -> None:
        """An empty old names no place, and an equal new changes nothing."""
        self.put("a", "text")
        self.assertEqual(self.fails("BAD_ARGUMENTS", "edit_file", path="a", old="", new="x"),
                         "old is empty; to write a whole file use write_file")
        self.assertEqual(self.fails("BAD_ARGUMENTS", "edit_file", path="a", old="text", new="text"),
                         "old and new are the same, nothing would change")
        file = self.put("a", "a\r\nb\nc\nd\n")  # whose diff would show no change either
        self.fails("BAD_ARGUMENTS", "edit_file", path="a", old="a\nb\nc\nd\n", new="a\nb\nc\nd\n")
        self.assertEqual(b"a\r\nb\nc\nd\n", file.read_bytes())

    def test_what_an_edit_does_not_name_keeps_its_bytes(self) -> None:
        """BOM, CRLF, mixed line endings and bytes that are no UTF-8."""
        for before, old, new, after in (
                (b"\xef\xbb\xbfa\r\nb\r\nc\r\n", "a\nb", "x\ny\nz",
                 b"\xef\xbb\xbfx\r\ny\r\nz\r\nc\r\n"),
                (b"a\r\nb\r\nc\r\n", "b", "1\n2", b"a\r\n1\r\n2\r\nc\r\n"),
                (b"a\r\nb\r\nc\nd\ne\n", "b\r\nc", "x\ny", b"a\r\nx\r\ny\nd\ne\n"),
                (b"a\r\nb\nc\n", "a\nb", "x\ny", b"x\r\ny\nc\n"),
                (b"caf\xe9 with more text\nx\n", "x\n", "y\n", b"caf\xe9 with more text\ny\n")):
            with self.subTest(before=before):
                file = self.put("a", before)
                self.ok("edit_file", path="a", old=old, new=new)
                self.assertEqual(file.read_bytes(), after)

    def test_what_was_read_can_be_edited_whatever_ends_its_lines(self) -> None:
        """Any stretch of what a reader sees, once in it, is replaced in the file, and nothing
        else; what is not once in it is refused with the lines that a reader counts."""
        chance = random.Random(11)
        for number in range(2_000):
            endings = chance.choice((["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"],
                                     ["\n", "\r\n", "\r"]))
            before = "".join(chance.choice(("a", "b", "", "ab")) + chance.choice(endings)
                             for _ in range(chance.randrange(1, 7))) + chance.choice(("", "b"))
            seen = as_seen(before)
            start = chance.randrange(len(seen))
            old = seen[start:start + chance.randrange(1, 5)]
            found = [at for at in range(len(seen)) if seen.startswith(old, at)]
            with self.subTest(number=number, before=before, old=old):
                places = occurrences(before, old)
                self.assertEqual([seen.count("\n", 0, at) + 1 for at in found],
                                 [line_number(before, at) for at, _ in places])
                self.assertEqual([old] * len(found),
                                 [as_seen(before[at:end]) for at, end in places])
                after = replaced(before, places[0], "x\ny")
                self.assertEqual(seen[:found[0]] + "x\ny" + seen[found[0] + len(old):],
                                 as_seen(after))
                if len(endings) == 1:
                    self.assertEqual(as_seen(after).replace("\n", endings[0]), after)

    def test_a_newline_in_front_is_one_place(self) -> None:
        """In a file of Windows, too, where it is two letters; and in one of lone returns."""
        for ending in ("\r\n", "\r"):
            file = self.put("a", f"a{ending}b{ending}c{ending}")
            self.assertEqual("--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c",
                             self.ok("edit_file", path="a", old="\nb", new="\nx\ny"))
            self.assertEqual(f"a{ending}x{ending}y{ending}c{ending}".encode(), file.read_bytes())

    def test_a_large_file_is_edited_quickly(self) -> None:
        """The diff compares the neighbourhood of the change only; a long one is cut and says so."""
        self.put("a", "same\n" * 50_000 + "x\n" + "same\n" * 50_000)
        self.assertEqual(self.ok("edit_file", path="a", old="x\n", new="y\n").split("\n")[2:],
                         ["@@ -49998,7 +49998,7 @@", " same", " same", " same", "-x", "+y",
                          " same", " same", " same"])
        long = self.ok("edit_file", path="a", old="y\n", new="z" * 80 + "\n" + "new line\n" * 9_000)
        self.assertEqual(long.split("\n")[0],
                         "[the first 48996 of 90163 characters of the diff are shown]")

    def test_of_a_long_line_the_part_around_the_change_is_shown(self) -> None:
        """The line before and after, and one beside it: each says what part of it this is."""
        for filler in "x", "\u957f":
            long = filler * 100_000
            self.put("a", f"{long}\n{long}old{long}\r\nend\n")
            with self.subTest(filler):
                shown = self.ok("edit_file", path="a", old=f"{filler}old", new=f"{filler}new")
                self.assertEqual(
                    ["--- a/a", "+++ b/a", "@@ -1,3 +1,3 @@",
                     f" {filler * 500} [characters 99501 to 100000 of 100000]",
                     f"-{filler * 125}old{filler * 372} [characters 99876 to 100375 of 200003]",
                     f"+{filler * 125}new{filler * 372} [characters 99876 to 100375 of 200003]",
                     " end"], shown.split("\n"))

    def test_only_what_was_changed_of_a_large_text_is_taken_apart(self) -> None:
        """Of a million lines around it there is no list; the numbers count from its start."""
        before = "\n" * 1_000_000 + "one\n" + "\n" * 1_000_000
        tracemalloc.start()
        try:
            diff = unified_diff(before, before.replace("one", "two"), "f")
            near = list(closest(before, "   one"))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertEqual("--- a/f\n+++ b/f\n@@ -999998,7 +999998,7 @@\n \n \n \n-one\n+two\n"
                         " \n \n ", diff)
        self.assertEqual([(1_000_001, "one")], near)
        self.assertLess(most, 8 * len(before))  # some copies, and no object for each line

    def test_a_diff_is_the_same_whatever_stands_around_it(self) -> None:
        """Texts with and without newlines at their ends, before and behind a thousand lines."""
        chance = random.Random(7)
        for number in range(500):
            before, after = ("".join(chance.choices("ab\n\n", k=chance.randrange(9)))
                             for _ in range(2))
            diff = unified_diff(f"x\ny\nz\n{before}", f"x\ny\nz\n{after}", "f")
            far = unified_diff("\n" * 1_000 + f"x\ny\nz\n{before}",
                               "\n" * 1_000 + f"x\ny\nz\n{after}", "f")
            moved = re.sub(r"[-+](\d+)(?=[, ])(?=.*@@)",
                           lambda found: f"{found[0][0]}{int(found[1]) + 1_000}", diff)
            with self.subTest(number=number):
                self.assertEqual(moved, far)


class BoundaryTest(ToolCase):
    def test_no_path_leads_outside(self) -> None:
        """Up and out, absolute, through links, with a NUL: for every tool that takes a path."""
        secret = self.outer / "secret"
        secret.write_text("secret", encoding="utf-8")
        (self.outer / "ws2").mkdir()
        (self.root / "link").symlink_to(self.outer, target_is_directory=True)
        (self.root / "file").symlink_to(secret)
        (self.root / "new").symlink_to(self.outer / "not_yet")
        tools = {"read_file": {}, "list_files": {}, "search_text": {"pattern": "s"},
                 "write_file": {"content": "x"}, "edit_file": {"old": "secret", "new": "x"}}
        for path in ("../secret", "a/../../secret", str(secret), "/etc/passwd", "link/secret",
                     "file", "link", "new", "../ws2/x", "a\0b", "link/../ws/../secret"):
            for name, more in tools.items():
                with self.subTest(path=path, name=name):
                    self.fails("OUTSIDE_WORKSPACE", name, path=path, **more)
        self.assertEqual(secret.read_text(encoding="utf-8"), "secret")
        self.assertEqual(sorted(os.listdir(self.outer)), ["secret", "ws", "ws2"])
        self.assertEqual(self.fails("OUTSIDE_WORKSPACE", "read_file", path="../secret"),
                         "outside the workspace: ../secret")

    def test_paths_that_lead_inside_are_fine(self) -> None:
        """Absolute, out and back in, or through a link: what counts is where it leads."""
        self.put("d/a", "text")
        (self.root / "link").symlink_to("d", target_is_directory=True)
        for path in (str(self.root / "d/a"), "../ws/d/a", "link/a", "./d//a", "x/../d/a"):
            with self.subTest(path=path):
                self.assertEqual(self.ok("read_file", path=path), "text")
        self.assertEqual(self.ok("write_file", path="link/b", content=""),
                         "wrote d/b: 0 characters / 0 lines")

    def test_a_link_that_appears_after_the_check_leads_nowhere(self) -> None:
        """A folder swapped for a link between check and use: nothing outside is touched."""
        outside = self.outer / "outside"
        outside.mkdir()
        (outside / "a").write_text("secret", encoding="utf-8")
        resolve = Workspace.resolve

        def swapping(workspace: Workspace, path: str) -> Path:
            resolved = resolve(workspace, path)
            if not (self.root / "d").is_symlink():
                shutil.rmtree(self.root / "d")
                (self.root / "d").symlink_to(outside, target_is_directory=True)
            return resolved

        for name, code, more in (
                ("read_file", "NOT_A_FOLDER", {"path": "d/a"}),
                ("list_files", "NOT_A_FOLDER", {"path": "d"}),
                ("search_text", "OUTSIDE_WORKSPACE", {"path": "d", "pattern": "s"}),
                ("write_file", "NOT_A_FOLDER", {"path": "d/a", "content": "x"})):
            with self.subTest(name=name):
                (self.root / "d").unlink(missing_ok=True)
                self.put("d/a", "text")
                with mock.patch.object(Workspace, "resolve", swapping):
                    self.fails(code, name, **more)
        self.assertEqual((outside / "a").read_text(encoding="utf-8"), "secret")
        self.assertEqual(os.listdir(outside), ["a"])

    def test_a_link_that_appears_while_folders_are_walked_leads_nowhere(self) -> None:
        """What lies outside is neither read nor named, whichever folder or file is swapped."""
        outside = self.outer / "outside"
        (outside / "below").mkdir(parents=True)
        (outside / "below" / "secret").write_text("x" * 77, encoding="utf-8")
        entries = workspace.entries

        def swap(path: str, to: Path) -> None:
            if not (self.root / path).is_symlink():
                (self.root / path).rename(self.outer / "taken")
                (self.root / path).symlink_to(to)

        for moment, path, to, told in (
                ("", "d", outside, "total 1 under . (left out: d)\nz  1 byte"),
                ("", "d/below", outside / "below",
                 "total 1 under . (left out: below)\nz  1 byte"),
                ("d/", "d", outside, "total 1 under . (left out: d/below)\nz  1 byte"),
                ("d/", "d/below", outside / "below",
                 "total 1 under . (left out: d/below)\nz  1 byte"),
                ("", "z", outside / "below" / "secret",
                 "total 2 under .\nd/below/secret  3 bytes\nz  1 byte")):
            def swapping(root: Path, below: str) -> list[tuple[str, os.stat_result]]:
                found = entries(root, below)
                if below == moment:
                    swap(path, to)
                return found

            with self.subTest(moment=moment, path=path):
                self.put("d/below/secret", "own")
                self.put("z", "z")
                with mock.patch.object(workspace, "entries", swapping):
                    self.assertEqual(told, self.ok("list_files"))
                (self.root / path).unlink()
                (self.outer / "taken").rename(self.root / path)
                with mock.patch.object(workspace, "entries", swapping):
                    self.assertNotIn("xxx", self.ok("search_text", pattern="x"))
                (self.root / path).unlink()
                (self.outer / "taken").rename(self.root / path)

    def test_the_root_is_hidden_only_where_it_stands_as_a_path(self) -> None:
        """Paths that merely contain the same letters keep them."""
        root = str(self.root)
        for text, scrubbed in (
                (f"{root}/a", "./a"), (f'File "{root}/a"', 'File "./a"'), (root, "."),
                (f"in {root}.", "in .."), (f"file://{root}/a", "file://./a"),
                (f"-{root}/a\n+{root}/b", "-./a\n+./b"), (f"中{root}中", "中.中")):
            with self.subTest(text=text):
                self.assertEqual(self.workspace.scrub(text), scrubbed)
        for text in (f"{root}2/a", f"{root}.bak", f"lib{root}/a", f"..{root}"):
            with self.subTest(text=text):
                self.assertEqual(self.workspace.scrub(text), text)
        self.assertEqual(Workspace(Path("/")).scrub("/etc/x"), "/etc/x")

    def test_a_workspace_that_is_no_folder_is_the_users_mistake(self) -> None:
        """It is found before anything runs."""
        self.put("a", "")
        for path in ("a", "missing"):
            with self.assertRaises(UsageError):
                Workspace(self.root / path)
