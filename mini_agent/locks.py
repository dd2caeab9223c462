"""Milestone 5: one process per file.

The lock is the system's and belongs to the open file, so it ends with the process,
however that ends: none is ever left behind. Where the system has none of this kind
(Windows), nothing is locked.
"""

from __future__ import annotations

import os
import stat

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


def lock(descriptor: int) -> bool:
    """Take the file of an open descriptor for this process. False if another one has it.

    Only a regular file is taken: a device may be written by many.
    """
    if fcntl is None or not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
