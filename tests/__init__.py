"""Tests by milestone: test_m1_* the loop, test_m2_* the tools, test_m3_* compression, and on."""
