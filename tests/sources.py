"""The code of the project for the tests that look through it: each file is parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.support import ROOT


@cache
def modules(*folders: str) -> tuple[Path, ...]:
    """Every module in these folders of the checkout, folder by folder."""
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """The tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of it, from above to below."""
    return tuple(ast.walk(tree_of(path)))
