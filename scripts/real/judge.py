"""Reads requests, one a line, and asks the official types and two pairing judges.

    PYTHON judge.py VERDICTS < REQUESTS      (packages: see judges_part.py)

A request: {"policy", "form", "body"}. VERDICTS: {"judges", "seen", "faults"}, the last
two by policy. Messages are judged once: the same text is lawful again.
"""

import json
import sys
from importlib.metadata import version

import toolrepair
from anthropic.types import MessageParam, TextBlockParam, ToolParam
from mistral_common.protocol.instruct.converters import convert_openai_messages
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

JUDGES = ("openai", "anthropic", "mistral-common", "tool-call-repair")
MISTRAL = get_validator(TokenizerVersion.v13, ValidationMode.serving)
TYPES = {
    "openai": {"messages": TypeAdapter(list[ChatCompletionMessageParam]),
               "tools": TypeAdapter(list[ChatCompletionToolParam])},
    "anthropic": {"messages": TypeAdapter(list[MessageParam]),
                  "tools": TypeAdapter(list[ToolParam]), "system": TypeAdapter(list[TextBlockParam])}}


def walk(value):
    """Look at everything: iterables are validated when they are walked, not before."""
    if isinstance(value, dict):
        for item in value.values():
            walk(item)
    elif not isinstance(value, (str, bytes, int, float, type(None))):
        for item in value:
            walk(item)


def faults(form, body):
    """What the judges say against a request, each with its name."""
    for field, judge in TYPES[form].items():
        if field in body:
            try:
                walk(judge.validate_python(body[field], extra="forbid"))
            except ValueError as error:
                yield f"{form} types, {field}: {error}"
    for found in toolrepair.validate(body["messages"], format=form):
        yield f"tool-call-repair, {form}: {found}"
    if form == "openai":
        try:
            MISTRAL.validate_messages(convert_openai_messages(body["messages"]))
        except Exception as error:
            yield f"mistral-common: {type(error).__name__}: {error}"


def main():
    """Judge what comes in, write down what was seen."""
    seen, found = {}, {}
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        policy = request["policy"]
        seen[policy] = seen.get(policy, 0) + 1
        for fault in faults(request["form"], request["body"]):
            found.setdefault(policy, []).append(f"request {number}: {fault[:300]}")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"judges": [f"{name} {version(name)}" for name in JUDGES], "seen": seen,
                   "faults": found}, file)


if __name__ == "__main__":
    main()
