"""Milestone 3: the policies, as data.

Each says where it comes from, what it is for and which laws of the design it
breaks on purpose (`breaks`); `ladder` are strategies with the settings in which
they differ from their own. A rung with `trigger` 0 is taken before every call.
Absolute numbers hold for a window of 200,000 tokens and scale with it.
"""

from __future__ import annotations

from typing import Any

POLICIES: tuple[dict[str, Any], ...] = (
    {"name": "none", "source": "the baseline", "about": "everything is sent, nothing is done",
     "ladder": []},
    {"name": "published", "source": "milestone 3 of the article this project was founded on",
     "about": "long results are aged to head and tail; what is still too much is summarised",
     "scale": False, "estimator": "published",
     "ladder": [{"strategy": "tool_result_aging"}, {"strategy": "rolling_summary"}]},
)
