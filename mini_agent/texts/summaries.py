"""The texts of summaries: headings, prompts, what is attached. See the package."""

from __future__ import annotations

SUMMARIES: dict[str, tuple[str, str]] = {
    # compression/summarise.py
    "long_thread": (
        "Long threads and many compressions make answers less accurate; start a new session "
        "where you can.",
        "对话过长、多次压缩会降低回答的准确度;条件允许时请另开新会话。"),
}
