"""A hundred runs with sub-agents: whatever their order, the bytes are the same.

    python3 -W error -m tests.fuzz_children [RUNS]

The test of the same name in `make test` does a few; this is part of `make fuzz`.
"""

from __future__ import annotations

import sys
import unittest

from .test_m4_session import BytesTest


def main() -> int:
    """Run the test with so many runs; 0 if all were equal."""
    BytesTest.RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(BytesTest)
    print(f"{BytesTest.RUNS} runs with three children each", file=sys.stderr)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
