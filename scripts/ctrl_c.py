"""From here on Ctrl-C prints one line, as in the program. Each script imports this first, since
importing the rest takes long enough for somebody to press Ctrl-C.
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
