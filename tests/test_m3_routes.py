"""Milestone 3: the published session under each of the six paths."""

from __future__ import annotations

from .support import FolderTest, command


class Routes(FolderTest):
    """`scripts/drive_m3_paths.py` as a user runs it."""

    def test_each_path_comes_to_an_answer_and_loses_what_it_says(self) -> None:
        """Of the 38 wanted records: dropped ones are gone, stored and cleared ones have handles."""
        done = command("scripts/drive_m3_paths.py", "--traces", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        head, _, _, titles, *rest = done.stdout.split("\n")
        self.assertEqual(head, "window 12000 tokens (runs estimate), "
                         "38 records wanted by the task: at the end they are")
        rows = [line[32:].split() for line in rest[:12]]
        lost = {row[0]: tuple(map(int, row[5:8])) for row in rows}
        self.assertEqual({name: lost[name] for name in (
            "none", "naive", "whole_rounds", "snip_middle", "clear_keep_3", "recall", "two_layer")},
            {"none": (38, 0, 0), "naive": (0, 0, 38), "whole_rounds": (0, 0, 38),
             "snip_middle": (0, 38, 0), "clear_keep_3": (0, 38, 0), "recall": (0, 38, 0),
             "two_layer": (0, 38, 0)})
        self.assertTrue(all(int(row[2]) <= 12_000 for row in rows[1:]))
        self.assertEqual(sum(line.startswith("  ") for line in rest), 24)
        self.assertTrue((self.folder / "m3-path-recall.d" / "store.sqlite").is_file())
