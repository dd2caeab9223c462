"""Milestone 2: the tools of a coding agent, and what keeps their failures harmless."""

from __future__ import annotations

from collections.abc import Sequence

from ..texts import Texts
from .base import Tool
from .files import EditFile, ListFiles, ReadFile, WriteFile
from .search import SearchText
from .shell import SECONDS, RunCommand
from .skill import Skill
from .workspace import Workspace


NAMES = ("list_files", "read_file", "search_text", "write_file", "edit_file", "run_command",
         "skill")


def standard_tools(workspace: Workspace, texts: Texts, *, names: Sequence[str] = NAMES,
                   allow_shell: bool = False, programs: tuple[str, ...] | None = None,
                   timeout: float = SECONDS, own_session: bool = True) -> list[Tool]:
    """Those of the six tools that are named, in the order in which a model is told of them,
    and `skill` where the workspace has skills.

    The settings are those of `RunCommand`; `timeout` is in seconds.
    """
    workspace = Workspace(workspace.root, texts)  # its errors speak the same language
    skill = Skill(workspace, texts)
    tools: tuple[Tool, ...] = (
        ListFiles(workspace, texts), ReadFile(workspace, texts), SearchText(workspace, texts),
        WriteFile(workspace, texts), EditFile(workspace, texts),
        RunCommand(workspace, texts, allow_shell, programs, timeout, own_session=own_session),
        *([skill] if skill.names() else []))
    return [tool for tool in tools if tool.name in names]
