"""Milestone 6: evidence recall, the share of what a step needed that its view still held.

A session as it was recorded says what was needed: what an agent wrote into the
arguments of its calls and had read before. Nothing has to be judged and no model
is asked. The definition:

- A *step* is a run of assistant messages with nothing between them.
- Its *items* come from the strings in its call arguments (not keys or numbers of the
  JSON, nor the name of the tool): *words* (`words.words`: paths,
  identifiers, long numbers, runs of four and more CJK characters, without the
  `words.GENERAL` ones) and *lines* (`words.lines`: 12 to 400 characters with a
  blank in them; here also with two words at least, so that a rule of dashes does not count).
- An item is *evidence* if it occurs in an earlier message that is not the
  assistant's, and in at most 6 or 20 % of those messages, whichever is more.
- The text of a message is its content and the strings of its call arguments. A word
  occurs in a text if `words` finds it there (not inside a longer one: `app.py` does not
  occur in `src/app.py`), a line if it stands there with no word cut at its ends (a read
  result may put a line number before it).
- A view *holds* an item that one of its entries has, whoever wrote it.

The shares, each over the items of a step, then over the steps that have such items:

    recall          all items
    far             those whose latest occurrence is more than 8 messages before the
                    step (the step's own first message is 0 back): the headline, since
                    nearly half of all items stand in the last messages anyway
    far_in_context  of the far items those that stand in an entry as they stood: in a
                    verbatim entry, in a line that is there whole, or with 30 more
                    characters of an original around them (before, behind, or 15 each)
    fresh           items that the assistant had never written itself
    lines           the lines among the items
    reach           of the far items those that the view holds, or a message whose handle it
                    shows: a tool gives that back

A step whose view is over the window counts 0 in all of them: it would not have been
answered. Never show `far` without `far_in_context`: a bag of words gets the one.

Limits. The recorded agent saw everything, so the measure tells what would have had
to be fetched again, not what would have failed. A text can be known without being in
the view (what is general, what can be derived). A summary that repeats the words
counts as keeping them, also in a wrong sentence; an absolute path against a relative
one counts as lost; a word in the wrong role counts as held.

Cost: each message and each entry that a strategy made is read once; a view is kept
as counts of what its entries hold, so asking costs what is asked. What is left out:
means over steps and sessions (`lab/measures.py`, `lab/summary.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .compression.view import Entry
from .finder import Finder, in_context, is_telling
from .messages import Message, model_calls, said_in_calls, text_of
from .words import GENERAL, lines, words

FAR = 8             # messages back; what is nearer nobody removes
RARE, SHARE = 6, 5  # an item is evidence in at most 6, or a fifth, of the messages
_HANDLE = re.compile(r"(?:#|handle=)(\d{1,9})(?!\d)(?:-#(\d{1,9})(?!\d))?")  # or a span


@dataclass(frozen=True, slots=True)
class Step:
    """The evidence of one step: item numbers, each list rising.

    `at` is the history index of its first assistant message.
    """

    at: int
    items: tuple[int, ...]
    far: tuple[int, ...]
    fresh: tuple[int, ...]
    lines: tuple[int, ...]


class Shares(NamedTuple):
    """The shares of one step, 0 to 1; None where it has no such items."""

    recall: float | None
    far: float | None
    far_in_context: float | None
    fresh: float | None
    lines: float | None
    reach: float | None


class Evidence:
    """What each step of a history needed, and what each of its messages holds.

    `find` finds the items in any text; `holds[i]` are those of history message i,
    `where[n]` the messages that hold item n, rising; `steps` are in order.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = history
        self.calls = list(model_calls(history))
        asked = [_asked(history, call) for call in self.calls]
        self.find = Finder(dict.fromkeys(word for found, _ in asked for word in found),
                           dict.fromkeys(line for _, found in asked for line in found))
        self.holds = [self.find(text_of(message)) for message in history]
        self.where: dict[int, list[int]] = {}
        number = self.find.numbers
        self.steps = list(self._steps([[number[text] for text in (*found_words, *found_lines)]
                                       for found_words, found_lines in asked]))

    def _steps(self, asked: Sequence[Sequence[int]]) -> Iterator[Step]:
        """One pass in order: what is known of each item before each step."""
        read: Counter[int] = Counter()   # in how many messages that are not the assistant's
        written: set[int] = set()
        others = at = 0
        for call, numbers in zip(self.calls, asked):
            for index in range(at, call.start):
                others += self._note(index, read, written)
            at = call.start
            limit = max(RARE, others / SHARE)
            items = sorted(n for n in numbers if 0 < read[n] <= limit)
            yield Step(at, tuple(items),
                       tuple(n for n in items if at - self.where[n][-1] > FAR),
                       tuple(n for n in items if n not in written),
                       tuple(n for n in items if self.is_line(n)))

    def _note(self, index: int, read: Counter[int], written: set[int]) -> bool:
        """Take in one message; whether it is not the assistant's."""
        held = self.holds[index]
        for number in held:
            self.where.setdefault(number, []).append(index)
        if self.history[index]["role"] == "assistant":
            written.update(held)
            return False
        read.update(held)
        return True

    def is_line(self, number: int) -> bool:
        """Whether an item is a line; else it is a word."""
        return number >= self.find.first_line

    def last_seen(self, number: int, before: int) -> int:
        """The newest history message before index `before` that holds an item."""
        held = self.where[number]
        return held[bisect_left(held, before) - 1]

    def text(self, number: int) -> str:
        """The word or line itself."""
        return self.find.texts[number]


