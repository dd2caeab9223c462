"""Milestone 3: the published session under each of the six paths."""

from __future__ import annotations

from mini_agent.columns import width

from .support import FolderTest, command


class Routes(FolderTest):
    """`scripts/drive_m3_paths.py` as a user runs it."""

    def test_each_path_comes_to_an_answer_and_loses_what_it_says(self) -> None:
        """Of the 38 wanted records: dropped ones are gone, stored and cleared ones have handles."""
        done = command("scripts/drive_m3_paths.py", "--traces", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second, _, _, *rest = done.stdout.split("\n")
        self.assertEqual((first, second), (
            "window 12000 tokens (runs estimate), 38 records wanted by the task: at the end",
            "they are in view, behind a handle, or gone; peak and last are requests in tokens"))
        rows = {line[:24].rstrip(): list(map(int, line[24:].split())) for line in rest[:12]}
        states = {name: tuple(row[4:]) for name, row in rows.items()}
        self.assertEqual({name: states[name] for name in (
            "no compression", "1 window, naive", "1 window, whole rounds", "1 window, middle",
            "2 clearing old results", "5 store and recall", "both layers of an agent")}, {
            "no compression": (38, 0, 0), "1 window, naive": (0, 0, 38),
            "1 window, whole rounds": (0, 0, 38), "1 window, middle": (0, 38, 0),
            "2 clearing old results": (0, 38, 0), "5 store and recall": (0, 38, 0),
            "both layers of an agent": (0, 38, 0)})
        self.assertLessEqual(max(row[1] for name, row in rows.items()
                                 if name != "no compression"), 12_000)
        self.assertLessEqual(max(map(width, done.stdout.split("\n"))), 80)
        self.assertEqual(sum(line.startswith("  ") for line in rest), 24)
        self.assertTrue((self.folder / "m3-path-recall.d" / "store.sqlite").is_file())
