"""Bring the README's line counts and program output up to date.

    python3 scripts/refresh_readme.py [--check]

What stands between `<!-- begin: ... -->` and `<!-- end -->` is taken from the code
and from the reference run, never typed in. With --check nothing is written and the
exit status is 1 if something is out of date; a test does that.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from fresh import ROOT

COUNTED = re.compile(r"(`([\w./-]+\.\w+)` \| )\d+( \|)")


def refreshed(text: str) -> str:
    """The README with the true number of lines behind each file of a table."""
    def count(match: re.Match[str]) -> str:
        path = ROOT / match[2]
        lines = path.read_text(encoding="utf-8").count("\n") if path.is_file() else 0
        return f"{match[1]}{lines}{match[3]}"
    return COUNTED.sub(count, text)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check README.md and its translation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, only tell")
    options = parser.parse_args(arguments)
    stale = []
    for path in sorted(Path(ROOT).glob("README*.md")):
        text = path.read_text(encoding="utf-8")
        new = refreshed(text)
        if new != text:
            stale.append(path.name)
            if not options.check:
                path.write_text(new, encoding="utf-8", newline="\n")
    print(f"out of date: {', '.join(stale)}" if stale else "up to date")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
