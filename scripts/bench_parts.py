"""Rows of `make bench` on the parts: estimator, trace, memory, start of the program."""

from __future__ import annotations

import io
import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator

from fresh import ROOT
from made import session
from ratios import REPEATS, Row, ratio, timed

from mini_agent.compression.policies import find_policy
from mini_agent.lab.recording import Recording
from mini_agent.lab.replay import Trial, replay
from mini_agent.tokens import estimator
from mini_agent.trace import Tracer, line


def small_parts() -> Iterator[Row]:
    """Estimator, trace, memory, start of the program."""
    messages = session(1_000)
    text = "\n".join(message["content"] for message in messages)
    runs = estimator("runs")
    rates = [len(text) / 1e6 / timed(lambda: runs.text(text)) for _ in range(REPEATS)]
    yield Row("estimator, seconds for 50 MB", f"{statistics.median(rates):.0f} MB/s", "50 MB/s",
              50 / statistics.median(rates), 50 / max(rates), 50 / min(rates), 1.0)

    def traced() -> None:
        out = io.StringIO()
        tracer = Tracer(lambda record: out.write(line(record)) and None)
        for message in messages:
            tracer.message(0, message)

    yield ratio("trace / json.dumps and write", traced, lambda: io.StringIO().writelines(
        json.dumps(message, ensure_ascii=False) + "\n" for message in messages), None)
    yield memory()
    for name, words in (("import mini_agent", ["-c", "import mini_agent"]),
                        ("mini-agent --help", ["-m", "mini_agent", "--help"])):
        yield ratio(f"{name} / python3 -c pass", lambda: python(*words),
                    lambda: python("-c", "pass"), 3.0, clock=time.perf_counter)


def memory() -> Row:
    """What governing takes beside the messages, in MB, at 10,000 messages."""
    messages = session(10_000)
    tracemalloc.start()
    recording = Recording("bench", "bench", messages, estimator("runs"))
    trial = Trial(recording, find_policy("clip"), 64_000, [])
    replay(recording, [trial])
    used = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return Row("extra memory / 5 MB, 10000 messages", f"{used:.1f} MB",
               f"{used * 1e6 / len(messages):.0f} bytes a message", used / 5, used / 5, used / 5,
               1.0)


def python(*words: str) -> None:
    """Run Python once and wait."""
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
