"""`python3 -m mini_agent` is the command `mini-agent`."""

import signal
import sys


def run() -> None:
    """The program. Ctrl-C ends it in one line while it is being loaded, too."""
    try:
        from .cli import main

        status = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is over: nothing is left to end
    except KeyboardInterrupt:
        print("mini-agent: interrupted", file=sys.stderr)
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
