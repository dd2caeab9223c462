"""An endpoint for the tests: a real HTTP server that gives the answers it was told to.

    with FakeServer(plain(chat("hi"))) as server: ... server.url ... server.requests

One answer a request, in order; behind the last one it answers 500. What it was sent
is kept. The bodies are those that the real servers send.
"""

import io
import json
import socket
import ssl
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Sent:
    """A request as it came in."""

    path: str
    headers: dict
    body: dict


@dataclass
class Answer:
    """What to send back. `pieces` are written one by one.

    `end`: "close" (a whole answer), "cut" (the connection closes before its announced
    end), "reset" (it breaks), "hang" (silence until the client goes away).
    """

    status: int = 200
    pieces: tuple[bytes, ...] = ()
    headers: dict = field(default_factory=dict)
    end: str = "close"


class FakeServer:
    """Use it as a context manager."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.answers, self.requests = list(answers), []
        self._gone = threading.Event()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = False
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, sent: Sent) -> Answer:
        self.requests.append(sent)
        if self.answers:
            return self.answers.pop(0)
        return plain({"error": {"message": "the fake server has no answers left"}}, 500)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        data = self.rfile.read(length)
        if len(data) < length:  # the client has gone before it had said all
            return
        body = json.loads(data)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.close_connection = True
        try:
            self._send(self.fake.take(Sent(self.path, headers, body)))
        except ConnectionError:  # the client has heard enough and has gone
            self.wfile = io.BytesIO()

    def _send(self, answer: Answer) -> None:
        if answer.end == "reset" and not answer.pieces:
            return self._reset()
        self.send_response(answer.status)
        whole = sum(map(len, answer.pieces)) + (100 if answer.end == "cut" else 0)
        streamed = answer.headers.get("Content-Type") == "text/event-stream"
        framing = {"Transfer-Encoding": "chunked"} if streamed else {"Content-Length": whole}
        for name, value in {"Content-Type": "application/json", **framing,
                            **answer.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        for piece in answer.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if streamed else piece)
            self.wfile.flush()
        if answer.end == "reset":
            return self._reset()
        if answer.end == "hang":
            self.fake._gone.wait(10)
        elif answer.end == "close" and streamed:
            self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_) -> None:
        """Tests are quiet."""


def plain(body, status=200, **headers) -> Answer:
    """An answer in one piece; `retry_after` becomes `Retry-After`."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, (data,), {name.replace("_", "-").title(): value
                                    for name, value in headers.items()})


def stream(*events, end="close") -> Answer:
    """A stream of events: dicts as chat parts or messages events, strings as they are."""
    pieces = []
    for event in events:
        if isinstance(event, bytes):
            pieces.append(event)
            continue
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        data = event if isinstance(event, str) else json.dumps(event)
        pieces.append(f"{name}data: {data}\n\n".encode())
    return Answer(200, tuple(pieces), {"Content-Type": "text/event-stream"}, end)


def tool_calls(*calls):
    """(id, name, arguments as text) as the chat form has them."""
    return [{"id": made, "type": "function", "function": {"name": name, "arguments": arguments}}
            for made, name, arguments in calls]


def chat(text="", calls=(), finish="stop", prompt=10, answer=2, cached=0, **more):
    """A whole answer in the chat form."""
    message = {"role": "assistant", "content": text, **more}
    if calls:
        message["tool_calls"] = tool_calls(*calls)
    return {"object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer,
                  "total_tokens": prompt + answer,
                  "prompt_tokens_details": {"cached_tokens": cached}}}


def part(finish=None, **delta):
    """A part of a stream in the chat form."""
    return {"object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "finish_reason": finish}]}


def call_part(index, call_id=None, name=None, arguments=None):
    """A part with a piece of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments))
                if value is not None}
    made = {"index": index, **({"id": call_id} if call_id else {}), "function": function}
    return part(tool_calls=[made])


def usage_part(prompt, answer, cached=0):
    """The last part, which has the usage and no choice."""
    return {"object": "chat.completion.chunk", "choices": [], "usage": {
        "prompt_tokens": prompt, "completion_tokens": answer,
        "prompt_tokens_details": {"cached_tokens": cached}}}


def blocks(*content, stop="end_turn", **usage):
    """A whole answer in the messages form."""
    return {"type": "message", "role": "assistant", "model": "m", "content": list(content),
            "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": 2, **usage}}


def messages_events(*content, stop="end_turn", output=2, **usage):
    """The events of a stream in the messages form, each block in small pieces."""
    events = [{"type": "message_start", "message": {
        "type": "message", "role": "assistant", "content": [], "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, **usage}}}, {"type": "ping"}]
    for index, block in enumerate(content):
        events += _block_events(index, block)
    return [*events, {"type": "message_delta", "delta": {"stop_reason": stop},
                      "usage": {"output_tokens": output}}, {"type": "message_stop"}]


def _block_events(index, block):
    kind = block["type"]
    pieces = {"text": [("text_delta", "text", block.get("text"))],
              "tool_use": [("input_json_delta", "partial_json", json.dumps(block.get("input")))],
              "thinking": [("thinking_delta", "thinking", block.get("thinking")),
                           ("signature_delta", "signature", block.get("signature"))]}.get(kind, [])
    empty = {"text": {"text": ""}, "tool_use": {"input": {}},
             "thinking": {"thinking": "", "signature": ""}}.get(kind, {})
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
    for delta, key, value in pieces:
        for start in range(0, len(value), 7):
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": delta, key: value[start:start + 7]}}
    yield {"type": "content_block_stop", "index": index}


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error",
                                         "message": "Service overloaded."}}
RATE_LIMIT = {"error": {"message": "Rate limit exceeded.", "type": "rate_limit_error",
                        "param": None, "code": "rate_limit_exceeded"}}
BAD_KEY = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}
LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
