"""From here on Ctrl-C is one line, as in the program. Each script imports this first: the
rest of what it imports takes long enough for a person to think better of it.
"""

import sys

TYPE_CHECKING = False  # that of `typing` takes as long to load as all the rest
if TYPE_CHECKING:
    from types import TracebackType


def _told(kind: type[BaseException], error: BaseException, trace: "TracebackType | None") -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("mini-agent: interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _told
