"""Milestone 5: does this error say that the prompt is too long?

Proxies wrap the body of an error and change its status, so the text decides. The table has a
pattern for each wording, with groups for its numbers: `window` (the limit) and `tokens` (the
size of the prompt). A text about a rate limit is never an overflow, whatever else it says,
since there waiting helps and compressing does not.

Each wording was seen in the errors of the provider or server that the comment above it names.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Overflow(NamedTuple):
    """The numbers that the text names, in tokens; None where it names none."""

    window: int | None = None
    tokens: int | None = None


NEVER = re.compile(
    r"tokens? per (?:min|hour|day)|\b[TR]P[MD]\b|rate[ _-]?limit|too many requests|quota"
    r"|throttl|please wait|string too long|output tokens reached|billing",
    re.IGNORECASE)

_N = r"([\d][\d,_]*)"
_WORDINGS = (
    # OpenAI, Azure, vLLM, DeepSeek, OpenRouter, Groq; the size of the prompt alone, if given
    rf"maximum context length is (?P<window>{_N})(?: tokens)?.*?"
    rf"\((?:[^()]*?\b)?(?P<tokens>{_N}) (?:in (?:the messages|your prompt)|of text input)",
    rf"maximum context length is (?P<window>{_N}) tokens and your request has "
    rf"(?P<tokens>{_N}) input tokens",
    rf"maximum context length is (?P<window>{_N})(?: tokens)?.*?"
    rf"(?:resulted in|requested(?: about)?) (?P<tokens>{_N}) tokens",
    rf"maximum context length (?:is|of) (?P<window>{_N})",
    rf"passed (?P<tokens>{_N}) input tokens.*?context length is only (?P<window>{_N})",
    rf"input length \((?P<tokens>{_N})\) exceeds (?:the )?model'?s maximum context length "
    rf"\((?P<window>{_N})\)",
    r"maximum context length",
    r"exceeds? the (?:model'?s )?context (?:window|length)",
    rf"exceed the configured limit of (?P<window>{_N}) tokens.*?resulted in (?P<tokens>{_N})",
    # Anthropic; Amazon Bedrock
    rf"prompt is too long: (?P<tokens>{_N}) tokens > (?P<window>{_N})",
    r"prompt is too long",
    rf"exceed context limit: (?P<tokens>{_N}) \+ {_N} > (?P<window>{_N})",
    r"exceed context limit",
    r"input is too long",
    rf"too many input tokens\. max input tokens: (?P<window>{_N}), request input token count: "
    rf"(?P<tokens>{_N})",
    r"request_too_large|request entity too large|request exceeds the maximum",
    # Google
    rf"input token count \((?P<tokens>{_N})\) exceeds the maximum number of tokens allowed "
    rf"\((?P<window>{_N})\)",
    rf"input token count exceeds the maximum number of tokens allowed (?P<window>{_N})",
    rf"input token count is (?P<tokens>{_N}) but (?:the )?model (?:only )?supports up to "
    rf"(?P<window>{_N})",
    r"input token count.{0,40}exceeds|exceeds the maximum number of tokens",
    # xAI
    rf"maximum prompt length is (?P<window>{_N}) but the request contains (?P<tokens>{_N})",
    # llama.cpp; LM Studio; Ollama
    rf"request \((?P<tokens>{_N}) tokens\) exceeds the available context size "
    rf"\((?P<window>{_N}) tokens\)",
    r"exceeds the available context size|context size has been exceeded",
    rf"trying to keep the first (?P<tokens>{_N}) tokens.*?context length of only (?P<window>{_N})",
    r"greater than the context length",
    r"input length exceeds (?:the )?(?:maximum )?context length|prompt too long",
    # SGLang, Together; vLLM
    rf"input \((?P<tokens>{_N}) tokens\) is longer than the model'?s context length "
    rf"\((?P<window>{_N}) tokens\)",
    rf"prompt \(length (?P<tokens>{_N})\) is longer than the maximum model length of "
    rf"(?P<window>{_N})",
    r"longer than the (?:model'?s context|maximum model) length",
    # Mistral; Cohere; Hugging Face
    rf"prompt contains (?P<tokens>{_N}) tokens.*?too large for model with (?P<window>{_N}) "
    r"maximum context",
    rf"tokens in the prompt cannot exceed (?P<window>{_N}) - received (?P<tokens>{_N})",
    rf"`inputs` tokens \+ `max_new_tokens` must be <= (?P<window>{_N})\. Given: "
    rf"(?P<tokens>{_N})",
    rf"`inputs` must have less than (?P<window>{_N}) tokens\. Given: (?P<tokens>{_N})",
    # Fireworks; GitHub Models
    rf"prompt is too long: (?P<tokens>{_N}), model maximum context length: (?P<window>{_N})",
    rf"request body too large for \S+ model\. Max size: (?P<window>{_N}) tokens",
    # Moonshot; MiniMax; Alibaba; Zhipu; Volcengine
    rf"exceeded model token limit: (?P<window>{_N}) \(requested: (?P<tokens>{_N})\)",
    rf"exceeded model token limit(?:: (?P<window>{_N}))?",
    r"context window exceeds limit",
    rf"range of input length should be \[\d+, (?P<window>{_N})\]",
    r"tokens of image and text exceed max message tokens",
    r"prompt exceeds max length|prompt 超长|输入长度超过|超过模型.{0,12}(?:长度|上限)",
    # GitHub Copilot; Cerebras
    rf"prompt token count of (?P<tokens>{_N}) exceeds the limit of (?P<window>{_N})",
    rf"current length is (?P<tokens>{_N}) while limit is (?P<window>{_N})",
    r"reduce the length of the messages",
    # what is left of a body that a proxy has cut down to its code
    r"context[_ ](?:length|window)[_ ]exceeded|exceed_context_size",
    r"too many tokens.{0,80}context|context.{0,80}too many tokens",
)
WORDINGS = tuple(re.compile(wording, re.IGNORECASE | re.DOTALL) for wording in _WORDINGS)

LONGEST = 20_000  # characters of an error that are looked at


def overflow(text: str) -> Overflow | None:
    """The numbers of an overflow, or None where `text` is about something else."""
    text = text[:LONGEST]
    if NEVER.search(text):
        return None
    matches = [match.groupdict() for wording in WORDINGS if (match := wording.search(text))]
    if not matches:
        return None
    best = max(matches, key=len)  # a wording with numbers says more than one without
    return Overflow(_number(best.get("window")), _number(best.get("tokens")))


def _number(digits: str | None) -> int | None:
    """`digits` as an integer; None for no number, and for 0, which is not a size."""
    return int(re.sub("[,_]", "", digits)[:18]) or None if digits else None
