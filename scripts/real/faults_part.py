"""A server that makes faults, and says what a client did wrong when it met them."""

from __future__ import annotations

import os
from pathlib import Path

from mini_agent.errors import EndpointError, PromptTooLongError
from mini_agent.messages import user
from mini_agent.models.connect import Options, connect
from mini_agent.models.http import RequestLimits
from mini_agent.models.live import LiveModel

from .parts import Report, environment, fetch, free_port, served

PACKAGES = ("llmock==0.2.2",)
WINDOW = 300  # tokens
TRANSIENT = (
    ("two rate limits with Retry-After", [{"type": "fail", "status": 429, "retry_after": 1,
                                           "times": 2}]),
    ("three server errors", [{"type": "fail", "status": 500, "times": 3}]),
    ("503, then 529", [{"type": "fail", "status": 503}, {"type": "fail", "status": 529}]),
    ("408", [{"type": "fail", "status": 408}]),
    ("a truncated stream, twice", [{"type": "stream_fault", "kind": "truncate", "after_chunks": 2,
                                    "times": 2}]),
    ("a stream cut before its first part", [{"type": "stream_fault", "kind": "truncate",
                                             "after_chunks": 0}]),
    ("a connection that drops", [{"type": "stream_fault", "kind": "disconnect",
                                  "after_chunks": 3}]),
    ("a malformed part", [{"type": "stream_fault", "kind": "malformed", "after_chunks": 2}]),
    ("a stall of three seconds", [{"type": "stream_fault", "kind": "stall", "after_chunks": 2,
                                   "stall_seconds": 3}]),
    ("a rate limit, then a truncated stream", [
        {"type": "fail", "status": 429, "retry_after": 1},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 1}]))
LASTING = (400, 401, 403, 404, 422)


def run(folder: Path, report: Report) -> None:
    """Both protocols through every fault; the server's verdict has to be without a finding."""
    python = environment(folder, "faults", PACKAGES)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(python.with_name("llmock")), "serve", "--port", str(port),
               "--context-window", str(WINDOW),
               # or it has written all before it can see that the client stopped reading
               "--stream-chunk-delay-ms", "20"]
    with served(command, f"{url}/_llmock/verdict", folder / "faults.log", **os.environ):
        for provider, base in (("openai", f"{url}/v1"), ("anthropic", f"{url}/anthropic")):
            fetch(f"{url}/_llmock/reset", {})
            meet(provider, base, url, report)
            verdict = fetch(f"{url}/_llmock/verdict")
            for finding in verdict["findings"]:
                report.say(f"{finding['severity']}: {finding['code']}: {finding['title']}")
            report.expect(verdict["passed"] and not verdict["findings"],
                          f"{provider}: verdict clean: {verdict['calls']} calls, "
                          f"{verdict['attempts']} attempts, {verdict['faults_injected']} faults")


def meet(provider: str, base: str, url: str, report: Report) -> None:
    """Every fault once, with a request of its own each."""
    model = connect(Options(provider=provider, base_url=base, model="gpt-4o-mini",
                            api_key="sk-not-a-real-key"), {})
    model.http.limits = RequestLimits(read=1.0, first_wait=.2)
    for name, behaviors in TRANSIENT:
        fetch(f"{url}/_llmock/scenario", {"behaviors": behaviors})
        reply = model.complete([user(f"say something: {name}")], [])
        report.expect(bool(reply.content), f"{provider}: {name}: answered in the end")
    for status in LASTING:
        fetch(f"{url}/_llmock/scenario", {"behaviors": [{"type": "fail", "status": status}]})
        error = failure(model, f"status {status}")
        report.expect(isinstance(error, EndpointError) and error.status == status,
                      f"{provider}: {status}: {error}")
    error = failure(model, "word " * 10 * WINDOW)
    report.expect(isinstance(error, PromptTooLongError) and error.window == WINDOW,
                  f"{provider}: too long: {error}")


def failure(model: LiveModel, text: str) -> Exception | None:
    """The error of a request, None if there was none."""
    try:
        model.complete([user(text)], [])
    except (EndpointError, PromptTooLongError) as error:
        return error
    return None
