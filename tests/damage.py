"""Damage to files, as disks, copies, editors and strangers do it; and who reads them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from mini_agent.errors import MiniAgentError
from mini_agent.lab.check import check_file, findings
from mini_agent.lab.convert import records_of
from mini_agent.lab.session_steps import steps_at
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.show import show_step, show_trace
from mini_agent.lab.why import explain
from mini_agent.lab.whywords import why_lines
from mini_agent.trace import line, read_trace
from tests.sessions import Counter, Speaker, taken_up

BOM = b"\xef\xbb\xbf"
HARMLESS = ("byte order mark", "CRLF", "blanks")  # what is read is the same


def damages(raw: bytes, large: int) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of a file damaged in each way; `large` characters make a long line."""
    text, middle = raw.decode("utf-8", "replace"), len(raw) // 2
    yield "byte order mark", raw if raw.startswith(BOM) else BOM + raw
    yield "CRLF", raw.replace(b"\n", b"\r\n")
    yield "blanks", raw + b" " * large
    for encoding in ("utf-16", "utf-16-le", "utf-32", "shift_jis", "latin-1"):
        yield encoding, text.encode(encoding, "replace")
    nuls = b"\0" * 5_000
    for name, bad in (("at the start", nuls + raw), ("at the end", raw + nuls),
                      ("as a line", raw + nuls + b"\n"),
                      ("in the middle", raw[:middle] + nuls + raw[middle:])):
        yield f"NULs {name}", bad
    yield "two bytes", raw[:middle] + b"\xff\xfe" + raw[middle:]
    for name, field in (("nesting", b"[" * 10_000 + b"]" * 10_000), ("digits", b"9" * 10_000),
                        ("numbers that JSON has not", b'[1e999, NaN, -Infinity]')):
        yield name, raw.replace(b'"content":', b'"x": ' + field + b', "content":')
    for name, words in (("lone surrogates", b"\\udfff \\ud800 "), ("a long line", b"x" * large)):
        yield name, raw.replace(b'"content": "', b'"content": "' + words, 1)
    for part in range(1, 6):
        yield f"cut at {part} / 6", raw[:len(raw) * part // 6]


def read_by_all(path: Path) -> list[Any]:
    """The messages of each session of a log; it is converted and checked too.

    A refusal is `[]`; its message is one line that is not endless. Nothing else is raised.
    """
    refusal(lambda: list(check_file(str(path))))
    found: list[Any] = []

    def convert() -> None:
        for session in open_sessions(str(path)):
            "".join(map(line, records_of(session))).encode("utf-8")
            found.append(session.messages)
    refusal(convert)
    return found


def refusal(act: Any) -> str:
    """What an act was refused with, "" if it was not."""
    try:
        act()
    except MiniAgentError as error:
        said = str(error)
        assert "\n" not in said and len(said) < 1_000, said
        return said
    return ""


def shown(path: Path) -> dict[str, Any]:
    """What each command makes of a trace, without the name of the file."""
    def why() -> list[Any]:
        return [list(why_lines(explain("count 1", steps, history)))
                for _, steps, history in steps_at(str(path))]

    return {
        "show": list(show_trace(read_trace(path), "t")),
        "step": [row.replace(str(path), "t") for row in show_step(str(path), None, True)],
        "why": why(),
        "check": [str(found).replace(str(path), "t")
                  for found in findings(str(path), goes_on=True)],
        "convert": [records_of(session)[1:] for session in open_sessions(str(path))],
        "resume": _resumed(path)}


def _resumed(path: Path) -> list[Any]:
    """The history of the session that is taken up, and the trace that it has then.

    This comes last: it cuts the file and writes behind it.
    """
    with redirect_stderr(io.StringIO()):
        session, file = taken_up(path, Speaker(), extra=(Counter(),))
    file.close()
    return [session.agent.history, path.read_bytes()]
