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
    {"name": "naive", "source": "the first idea of everybody",
     "about": "drops the oldest messages until it fits, the task first; tears calls from results",
     "breaks": [1, 4],
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "naive"}}]},
    {"name": "keep_head", "source": "the second idea: the system message and the task stay",
     "about": "drops the oldest messages behind them one by one; tears calls from results",
     "breaks": [1],
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "keep_head"}}]},
    {"name": "whole_rounds", "source": "truncation of the teaching agent miniagent",
     "about": "drops the oldest rounds whole and says how many; good where the past is past",
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "whole_rounds"}}]},
    {"name": "snip_middle", "source": "snip_compact of learn-claude-code",
     "about": "the first round and the newest stay, the middle is left behind handles",
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "snip_middle"}}]},
    {"name": "clip", "source": "layer 1 of the teaching agent miniagent",
     "about": "long results older than two rounds keep their first and last three lines",
     "ladder": [{"strategy": "tool_result_clipping"}]},
    {"name": "clip_errors", "source": "layer 1 of miniagent, mended: it had cut the one line "
     "that said what was wrong",
     "about": "as clip, but the lines that look like an error are kept first, in the same room",
     "ladder": [{"strategy": "tool_result_clipping", "settings": {"keep": "errors"}}]},
    {"name": "clip_errors_summary", "source": "the best of the known ones on recorded sessions",
     "about": "clips old results around their errors; what is still too much is summarised",
     "ladder": [{"strategy": "tool_result_clipping", "settings": {"keep": "errors"}},
                {"strategy": "rolling_summary"}]},
    {"name": "clear_keep_3", "source": "micro_compact of learn-claude-code",
     "about": "results that were answered become placeholders, all but the newest 3",
     "ladder": [{"strategy": "tool_result_clearing", "settings": {"keep": 3}}]},
    {"name": "clear_keep_10", "source": "tool result clearing of a known provider's interface",
     "about": "results that were answered become placeholders, all but the newest 10",
     "ladder": [{"strategy": "tool_result_clearing", "settings": {"keep": 10}}]},
    {"name": "two_layer", "source": "an article on a known coding agent's two layers",
     "about": "large results go to files on arrival and are frozen; a full summary in need",
     "reserve": 20_000, "margin": 13_000, "frozen": True,
     "ladder": [{"strategy": "result_offload", "trigger": 0}]},
    {"name": "recall", "source": "the fifth path of the field: an external store",
     "about": "the oldest rounds go to a store that the model can search and read from",
     "target": "65%",
     "ladder": [{"strategy": "recall"}]},
)
