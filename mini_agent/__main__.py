"""`python3 -m mini_agent` is the command `mini-agent`."""

import os
import sys


def run() -> None:
    """The program. Ctrl-C ends it in one line while it is being loaded, too."""
    if sys.version_info < (3, 11):
        sys.exit(_told("Python 3.11 or newer is needed, this is %d.%d" % sys.version_info[:2], 2))
    sys.unraisablehook = _dropped
    try:
        import signal

        from .cli import main

        sys.unraisablehook = sys.__unraisablehook__
        status = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is over: nothing is left to end
    except KeyboardInterrupt:
        status = _interrupted()
    sys.exit(status)


def _dropped(what: "sys.UnraisableHookArgs") -> None:
    """Python only reports what is raised while an object is deleted; an interrupt ends us here."""
    if what.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(what)
        return
    os._exit(_interrupted())  # nothing has begun that would have to be put away


def _interrupted() -> int:
    return _told("interrupted", 130)  # `errors.INTERRUPTED`, which may not be loaded yet


def _told(what: str, status: int) -> int:
    print(f"mini-agent: {what}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    run()
