"""Milestone 6: evidence recall, the share of what a step needed that its view still held.

A session as it was recorded says what was needed: what an agent wrote into the
arguments of its calls and had read before. Nothing has to be judged and no model
is asked. The definition:

- A *step* is a run of assistant messages with nothing between them.
- Its *items* come from the strings in its call arguments (not keys or numbers of the
  JSON, nor the name of the tool): *words* (`words.words`: paths,
  identifiers, long numbers, runs of four or more CJK characters, without the
  `words.GENERAL` ones) and *lines* (`words.lines`: 12 to 400 characters including a
  blank; here also at least two words, so that a rule of dashes does not count).
- An item is *evidence* if it occurs in an earlier message that is not the
  assistant's, and in at most 6 or 20 % of those messages, whichever is more.
- The text of a message is its content and the strings of its call arguments. A word
  occurs in a text if `words` finds it there (not inside a longer one: `app.py` does not
  occur in `src/app.py`), a line if it occurs there with no word cut at its ends (a read
  result may put a line number before it).
- A view *holds* an item that one of its entries has, whoever wrote it.

The shares, each over the items of a step, then over the steps that have such items:

    recall          all items
    far             those whose latest occurrence is more than 8 messages before the
                    step (the step's own first message is 0 back): the headline, since
                    nearly half of all items are in the last messages anyway
    far_in_context  those of the far items that an entry has as they stood: in a
                    verbatim entry, in a line that is there whole, or with 30 more
                    characters of an original around them (before, after, or 15 each)
    fresh           items that the assistant had never written itself
    lines           the lines among the items
    reach           those of the far items that are in the view, or in a message whose handle
                    it shows: a tool gives that back

A step whose view is over the window counts 0 in all of them: it would not have been
answered. Never show `far` without `far_in_context`: a bag of words scores on the first.

Limits. The recorded agent saw everything, so the measure says what would have had
to be fetched again, not what would have failed. A text can be known without being in
the view (what is general, what can be derived). A summary that repeats the words
counts as keeping them, even in a wrong sentence; an absolute path against a relative
one counts as lost; a word in the wrong role counts as held.

Cost: each message is read once. What is left out: what a view holds (`held.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from .finder import Finder, is_telling
from .messages import Message, model_calls, said_in_calls, text_of
from .words import GENERAL, lines, words

FAR = 8             # messages back; nobody removes what is nearer
RARE, SHARE = 6, 5  # an item is evidence in at most 6, or a fifth, of the messages


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


class Evidence:
    """What each step of a history needed, and what each of its messages holds.

    `find` finds the items in any text; `holds[i]` are those of history message i,
    `where[n]` the messages that hold item n, rising; `steps` are in order.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = history
        self.calls = list(model_calls(history))
        asked = [_asked(history, call) for call in self.calls]
        self.find = Finder(_each_once(found for found, _ in asked),
                           _each_once(found for _, found in asked))
        self.holds = [self.find(text_of(message)) for message in history]
        self.where: dict[int, list[int]] = {}
        number = self.find.numbers
        self.steps = list(self._steps([[number[text] for text in (*found_words, *found_lines)]
                                       for found_words, found_lines in asked]))

    def _steps(self, asked: Sequence[Sequence[int]]) -> Iterator[Step]:
        """One pass in order: what is known about each item before each step."""
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
        """Take in one message; returns whether it is not the assistant's."""
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


def _asked(history: Sequence[Message], call: range) -> tuple[list[str], list[str]]:
    """The words and the lines in a step's call arguments, each once, in order."""
    said = [text for index in call for text in said_in_calls(history[index])]
    found_words, found_lines = _each_once(map(words, said)), _each_once(map(lines, said))
    return ([word for word in found_words if word not in GENERAL],
            [line for line in found_lines if is_telling(line)])


def _each_once(texts: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(texts)))
