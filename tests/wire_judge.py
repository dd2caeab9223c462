"""A strict provider, as far as the shape of a request goes: what it would refuse.

Written from what providers say when they refuse, apart from the adapters' own code.
"""

import json
import re

ID = re.compile(r"[A-Za-z0-9]{9}")           # the strictest: 9 letters or digits
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def chat_faults(messages):
    """What is wrong with the messages of a chat-completions request."""
    open_ids, seen, previous = [], set(), None
    for at, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_ids:
                yield f"{at}: result without a pending call"
            else:
                open_ids.remove(message["tool_call_id"])
            if not message["content"].strip():
                yield f"{at}: empty result"
            previous = role
            continue
        if open_ids:
            yield f"{at}: the calls before it are not all answered"
        if role == "system" and at:
            yield f"{at}: a system message inside"
        if role == previous and not (role == "assistant" and messages[at - 1].get("tool_calls")):
            yield f"{at}: two of {role} in a row"
        if role == "assistant" and previous in (None, "system"):
            yield f"{at}: the assistant begins"
        calls = message.get("tool_calls", [])
        if not calls and not (message["content"] or "").strip():
            yield f"{at}: empty {role}"
        for made in calls:
            function = made["function"]
            if not ID.fullmatch(made["id"]) or made["id"] in seen:
                yield f"{at}: id {made['id']!r}"
            seen.add(made["id"])
            if not NAME.fullmatch(function["name"]):
                yield f"{at}: name {function['name']!r}"
            if not isinstance(json.loads(function["arguments"], parse_constant=int), dict):
                yield f"{at}: arguments are no object"
        open_ids = [made["id"] for made in calls]
        previous = role
    if open_ids or previous not in ("user", "tool"):
        yield "the end is not the user's"


def messages_faults(body):
    """What is wrong with the body of a messages request."""
    pending, seen, previous = [], set(), "assistant"
    for at, message in enumerate(body["messages"]):
        role, blocks = message["role"], message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if role == previous or role not in ("user", "assistant"):
            yield f"{at}: {role} after {previous}"
        if not blocks:
            yield f"{at}: no block"
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if role == "user":
            if kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
                yield f"{at}: results behind text"
            if sorted(results) != sorted(pending):
                yield f"{at}: {results} answer {pending}"
            pending = []
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                yield f"{at}: empty text"
            if block["type"] == "tool_use":
                if block["id"] in seen or not ID.fullmatch(block["id"]):
                    yield f"{at}: id {block['id']!r}"
                if not NAME.fullmatch(block["name"]) or not isinstance(block["input"], dict):
                    yield f"{at}: {block['name']!r} or its input"
                seen.add(block["id"])
                pending.append(block["id"])
        previous = role
    if pending or previous != "user":
        yield "the end is not the user's"
    if json.dumps(body).count("cache_control") > 4:
        yield "more than four cache marks"
