"""`python3 -m mini_agent` is the command `mini-agent`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
