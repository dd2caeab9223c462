"""Milestone 5: where a model can be reached, and what of that may be shown.

The key is kept here and shown nowhere: `hide` removes it from whatever comes back from the
endpoint before anything else reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..errors import UsageError

SHORTEST_SECRET = 4  # characters; a shorter key is a placeholder, and would hide ordinary text
_KEY_LIKE = re.compile(r"\b(?:sk|pk|xai|gsk|key)-[\w*.\-]{6,}|\bAIza[\w\-]{20,}")
_BASE = re.compile(r"(?P<root>https?://(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)"
                   r"(?::(?P<port>\d{1,5}))?)(?P<path>/[^\s?#]*)?")


@dataclass(frozen=True)
class Endpoint:
    """A checked base URL, a model and a key, with the names of their variables."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    url_name: str = "OPENAI_BASE_URL"
    key_name: str = "OPENAI_API_KEY"

    @property
    def host(self) -> str:
        """The host of the URL, without its port."""
        match = _BASE.match(self.url)
        return match["host"].lower() if match else ""

    def hide(self, data: bytes) -> bytes:
        """`data` without the key."""
        secret = self.key.encode()
        return data.replace(secret, b"[key]") if len(secret) >= SHORTEST_SECRET else data


def hide_keys(text: str) -> str:
    """`text` without what looks like a key: endpoints quote parts of a wrong one."""
    return _KEY_LIKE.sub("[key]", text)


def check_url(url: str, name: str, suffixes: tuple[str, ...]) -> str:
    """The base URL without those of `suffixes`, in this order, that it ends with.

    Raises `UsageError` for what is not an http(s) URL, or carries a password or a query:
    neither belongs there, and neither may be shown.
    """
    match = _BASE.fullmatch(url.strip())
    if match is None or not url.isascii() or int(match["port"] or 0) > 65_535:
        shown = "" if re.search(r"[@?]", url) else f": {url.strip()[:80]!r}"
        raise UsageError(f"this is not a base URL{shown}", place=name,
                         remedy="write it like https://HOST/v1, without user, query or blanks")
    path = (match["path"] or "").rstrip("/")
    for suffix in suffixes:
        path = path.removesuffix(suffix)
    return match["root"] + path


def check_key(key: str, name: str) -> str:
    """The key without blanks around it; `UsageError` if it cannot stand in a header."""
    key = key.strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise UsageError("the key has a character that no key has", place=name,
                         remedy="copy it again, without line breaks or quotes")
    return key
