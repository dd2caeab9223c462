"""Milestone 3: the tool `skill` reads what the workspace keeps under skills/."""

from __future__ import annotations

import unittest

from mini_agent.tools import standard_tools
from mini_agent.tools.base import ToolBox

from .test_m2_tools import ToolCase


class SkillTest(ToolCase):
    """Names are checked, texts are bounded, and without skills there is no tool."""

    def setUp(self) -> None:
        super().setUp()
        self.put("skills/release.md", "# Release\nTag, then push.\n")
        self.put("skills/审查.md", "先读测试")
        self.put("skills/notes.txt", "no skill")
        self.put("skills/deep/hidden.md", "no skill either")
        self.box = ToolBox(standard_tools(self.workspace), self.texts)

    def test_a_skill_is_the_text_of_its_file(self) -> None:
        """Nothing is added to it, and its name may be Chinese."""
        self.assertEqual("# Release\nTag, then push.\n", self.ok("skill", name="release"))
        self.assertEqual("先读测试", self.ok("skill", name="审查"))

    def test_the_description_names_the_skills(self) -> None:
        """The model can only ask for what it is told of."""
        told = next(tool for tool in self.box.declarations() if tool["name"] == "skill")
        self.assertIn("release, 审查", told["description"])

    def test_a_name_that_is_no_skill_is_refused_with_the_names(self) -> None:
        """A path is no name, whatever it leads to."""
        for name in ("missing", "", "../skills/release", "deep/hidden", "release.md", "notes",
                     "release\n", "/etc/passwd", "x" * 5_000):
            with self.subTest(name[:30]):
                self.assertIn("release, 审查", self.fails("SKILL_NOT_FOUND", "skill", name=name))

    def test_a_link_out_of_the_workspace_is_no_skill(self) -> None:
        """What lies outside stays outside, the whole folder too."""
        (self.outer / "secret.md").write_text("secret", encoding="utf-8")
        (self.root / "skills" / "secret.md").symlink_to(self.outer / "secret.md")
        self.fails("SKILL_NOT_FOUND", "skill", name="secret")

    def test_a_long_skill_says_what_was_cut(self) -> None:
        """A skill is bounded like every file that is read."""
        self.put("skills/long.md", "a line of a skill\n" * 10_000)
        text = self.ok("skill", name="long")
        self.assertLessEqual(len(text), 50_000)
        self.assertIn("of 10000", text.splitlines()[0])


class NoSkillTest(ToolCase):
    """A workspace without skills has no such tool."""

    def test_without_skills_there_is_no_tool(self) -> None:
        """Six tools, as milestone 2 has them; an empty folder or a link out changes nothing."""
        self.assertNotIn("skill", self.box.names)
        (self.root / "skills").symlink_to(self.outer, target_is_directory=True)
        self.assertEqual(6, len(standard_tools(self.workspace)))


if __name__ == "__main__":
    unittest.main()
