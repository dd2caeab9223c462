"""Milestone 3: one summary in place of a stretch of the view.

Every strategy with a summary is a stretch (`spans.py`), a form, and the one function
`fold_span`. Users' words in the stretch are carried over whole, by code: what a model
writes about them is not used. Each summary is written from the original messages,
including those behind an earlier summary, so nothing is ever summarised twice. What
this module leaves out: who writes the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import extract
from ..errors import SummaryRefused
from ..forms import BY_CODE, FORMS, heading
from ..messages import user
from ..tokens import PER_MESSAGE, by_lines
from .attach import Attachment, attachments, is_card
from .rising import common
from .scene import Scene
from .sections import SectionLines, Sections, bound, render
from .spans import covered_by, head_end
from .summariser import focus_message
from .summary_text import SummaryText
from .view import Change, Entry, View, tokens_of

Write = Callable[[Sequence[int]], SummaryText]
SUMMARY_TOKENS = 20_000  # tokens of a summary without users' words, in a window of 200,000
LEAST_TOKENS = 400       # of these, in the smallest window: less could say nothing
WARN_FROM = 3            # the user is warned from this summary of a session on


@dataclass(frozen=True)
class Fold:
    """How a stretch is folded; each strategy with a summary makes one from its settings.

    `header` is the key of the text above the summary, `title` a field in it. `max_tokens`
    bounds the summary without the users' words; `attach` names what is put back (`attach.py`).
    `apart`: protected user messages stay messages of their own.
    `by_code`: no model writes, so there is nothing to check.
    """

    strategy: str
    form: str
    header: str
    max_tokens: int
    attach: str = ""
    apart: bool = False
    refuse_unsupported: bool = False
    by_code: bool = False
    title: str = ""


@dataclass(frozen=True)
class Stretch:
    """What is folded of a stretch: `folded` are view indexes, `tokens` theirs, `covered` the
    history messages behind them. `newest`: the view index of the newest user message, if it
    is in the stretch; it goes after the summary."""

    span: range
    folded: list[int]
    tokens: int
    newest: int | None
    covered: list[int]


def fold_span(how: Fold, view: View, scene: Scene, span: range,
              write: Write | None = None) -> Change | None:
    """A change that puts a summary in place of `span`; None if nothing is gained.

    `write` gives the text for history indexes and may raise `StrategyError`; without it
    the summariser writes in the form of `how`.
    """
    stretch = _take_apart(how, view, scene, span)
    if all(entry.made for entry in view.at(stretch.folded)):
        return None  # nothing new
    found = _summary(how, scene, stretch, write or partial(scene.summariser.gather, form=how.form))
    if found is None:
        return None
    summary, facts = found
    cards = _old_cards(how, view, scene, span)
    put_back = _put_back(how, view, scene, stretch, summary, cards)
    return _change(how, view, scene, stretch, summary, put_back, cards,
                   facts | _facts(scene, stretch, put_back))


def fold_first(how: Fold, view: View, scene: Scene, spans: Iterable[range],
               write: Write | None = None) -> Change | None:
    """The change for the first of some stretches that gains, None if none does."""
    return next(filter(None, (fold_span(how, view, scene, span, write) for span in spans)), None)


def _take_apart(how: Fold, view: View, scene: Scene, span: range) -> Stretch:
    """Which entries of a stretch are folded, and which stay: protected system messages, the
    newest user message, and with `apart` all protected ones."""
    users = scene.index.chronicle.grow().users
    folded, newest = [], None
    for at in span:
        entry = view[at]
        kept = scene.protects(entry)
        if kept and (how.apart or entry.message["role"] == "system"):
            continue
        if kept and entry.stands_for == tuple(users[-1:]):
            newest = at
            continue
        folded.append(at)
    return Stretch(span, folded, tokens_of(view.at(folded)), newest, covered_by(view, folded))


def _summary(how: Fold, scene: Scene, stretch: Stretch,
             write: Write) -> tuple[Entry, dict[str, Any]] | None:
    """The summary of a stretch and what its record says of it; None if it is no gain.

    Nobody is asked to write if the header and the users' words alone are too large.
    """
    covered = stretch.covered
    header = scene.texts(how.header, count=len(covered), title=how.title)
    words = _users_words(scene, covered)
    if by_lines(scene.estimate, "\n".join([header, *words])) + PER_MESSAGE >= stretch.tokens:
        return None
    written = write(covered)
    if scene.index.support.longer(written.chars(), covered):
        return None
    facts = {} if how.by_code else {"unsupported": _unsupported(how, scene, written, covered)}
    sections = _bounded(how, scene, _filled(how.form, scene, written, covered))
    text = f"{header}\n{render(_with_words(scene, sections, words))}"
    entry = scene.entry(user(text), covered, "summary")
    return (entry, facts) if entry.tokens < stretch.tokens else None


def _put_back(how: Fold, view: View, scene: Scene, stretch: Stretch, summary: Entry,
              cards: Sequence[int]) -> list[Attachment]:
    """What is attached to the summary. It may fill half of the room up to the goal, or as much
    as the old `cards` did if that is more, as long as the change stays a gain."""
    freed = tokens_of(view.at(cards))
    gain = stretch.tokens + freed - summary.tokens
    left = scene.goal - (view.tokens - gain)
    return attachments(how.attach.split(), view, scene, stretch.covered, stretch.span.stop,
                       min(max(left // 2, freed), gain - 1))


def _users_words(scene: Scene, covered: Sequence[int]) -> list[str]:
    """Users' messages, word for word or, where they are beyond their share, as handles."""
    words = []
    for index in common(scene.index.chronicle.users, covered):
        said = scene.history[index]
        if index in scene.protection.verbatim:
            words.append(scene.texts("words_kept", index=index, text=said["content"]))
        else:
            words.append(scene.texts("words_left_out", index=index, chars=len(said["content"]),
                                     way_back=scene.way_back(index)))
    return words


