"""The tests of damage and interrupts, at every place instead of some: part of `make fuzz`.

    python3 -W error -m tests.fuzz_faults [PLACES]

Every log of the tests in every damage with lines of 10 MB; traces cut at each byte of
their last seven lines; Ctrl-C at so many random lines of the program.
"""

from __future__ import annotations

import sys
import unittest

from . import test_m5_interrupts
from .test_m8_files import VALID, EveryByteTest, ReadersTest
from .test_m8_interrupts import EachPointTest


def main() -> int:
    """Run them; 0 if nothing was found."""
    places = int(sys.argv[1]) if len(sys.argv) > 1 else 1_500
    ReadersTest.FILES, ReadersTest.LARGE = VALID, 10_000_000
    EveryByteTest.LINES = 7
    EachPointTest.PLACES = test_m5_interrupts.PLACES = places
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    suite = unittest.TestSuite(map(load, (ReadersTest, EveryByteTest, EachPointTest,
                                          test_m5_interrupts.InASession)))
    print(f"damaged logs, cut traces, Ctrl-C at {places} lines", file=sys.stderr)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
