"""Milestone 2: data that is spelt out inside a text, and what stands there in its place.

A picture in a page or in a log, `data:image/png;base64,...`, may have more characters than
everything else a model is shown; it can be neither read nor summed up as text. Left out:
images that come as parts of a message (`lab/sessions/fields.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

MARK = ";base64,"
SHORTEST = 1_000  # characters of base64; what is shorter, an icon say, may stay
# After it: whether the text ends there, or goes on with a note in brackets of what was cut.
_DATA_URI = re.compile(
    r"\bdata:([\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w.+-]{1,80}=[\w.+-]{1,80}){0,4};base64,"
    rf"([A-Za-z0-9+/_-]{{{SHORTEST},}}(={{0,2}}))(\Z|(?=\n\[))?")


def without_data(text: str) -> str:
    """The text with `[image TYPE, N bytes]` or `[data TYPE, N bytes]` for each long data URI.

    One that may have been cut, at the end of the text, says `N bytes or more`.
    """
    return _DATA_URI.sub(_placeholder, text) if MARK in text else text


def pieces_without_data(pieces: Iterable[str]) -> Iterator[str]:
    """The same for a text in pieces of whole lines; after a data URI it matters how the next
    one begins."""
    for piece, following in pairwise(chain(pieces, [""])):
        yield without_data(piece + following[:1]).removesuffix(following[:1])


def bytes_spelt(base64: str) -> int:
    """How many bytes are spelt by it."""
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _placeholder(found: re.Match[str]) -> str:
    media, base64, padding, end = found.groups()
    more = " or more" if end is not None and not padding else ""
    kind = "image" if (media or "").startswith("image/") else "data"
    return f"[{kind} {media or 'text/plain'}, {bytes_spelt(base64)} bytes{more}]"
