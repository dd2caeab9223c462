"""Milestone 3: the forms of summaries, as lists of sections.

A form is what a summary has to say and in which order. The same form is written
by the scripted model (`extract.py`), asked of a live one (`prompts.py`), and
checked, merged and bounded by the strategies. `rolling` has no sections: it is
one line per step. What this module leaves out: who writes the sections.

Sources: `nine` the nine parts of the full summary that this project was founded
on; `note` the handoff note of Codex; `form` the structured form of Pi; `five` the
five sections of OpenCode.
"""

from __future__ import annotations

from .texts import LANGUAGES, Texts
from .texts.summaries import SECTIONS

FORMS: dict[str, tuple[str, ...]] = {
    "rolling": (),
    "segment": ("done", "decisions", "errors", "files", "left"),
    "stage": ("goal", "result", "decisions", "left"),
    "nine": ("request", "concepts", "files", "errors", "solving", "users", "pending",
             "current", "next"),
    "note": ("progress", "constraints", "remaining", "critical"),
    "form": ("goal", "constraints", "done", "doing", "blocked", "decisions", "next",
             "critical", "read_files", "changed_files"),
    "five": ("goal", "instructions", "discoveries", "accomplished", "relevant"),
    "digest": ("done", "errors", "current", "read_files", "changed_files"),
}
BY_CODE = ("users", "read_files", "changed_files")  # filled in by the harness, whoever writes
DRAFTED = ("nine",)                                 # written twice: a draft is thrown away
MARK = "## "


def heading(section: str, texts: Texts) -> str:
    """The line under which a section stands, in the language of the session."""
    return MARK + SECTIONS[section][LANGUAGES.index(texts.language)]


def own_lines(texts: Texts) -> frozenset[str]:
    """The lines of a summary that the harness words itself, headings of any depth among them:
    they quote nothing, so nothing in them has to be supported."""
    heads = [heading(section, texts) for section in SECTIONS]
    return frozenset([*heads, *(f"#{head}" for head in heads), texts("said_none"),
                      texts("see_users")])


def instruction(section: str, texts: Texts) -> str:
    """What a live model is told to put into a section."""
    return SECTIONS[section][2 + LANGUAGES.index(texts.language)]


def model_sections(form: str) -> tuple[str, ...]:
    """The sections of a form that the model writes."""
    return tuple(section for section in FORMS[form] if section not in BY_CODE)
