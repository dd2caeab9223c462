"""Milestone 3: the best compression is a tool that holds back at the source."""

from __future__ import annotations

import re
from typing import Any

from mini_agent.compression.tools import ReadResult
from mini_agent.messages import tool_result
from mini_agent.texts import Texts
from mini_agent.tools import standard_tools
from mini_agent.tools.output import LIMIT
from mini_agent.tools.workspace import Workspace

from .support import FolderTest

NEXT = re.compile(r"next: ([a-z_]+=\w+(?:, [a-z_]+=\w+)*)\]")


class Sources(FolderTest):
    """Every tool that returns text of any length: bounded, the total and the next offset first."""

    def setUp(self) -> None:
        super().setUp()
        self.tools = {tool.name: tool for tool in standard_tools(Workspace(self.folder))}

    def pages(self, name: str, **arguments: Any) -> list[str]:
        """All pages of a result, each asked for with what the one before says comes next."""
        found = [self.tools[name](**arguments)]
        while match := NEXT.search(found[-1].split("\n")[0]):
            given = dict(part.split("=") for part in match[1].split(", "))
            arguments |= {key: int(value) if value.isdigit() else value
                          for key, value in given.items()}
            found.append(self.tools[name](**arguments))
            self.assertLess(len(found), 99)
        for page in found:
            self.assertLessEqual(len(page), LIMIT)
        return found

    def test_a_long_file_is_read_in_pages_of_whole_lines(self) -> None:
        """9,000 lines: the pages are the file, and the first line says how many there are."""
        text = "".join(f"{number}: some line of a long file\n" for number in range(9_000))
        (self.folder / "long.txt").write_text(text, encoding="utf-8")
        pages = self.pages("read_file", path="long.txt")
        self.assertIn("of 9000 are shown", pages[0].split("\n")[0])
        last = pages.pop()
        self.assertEqual("".join(page.split("\n", 1)[1] for page in pages) + last, text)

    def test_a_line_of_100_000_characters_is_read_in_pages_of_characters(self) -> None:
        """One line without an end: the parts are the line."""
        text = "".join(f"{number:06d}" for number in range(20_000))
        (self.folder / "line.txt").write_text(text, encoding="utf-8")
        pages = self.pages("read_file", path="line.txt")
        self.assertIn("of 120000 are shown", pages[0].split("\n")[0])
        last = pages.pop()
        self.assertEqual("".join(page.split("\n", 1)[1] for page in pages) + last, text)

    def test_very_many_files_are_listed_in_pages(self) -> None:
        """The total stands first; every name is listed once."""
        for number in range(1_500):
            (self.folder / f"a_file_with_a_rather_long_name_{number:04d}.txt").touch()
        pages = self.pages("list_files")
        self.assertTrue(pages[0].startswith("total 1500 under . [1 to "))
        names = [line.split("  ")[0] for page in pages for line in page.split("\n")[1:]]
        self.assertEqual((len(names), len(set(names))), (1_500, 1_500))

    def test_many_hits_are_shown_in_pages_and_long_lines_in_part(self) -> None:
        """4,000 hits, each in a line of 900 characters: total first, each hit once, 500 of each."""
        text = "\n".join(f"{number} needle " + "x" * 900 for number in range(1_000))
        (self.folder / "hay.txt").write_text(text, encoding="utf-8")
        pages = self.pages("search_text", pattern="needle", path="hay.txt")
        self.assertTrue(pages[0].startswith("1000 matches for 'needle' in hay.txt [1 to "))
        lines = [line for page in pages for line in page.split("\n")[1:]]
        self.assertEqual([line.split(":")[0] for line in lines], [str(n + 1) for n in range(1_000)])
        self.assertTrue(all(" of 9" in line[-40:] and len(line) < 600 for line in lines))

    def test_the_output_of_a_command_says_how_much_was_left_out(self) -> None:
        """200,000 lines: head and tail stay, the first line has the total."""
        shown = self.tools["run_command"](
            command="python3 -c \"print('\\n'.join(map(str, range(200000))))\"")
        head, _, tail = shown.partition("\n")
        kept = re.fullmatch(r"exit=0 \[the first (\d+) and last (\d+) of 1288890 characters "
                            r"are shown\]",
                            head)
        self.assertTrue(kept, head)
        self.assertTrue(tail.startswith("0\n1\n") and tail.endswith("\n199999"))
        self.assertLessEqual(len(shown), LIMIT)

    def test_what_was_stored_is_read_back_in_pages(self) -> None:
        """`read_result` follows the same rule: total and next offset first, then the part."""
        text = "".join(f"{number}\n" for number in range(9_000))
        self.tools["read_result"] = ReadResult([tool_result("a", "x", text)], Texts())
        pages = self.pages("read_result", handle=0)
        self.assertIn("lines 1 to ", pages[0].split("\n")[0])
        self.assertIn(" of 9000; next: ", pages[0].split("\n")[0])
        self.assertEqual("\n".join(page.split("\n", 1)[1] for page in pages) + "\n", text)
