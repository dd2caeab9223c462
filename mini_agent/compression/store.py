"""Milestone 3: where what leaves the view is kept, and how it is found again.

Two stores of one form: in memory (a run that keeps no trace) and in the run's own
folder, where large results are files named by their content and what can be searched
stands in an SQLite file. Where SQLite has FTS5 an index finds the messages that hold a
term (the trigram tokenizer finds Chinese too); where it has none, a plain scan does.
The ranking is ours and the same for both. What is left out: meaning; it finds words.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..disk import make_private, refuse_link, replace_file
from ..errors import BUILT_WITH_IT, StrategyError

if TYPE_CHECKING:
    import sqlite3

TOKENIZERS = ("trigram", "unicode61")  # of FTS5, the better first
MAX_TERMS = 24  # of a query; the rest is not looked for
_REMEDY = "see that its folder can be written; what would have gone stays"
_TERM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./\-]*|[\u3400-\u9fff]+")


def terms_of(query: str, size: int = 3) -> list[str]:
    """What is looked for: words, and of each Chinese run its pieces of `size` characters."""
    found: dict[str, None] = {}
    for match in _TERM.finditer(query.lower()):
        word = match.group().rstrip("./-")
        long = word[:1] >= "\u3400" and len(word) > size
        found |= dict.fromkeys([word[at:at + size] for at in range(len(word) - size + 1)]
                               if long else [word])
    return list(found)[:MAX_TERMS]


def ranked_messages(query: str, holding: Callable[[str], Collection[int]], total: int) -> list[int]:
    """The messages that hold any term of a query, best first: rare terms count more, then
    newer messages come first. Chinese is tried in threes, then in twos."""
    for size in (3, 2):
        scores: dict[int, int] = {}
        for term in terms_of(query, size):
            found = holding(term)
            for index in found:
                scores[index] = scores.get(index, 0) + (2 * total // len(found)).bit_length()
        if scores:
            break
    return sorted(scores, key=lambda index: (-scores[index], -index))


@dataclass
class MemoryStore:
    """A store that ends with the program: results by index, messages to search by index."""

    results: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def put(self, index: int, text: str) -> None:
        """Keep a large result whole."""
        self.results[index] = text

    def unknown(self, indexes: Iterable[int]) -> list[int]:
        """Those that have not been remembered."""
        return [index for index in indexes if index not in self.texts]

    def remember(self, texts: Mapping[int, str]) -> None:
        """Make texts findable."""
        self.texts.update(texts)

    def restore(self, texts: Mapping[int, str]) -> None:
        """Make texts findable again that a resumed session had remembered."""
        self.remember(texts)

    def find(self, query: str, limit: int) -> tuple[int, dict[int, str]]:
        """(how many hold any term of the query, the `limit` best of them by index)."""
        found = ranked_messages(query, self._holding, len(self.texts))
        return len(found), {index: self.texts[index] for index in found[:limit]}

    def _holding(self, term: str) -> list[int]:
        return [index for index, text in self.texts.items() if term in text.lower()]


class FolderStore:
    """A store in a run's own folder, which is made (mode 0700) when it is first needed.

    The database is always made anew: what an older run has left there is removed, and a
    resumed session fills it (`restore`) from its trace, which is all that it trusts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "store.sqlite"
        self._begun = False
        self._known: set[int] | None = None
        self._restored: dict[int, str] = {}

    def put(self, index: int, text: str) -> None:
        """Keep a large result in a file named by its content: the same content once.

        It is there whole or not at all. Raises `StrategyError`.
        """
        data = text.encode("utf-8", "surrogatepass")
        name = hashlib.sha256(data).hexdigest()[:32] + ".txt"
        with self._failing(f"results/{name}"):
            path = make_private(make_private(self._folder) / "results") / name
            if path.exists() and path.stat().st_size == len(data):
                return
            replace_file(str(path), data, new=0o600)

    def unknown(self, indexes: Iterable[int]) -> list[int]:
        """Those that are not in the store. Raises `StrategyError`."""
        if self._known is None:
            with self._open() as base:
                self._known = {row[0] for row in base.execute("SELECT id FROM said")}
        return [index for index in indexes if index not in self._known]

    def remember(self, texts: Mapping[int, str]) -> None:
        """Put texts into the store, all or none. Raises `StrategyError`."""
        new = self.unknown(texts)
        with self._open() as base:
            _insert(base, {index: texts[index] for index in new})
        self._known = {*(self._known or ()), *new}

    def restore(self, texts: Mapping[int, str]) -> None:
        """Make texts findable again that a resumed session had remembered: they are inserted
        when the store is next opened."""
        self._restored.update(texts)

    def find(self, query: str, limit: int) -> tuple[int, dict[int, str]]:
        """(how many hold any term of the query, the `limit` best of them by index).

        Raises `StrategyError`.
        """
        with self._open() as base:
            total = base.execute("SELECT count(*) FROM said").fetchone()[0]
            tokenizer = _tokenizer_of(base)
            found = ranked_messages(query, lambda term: _holding(base, tokenizer, term), total)
            return len(found), {index: base.execute(
                "SELECT text FROM said WHERE id = ?", (index,)).fetchone()[0]
                for index in found[:limit]}

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The store, made where it is missing; what is done in it is done whole."""
        with self._failing("store.sqlite"):
            import sqlite3  # only a run that has a store pays for it
            try:
                self._make_file()
                with closing(sqlite3.connect(self._file)) as base, base:
                    _make_tables(base)
                    _insert(base, self._restored)
                    yield base
                self._restored = {}
            except sqlite3.Error as error:
                raise StrategyError(f"the store cannot be used ({error})", place="store.sqlite",
                                    remedy=_REMEDY) from error

    def _make_file(self) -> None:
        """Make the file of the store, for its owner alone; what lay there before goes first."""
        make_private(self._folder)
        refuse_link(self._file)
        if not self._begun:
            self._file.unlink(missing_ok=True)
            self._begun = True
        os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))

    @contextmanager
    def _failing(self, place: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StrategyError(f"it cannot be kept ({error.strerror})", place=place,
                                remedy=_REMEDY) from error
        except ImportError as error:
            raise StrategyError(f"this Python has no module {error.name!r}", place=place,
                                remedy=BUILT_WITH_IT) from error


def _make_tables(base: sqlite3.Connection) -> None:
    """The texts, and an index over them where this SQLite has one; trigrams at best."""
    if _sql_of(base, "said"):
        return
    base.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    for tokenizer in TOKENIZERS:
        try:
            base.execute("CREATE VIRTUAL TABLE found USING fts5("
                         f"text, content='said', content_rowid='id', tokenize='{tokenizer}')")
            return
        except base.OperationalError:
            continue  # no such tokenizer, or no FTS5 at all: a scan finds the same


def _insert(base: sqlite3.Connection, texts: Mapping[int, str]) -> None:
    base.executemany("INSERT INTO said (id, text) VALUES (?, ?)", texts.items())
    if texts and _tokenizer_of(base):
        base.executemany("INSERT INTO found (rowid, text) VALUES (?, ?)", texts.items())


def _sql_of(base: sqlite3.Connection, table: str) -> str:
    """The statement that made a table, "" if there is none."""
    row: tuple[Any, ...] | None = base.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return row[0] if row else ""


def _tokenizer_of(base: sqlite3.Connection) -> str:
    """The tokenizer of the store's index, "" where it has no index."""
    made = _sql_of(base, "found")
    return "trigram" if "trigram" in made else "unicode61" if made else ""


def _is_indexed(term: str, tokenizer: str) -> bool:
    """Whether an index by this tokenizer ("": there is none) can look a term up."""
    if tokenizer == "trigram":
        return len(term) >= 3
    return tokenizer == "unicode61" and term.isascii()  # a Chinese run is one word to it


def _holding(base: sqlite3.Connection, tokenizer: str, term: str) -> list[int]:
    """The messages that hold a term, by the index where it can look it up, else by a scan."""
    if _is_indexed(term, tokenizer):
        rows = base.execute("SELECT rowid FROM found WHERE found MATCH ? ORDER BY rowid",
                            ('"' + term.replace('"', '""') + '"',))
    else:
        rows = base.execute("SELECT id FROM said WHERE instr(lower(text), ?) ORDER BY id", (term,))
    return [row[0] for row in rows]
