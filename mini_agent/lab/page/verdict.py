"""Milestone 6: the verdict of a comparison, as HTML."""

from __future__ import annotations

from html import escape

from ..pageform import Page
from ..verdict import verdicts

MOST_SAID = 12  # paragraphs on a page; for the rest the reader is sent to the table


def verdict(data: Page) -> str:
    """One paragraph per session and window, or per window for many sessions."""
    said = [f"{escape(str(found.where))}: {found.said(_strong)}"
            for found in verdicts(data["rows"], data["summary"], set(data["unsound"]))]
    if len(said) > MOST_SAID:
        said = [*said[:MOST_SAID], f"{len(said) - MOST_SAID} more: see the table"]
    return "\n".join(f"<p>{text}</p>" for text in said)


def _strong(policy: str) -> str:
    return f"<strong>{escape(policy)}</strong>"
