"""What the tests of the lab share: the shipped sessions, and the command line in this process."""

import contextlib
import io
import os
from pathlib import Path

from mini_agent.cli import main
from mini_agent.lab.recording import Recording
from mini_agent.lab.sessions import open_sessions
from mini_agent.tokens import estimator

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "workspace" / "sessions"
REAL = Path(os.environ.get("SESSIONS") or "/nowhere")


def recording(path, name="runs"):
    """The first session of a file, as the lab replays it."""
    session = open_sessions(path)[0]
    return Recording(session.name, session.format, session.messages, estimator(name), session.acts)


def mini_agent(*arguments):
    """(exit status, standard output, standard error) of the command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse
            status = error.code
    return status, out.getvalue(), err.getvalue()
