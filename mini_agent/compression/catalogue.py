"""Milestone 3: the policies, as data.

Each says where it comes from, what it is for and which laws (`laws.py`) it
breaks on purpose (`breaks`); `ladder` lists strategies, with the settings that
differ from their defaults. A rung with `trigger` 0 is taken before every call.
Absolute numbers hold for a window of 200,000 tokens and scale with it. What is left
out: making a policy from its data (`policies.py`).
"""

from __future__ import annotations

from typing import Any

DEFAULT_POLICY = "digest"  # of a live session for which none is named
_LAST_RESORT = {"strategy": "admission", "settings": {"last_resort": True}}
_DIGEST = {"source": "this project, by a prototype on 50 recorded sessions",
           "user_share": .15, "protect_last": 1}
_DIGESTS: tuple[dict[str, Any], ...] = (
    {"name": "digest_full", "about": "what is old gives way to a digest: lines word for word, "
     "chosen by what they cover; large results come in whole", "target": "75%", **_DIGEST,
     "ladder": [{"strategy": "coverage_digest"}, _LAST_RESORT]},
    {"name": "digest", "about": "as digest_full, and a large result is cut once, on arrival; the "
     "default in live use", "target": "75%", **_DIGEST,
     "ladder": [{"strategy": "admission", "trigger": 0}, {"strategy": "coverage_digest"},
                _LAST_RESORT]},
    {"name": "digest_lean", "about": "as digest with a smaller view, for long sessions",
     "target": "45%", **_DIGEST,
     "ladder": [{"strategy": "admission", "trigger": 0},
                {"strategy": "coverage_digest", "settings": {"digest": .35}}, _LAST_RESORT]},
    {"name": "digest_minimal", "about": "as digest with the smallest view: the cheapest of "
     "the four, and the one that forgets most", "trigger": "90%", "target": "25%", **_DIGEST,
     "ladder": [{"strategy": "admission", "trigger": 0, "settings": {"share": .03}},
                {"strategy": "coverage_digest", "settings": {"digest": .2}}, _LAST_RESORT]},
)

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
     "about": "keeps system message and task, drops the oldest messages behind them one by one; "
     "tears calls from results",
     "breaks": [1],
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "keep_head"}}]},
    {"name": "whole_rounds", "source": "truncation of the teaching agent miniagent",
     "about": "drops the oldest rounds whole and says how many; good where the past is past",
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "whole_rounds"}}]},
    {"name": "snip_middle", "source": "snip_compact of learn-claude-code",
     "about": "the first round and the newest stay, what lies between is left behind handles",
     "ladder": [{"strategy": "sliding_window", "settings": {"variant": "snip_middle"}}]},
    {"name": "clip", "source": "layer 1 of the teaching agent miniagent",
     "about": "long results older than two rounds keep their first and last three lines; where "
     "that is not enough, the oldest rounds are dropped",
     "ladder": [{"strategy": "tool_result_clipping"}, {"strategy": "sliding_window"}]},
    {"name": "clip_errors", "source": "layer 1 of miniagent, mended: it had cut the one line "
     "that said what was wrong",
     "about": "as clip, but the lines that look like an error are kept first, in the same room",
     "ladder": [{"strategy": "tool_result_clipping", "settings": {"keep": "errors"}},
                {"strategy": "sliding_window"}]},
    {"name": "clip_errors_summary", "source": "a prototype on 50 recorded sessions: in a window of "
     "16,000 ahead of the other known ones",
     "about": "clips old results around their errors; what is still too much is summarised, and "
     "dropped at last; down to 80 %, so that the prefix is broken half as often",
     "target": "80%",
     "ladder": [{"strategy": "tool_result_clipping", "settings": {"keep": "errors"}},
                {"strategy": "rolling_summary"}, {"strategy": "sliding_window"}]},
    {"name": "clear_keep_3", "source": "micro_compact of learn-claude-code",
     "about": "results that were answered become placeholders, all but the newest 3; where "
     "that is not enough, the oldest rounds are dropped",
     "ladder": [{"strategy": "tool_result_clearing", "settings": {"keep": 3}},
                {"strategy": "sliding_window"}]},
    {"name": "clear_keep_10", "source": "tool result clearing of a known provider's interface",
     "about": "as clear_keep_3 with the newest 10 kept: reads well, and breaks the prefix often",
     "ladder": [{"strategy": "tool_result_clearing", "settings": {"keep": 10}},
                {"strategy": "sliding_window"}]},
    {"name": "layered", "source": "the three layers of the teaching agent miniagent: cheap first",
     "about": "clips old results, then summarises, then drops rounds; a model only in need",
     "ladder": [{"strategy": "tool_result_clipping"}, {"strategy": "rolling_summary"},
                {"strategy": "sliding_window"}]},
    {"name": "tiers_50_70_90", "source": "CoreCoder: the numbers are its author's own choice",
     "about": "at 50 % clips results of any age, at 70 % sums up all but the last 8 messages, "
     "at 90 % collapses all but the last 4 without a model",
     "ladder": [{"strategy": "tool_result_clipping", "trigger": "50%",
                 "settings": {"min_chars": 1_500, "keep_rounds": 0}},
                {"strategy": "full_summary", "trigger": "70%",
                 "settings": {"keep_last": 8, "attach": ""}},
                {"strategy": "hard_collapse", "trigger": "90%"}]},
    {"name": "segmented", "source": "the fourth path of the field: segments, summarised and merged",
     "about": "long runs are cut into segments; the older, the coarser; good for long sessions "
     "with few user messages",
     "ladder": [{"strategy": "segmented_summary"}]},
    {"name": "stages", "source": "the article this project was founded on: a stage that is done "
     "is a record, not a conversation",
     "about": "at the end of a stage, or at 80 %: clips old results, makes records of finished "
     "stages, keeps a state card at the top; good for work in clear steps",
     "trigger": "80%", "stages": True,
     "ladder": [{"strategy": "tool_result_clipping", "settings": {"keep": "errors"}},
                {"strategy": "stage_summary"},
                {"strategy": "rolling_summary", "trigger": "80%",
                 "settings": {"attach": "card"}}]},
    {"name": "two_layer", "source": "an article on a known coding agent's two layers",
     "about": "large results go to files on arrival and are frozen; in need a summary in nine "
     "parts, with files, skills and tools put back; triggers at 167,000 of 200,000",
     "reserve": 20_000, "margin": 13_000, "frozen": True,
     "ladder": [{"strategy": "result_offload", "trigger": 0}, {"strategy": "full_summary"}]},
    {"name": "reserve_16k", "source": "the trigger of Pi: the window less 16,384 tokens",
     "about": "as late as possible; one rolling summary after another",
     "trigger": "-16384", "ladder": [{"strategy": "rolling_summary"}]},
    {"name": "tail_summary", "source": "the shape of most known agents: a summary, then the end",
     "about": "nine parts in place of all but a verbatim tail of a tenth of the window",
     "trigger": "90%", "protect_last": 1,
     "ladder": [{"strategy": "full_summary",
                 "settings": {"keep_last": 0, "tail_share": 0.1, "attach": ""}}]},
    {"name": "handoff_note", "source": "Codex: a note for another model, users' messages kept up "
     "to 20,000 tokens, at 90 % of the window",
     "about": "users' words as they were, then one note; nothing of the end stays: the results "
     "of the last step are in the note alone",
     "trigger": "90%", "protect_last": 0, "user_share": 0.1,
     "ladder": [{"strategy": "handoff_note"}]},
    {"name": "handoff_form", "source": "Pi: a structured form, lists of files kept by code, the "
     "newest 20,000 tokens whole, triggered by the window less 16,384",
     "about": "goal, progress, decisions, next steps and files; good for long work on many files",
     "trigger": "-16384", "protect_last": 1, "ladder": [{"strategy": "handoff_form"}]},
    {"name": "handoff_five", "source": "OpenCode: five sections, triggered by the window less the "
     "longest answer, at most 20,000",
     "about": "goal, instructions, discoveries, accomplished, files; nothing of the end stays",
     "trigger": "-min(20000,max_output)", "protect_last": 0,
     "ladder": [{"strategy": "handoff_five"}]},
    {"name": "context_reset", "source": "an article on harnesses for long-running agents, whose "
     "author has given it up since",
     "about": "a successor starts on an empty window with a handoff; good against a model that "
     "hurries when its window fills",
     "trigger": "80%", "protect_last": 0, "ladder": [{"strategy": "context_reset"}]},
    {"name": "recall", "source": "the fifth path of the field: an external store",
     "about": "the oldest rounds go to a store that the model can search and read from",
     "target": "65%",
     "ladder": [{"strategy": "recall"}]},
    {"name": "lean_input", "source": "the sixth path of the field: the fixed part of a request",
     "about": "tool declarations have 2 % of the window, what the task does not name is sent short "
     "or left out, and whole once it is used; the rest as clip_errors_summary",
     "target": "80%",
     "ladder": [{"strategy": "input_budget", "trigger": 0},
                {"strategy": "tool_result_clipping", "settings": {"keep": "errors"}},
                {"strategy": "rolling_summary"}, {"strategy": "sliding_window"}]},
    *_DIGESTS,
)