def _asked(history: Sequence[Message], call: range) -> tuple[dict[str, None], dict[str, None]]:
    """The words and the lines in the call arguments of a step, each once, in order."""
    said = [text for index in call for text in said_in_calls(history[index])]
    return (dict.fromkeys(word for text in said for word in words(text) if word not in GENERAL),
            dict.fromkeys(line for text in said for line in lines(text)
                          if is_telling(line)))


def handles(entry: Entry) -> set[int]:
    """The history messages whose handles an entry shows, of those it stands for."""
    if entry.how == "verbatim":
        return set()
    found = _HANDLE.findall(entry.message["content"])
    shown = {int(first) for first, _ in found}
    spans = [range(int(first), int(last) + 1) for first, last in found if last]
    return {index for index in entry.stands_for
            if index in shown or any(index in span for span in spans)}


class Held:
    """What one view holds of the evidence, kept as entries come and go."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._whole: Counter[int] = Counter()             # verbatim entries that hold an item
        self._parts: dict[int, dict[int, Entry]] = {}     # the other entries, by their id
        self._in: dict[int, tuple[Entry, tuple[int, ...]]] = {}
        self._context: dict[tuple[int, int], bool] = {}
        self._shown: Counter[int] = Counter()             # handles of history messages

    def enter(self, entry: Entry) -> None:
        """An entry comes into the view. One that is not verbatim is read here, once."""
        if entry.how == "verbatim":
            for index in entry.stands_for:
                for number in self._evidence.holds[index]:
                    self._whole[number] += 1
            return
        found = self._evidence.find(text_of(entry.message))
        self._in[id(entry)] = entry, found
        self._shown.update(handles(entry))
        for number in found:
            self._parts.setdefault(number, {})[id(entry)] = entry

    def leave(self, entry: Entry) -> None:
        """An entry that came in with `enter` leaves the view."""
        if entry.how == "verbatim":
            for index in entry.stands_for:
                for number in self._evidence.holds[index]:
                    self._whole[number] -= 1
            return
        self._shown.subtract(handles(entry))
        for number in self._in.pop(id(entry))[1]:
            del self._parts[number][id(entry)]
            self._context.pop((id(entry), number), None)

    def has(self, number: int) -> bool:
        """Whether the view holds an item."""
        return self._whole[number] > 0 or bool(self._parts.get(number))

    def has_in_context(self, number: int) -> bool:
        """Whether it stands in an entry as it stood in the history."""
        if self._whole[number] > 0:
            return True
        return any(self._as_it_stood(entry, number)
                   for entry in self._parts.get(number, {}).values())

    def can_be_had(self, number: int) -> bool:
        """Whether the view holds an item, or shows the handle of a message that does."""
        return self.has(number) or any(
            self._shown[index] > 0 for index in self._evidence.where[number])

    def _as_it_stood(self, entry: Entry, number: int) -> bool:
        if self._evidence.is_line(number):
            return True
        key = id(entry), number
        if key not in self._context:
            word, text = self._evidence.text(number), text_of(entry.message)
            self._context[key] = in_context(word, text, (
                text_of(self._evidence.history[index])
                for index in reversed(self._evidence.where[number])))
        return self._context[key]

    def missing(self, step: Step) -> list[int]:
        """The items of a step that the view does not hold."""
        return [number for number in step.items if not self.has(number)]

    def shares(self, step: Step, over: bool = False) -> Shares:
        """The shares of a step; `over`: its view is over the window, so all are 0."""
        def share(numbers: Sequence[int], holds: Callable[[int], bool]) -> float | None:
            if not numbers:
                return None
            return 0.0 if over else sum(map(holds, numbers)) / len(numbers)

        return Shares(recall=share(step.items, self.has), far=share(step.far, self.has),
                      far_in_context=share(step.far, self.has_in_context),
                      fresh=share(step.fresh, self.has), lines=share(step.lines, self.has),
                      reach=share(step.far, self.can_be_had))
