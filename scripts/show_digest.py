"""Milestone 6: the digest of a recorded session, as the model would read it.

    python3 scripts/show_digest.py SESSION [--policy digest] [--window 3000]

Replays the session and prints the newest digest of its last view. Exit status 2 where
nothing had to be compressed at this window.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import sys
from functools import partial

from fresh import ROOT

from mini_agent.cli import Parser, guarded
from mini_agent.compression.budget import window_tokens
from mini_agent.hostile import escaped
from mini_agent.lab.extremes import check_names, lab_policy
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Moment, Trial, replay
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.taskrun import run_in_copy
from mini_agent.tokens import estimator


def last_digest(path: str, policy: str, window: int) -> str:
    """The text of the newest summary in the last view, "" if there is none."""
    session = open_sessions(path, partial(run_in_copy, workspace=""))[0]
    recording = Recording(session.name, session.format, session.messages, estimator("runs"))
    found = ""

    def look(moment: Moment) -> None:
        nonlocal found
        found = next((entry.message["content"] for entry in moment.view.entries
                      if entry.how == "summary"), "")

    replay(recording, [Trial(recording, lab_policy(policy, recording), window, [look])])
    return found


def main() -> int:
    """Exit status 0, or 2 where there is none."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("session", metavar="SESSION", nargs="?",
                        default=str(ROOT / "workspace" / "sessions" / "rename.json"))
    parser.add_argument("--policy", default="digest")
    parser.add_argument("--window", type=window_tokens, default=3_000, help="in tokens (3000)")
    options = parser.parse_args()
    check_names([options.policy])
    text = last_digest(options.session, options.policy, options.window)
    if not text:
        print(f"at {options.window} tokens nothing gave way to a digest: give a smaller --window",
              file=sys.stderr)
        return 2
    print("\n".join(map(escaped, text.split("\n"))))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
