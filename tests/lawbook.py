"""The laws of the design, judged from outside: what was recorded and what was sent.

`live` takes a case through a window as the loop would. `broken_laws` judges the
result without any code of `compression/laws.py`, so that a fault there shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from mini_agent.compression.pins import Pin
from mini_agent.compression.resources import Resources
from mini_agent.compression.policies import (
    Policy, budget_of, find_policy, make_policy, with_settings)
from mini_agent.compression.state import WindowState, rebuild
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.view import Entry, View
from mini_agent.compression.window import ContextWindow
from mini_agent.errors import ContextOverflowError, PromptTooLongError
from mini_agent.messages import Message
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import Texts
from mini_agent.tokens import Estimator, estimator
from mini_agent.trace import Record, Tracer, line

from .histories import Case
from .honesty import Checker


@dataclass
class Life:
    """What came of a case: its records, and the entries at each request by `seq`."""

    case: Case
    policy: Policy
    estimate: Estimator
    records: list[Record] = field(default_factory=list)
    sent: dict[int, list[Entry]] = field(default_factory=dict)
    overflow: str = ""
    store: MemoryStore = field(default_factory=MemoryStore)

    @property
    def bytes(self) -> str:
        """The trace as it would stand in a file."""
        return "".join(map(line, self.records))


def policy_of(case: Case) -> Policy:
    """The policy of a case: one by name, or a ladder of strategies made for it."""
    policy = find_policy(case.policy)
    if case.ladder:
        policy = make_policy({"name": "made", "source": "a test", "about": "",
                              "ladder": [{"strategy": name} for name in case.ladder]}, "test")
    return with_settings(policy, dict(case.settings), "test")


def live(case: Case, watch: Callable[[ContextWindow, Record], None] | None = None) -> Life:
    """Take a case through a window: a request before each assistant message, one at the end.

    `watch` is told of each record before the window knows what it says.
    """
    life = Life(case, policy_of(case), estimator(case.estimate))
    texts = Texts(case.language)

    def tell(record: Record) -> None:
        if watch is not None:
            watch(window, record)

    tracer = Tracer(life.records.append, tell)
    window = ContextWindow(life.policy, budget_of(life.policy, case.window),
                           WindowState(life.estimate, texts),
                           Resources(ScriptedModel([], case.summaries, texts), tracer, life.store),
                           [{"name": name, "description": "", "parameters": {}}
                            for name in case.tools])
    history: list[Message] = []
    step = 0
    try:
        for message in json.loads(json.dumps(case.messages)):  # a copy, and quickly
            if message["role"] == "assistant":
                _request(life, window, tracer, history, step)
                step += 1
            tracer.message(step, message)
            history.append(message)
        _request(life, window, tracer, history, step)
    except ContextOverflowError as error:
        life.overflow = str(error)
    return life


def _request(life: Life, window: ContextWindow, tracer: Tracer, history: Sequence[Message],
             step: int) -> None:
    for when, name, arguments in life.case.acts:
        if when == step and name != "refused":
            _act(window, tracer, history, step, name, arguments)
    request = window.before_model_call(history, step)
    for when, name, arguments in life.case.acts:
        if when == step and name == "refused":
            life.sent[tracer.seq] = list(window.view.entries)
            tracer.event("model_call", step=step, messages=len(request), tokens=window.tokens)
            error = PromptTooLongError("too long", window=arguments[0])
            try:
                request = window.after_refusal(history, step, error)
            except PromptTooLongError:
                pass  # nothing could be made smaller: the request goes out as it was
    life.sent[tracer.seq] = list(window.view.entries)
    tracer.event("model_call", step=step, messages=len(request), tokens=window.tokens)


def _act(window: ContextWindow, tracer: Tracer, history: Sequence[Message], step: int,
         name: str, arguments: tuple[Any, ...]) -> None:
    """What is done between two requests, by whomever."""
    window.take_in(history)
    if name == "pin":
        index, text, kind = arguments
        window.pin(Pin(index, text, kind), step, "user")
    elif name == "reported":
        drift = window.reported(*arguments)
        tracer.event("model_usage", step=step, prompt_tokens=arguments[0], drift=drift)
    elif name == "stage_done":
        window.stage_done(history, *arguments, step)
    elif name == "undo" and not window.state.undoable:
        return
    else:
        getattr(window, name)(step, *arguments)


def broken_laws(life: Life) -> Iterator[tuple[int, str]]:
    """(law, what is wrong and where) of every breach; nothing where all is well.

    Law 0 is that of manners: a strategy proposes nothing that the window must refuse.
    """
    history = life.case.messages
    dropped: dict[int, tuple[int, ...]] = {}  # by the seq of the change
    pins: list[tuple[int, str]] = []
    before: list[Entry] = []
    last: list[Entry] = []
    kept: list[int] = []  # prefix_kept of the changes since the last request
    answered: list[Entry] = []  # what is frozen, where the policy freezes
    seen, window = 0, life.case.window
    for record, view in rebuild(life.records, life.estimate):
        place = f"seq {record['seq']}"
        if record["type"] == "message":
            seen += 1
            if record["message"]["role"] == "assistant":
                answered = last
            if record["message"] != history[seen - 1]:
                yield 8, f"{place}: message {seen - 1} of the history was edited"
        elif record["event"] == "context_compression":
            payload = record["payload"]
            dropped[record["seq"]] = payload.get("dropped", ())
            kept.append(payload["prefix_kept"])
            for law, what in _of_change(life, before, view, payload):
                yield law, f"{place}: {what}"
        elif record["event"] == "compression_skipped":
            if record["payload"]["reason"] == "refused" and ": law " in record["payload"]["detail"]:
                yield 0, f"{place}: a strategy proposed what it may not: {record['payload']}"
        elif record["event"] == "settings":
            window = min(window, record["payload"].get("learned_window", window))
        elif record["event"] in ("undo", "pin"):
            payload = record["payload"]
            answered = []  # what is done by hand may touch it
            dropped.pop(payload.get("seq"), None)
            kept.append(payload.get("prefix_kept", sum(entry.tokens for entry in before)))
            if record["event"] == "pin" and "refused" not in payload:
                pins.append((payload["index"], _as_carried(life, payload)))
        elif record["event"] == "model_call":
            if life.sent[record["seq"]] != view.entries:
                yield 7, f"{place}: the view that was sent is not the one of the records"
            for law, what in [*_pairing(view),
                              *_conservation(view, history[:seen], dropped.values()),
                              *_protection(life, view, history[:seen], window),
                              *_pinned(view, history, pins),
                              *_prefix(last, view.entries, kept),
                              *_frozen(life, answered, view)]:
                yield law, f"{place}: {what}"
            last, kept = list(view.entries), []
        before = list(view.entries)


def checker_of(life: Life) -> Checker:
    """What verifies the claims in the views of a life."""
    return Checker(life.case.messages, life.case.language, life.case.tools, life.store)


def dishonest(life: Life) -> Iterator[tuple[int, str]]:
    """Law 9: what is claimed in a view and is not so, each entry once."""
    entries = {id(entry): entry for sent in life.sent.values() for entry in sent
               if entry.how != "verbatim"}
    checker = checker_of(life) if entries else None
    for entry in entries.values():
        for wrong in checker.false_claims(entry):
            yield 9, f"the entry for {entry.stands_for} says what is not so: {wrong}"


def _of_change(life: Life, before: Sequence[Entry], after: View,
               payload: dict[str, Any]) -> Iterator[tuple[int, str]]:
    had, have = sum(e.tokens for e in before), sum(e.tokens for e in after.entries)
    told = tuple(payload[f"{when}_{what}"] for when in ("before", "after")
                 for what in ("messages", "tokens"))
    if told != (len(before), had, len(after), have):
        yield 3, f"the numbers of the record are {told}, not {(len(before), had, len(after), have)}"
    if have >= had:
        yield 3, f"{had} tokens became {have}"
    same = _same_tokens(before, after.entries)
    if payload["prefix_kept"] != same:
        yield 6, f"{same} leading tokens are unchanged, not {payload['prefix_kept']}"
    for item in payload["entries"]:
        if item["tokens"] != life.estimate.message(item["message"]):
            yield 3, f"entry {item['at']} does not have {item['tokens']} tokens"
    tail = max(0, len(before) - life.policy.protect_last)
    while 0 < tail < len(before) and before[tail].message["role"] == "tool":
        tail -= 1
    put = {tuple(item["stands_for"]): item for item in payload["entries"]}
    for at in payload["affected_indexes"]:
        entry = before[at]
        item = put.get(entry.stands_for)
        if at >= tail and entry.stands_for and not (
                item and item["how"] == "shortened" and life.policy.shorten_tail):
            yield 4, f"entry {at} of the tail (from {tail}) was dropped or summarised"


def _pairing(view: View) -> Iterator[tuple[int, str]]:
    waiting: list[str] = []
    for at, entry in enumerate(view.entries):
        message = entry.message
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield 1, f"result {at} of the view has no call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield 1, f"before message {at} of the view calls {waiting} have no result"
        waiting = [made["id"] for made in message.get("tool_calls", ())]
    if waiting:
        yield 1, f"at the end of the view calls {waiting} have no result"


def _conservation(view: View, history: Sequence[Message],
                  dropped: Iterable[Sequence[int]]) -> Iterator[tuple[int, str]]:
    standing = [index for entry in view.entries for index in entry.stands_for]
    standing += [index for indexes in dropped for index in indexes]
    for index in range(len(history)):
        times = standing.count(index)
        if times != 1:
            yield 2, f"message {index} of the history stands {times} times"
    for entry in view.entries:
        if entry.how == "verbatim" and (len(entry.stands_for) != 1
                                        or entry.message != history[entry.stands_for[0]]):
            yield 2, f"the entry for {entry.stands_for} is not verbatim"


def _protection(life: Life, view: View, history: Sequence[Message],
                window: int) -> Iterator[tuple[int, str]]:
    entries = {index: entry for entry in view.entries for index in entry.stands_for}
    users = [i for i, message in enumerate(history) if message["role"] == "user"]
    room = window * life.policy.user_share
    for index in reversed(users[1:-1]):
        room -= life.estimate.message(history[index])
        if room < 0:
            users = [i for i in users if i > index or i == users[0]]
            break
    systems = [i for i, message in enumerate(history) if message["role"] == "system"]
    for index in systems + users:
        entry, words = entries.get(index), history[index]["content"]
        if entry is None or not (entry.message == history[index] or (
                entry.how == "summary" and words in entry.message["content"])):
            yield 4, f"message {index} ({history[index]['role']}) is not verbatim"


def _as_carried(life: Life, payload: dict[str, Any]) -> str:
    """What must be read of a pin: its text; of an assumption that it is not verified."""
    if payload["kind"] != "assumption":
        return payload["text"]
    return {"en": "- assumption, NOT verified: ",
            "zh": "- 假设,未验证: "}[life.case.language] + payload["text"]


def _pinned(view: View, history: Sequence[Message],
            pins: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    entries = {index: entry.message for entry in view.entries for index in entry.stands_for}
    for index, text in pins:
        message = entries.get(index)
        if message is None or message != history[index] and text not in message["content"]:
            yield 4, f"the pin {text!r} of message {index} is not there word for word"


def _prefix(last: Sequence[Entry], now: Sequence[Entry],
            kept: Sequence[int]) -> Iterator[tuple[int, str]]:
    same = _same_tokens(last, now)
    promised = min([*kept, sum(entry.tokens for entry in last)])
    if same < promised:
        yield 6, f"{same} tokens of the last request are unchanged, {promised} were promised"


def _frozen(life: Life, answered: Sequence[Entry], view: View) -> Iterator[tuple[int, str]]:
    forms = {entry.stands_for: entry for entry in view.entries}
    for old in answered if life.policy.frozen else ():
        new = forms.get(old.stands_for, old)
        if old.message["role"] == "user" and new.how == "shortened":
            continue  # a handle for users' words beyond their share, of which law 4 tells
        if old.stands_for and new.message != old.message and "summary" not in (old.how, new.how):
            yield 6, f"the entry for {old.stands_for} was frozen and has changed"


def _same_tokens(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """The tokens of the leading entries that two views have in common."""
    same = 0
    for one, other in zip(old, new):
        if one != other:
            break
        same += one.tokens
    return same


def first_breach(case: Case, allowed: Sequence[int] = (), twice: bool = True,
                 honest: bool = True) -> str:
    """The first law that a case breaks, "" if none does.

    With `twice` a second life must have the same bytes (law 5); with `honest` every
    claim in a view is verified (law 9).
    """
    life = live(case)
    for law, what in chain(broken_laws(life), dishonest(life) if honest else ()):
        if law not in allowed:
            return f"law {law}: {what}"
    if twice and live(case).bytes != life.bytes:
        return "law 5: a second life has other bytes"
    return ""
