"""Law 9, read off the views: is every claim that a text of the harness makes true?

The patterns come from the table of texts itself. A text with a handle, a count or a
word that something was cut stands in `CLAIMS` with what verifies it against history
and store; every other text is named in `SILENT`, with where it goes, so that a new one
cannot slip in unseen (`unsorted`). A line that the history has itself is a quotation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from string import Formatter
from typing import Any

from mini_agent.actions import call_of
from mini_agent.compression.view import Entry
from mini_agent.messages import Message
from mini_agent.texts import LANGUAGES, TEXTS
from mini_agent.words import rows_of

Fields = dict[str, str]
NUMBERS = frozenset("chars lines kept kept_chars count index rounds first last shown".split())
INSIDE = ("aging_code", "with_code", "clip_cut", "cleared_again", "cleared_answer", "rolling_lines",
          "way_back_tool", "way_back_log", "way_back_any_tool", "way_back_any_log", "store_search")
SUMMARIES = ("rolling_header", "segmented_header", "stage_header", "nine_header", "note_header",
             "form_header", "five_header", "reset_header", "collapse_header", "card_header")

# Texts without a handle, a count or a cut, or that never stand in what a strategy makes.
SILENT = re.compile("|".join((
    r"tool_.*|arg_.*|unit_.*|read_.*|recall_.*|no_such_.*|empty_.*|page_.*",    # tools' answers
    r"json_.*|invalid_json|fault_.*|unknown_tool|did_you_mean|[A-Z_]+|bad_.*",  # errors of calls
    r"left_out|stopped|line_part|one_line_only|written|same_new|closest|closest_one",
    r"nothing_close|diff_cut",
    r"output_(cut|gap)|no_shell|ask_for_shell|needs_shell|protected_changed|stage_ended",
    r"pin_(set|no_.*|not_said|left)|store_error",
    r"child_.*|children_.*|give_up_noted|not_given_changed|denied.*|cut_off|interrupted",
    r"end_.*|part_.*",
    r"turns_.*|live_system|none|skills?_.*(?<!restored)|tools_left_out",        # told to models
    r"summary_.*|transcript_.*|summariser_cut|draft|long_thread",               # to summarisers
    r"oracle_header|bag_of_words_header",                                       # of the lab alone
    r"aging_mark|pins_header|offload_cut|cleared_(equal|other)|boundary_notice",
    r"said_.*|see_users|rolling_(action|user|result)|words_kept|lines_left_out",  # quotations
    r"card_(?!header).*|digest_(?!header).*|tools_restored")))


class Checker:
    """Verifies the entries of one life. `tools` are those that the agent has."""

    def __init__(self, history: Sequence[Message], language: str, tools: Sequence[str],
                 store: Any) -> None:
        self.history, self.tools, self.store = history, tools, store
        self.seen: dict[str, tuple[Entry, int]] = {}  # of each text the first entry, its row
        self.patterns = patterns(language)
        self._quoted = {row for message in history for row in _told(message).split("\n")}
        self._all = "\n".join(map(_told, history))
        self._quoted |= {row for message in history for row in message["content"].splitlines()}
        self._marks = {key: TEXTS[key][LANGUAGES.index(language)].split("{")[0]
                       for key in ("clip_gap", "admitted_gap", "aging_gap", "pins_header")}

    def false_claims(self, entry: Entry) -> Iterator[str]:
        """What an entry claims that is not so."""
        if entry.how == "verbatim":
            return
        rows = entry.message["content"].split("\n")
        for at, row in enumerate(rows):
            if row in self._quoted:
                continue
            for key, pattern in self.patterns.items():
                found = pattern.search(row) if key in INSIDE else pattern.fullmatch(row)
                if found and found.group() in self._all:
                    continue
                if found:
                    self.seen.setdefault(key, (entry, at))
                for wrong in (CLAIMS[key](self, found.groupdict(), entry, rows[at + 1:])
                              if found else ()):
                    yield f"{key}: {wrong} ({row[:120]!r})"

    def body(self, rows: Sequence[str]) -> list[str]:
        """The rows under a header, without the pins that are carried below."""
        pins = [self.patterns[key] for key in CLAIMS if key.startswith("pin_")]
        stop = next((at for at, row in enumerate(rows[:-1]) if row == self._marks["pins_header"]
                     and any(pin.match(rows[at + 1]) for pin in pins)), None)
        return [] if list(rows[:stop]) == [""] else list(rows[:stop])

    # What verifies a claim: (fields, entry, the rows below) -> what is wrong with it.

    def original(self, said: Fields, entry: Entry, _: Sequence[str] = ()) -> Iterator[str]:
        """Size, lines, code of the one message that an entry stands for."""
        index = int(said.get("index", entry.stands_for[0]))
        if entry.stands_for != (index,):
            yield f"it stands for {entry.stands_for}"
            return
        content = self.history[index]["content"]
        if int(said["chars"]) != len(content):
            yield f"it has {len(content)} characters"
        if "lines" in said and int(said["lines"]) != len(rows_of(content)):
            yield "it has other lines"
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        if said.get("digest") and said["digest"] != digest:
            yield "it has another hash"

    def code(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """The code of a failed result; a header that has none is seen in `original`."""
        if said["code"] != (self.history[entry.stands_for[0]].get("error") or {}).get("code"):
            yield "there is no such code"

    def aged(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """Head and tail are the beginning and the end of the original, and there is a middle."""
        yield from self.original(said, entry)
        content, text = self.history[entry.stands_for[0]]["content"], "\n".join(self.body(rows))
        gap = f"\n{self._marks['aging_gap']}\n"
        cuts = (found.span() for found in re.finditer(f"(?={re.escape(gap)})", text))
        if not any(content.startswith(text[:at]) and content.endswith(text[at + len(gap):])
                   and len(text) - len(gap) <= len(content) for at, _ in cuts):
            yield "what stands below is not its head and tail"

    def clipped(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """So many rows and characters stand below, and each is one of the original's."""
        yield from self.original(said, entry)
        source = self.history[entry.stands_for[0]]["content"].split("\n")
        kept = [row for row in self.body(rows) if not self.patterns["clip_gap"].fullmatch(row)]
        plain = [self._uncut(row, source) for row in kept]
        if not all(self._stands_in(row, source) for row in plain):
            plain = [row.partition(": ")[2] for row in plain]  # with the numbers of the lines
            if not all(self._numbered(row, source) for row in kept):
                yield "a line below is not one of its lines, or not at that number"
        if (len(kept), sum(map(len, plain))) != (int(said["kept"]), int(said["kept_chars"])):
            yield f"{len(kept)} lines, {sum(map(len, plain))} characters stand below"

    def _uncut(self, row: str, source: Sequence[str]) -> str:
        """A row without the word that it was cut, which the original may have itself."""
        _, mark, numbered = row.partition(": ")
        if row in source or mark and numbered in source:
            return row
        return self.patterns["clip_cut"].split(row, maxsplit=1)[0]

    def _stands_in(self, row: str, source: Sequence[str]) -> bool:
        return any(line.startswith(row) for line in source)

    def _numbered(self, row: str, source: Sequence[str]) -> bool:
        number, _, text = self._uncut(row, source).partition(": ")
        return number.isdigit() and int(number) <= len(source) and source[
            int(number) - 1].startswith(text)

    def admitted(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """What stands below are pieces of the original in their order, of that size together."""
        yield from self.original(said, entry)
        content, at, size = self.history[entry.stands_for[0]]["content"], 0, 0
        pieces: list[list[str]] = [[]]
        gaps = [[found for key in ("clip_gap", "admitted_gap")
                 if (found := self.patterns[key].fullmatch(row))] for row in self.body(rows)]
        whole = [int(found["count"]) for gap in gaps for found in gap[:1]
                 if found.re is self.patterns["clip_gap"]]
        if len(whole) == sum(map(bool, gaps)) and (
                int(said["kept"]) + sum(whole) != int(said["lines"])):
            yield f"{sum(whole)} of its lines are left out"
        for row in self.body(rows):
            if any(self.patterns[gap].fullmatch(row) for gap in ("clip_gap", "admitted_gap")):
                pieces.append([])
            else:
                pieces[-1].append(row)
        for piece in ("\n".join(piece).strip() for piece in pieces):
            at = content.find(piece, at)
            if at < 0:
                yield f"{piece[:40]!r} does not stand there"
                return
            at += len(piece)
            size += len(piece)
        blank = sum(map(str.isspace, content))
        if not size <= int(said["kept_chars"]) <= size + blank:
            yield f"{size} characters stand below"
        if abs(int(said["kept"]) - sum(bool(row.strip()) for piece in pieces for row in piece)) > (
                content.count("\n\n") + len(pieces)):
            yield "another number of lines stands below"

    def gap(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """No more is said to be left out than there is."""
        whole = sum(len(self.history[index]["content"]) for index in entry.stands_for)
        if not 0 < int(said["count"]) <= whole:
            yield f"there are {whole} characters in all"

    def offloaded(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """The whole is in the store, and its first characters stand below."""
        yield from self.original(said, entry)
        content, kept = self.history[entry.stands_for[0]]["content"], "\n".join(self.body(rows))
        if not content.startswith(kept) or (len(kept), len(rows_of(kept))) != (
                int(said["kept_chars"]), int(said["kept"])):
            yield f"{len(kept)} characters stand below"
        if self.store.results.get(entry.stands_for[0]) != content:
            yield "it is not in the store"

    def again(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """The same call was made so often, and its last result was the same, or another."""
        index, before = entry.stands_for[0], int(said["index"])
        same = [at for at in range(index + 1) if self._call(at) == self._call(index)]
        if int(said["count"]) > len(same) or before not in same:
            yield f"this call has the results {same}"
            return
        equal = self.history[index]["content"] == self.history[before]["content"]
        if said["was"] not in TEXTS["cleared_equal" if equal else "cleared_other"]:
            yield "the two compare otherwise"

    def _call(self, index: int) -> tuple[Any, ...] | None:
        made = call_of(self.history, index) if self.history[index]["role"] == "tool" else None
        return made and (made["name"], made["arguments"])

    def count(self, said: Fields, entry: Entry, _: Sequence[str] = ()) -> Iterator[str]:
        """So many messages stand behind it, so many of them rounds, with these handles."""
        if int(said["count"]) != len(entry.stands_for):
            yield f"it stands for {len(entry.stands_for)} messages"
        rounds = sum(self.history[at]["role"] == "assistant" for at in entry.stands_for)
        if "rounds" in said and int(said["rounds"]) != rounds:
            yield f"there are {rounds} rounds"
        if "spans" in said and _spelt_out(said["spans"]) != list(entry.stands_for):
            yield f"it stands for {entry.stands_for}"
        if "first" in said and (int(said["first"]), int(said["last"])) != (
                entry.stands_for[0], entry.stands_for[-1]):
            yield f"it stands for {entry.stands_for[0]} to {entry.stands_for[-1]}"

    def segments(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """The segments follow each other, and their messages are those that were folded."""
        titles = [found.groupdict() for row in entry.message["content"].split("\n")
                  if row not in self._quoted
                  and (found := self.patterns["segment_title"].fullmatch(row))]
        if sum(int(title["count"]) for title in titles) != len(entry.stands_for) or any(
                int(one["last"]) + 1 != int(two["first"]) for one, two in pairwise(
                    [{"last": "0"}, *titles])) or any(
                not 0 <= int(title["last"]) - int(title["first"]) < int(title["count"])
                for title in titles):
            yield "the segments do not add up"

    def lines(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """Some result behind it has so many lines."""
        if not any(len(rows_of(self.history[at]["content"])) == int(said["lines"])
                   for at in entry.stands_for):
            yield "no result behind it has so many lines"

    def words(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """A user's message of that size stands behind it."""
        index = int(said["index"])
        if index not in entry.stands_for or self.history[index]["role"] != "user" or (
                len(self.history[index]["content"]) != int(said["chars"])):
            yield "there is no such user message behind it"

    def restored(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """The first lines are those of that message, or of the file that its call wrote."""
        index, shown, lines = (int(said[name]) for name in ("index", "shown", "lines"))
        if shown > lines or index >= len(self.history):
            yield "there are not so many"
            return
        wrote = (made["arguments"].get("content", "") for at in range(index)
                 for made in self.history[at].get("tool_calls", ()))
        sources = [rows_of(text) for text in [self.history[index]["content"], *wrote]
                   if isinstance(text, str)]
        if not any(len(source) == lines and "\n".join(source[:shown]) == "\n".join(rows)
                   for source in sources):
            yield "the lines below are not its first ones"

    def skill(self, said: Fields, entry: Entry, rows: Sequence[str]) -> Iterator[str]:
        """It is put back as it was."""
        index = int(said["index"])
        if index >= len(self.history) or self.history[index]["content"] != "\n".join(rows):
            yield "it was another text"

    def by_tool(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """The agent has the tool, and the handle is one of the history."""
        if "read_result" not in self.tools:
            yield "the agent has no such tool"
        yield from self.by_log(said, entry, _)

    def by_log(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """The handle is that of a message behind the entry."""
        if "index" in said and int(said["index"]) not in entry.stands_for:
            yield "it does not stand for that message"

    def stored(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """What can be searched for is in the store, but for what came from there."""
        if "recall" not in self.tools:
            yield "the agent has no such tool"
        missing = [at for at in entry.stands_for if at not in self.store.texts
                   and self.history[at].get("name") not in ("recall", "read_result")]
        if missing:
            yield f"messages {missing} are not in the store"

    def pinned(self, said: Fields, entry: Entry, _: Sequence[str]) -> Iterator[str]:
        """The text stands in a message behind the entry."""
        if not any(said["text"] in self.history[at]["content"] for at in entry.stands_for):
            yield "no message behind it says so"


CLAIMS: dict[str, Callable[[Checker, Fields, Entry, Sequence[str]], Iterator[str]]] = {
    "aging_header": Checker.aged, "aging_gap": lambda *_: iter(()), "aging_code": Checker.code,
    "with_code": Checker.code, "clip_header": Checker.clipped, "clip_gap": Checker.gap,
    "clip_cut": Checker.gap, "admitted": Checker.admitted, "admitted_gap": Checker.gap,
    "cleared": Checker.original, "cleared_again": Checker.again,
    "cleared_answer": lambda *_: iter(()), "offloaded": Checker.offloaded,
    "user_handle": Checker.original, "rounds_dropped": Checker.count,
    "middle_left_out": Checker.count, "to_the_store": Checker.count,
    "store_search": Checker.stored, "digest_header": Checker.count,
    **{key: Checker.count for key in SUMMARIES}, "segment_title": Checker.segments,
    "rolling_lines": Checker.lines, "words_left_out": Checker.words,
    "file_restored": Checker.restored, "file_stale": Checker.restored,
    "skill_restored": Checker.skill, "way_back_tool": Checker.by_tool,
    "way_back_log": Checker.by_log, "way_back_any_tool": Checker.by_tool,
    "way_back_any_log": Checker.by_log,
    **{f"pin_{kind}": Checker.pinned for kind in (
        "constraint", "parameter", "error_fix", "assumption")}}


@cache
def patterns(language: str) -> dict[str, re.Pattern[str]]:
    """A pattern for each claim, made of its text: numbers are numbers, the rest is free."""
    at = LANGUAGES.index(language)
    made = {}
    for key in CLAIMS:
        parts = []
        for literal, field, nouns, _ in Formatter().parse(TEXTS[key][at]):
            parts.append(re.escape(literal))
            if field == "mark":
                parts.append(re.escape(TEXTS["aging_mark"][at]))
            elif field:
                parts.append(f"(?P<{field}>{_shape(field, key)})")
            if nouns:
                one, _, many = nouns.partition("|")
                parts.append(f"\\ (?:{re.escape(one)}|{re.escape(many or one + 's')})")
        made[key] = re.compile("".join(parts) + (".*" if key == "aging_header" else ""))
    return made


def _shape(field: str, key: str) -> str:
    if field in NUMBERS:
        return "[0-9]+"
    if field == "was":
        return "|".join(text for key in ("cleared_equal", "cleared_other") for text in TEXTS[key])
    if field == "digest":
        return "[0-9a-f]{8}"
    return "[A-Z_]+" if field == "code" and key in INSIDE else ".*?"


def lies(pattern: re.Pattern[str], row: str) -> Iterator[str]:
    """The row of a text with one of its numbers made wrong, each in turn."""
    found = pattern.search(row)
    for field in NUMBERS.intersection(pattern.groupindex) if found else ():
        start, end = found.span(field)
        yield row[:start] + "987654" + row[end:]


def unsorted() -> list[str]:
    """Texts that are neither claims nor known to be silent, and claims that are no texts."""
    return [key for key in TEXTS if (key in CLAIMS) == bool(SILENT.fullmatch(key))] + [
        key for key in CLAIMS if key not in TEXTS]


def _told(message: Message) -> str:
    calls = (json.dumps(made["arguments"], ensure_ascii=False)
             for made in message.get("tool_calls", ()))
    return "\n".join([message["content"], *calls])


def _spelt_out(spans: str) -> list[int]:
    """`#2-#5, #9` as the numbers that it names."""
    found = []
    for part in spans.replace("#", "").split(", "):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
