"""What the tests of the lab share: the shipped sessions, and the command line in this process."""

import os
from pathlib import Path

from mini_agent.lab.recording import Recording
from mini_agent.lab.sessions import open_sessions
from mini_agent.tokens import estimator
from tests.support import ROOT, called

mini_agent = called
SAMPLES = ROOT / "workspace" / "sessions"
REAL = Path(os.environ.get("SESSIONS") or "/nowhere")


def recording(path, name="runs"):
    """The first session of a file, as the lab replays it."""
    session = open_sessions(path)[0]
    return Recording(session.name, session.format, session.messages, estimator(name), session.acts)
