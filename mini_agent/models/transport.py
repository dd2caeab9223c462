"""Milestone 5: the one module that opens sockets, on `urllib`.

It is imported with the first request, since `urllib` and `ssl` take longer to import than the
rest of the program. One POST gives one answer, whatever its status. Redirects are not
followed: the POST would become a GET to another host, and take the key along. A fault of the
connection becomes an error of one line (`breakdown`). What is left out: what an answer means
(`faults.py`), and when to ask again (`http.py`).
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.error import URLError

from ..errors import EndpointError
from .endpoint import Endpoint
from .faults import safe_words

FAULTS = (OSError, http.client.HTTPException)  # what `post` and reading its answer raise
PACKED = ("gzip", "x-gzip", "deflate")
_ANY_HEAD = zlib.MAX_WBITS + 32  # tells zlib to accept a header of gzip or of zlib
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class _TwoLimits:
    """One time limit for connecting (TLS included), another for each read after that."""

    sock: socket.socket

    def __init__(self, *args: Any, read_seconds: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._read_seconds = read_seconds

    def connect(self) -> None:
        """Connect within the first time limit, then set the second."""
        super().connect()  # type: ignore[misc]  # that of the connection it is mixed into
        self.sock.settimeout(self._read_seconds)


class _Connection(_TwoLimits, http.client.HTTPConnection):
    pass


class _SafeConnection(_TwoLimits, http.client.HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens both kinds of connection with the two limits."""

    def __init__(self, read_seconds: float) -> None:
        super().__init__()
        self._read_seconds = read_seconds

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Called by `OpenerDirector` for an `http` address."""
        return self.do_open(partial(_Connection, read_seconds=self._read_seconds), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Called by `OpenerDirector` for an `https` address; certificates are checked."""
        return self.do_open(partial(_SafeConnection, read_seconds=self._read_seconds), request,
                            context=ssl.create_default_context())


def post(url: str, data: bytes, headers: Mapping[str, str], connect_seconds: float,
         read_seconds: float) -> http.client.HTTPResponse:
    """Send `data`; returns the answer, of any status, with its body unread.

    Uses the proxies of the environment, except for this machine. Raises any of `FAULTS`.
    """
    request = urllib.request.Request(url, data, dict(headers), method="POST")
    opener = urllib.request.OpenerDirector()
    opener.add_handler(_Handler(read_seconds))
    if request.host.rsplit(":", 1)[0].strip("[]") not in LOOPBACK:
        opener.add_handler(urllib.request.ProxyHandler())
    answer: http.client.HTTPResponse = opener.open(request, timeout=connect_seconds)
    return answer


def body_pieces(endpoint: Endpoint, response: http.client.HTTPResponse,
                most: int) -> Iterator[bytes]:
    """The body of an answer as it comes, at most `most` bytes at once. It is unpacked where a proxy
    has packed it without being asked. Raises `EndpointError`."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    packed = zlib.decompressobj(wbits=_ANY_HEAD) if coding in PACKED else None
    if packed is None and coding not in ("", "identity"):
        raise EndpointError(f"the answer is packed as {safe_words(coding)}, which nobody asked for",
                            status="broken", place=endpoint.url,
                            remedy="have what answers there send it as it is")
    try:
        while piece := response.read1(most):
            yield piece if packed is None else packed.decompress(piece, most)
            while packed is not None and packed.unconsumed_tail:
                yield packed.decompress(packed.unconsumed_tail, most)
    except zlib.error as error:
        raise EndpointError(f"the answer cannot be unpacked ({safe_words(str(error))})",
                            status="broken", transient=True, place=endpoint.url,
                            remedy="have what answers there send it as it is") from error
    except FAULTS as error:
        raise breakdown(endpoint, error) from error


def breakdown(endpoint: Endpoint, error: Exception) -> EndpointError:
    """The error for one of `FAULTS`, with what to do about it.

    Its status is "unreachable" where no connection was made, "timeout" for a silence,
    "connection" for one that broke.
    """
    connecting = isinstance(error, URLError)  # urllib wraps what happens until all is sent
    reason = error.reason if isinstance(error, URLError) else error
    what, status, transient, remedy = _fault(endpoint, reason, connecting)
    return EndpointError(what, status=status, transient=transient, place=endpoint.url,
                         remedy=remedy)


def _proxy(endpoint: Endpoint) -> str:
    """The variable that names the proxy before an endpoint, "" where there is none. What stands
    in it may have a password."""
    scheme, host = endpoint.url.partition(":")[0], endpoint.host.strip("[]")
    through = host not in LOOPBACK and scheme in urllib.request.getproxies() and not (
        urllib.request.proxy_bypass(host))
    return f"{scheme}_proxy" if through else ""


def _fault(endpoint: Endpoint, reason: Any, connecting: bool) -> tuple[str, str, bool, str]:
    proxy = _proxy(endpoint) if connecting else ""
    check = f"check {proxy or 'the network'} and {endpoint.url_name}"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (f"its certificate is not trusted ({safe_words(reason.verify_message)})",
                "unreachable", False,
                "name the authority's file in SSL_CERT_FILE, or correct the host")
    if connecting and isinstance(reason, ssl.SSLError):
        return (f"no TLS there ({safe_words(str(reason.reason or reason))})", "unreachable", False,
                f"if the server speaks plain http, say so in {endpoint.url_name}")
    if isinstance(reason, socket.gaierror):
        transient = reason.errno == socket.EAI_AGAIN
        name = f"in {proxy}" if proxy else repr(endpoint.host)
        return f"no host is known by the name {name}", "unreachable", transient, check
    if isinstance(reason, TimeoutError):
        status = "unreachable" if connecting else "timeout"
        return "no answer in time", status, True, f"{check}, or allow it more time"
    if isinstance(reason, ConnectionRefusedError):
        return ((f"nothing listens at the address in {proxy}", "unreachable", True, check) if proxy
                else ("nothing listens there", "unreachable", True,
                      f"start the server, or check {endpoint.url_name}"))
    if isinstance(reason, (ConnectionError, http.client.HTTPException)) or not connecting:
        said = safe_words(str(reason)) or type(reason).__name__
        return f"the connection broke ({said})", "connection", True, f"{check}, then try again"
    return (f"it cannot be reached ({safe_words(str(reason))})", "unreachable", True, check)
