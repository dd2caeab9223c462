"""Milestone 3: skills, which are instructions for one kind of work, kept in the workspace.

A skill is a file `skills/NAME.md`. The model is told the names and loads the skills that it
needs; loaded skills are put back after a full summary. What is left out: checking a skill; it is
trusted as much as any file of the workspace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import ToolError
from ..hostile import one_line
from .files import ReadFile
from .schema import object_of
from .workspace import Workspace

FOLDER = "skills"
MAX_NAMES = 20  # skills that the description and an error name
_NAME = re.compile(r"\w[\w-]{0,63}")


@dataclass(frozen=True)
class Skill:
    """Returns the text of a skill, bounded as `ReadFile` bounds it."""

    workspace: Workspace
    name: ClassVar[str] = "skill"

    @property
    def description(self) -> str:
        """Names the skills, and says that one of them can be loaded."""
        return self.workspace.texts("tool_skill", names=self._listed())

    @property
    def parameters(self) -> dict[str, Any]:
        """The name of a skill."""
        return object_of({"name": {
            "type": "string", "description": self.workspace.texts("arg_skill")}}, ("name",))

    def __call__(self, name: str) -> str:
        if not _NAME.fullmatch(name) or name not in self.names():
            raise ToolError("SKILL_NOT_FOUND", self.workspace.texts(
                "SKILL_NOT_FOUND", name=one_line(name), names=self._listed()))
        return ReadFile(self.workspace)(f"{FOLDER}/{name}.md")

    def names(self) -> list[str]:
        """The skills of the workspace, sorted; none where there is no such folder."""
        try:
            files = self.workspace.tree(FOLDER).files
        except ToolError as error:
            if error.code not in ("FILE_NOT_FOUND", "NOT_A_FOLDER", "OUTSIDE_WORKSPACE"):
                raise
            return []
        stems = (path.removeprefix(f"{FOLDER}/").removesuffix(".md") for path, _ in files
                 if path.endswith(".md"))
        return [stem for stem in stems if _NAME.fullmatch(stem)]

    def _listed(self) -> str:
        names = self.names()
        more = ", ..." if len(names) > MAX_NAMES else ""
        return ", ".join(names[:MAX_NAMES]) + more or self.workspace.texts("none")
