"""What the drivers share: the package on the path, fresh workspaces, `traces/`.

Each run works on a copy of its workspace that is thrown away behind it, so that
a run never sees what another one wrote and the checkout stays clean.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT / "traces"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@contextlib.contextmanager
def fresh_copy(milestone: str) -> Iterator[Path]:
    """A throw-away copy of `workspace/MILESTONE`."""
    with tempfile.TemporaryDirectory(prefix=f"mini-agent-{milestone}-") as folder:
        yield Path(shutil.copytree(ROOT / "workspace" / milestone, Path(folder) / "workspace"))


def wants_color(stream: TextIO) -> bool:
    """Colour only for a terminal, and never with NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
