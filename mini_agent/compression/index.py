"""Milestone 3: what is in the messages of a history, taken in once for each message.

The digest chooses lines by the identifiers in them, so at each compression it would ask
what it asked before. The answers are facts about messages that never change: they are
kept here, beside the history, and grow with it. A line that many messages have is kept
once and belongs to the newest of them.

It is a cache and nothing else: an index made anew equals one that has grown with the
history, so no record has to note it. What is left out: what a word or a line is
worth (`chances.py`), which lines are chosen (`coverage.py`).
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ..errorlines import ErrorLines
from ..messages import Call, Message, text_of
from ..words import names
from .chances import PLAIN_CHANCE, QUOTES, Worths
from .chronicle import Chronicle, Place, Work, anew_if_broken
from .units import BARE, kind_of, telling, units
from .verify import Support
from .vocabulary import Vocabulary

STRETCHES = 2**12  # parts of lines that need no second look
BYTES_A_TOKEN = 4  # of UTF-8: rough, but lines are only weighed against each other


def rough_tokens(text: str) -> float:
    """Rough tokens of a text and the line break after it, by its length alone.

    Each line break is one, so that those of a text are the sum of those of its lines.
    """
    breaks = text.count("\n")
    return 1 + breaks + (len(text.encode("utf-8", "surrogatepass")) - breaks) / BYTES_A_TOKEN


@dataclass(eq=False, slots=True)
class HistoryLine:
    """A line of a history, kept once.

    `number`: how many came before it. `words` (numbers, each once), `shows` (those of them
    that it has in their surroundings), `kind` (of `units`), `cost` (tokens, roughly), `quote`
    (the chance that it is quoted whole), `last` (the newest message that has it), `place`
    (which of that message's lines it is).
    """

    number: int
    text: str
    words: tuple[int, ...]
    shows: tuple[int, ...]
    kind: int
    cost: float
    quote: int
    last: int = -1
    place: int = 0


class HistoryIndex:
    """Lines, words, calls and files of a history. All lists only grow.

    By message: `lines` (in order), `sizes` (tokens, roughly), `words_in` (numbers, each once),
    and the `telling` lines.
    By line: `numbered`, and by its text: `known`.
    By word (`words` has them): `home` (the newest line that shows it), its worth (`worths`).
    `chronicle` has what was done where, `work` how far the work is; `errors` finds what went
    wrong in outputs, `support` where the names in summaries occur; `kept` are numbers that
    strategies have found and that never change.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self.chronicle = Chronicle(history)
        self.work = Work(self.chronicle)
        self.lines: list[tuple[HistoryLine, ...]] = []
        self.sizes: list[float] = []
        self.words_in: list[tuple[int, ...]] = []
        self.numbered: list[HistoryLine] = []
        self.known: dict[str, HistoryLine] = {}
        self.words = Vocabulary()
        self.worths = Worths(self.words)
        self.home: dict[int, HistoryLine] = {}
        self.errors = ErrorLines()
        self.support = Support(history)
        self.kept: dict[Hashable, int] = {}
        self._names_in = lru_cache(STRETCHES)(names)  # lines are made of the same again and again
        self._alike: dict[Hashable, list[Place]] = {}  # answered calls, by what equal ones share
        self._compared = 0  # how many calls are in it

    def __len__(self) -> int:
        return len(self.lines)

    def grow(self) -> HistoryIndex:
        """Take in what the history has gained; returns itself."""
        with anew_if_broken(self, lambda: HistoryIndex(self._history)):
            for index in range(len(self.lines), len(self._history)):
                self._take_words(index, self._history[index])
        self.chronicle.grow()
        return self

    def alike(self, made: Call) -> Sequence[Place]:
        """The answered calls that are equal to this one, in the order of their results."""
        answers = self.chronicle.grow().answers
        for place in answers[self._compared:]:
            self._alike.setdefault(_kind(place.call), []).append(place)
            self._compared += 1
        return self._alike.get(_kind(made), ())

    def telling(self, message: int) -> Iterable[HistoryLine]:
        """Its lines, each once, that no later message has, and that show a word or are
        likelier than a plain one to be quoted."""
        return dict.fromkeys([
            line for line in self.lines[message] if line.last == message
            and (line.quote > PLAIN_CHANCE or line.shows and line.kind != BARE)])

    def _take_words(self, index: int, message: Message) -> None:
        mine = message["role"] == "assistant"
        lines = self._lines_of(message)
        self.lines.append(lines)
        self.sizes.append(sum([line.cost for line in lines]))
        held, shown = dict[int, HistoryLine](), dict[int, HistoryLine]()
        for place, line in enumerate(lines):
            if line.last != index:
                line.last, line.place = index, place
            for word in line.words:
                held[word] = line
            for word in line.shows if line.kind != BARE else ():
                shown[word] = line
        for word, line in held.items():
            if word in shown or word not in self.home:
                self.home[word] = shown.get(word, line)
        for line in lines if mine else ():
            line.quote = QUOTES[line.kind][True]
        words = tuple(held)
        self.words_in.append(words)
        self.words.count(index, mine, words, chain.from_iterable([line.words for line in lines]))
        self.worths.grow(index, words)

    def _lines_of(self, message: Message) -> tuple[HistoryLine, ...]:
        """The lines of a message, with those new to the history."""
        texts, known = units(text_of(message)), self.known
        for text in texts:
            if text not in known:
                known[text] = self._new_line(text, "error" in message)
                self.numbered.append(known[text])
        return tuple(map(known.__getitem__, texts))

    def _new_line(self, text: str, failed: bool) -> HistoryLine:
        words, told, kind = self._words_of(text), telling(text), kind_of(text, failed)
        shows = words if told == text else self._words_of(told)
        return HistoryLine(len(self.known), text, words, shows, kind, rough_tokens(text),
                           QUOTES[kind][False])

    def _words_of(self, text: str) -> tuple[int, ...]:
        """The numbers of the words in a line, each once."""
        return self.words.numbers(sorted({*chain.from_iterable(map(self._names_in, text.split()))}))


def _kind(call: Call) -> Hashable:
    """The same for calls that are equal: the name, and all arguments or what was no object."""
    return call["name"], call.get("invalid"), frozenset(
        (key, (json.dumps(value, sort_keys=True),) if isinstance(value, (dict, list)) else value)
        for key, value in call["arguments"].items())
