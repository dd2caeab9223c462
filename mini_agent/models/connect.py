"""Milestone 5: from options and environment to a model.

    connect(Options(model="gpt-5-mini"), os.environ) -> Model

An option overrides its environment variable: OPENAI_BASE_URL, OPENAI_API_KEY,
ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, MINI_AGENT_MODEL. Whatever is missing or wrong is a
`UsageError` before anything is sent. No connection is made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from ..texts import Texts
from .anthropic import Messages
from .endpoint import Endpoint, check_key, check_url
from .http import Http, OnRetry, RequestLimits, silent
from .live import LiveModel, OnSummary, OnText, Wire
from .live import Options as Options  # whoever connects has it from here
from .openai import ChatCompletions

PROVIDERS = {  # name: default base URL, endings of a URL that are not part of the base
    "openai": ("https://api.openai.com/v1", ("/chat/completions",)),
    "anthropic": ("https://api.anthropic.com", ("/messages", "/v1"))}


def connect(options: Options, environ: Mapping[str, str], *, texts: Texts = Texts(),
            on_text: OnText | None = None, on_retry: OnRetry = silent,
            on_summary: OnSummary | None = None, **time: Any) -> LiveModel:
    """The model that options and environment name.

    `time` is handed to `Http`: clock, sleep, chance. Raises `UsageError`.
    """
    endpoint, wire = find_endpoint(options, environ)
    limits = RequestLimits()
    if options.timeout is not None:
        limits = replace(limits, read=options.timeout)
    return LiveModel(Http(endpoint, limits, on_retry=on_retry, **time), wire, options, texts,
                     on_text, on_summary)


def find_endpoint(options: Options, environ: Mapping[str, str]) -> tuple[Endpoint, Wire]:
    """Where to ask, and in which form. Raises `UsageError`."""
    model = options.model or environ.get("MINI_AGENT_MODEL", "").strip()
    provider = options.provider or _provider(model, environ)
    if provider not in PROVIDERS:
        raise UsageError(f"no provider {provider!r}", place="provider", value=provider,
                         remedy=f"use {' or '.join(PROVIDERS)}")
    default, endings = PROVIDERS[provider]
    names = f"{provider.upper()}_BASE_URL", f"{provider.upper()}_API_KEY"
    url = check_url(options.base_url or environ.get(names[0], "").strip() or default,
                    names[0], endings)
    if provider == "openai" and url.count("/") == 2:  # a bare host: the usual path
        url += "/v1"
    key = check_key(options.api_key or environ.get(names[1], ""), names[1])
    if not model:
        raise UsageError("no model is named", place="MINI_AGENT_MODEL",
                         remedy="set it, or name one with --model")
    if url == default and not key:
        raise UsageError(f"there is no key for {default}", place=names[1],
                         remedy=f"set it, or set {names[0]} to an endpoint without keys")
    endpoint = Endpoint(url, model, key, *names)
    made = Messages if provider == "anthropic" else ChatCompletions
    return endpoint, made(endpoint.host)


def _provider(model: str, environ: Mapping[str, str]) -> str:
    """The provider whose variables are set; where both are, the model's name decides."""
    named = [provider for provider in PROVIDERS
             if any(environ.get(f"{provider.upper()}_{what}", "").strip()
                    for what in ("BASE_URL", "API_KEY"))]
    if len(named) == 1:
        return named[0]
    return "anthropic" if model.startswith("claude") else "openai"
