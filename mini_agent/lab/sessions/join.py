"""Milestone 6: from the pieces of a log to a history that keeps the law of pairing.

The same is done for all formats, in this order. Pieces of one assistant message are joined.
Each result is given to its call. Consecutive assistant messages whose results all come after
the last of them become one message (parallel calls). Then the messages are written out, each
with calls directly followed by one result for each call, in the order of the calls.

- A call without a result gets one that says so, with the error MISSING_RESULT.
- Of two results of a call the last one counts. Ids may repeat, so a result belongs to the
  newest message with an open call of its id; a result without id to the first open call.
- A result without a call becomes a user message, marked as injected: the model has seen its
  text, and a call may not be invented.
- Text between a call and its results is moved behind them.
- System messages at the start become one. A repeated one is left out; a later one that
  differs becomes a user message, marked as injected.

Every repair is counted in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...hostile import clean
from ...messages import Message, assistant, system, tool_result, user
from ...texts import LANGUAGES, language_of
from .base import MISSING_RESULT, HostCompression, LogSession, MendedFault
from .document import Document
from .log import Log, Piece, failed
from .pairing import Unit, joined_pieces, merged_turns, pair

_MISSING = ("[the log holds no result of this call]", "[日志中没有此调用的结果]")
_ORPHAN = ("[result of a call that is not in the log{name}]\n{text}",
           "[日志中没有对应调用的结果{name}]\n{text}")


def finish(log: Log, document: Document, name: str = "") -> LogSession:
    """The session made of the pieces of `log`."""
    units = joined_pieces(log)
    pair(units, log)
    units = merged_turns(units, log)
    part = " ".join(clean(name).split())[:100]
    session = LogSession(f"{document.name}#{part}" if part else document.name, log.format,
                         seen=log.counts)
    _write(session, units, log)
    session.notes = {note: number for note, number in sorted(log.notes.items()) if number}
    return session


def _write(session: LogSession, units: list[Unit], log: Log) -> None:
    """Write messages, steps and compressions into the session."""
    first = next((unit.piece.text for unit in units if unit.piece.role == "user"), "")
    language = LANGUAGES.index(language_of(first))
    steps: list[int | None] = []
    answered = -1
    for unit in _without_systems(units, log, session):
        if unit.piece.role == "mark":
            session.host_compressions.append(HostCompression(
                len(session.messages), log.format, unit.piece.tokens, unit.piece.text))
            continue
        answered = max(answered, unit.last_answer)
        if unit.piece.role == "user" and unit.place < answered:
            log.fault(unit.piece, "held_back")
        if unit.piece.injected:
            session.injected.add(len(session.messages))
        at = len(session.messages)
        for step, message in _messages(unit, log, language):
            session.messages.append(message)
            steps.append(step)
        session.mended += _places(unit.piece, at)
    derived = _steps(session.messages)
    session.steps = [mine if given is None else given for given, mine in zip(steps, derived)]


def _places(piece: Piece, at: int) -> list[MendedFault]:
    """What was mended at a piece whose message is, or would have been, at index `at`."""
    return [MendedFault(f"message {at}", *fault) for fault in piece.faults]


def _without_systems(units: list[Unit], log: Log, session: LogSession) -> Iterator[Unit]:
    """The units to be written, with at most one system message, at the start. The caller writes
    each into `session` before it takes the next."""
    head = [unit for unit in units if not unit.used]
    start = next((at for at, unit in enumerate(head) if unit.piece.role != "system"), len(head))
    text = "\n\n".join(filter(None, dict.fromkeys(unit.piece.text for unit in head[:start])))
    if text:
        head[0].piece.text = text
        yield head[0]
    for unit in head[start:]:
        piece = unit.piece
        if piece.role == "system":
            if piece.text in text:
                log.notes["repeated_systems"] += 1
                continue
            unit.piece = Piece("user", piece.text, injected=True, step=piece.step)
            log.fault(unit.piece, "late_systems")
        elif piece.role == "tool":
            log.fault(piece, "orphan_results", piece.call_id)
            piece.injected = True
        elif not piece.text and not piece.calls and piece.role != "mark":
            log.fault(piece, "empty_messages")
            session.mended += _places(piece, len(session.messages))
            continue
        yield unit


def _messages(unit: Unit, log: Log, language: int) -> Iterator[tuple[int | None, Message]]:
    """(recorded step, message) of a unit, and of the results of its calls."""
    piece = unit.piece
    if piece.role == "system":
        yield piece.step, system(piece.text)
    elif piece.role == "user":
        yield piece.step, user(piece.text)
    elif piece.role == "tool":
        name = " ".join(filter(None, (piece.name, piece.call_id)))
        name = f": {name}" if name else ""
        yield piece.step, user(_ORPHAN[language].format(name=name, text=piece.text))
    else:
        yield piece.step, assistant(piece.text, piece.calls, piece.opaque)
        for call, answer in zip(piece.calls, unit.answers):
            if answer is None:
                log.fault(piece, "missing_results", call["id"])
                answer = Piece("tool", _MISSING[language],
                               error=failed(_MISSING[language], MISSING_RESULT), step=piece.step)
            yield answer.step, tool_result(call["id"], call["name"], answer.text, answer.error)


def _steps(messages: list[Message]) -> list[int]:
    """The step of each message: that of the call that made it, or will first see it.

    Assistant messages in a row are one step, and results belong to the step of their call.
    """
    steps: list[int] = []
    calls, before = 0, ""
    for message in messages:
        if message["role"] == "assistant":
            calls += before != "assistant"
            steps.append(calls - 1)
        else:
            steps.append(calls - (message["role"] == "tool" and calls > 0))
        before = message["role"]
    return steps
