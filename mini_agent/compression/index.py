"""Milestone 3: what stands in the messages of a history, taken once a message.

The digest chooses lines by the identifiers in them, so it would ask at each compression
what it has asked before. The answers are facts about messages that never change: they
are kept here, beside the history, and grow with it. A line that stands in many messages
is kept once and belongs to the newest of them. Lines and words are numbers; what is
known of a number stands in a list a fact, which can be read a hundred thousand times in
a few milliseconds.

It is a cache and nothing else: an index made anew equals one that has grown with the
history, so no record has to tell of it. What is left out: what a word or a line is
worth (`chances.py`), which lines are chosen (`coverage.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from ..messages import Call, Message, calls_of, text_of
from ..words import GENERAL, pieces, words
from .chronicle import Chronicle, Work, anew_if_broken
from .units import BARE, kind_of, telling, units

BYTES_A_TOKEN = 4  # of UTF-8: rough, but lines are only weighed against each other


def rough_tokens(text: str) -> float:
    """Tokens of a text and the line break behind it, roughly: nothing is counted for it.

    Each line break is one, so that those of a text are the sum of those of its lines.
    """
    breaks = text.count("\n")
    return 1 + breaks + (len(text.encode("utf-8", "surrogatepass")) - breaks) / BYTES_A_TOKEN


class HistoryIndex:
    """Lines, words, calls and files of a history. All lists grow, none is changed by others.

    By message: `lines` (numbers, in order), `sizes` (tokens of these, roughly).
    By line: `texts`, `words_in` (numbers, each once), `shows` (those of them that it has in
    their surroundings), `kinds`, `costs` (tokens, roughly), `last` (the newest message that
    has it), `places` (which of its lines), `quoted` (how many assistant messages have it).
    By word: `names`, `used` (how many assistant messages have it), `read` (how many others,
    and `seen` in how many lines of these), `newest` (the newest message that has it),
    `home` (the newest line that shows it).
    What was done where is in `chronicle`, how the work stands in `work`.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self._history = history
        self.chronicle = Chronicle(history)
        self.work = Work(self.chronicle)
        self.lines: list[tuple[int, ...]] = []
        self.sizes: list[float] = []
        self.texts: list[str] = []
        self.words_in: list[tuple[int, ...]] = []
        self.shows: list[tuple[int, ...]] = []
        self.kinds: list[int] = []
        self.costs: list[float] = []
        self.last: list[int] = []
        self.places: list[int] = []
        self.quoted: list[int] = []
        self.names: list[str] = []
        self.used: list[int] = []
        self.read: list[int] = []
        self.seen: list[int] = []
        self.newest: list[int] = []
        self.home: list[int] = []
        self.others = 0  # messages that are not the assistant's
        self._line_numbers: dict[str, int] = {}
        self._word_numbers: dict[str, int | None] = {}  # None: a word that tells nothing
        self._recently: dict[int, None] = {}            # words that the assistant used, newest last
        self._asked: Counter[Hashable] = Counter()      # calls, by what equal ones have alike
        self._asked_to = 0

    def __len__(self) -> int:
        return len(self.lines)

    def grow(self) -> HistoryIndex:
        """Take in what the history has gained; returns itself."""
        with anew_if_broken(self, lambda: HistoryIndex(self._history)):
            for index in range(len(self.lines), len(self._history)):
                self._take_words(index, self._history[index])
        self.chronicle.grow()
        return self

    def repeated(self, made: Call) -> bool:
        """Whether a call may have been made twice; where it is False it was not."""
        for at in range(self._asked_to, len(self._history)):
            self._asked.update(map(_likeness, calls_of(self._history[at])))
        self._asked_to = len(self._history)
        return self._asked[_likeness(made)] != 1

    def words_of(self, text: str) -> Iterator[int]:
        """The numbers of the words in a text of any size that some message has."""
        known = self._word_numbers
        for piece in pieces(text):
            if (number := known.get(piece)) is not None:
                yield number

    def recently_used(self, count: int) -> Iterator[int]:
        """The words that the assistant has used, the newest first, at most `count`."""
        return islice(reversed(self._recently), count)

    def _take_words(self, index: int, message: Message) -> None:
        mine = message["role"] == "assistant"
        numbers = tuple(self._line(unit, "error" in message) for unit in units(text_of(message)))
        self.lines.append(numbers)
        self.sizes.append(sum(self.costs[number] for number in numbers))
        self.others += not mine
        held, shown = dict[int, int](), dict[int, int]()
        for place, number in enumerate(numbers):
            if self.last[number] != index:
                self.last[number], self.places[number] = index, place
            self.quoted[number] += mine
            held.update(dict.fromkeys(self.words_in[number], number))
            if self.kinds[number] != BARE:
                shown.update(dict.fromkeys(self.shows[number], number))
            if not mine:
                for word in self.words_in[number]:
                    self.seen[word] += 1
        counts = self.used if mine else self.read
        for word, number in held.items():
            if word in shown or not self.used[word] + self.read[word]:
                self.home[word] = shown.get(word, number)
            counts[word] += 1
            self.newest[word] = index
        if mine:
            for word in held:
                self._recently.pop(word, None)
                self._recently[word] = None

    def _line(self, unit: str, failed: bool) -> int:
        number = self._line_numbers.get(unit)
        if number is None:
            number = self._line_numbers[unit] = len(self.texts)
            self.texts.append(unit)
            self.words_in.append(tuple(self._words(unit)))
            told = telling(unit)
            self.shows.append(self.words_in[-1] if told == unit else tuple(self._words(told)))
            self.kinds.append(kind_of(unit, failed))
            self.costs.append(rough_tokens(unit))
            self.last.append(-1)
            self.places.append(0)
            self.quoted.append(0)
        return number

    def _words(self, unit: str) -> Iterator[int]:
        known = self._word_numbers
        for piece in sorted(pieces(unit)):
            if piece not in known:
                known[piece] = self._new_word(piece)
            if (number := known[piece]) is not None:
                yield number

    def _new_word(self, piece: str) -> int | None:
        """A number for a word that tells something, in the sense of the measure."""
        if piece in GENERAL or next(words(piece), None) != piece:
            return None
        self.names.append(piece)
        for facts in (self.used, self.read, self.seen, self.newest, self.home):
            facts.append(0)
        return len(self.names) - 1


def _likeness(made: Call) -> Hashable:
    """The same for calls that are equal: the name, the keys, and all plain values."""
    return made["name"], frozenset(
        (key, None if isinstance(value, (dict, list)) else value)
        for key, value in made["arguments"].items())
