"""Milestone 6: `make lab`, from other agents' logs to the page."""

from __future__ import annotations

import unittest

from mini_agent.lab.page.verdict import verdict
from tests.support import ROOT, FolderTest, command


class LabTest(FolderTest):
    """The driver on the sessions that this project ships."""

    def test_each_session_is_converted_checked_and_on_the_page(self) -> None:
        """A clean trace a file, the table, one page, and where it is."""
        done = command("scripts/drive_m6.py", "--policy", "none,clip", "--traces",
                       str(self.folder))
        self.assertEqual(0, done.returncode, done.stderr)
        names = sorted(path.stem for path in (ROOT / "workspace" / "sessions").iterdir())
        self.assertGreaterEqual(len(names), 6)
        self.assertEqual([f"m6-{name}.jsonl" for name in names],
                         sorted(path.name for path in self.folder.glob("*.jsonl")))
        self.assertEqual(len(names), done.stdout.count(" records, 0 findings\n"))
        self.assertIn(f"the page is {self.folder}/m6-page.html", done.stderr)
        page = (self.folder / "m6-page.html").read_text("utf-8")
        for name in names:
            self.assertIn(name, page)

    def test_one_session_that_counts_has_no_interval(self) -> None:
        """The verdict of many says only one session, and leaves out what cannot be drawn."""
        row = {"policy": "clip", "window": 900, "sessions": 1, "far_recall": .5, "cost": None,
               "far_in_context": None, "low": None, "high": None, "law_breaks": 0,
               "bill": None, "over_share": 0}
        self.assertEqual("<p>Window 900, only 1 session: Take <strong>clip</strong>: it keeps the "
                         "most of what is used again, far recall 0.500.</p>",
                         verdict({"sessions": [], "summary": [row], "rows": [], "unsound": []}))


if __name__ == "__main__":
    unittest.main()
