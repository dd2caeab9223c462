"""Milestone 3: summaries that copy and never invent.

The scripted model has no mind to summarise with, so it quotes: what was said, the
first line of each result, the message of each error. The same messages give the
same text. A form (`forms.py`) is a list of sections, and each section is one
function below. What is left out: judgement, which is what a live model adds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .actions import CHANGED, READ, file_accesses
from .forms import DRAFTED, FORMS, heading, model_sections
from .messages import Message, calls_of
from .texts import Texts
from .words import rows_of, words

MAX_LINES = 12    # lines of a section, the newest; what is older is in the run log
MAX_CHARS = 200   # characters of a quoted line
LONG_CHARS = 500  # of one in the rolling form, which quotes more fully
_DECIDED = re.compile(r"\b(because|instead|decided?|choose|chose|rather than|switch|so that)\b"
                      r"|因为|所以|因此|决定|改用|换成|而不是", re.IGNORECASE)
_CUT_WORD = re.compile(r"[A-Za-z0-9_./,-]+$")  # a word that may go on after a cut
_IN_FOLDER = re.compile(r"(?<=[\u3400-\u9fff])/[\w./\-]*")  # of `笔记/a.md` all but the folder
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|[。！？])|.+")
_BOX = re.compile(r"^\s*(?:[-*]|\d+\.) \[([ xX])\] (.+)$", re.MULTILINE)


def summary(form: str, messages: Sequence[Message], texts: Texts) -> str:
    """The summary of `messages` in a form of `FORMS`; KeyError for another name."""
    if not FORMS[form]:
        return rolling(messages, texts)
    text = "\n".join(line for section in model_sections(form)
                     for line in (heading(section, texts),
                                  *section_lines(section, messages, texts)))
    if form not in DRAFTED:
        return text
    return f"<analysis>\n{draft(messages, texts)}\n</analysis>\n<summary>\n{text}\n</summary>"


def rolling(messages: Sequence[Message], texts: Texts) -> str:
    """One numbered line per action or user message, one line per result.

    Runs of white space in an action are made one, and one without words says what it
    called; of a result the first line stands, with the number of its lines where it
    has more than one. Lines are cut at `LONG_CHARS`.
    """
    said = 0
    out: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            out.append(_result(message, texts))
            continue
        said += 1
        key = "rolling_action" if message["role"] == "assistant" else "rolling_user"
        out.append(texts(key, number=said, text=_action(message, texts, LONG_CHARS)))
    return "\n".join(out)


def _result(message: Message, texts: Texts) -> str:
    rows = rows_of(message["content"])
    first = rows[0].rstrip("\r") if rows else ""
    line = texts("rolling_result", name=message["name"],
                 line=first if len(first) <= LONG_CHARS else brief(first, LONG_CHARS))
    return line + texts("rolling_lines", lines=len(rows)) if len(rows) > 1 else line


def draft(messages: Sequence[Message], texts: Texts) -> str:
    """The draft before a full summary, which is thrown away."""
    roles = Counter(message["role"] for message in messages)
    return texts("draft", count=len(messages), users=roles["user"], actions=roles["assistant"],
                 results=roles["tool"])


def section_lines(section: str, messages: Sequence[Message], texts: Texts) -> list[str]:
    """The lines of one section, the newest `MAX_LINES` of them, each once."""
    found = file_lines(section, touched(messages), texts) if section in _FILES else (
        _SECTIONS[section](messages, texts))
    return list(dict.fromkeys(found))[-MAX_LINES:] or [texts("said_none")]


def brief(text: str, limit: int = MAX_CHARS) -> str:
    """`text` on one line, cut before the word at `limit` characters with a mark that says so."""
    text = " ".join(text.split())
    return text if len(text) <= limit else _whole_words(text, limit - 1) + "…"


def first_sentence(text: str) -> str:
    """The first sentence of a text on one line, at most `MAX_CHARS` characters and a mark."""
    match = _SENTENCE.match(" ".join(text[:10 * MAX_CHARS].split()))
    sentence = match.group() if match else ""
    return sentence if len(sentence) <= MAX_CHARS else sentence[:MAX_CHARS] + "..."


def _whole_words(text: str, limit: int) -> str:
    """The first `limit` characters, without a word that is cut at their end."""
    cut = text[:limit]
    return cut if cut == text else _CUT_WORD.sub("", cut) or cut


def _steps(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    """What was done: each action as it was said, and what came back."""
    for message in messages:
        if message["role"] == "assistant":
            yield texts("said_action", text=_action(message, texts))
        elif message["role"] == "tool":
            yield _returned(message, texts)


def _action(message: Message, texts: Texts, limit: int = MAX_CHARS) -> str:
    names = ", ".join(call["name"] for call in calls_of(message))
    said = brief(message["content"], limit)
    return said if said or not names else texts("said_called", names=names)


def _returned(message: Message, texts: Texts) -> str:
    if error := message.get("error"):
        return texts("said_error", name=message["name"], code=error["code"],
                     text=brief(error["message"]))
    first = next((row for row in message["content"].splitlines() if row.strip()), "")
    return texts("said_result", name=message["name"], text=brief(first))


def _actions(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    for message in messages:
        if message["role"] == "assistant":
            yield texts("said_action", text=_action(message, texts))


def _decisions(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    for message in messages:
        if message["role"] == "assistant" and _DECIDED.search(message["content"]):
            yield texts("said_action", text=brief(message["content"]))


def _current(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    return _steps(messages[-6:], texts)


def _next(messages: Sequence[Message], texts: Texts) -> list[str]:
    return list(_actions(messages, texts))[-1:]


def _errors(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    """Each failed result, with what the assistant said next."""
    for number, message in enumerate(messages):
        if message["role"] != "tool" or not message.get("error"):
            continue
        after = next((item for item in messages[number + 1:] if item["role"] == "assistant"), None)
        if after is None:
            yield _returned(message, texts)
            continue
        error = message["error"]
        yield texts("said_fix", name=message["name"], code=error["code"],
                    text=brief(error["message"]), fix=_action(after, texts))


def _blocked(messages: Sequence[Message], texts: Texts) -> list[str]:
    """The last result, if it is an error: nothing has worked since."""
    results = [message for message in messages if message["role"] == "tool"]
    if not results or not results[-1].get("error"):
        return []
    return [_returned(results[-1], texts)]


def _findings(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    return (_returned(message, texts) for message in messages if message["role"] == "tool")


def _users(messages: Sequence[Message], texts: Texts) -> list[str]:
    """Users' words are carried by the harness, so a section only points there."""
    return [texts("see_users")] if any(item["role"] == "user" for item in messages) else []


