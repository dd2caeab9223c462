"""Milestone 6: what of a report page is left out, so that it opens in a moment.

First texts are cut, their true length beside them; then windows that nobody asked for are
left out, then policies of the one that is left, then whole sessions: these keep their rows
in the table. The page says all of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from .pageform import PageRun, PageSession

CUT = 1_000            # characters of a text that the page holds
HISTORY = 900_000      # characters of all texts of a session's history
CHANGES = 700_000      # bytes of all changes of a session, as JSON
SESSIONS = 2_300_000   # bytes of all sessions of a page, as JSON


def with_changes_that_fit(page: PageSession, asked: Sequence[int],
                          policies: Sequence[str]) -> PageSession:
    """A session of a page, its changes in `CHANGES` bytes.

    Windows that were not `asked` for are left out first, then those asked for, the last
    first. One window is always kept; if that alone is too large, only as many `policies` as
    fit are kept, in this order.
    """
    sizes = _sizes(page, lambda run: sum(map(size_of, run["changes"])))
    room = CHANGES
    kept: set[int] = set()
    for window in dict.fromkeys((*asked, *sizes)):
        if kept and sizes[window] > room:
            continue
        kept.add(window)
        room -= sizes[window]
    return _with_fewer_policies(_without(page, set(sizes) - kept, "their size"), policies)


def _with_fewer_policies(page: PageSession, policies: Sequence[str]) -> PageSession:
    sizes: dict[str, int] = dict.fromkeys(policies, 0)
    for run in page["runs"]:
        sizes[run["policy"]] += sum(map(size_of, run["changes"]))
    room = CHANGES
    gone: set[str] = set()
    for policy, size in sizes.items():
        if size > room:
            gone.add(policy)
        else:
            room -= size
    said = [f"policies left out for their size: {', '.join(sorted(gone))}; a comparison "
            "of fewer shows them"]
    return page if not gone else {
        **page, "notes": page["notes"] + said,
        "runs": [run for run in page["runs"] if run["policy"] not in gone]}


def cut_for(sizes: Iterable[int]) -> int:
    """To how many characters, at most `CUT`, texts are cut so that all fit into `HISTORY`."""
    sizes = list(sizes)
    cut = CUT
    while cut > 50 and sum(min(size, cut) for size in sizes) > HISTORY:
        cut = cut * 3 // 4
    return cut


def with_fewer_windows(page: PageSession, asked: set[int], room: int) -> PageSession:
    """A session of a page in `room` bytes, as far as leaving out windows that were not
    `asked` for makes it fit; the window farthest from those goes first."""
    sizes = _sizes(page, size_of)
    more = size_of(page) - room
    gone: set[int] = set()
    for window in sorted(set(sizes) - asked, key=lambda window: (
            -min(abs(window - other) for other in asked), window)):
        if more <= 0:
            break
        gone.add(window)
        more -= sizes[window]
    return _without(page, gone, "the size of the page")


def _sizes(page: PageSession, size: Callable[[PageRun], int]) -> dict[int, int]:
    """By window the sizes of its runs together."""
    sizes: dict[int, int] = {}
    for run in page["runs"]:
        sizes[run["window"]] = sizes.get(run["window"], 0) + size(run)
    return sizes


def _without(page: PageSession, gone: set[int], cause: str) -> PageSession:
    said = [f"windows left out for {cause}: {', '.join(map(str, sorted(gone)))}"]
    return page if not gone else {
        **page, "notes": page["notes"] + said,
        "windows": [window for window in page["windows"] if window not in gone],
        "runs": [run for run in page["runs"] if run["window"] not in gone]}


def size_of(data: object) -> int:
    """Bytes of a part of the page, as JSON."""
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"))
