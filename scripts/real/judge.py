"""Reads requests, one a line, and asks the official types and two pairing judges.

    PYTHON judge.py VERDICTS < REQUESTS      (packages: see judges_part.py)

A request: {"policy", "form", "body"}. VERDICTS: {"judges", "seen", "faults"}, the last
two by policy.
"""

import json
import sys
from importlib import import_module  # the judges are in the throw-away environment alone
from importlib.metadata import version

JUDGES = ("openai", "anthropic", "mistral-common", "tool-call-repair")


def bench():
    """Every judge as a function of (form, body) that yields what it says against it."""
    adapter = import_module("pydantic").TypeAdapter
    chat, blocks = import_module("openai.types.chat"), import_module("anthropic.types")
    types = {"openai": {"messages": adapter(list[chat.ChatCompletionMessageParam]),
                        "tools": adapter(list[chat.ChatCompletionToolParam])},
             "anthropic": {"messages": adapter(list[blocks.MessageParam]),
                           "tools": adapter(list[blocks.ToolParam]),
                           "system": adapter(list[blocks.TextBlockParam])}}
    protocol = "mistral_common.protocol.instruct"
    convert = import_module(f"{protocol}.converters").convert_openai_messages
    validator = import_module(f"{protocol}.validator")
    tokenizers = import_module("mistral_common.tokens.tokenizers.base")
    mistral = validator.get_validator(tokenizers.TokenizerVersion.v13,
                                      validator.ValidationMode.serving)
    repair = import_module("toolrepair")

    def official(form, body):
        for field, judge in types[form].items():
            if field in body:
                try:
                    walk(judge.validate_python(body[field], extra="forbid"))
                except ValueError as error:
                    yield f"{form} types, {field}: {error}"

    def pairing(form, body):
        for found in repair.validate(body["messages"], format=form):
            yield f"tool-call-repair, {form}: {found}"

    def order(form, body):
        if form == "openai":
            try:
                mistral.validate_messages(convert(body["messages"]))
            except Exception as error:  # its own tree, and whatever its types raise
                yield f"mistral-common: {type(error).__name__}: {error}"
    return official, pairing, order


def walk(value):
    """Look at everything: iterables are validated when they are walked, not before."""
    if isinstance(value, dict):
        for item in value.values():
            walk(item)
    elif not isinstance(value, (str, bytes, int, float, type(None))):
        for item in value:
            walk(item)


def main():
    """Judge what comes in, write down what was seen."""
    seen, found, judges = {}, {}, bench()
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        policy = request["policy"]
        seen[policy] = seen.get(policy, 0) + 1
        for judge in judges:
            for fault in judge(request["form"], request["body"]):
                found.setdefault(policy, []).append(f"request {number}: {fault[:300]}")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"judges": [f"{name} {version(name)}" for name in JUDGES], "seen": seen,
                   "faults": found}, file)


if __name__ == "__main__":
    main()