def _concepts(messages: Sequence[Message], texts: Texts) -> list[str]:
    """The identifiers named most often, the first named first among equals.

    A run of Chinese that stands only once is part of a sentence, and no name; and what is
    after the slash of a Chinese folder is a piece of a path, and none either.
    """
    named = Counter(word for message in messages for word in words(
        _IN_FOLDER.sub(" ", _said(message, 4 * MAX_CHARS))))
    kept = [word for word, times in named.most_common() if times > 1 or word[0] < "\u3400"][:12]
    return [texts("said_action", text=", ".join(kept))] if kept else []


def _said(message: Message, limit: int | None = None) -> str:
    """What a message says, `limit` characters of it, and the strings of its calls whole."""
    content = message["content"]
    strings = (value for call in calls_of(message) for value in call["arguments"].values()
               if isinstance(value, str))
    return "\n".join((content if limit is None else _whole_words(content, limit), *strings))


def boxes(messages: Sequence[Message]) -> dict[str, bool]:
    """The points of task lists that the assistant wrote: text, and whether it is ticked.

    A list is text with `- [ ]` and `- [x]`, said or written into a file; of a point
    that stands in several the newest counts. What tools printed is not looked at.
    """
    found: dict[str, bool] = {}
    for message in messages:
        if message["role"] == "assistant":
            for tick, point in _BOX.findall(_said(message)):
                found.pop(point, None)
                found[point] = tick != " "
    return found


def _open(messages: Sequence[Message], texts: Texts) -> Iterator[str]:
    return (texts("said_action", text=brief(point))
            for point, ticked in boxes(messages).items() if not ticked)


def touched(messages: Sequence[Message]) -> dict[str, str]:
    """`CHANGED` or `READ` for each file, the one touched last at the end."""
    last: dict[str, str] = {}
    for file in file_accesses(messages):
        last[file.path] = CHANGED if CHANGED in (file.what, last.pop(file.path, "")) else READ
    return last


def file_lines(section: str, files: Mapping[str, str], texts: Texts) -> list[str]:
    """A line for each file of a section that lists files, the newest last. None is left out
    here: what bounds the text says how many are."""
    return [texts(f"said_{what}", path=brief(path)) for path, what in files.items()
            if what in _FILES[section]] or [texts("said_none")]


_FILES = {"files": (READ, CHANGED), "relevant": (READ, CHANGED),
          "read_files": (READ,), "changed_files": (CHANGED,)}
SectionWriter = Callable[[Sequence[Message], Texts], Iterable[str]]
_SECTIONS: dict[str, SectionWriter] = {
    "request": _users, "goal": _users, "constraints": _users, "instructions": _users,
    "concepts": _concepts, "critical": _concepts,
    "errors": _errors, "blocked": _blocked,
    "solving": _actions, "decisions": _decisions,
    "done": _steps, "progress": _steps, "accomplished": _steps,
    "result": _findings, "discoveries": _findings,
    "pending": _open, "left": _open, "remaining": _open,
    "current": _current, "doing": _current, "next": _next,
}
