"""Milestone 2: the tools of a coding agent, whose failures are results and end no run."""

from __future__ import annotations

from collections.abc import Sequence
from operator import call

from .base import Tool
from .files import EditFile, ReadFile, list_files_tool, write_file_tool
from .search import SearchText
from .shell import RunCommand, Watch
from .skill import Skill
from .workspace import Workspace

NAMES = ("list_files", "read_file", "search_text", "write_file", "edit_file", "run_command",
         "skill")
READERS = ("list_files", "read_file", "search_text", "skill")  # those that change nothing


def standard_tools(workspace: Workspace, *, names: Sequence[str] = NAMES,
                   allow_shell: bool = False, own_session: bool = True,
                   watch: Watch = call) -> list[Tool]:
    """The tools with these `names`, in the order in which they are declared to the model; `skill`
    only if the workspace has skills. The other settings are those of `RunCommand`."""
    skill = Skill(workspace)
    tools: tuple[Tool, ...] = (
        list_files_tool(workspace), ReadFile(workspace), SearchText(workspace),
        write_file_tool(workspace), EditFile(workspace),
        RunCommand(workspace, allow_shell, own_session=own_session, watch=watch),
        *([skill] if skill.names() else []))
    return [tool for tool in tools if tool.name in names]
