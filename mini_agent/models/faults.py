"""Milestone 5: what went wrong at an endpoint, in one line that says what to do.

`refusal` turns an answer that is an error into an exception. Whether the same request may
succeed later (`transient`) is decided here; `http.py` then asks again. What is left out:
faults of the connection (`transport.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import EndpointError, ModelError, PromptTooLongError
from ..hostile import one_line
from .endpoint import Endpoint, hide_keys
from .overflow_text import overflow

TRANSIENT = frozenset({408, 429})  # and 5xx, unless the text matches `LASTING`
LASTING = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance"
                     r"|failed to parse|parse tool call|template|not (?:implemented|supported)",
                     re.IGNORECASE)
STATUS_OF = {  # types of errors that come inside an answer, without a status of their own
    "overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "server_error": 500,
    "timeout_error": 504, "authentication_error": 401, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "invalid_request_error": 400}
SHOWN = 300  # characters of what the endpoint said


def refusal(endpoint: Endpoint, status: int, headers: Mapping[str, str],
            body: bytes, now: float = 0) -> ModelError:
    """The error for an answer that is not 200; it came at `now`, in seconds since 1970."""
    text = body.decode("utf-8", "replace")
    said = " ".join(dict.fromkeys(_sayings(_parsed(text)))) or text
    found = overflow(said)
    if found is not None:
        return PromptTooLongError(
            f"the prompt is too long ({safe_words(said)})", place=endpoint.url,
            window=found.window, tokens=found.tokens,
            remedy="compress (/compact), or choose a model with a larger window")
    transient = (status in TRANSIENT or status >= 500) and not LASTING.search(said)
    return EndpointError(f"the endpoint answered {status} ({safe_words(said) or 'no words'})",
                         status=status, transient=transient, wait=_asked_wait(headers, now),
                         place=endpoint.url, remedy=_remedy(endpoint, status, said, transient))


def refusal_inside(endpoint: Endpoint, body: Mapping[str, Any]) -> ModelError:
    """The error for a refusal inside an answer with the status 200, streamed or not."""
    error = body.get("error")
    inner = error if isinstance(error, Mapping) else {}
    code = inner.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else STATUS_OF.get(
        str(inner.get("type")), 500)
    return refusal(endpoint, status, {}, json.dumps(body).encode())


def broken(endpoint: Endpoint, what: str) -> EndpointError:
    """The error for an answer that came incomplete, or not in the form of its protocol."""
    return EndpointError(f"{what} ({endpoint.model})", status="broken", transient=True,
                         place=endpoint.url, remedy="ask again; if it stays so, the endpoint "
                         "or a proxy before it does not speak this protocol")


def _remedy(endpoint: Endpoint, status: int, said: str, transient: bool) -> str:
    if status in (401, 403):
        return (f"set {endpoint.key_name} to a key of this endpoint" if not endpoint.key
                else f"the key in {endpoint.key_name} is not accepted here: check both")
    if re.search("quota|billing|credit balance", said, re.IGNORECASE) or status == 402:
        return "waiting does not help: look at the account's plan"
    if status == 404 or re.search(r"model\b.{0,80}\b(?:not|no)\b", said, re.IGNORECASE):
        return (f"check the model {endpoint.model!r} (MINI_AGENT_MODEL, --model) "
                f"and the path in {endpoint.url_name}")
    if 300 <= status < 400:
        return f"it points elsewhere: put the final address into {endpoint.url_name}"
    if transient:
        return "try again later"
    return "the endpoint does not take this request as it is"


def _asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds in `retry-after-ms` or `Retry-After`, None if there are none. A date counts from
    the date of the answer, or from `now` where it has none."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    from email.utils import formatdate, parsedate_to_datetime  # rarely needed, slow to import

    try:
        until, sent = (parsedate_to_datetime(date) for date in (
            headers.get("retry-after", ""), headers.get("date") or formatdate(now, usegmt=True)))
        return max(0.0, (until - sent).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, one without a zone, of no year
        return None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sayings(value: Any, depth: int = 0) -> Iterator[str]:
    """The messages, types and codes of an error, however deep a proxy has wrapped them.

    The rest of the body is not read, since some endpoints quote the request in it.
    """
    if depth > 8:
        return
    if isinstance(value, str):
        inner = _parsed(value) if value.lstrip().startswith("{") else None
        yield from _sayings(inner, depth + 1) if inner else (value,)
    elif isinstance(value, list):
        for item in value[:20]:
            yield from _sayings(item, depth + 1)
    elif isinstance(value, Mapping):
        for name in ("message", "error", "errors", "detail", "msg", "type", "code", "metadata",
                     "raw"):
            if name in value:
                yield from _sayings(value[name], depth + 1)


def safe_words(text: str) -> str:
    """The words of an endpoint as one line of a message, without keys, even cut ones."""
    text = hide_keys(one_line(text, None)).strip()
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