def _unsupported(how: Fold, scene: Scene, written: SummaryText,
                 covered: Sequence[int]) -> list[str]:
    """What a summary names and its originals do not. Raises `SummaryRefused` if that is
    not allowed."""
    asked_for = [focus_message(scene.focus, scene.texts)] if scene.focus else []
    names = written.doubtful(scene.history, heading("users", scene.texts))
    found = scene.index.support.unsupported(names, covered, asked_for)
    if found and how.refuse_unsupported:
        raise SummaryRefused(f"the summary names what nothing supports: {', '.join(found[:5])}",
                             place=how.strategy, value=found,
                             remedy="the messages stay as they are")
    return found


def _filled(form: str, scene: Scene, written: SummaryText,
            covered: Sequence[int]) -> dict[str, SectionLines]:
    """The sections in the order of the form, with those that the harness writes.

    What a model writes about users' words is not used. If the form has a section for them,
    it stays empty here (`_with_words` fills it).
    """
    texts, sections = scene.texts, written.sections()
    sections.pop(heading("users", texts), None)
    whole = {"": sections[""]} if "" in sections else {}
    for section in FORMS[form]:
        head = heading(section, texts)
        if section == "users":
            whole[head] = SectionLines()
        elif section in BY_CODE:
            whole[head] = SectionLines(extract.file_lines(
                section, scene.index.chronicle.touched(covered), texts))
        elif head in sections:
            whole[head] = sections[head]
    return whole | {head: body for head, body in sections.items() if head not in whole}


def _bounded(how: Fold, scene: Scene, sections: dict[str, SectionLines]) -> Sections:
    limit = min(how.max_tokens, max(LEAST_TOKENS, scene.budget.scaled(how.max_tokens)))
    return bound(sections, limit, scene.estimate.text,
                 lambda count: scene.texts("lines_left_out", count=count))


def _with_words(scene: Scene, sections: Sections, words: list[str]) -> Sections:
    """The sections with the users' words, which no bound limits."""
    head = heading("users", scene.texts)
    if not words and head not in sections:
        return sections
    return sections | {head: words or [scene.texts("said_none")]}


def _facts(scene: Scene, stretch: Stretch, put_back: Sequence[Attachment]) -> dict[str, Any]:
    """Further fields of the record; each is absent where there is nothing to say."""
    by_handle = [index for index in common(scene.index.chronicle.users, stretch.covered)
                 if index not in scene.protection.verbatim]
    facts: dict[str, Any] = {"users_by_handle": by_handle} if by_handle else {}
    if put_back:
        facts["attached"] = [{"kind": item.kind, "name": item.name, "tokens": item.entry.tokens}
                             for item in put_back]
    if scene.times_summarised + 1 >= WARN_FROM:
        facts["notice"] = scene.texts("long_thread")
    return facts


def _old_cards(how: Fold, view: View, scene: Scene, span: range) -> list[int]:
    """The view indexes of earlier state cards: they are out of date, so they are taken out even
    if there is no room for a new one."""
    return [at for at in range(head_end(view, scene), span.start)
            if "card" in how.attach.split() and is_card(view[at], scene.texts)]


def _change(how: Fold, view: View, scene: Scene, stretch: Stretch, summary: Entry,
            put_back: Sequence[Attachment], old_cards: Sequence[int],
            facts: dict[str, Any]) -> Change:
    """Card at the top, then summary and what is put back, then the newest user message."""
    head, stop = head_end(view, scene), stretch.span.stop
    cards = [item.entry for item in put_back if item.kind == "card"]
    newest = [] if stretch.newest is None else [stretch.newest]
    affected = sorted([*old_cards, *stretch.folded, *newest])
    if cards and affected[0] == head and view[head] == cards[0]:
        cards, affected = [], affected[1:]  # the card has not changed: its bytes stay
    new = [(head, card) for card in cards] + [(stop, summary)]  # (view index before, entry)
    new += [(stop, item.entry) for item in put_back if item.kind != "card"]
    new += [(stop, view[at]) for at in newest]
    inserts = tuple((before - bisect_left(affected, before) + number, entry)
                    for number, (before, entry) in enumerate(new))
    return Change(how.strategy, tuple(affected), inserts, facts)
