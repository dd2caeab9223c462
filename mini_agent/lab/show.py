"""Milestone 6: exactly what the model got at a step, and what changed since the last one.

Each entry is shown with its place in the view, the history messages that it stands for, role
and tool, how it came about, and its tokens; below these come its text and its calls. Control
characters are shown as escapes, since what a tool printed must not control the terminal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from ..columns import number_of
from ..compression.budget import window_tokens
from ..compression.view import Entry, View
from ..errors import UsageError
from ..governance import governed_in_words
from ..hostile import escaped
from ..messages import Message, arguments_text, calls_of
from ..rhythm import number_ranges, rows
from ..trace import Trace
from .happened import HOST, happened
from .session_steps import ReplayOptions, steps_at
from .steps import TraceStep, views

INDENT = "    "
_CHILD = ("child", "status", "steps", "peak_tokens", "sent_tokens")


def show_trace(trace: Trace, place: str) -> Iterator[str]:
    """The lines about a whole run: one row per step, with its compressions and sub-agents, and
    what else happened before the next one.

    Raises `TraceError` for a record without what its kind has to have.
    """
    for start in trace.events("run_start"):
        yield f"task {start.get('task', '')} {governed_in_words(start, place)}".rstrip()
    yield "step  before      sent        what happened"
    ended = dict[int, list[dict[str, Any]]]()  # the sub-agents, by step
    for end in trace.events("subagent_end"):
        if type(step := end.get("step")) is int:
            ended.setdefault(step, []).append(end)
    news = deque(sorted(happened(trace.records)))
    for row in rows(trace.records):
        so_far = [(change.seq, f"{change.strategy} [{number_ranges(change.affected)}]")
                  for change in row.compressions]
        while news and news[0][0] <= row.step:
            so_far.append(news.popleft()[1:])
        before, sent = _size(row.before, row.before_messages), _size(row.sent, row.messages)
        yield from _row(f"{row.step:>4}  {before}{sent}",
                        [f"{seq}: {words}" for seq, words in sorted(so_far)])
        for end in ended.get(row.step, ()):
            yield _child_line(end, place)
    for step, seq, words in news:
        yield from _row(f"{step:>4}{'':<26}", [f"{seq}: {words}"])
    yield from _counted(trace)
    for end in trace.events("run_end"):
        yield f"ended at step {end.get('step')}: {end.get('reason')}"


def _counted(trace: Trace) -> Iterator[str]:
    """What the endpoint counted last, where that is far from the estimate."""
    estimated, said = 0, ""
    for payload in trace.events("model_call", "model_usage"):
        estimated, counted = payload.get("tokens", estimated), payload.get("prompt_tokens")
        if estimated and type(counted) is type(estimated) is int:  # 0: it was not counted
            far = abs(counted - estimated) > estimated // 10
            said = f"counted {counted}, where {estimated} stands here" * far
    if said:
        yield f"(sizes are estimates: the endpoint last {said})"


def _size(tokens: int, messages: int) -> str:
    """Tokens and messages of a request; messages alone where the tokens were not counted. A wide
    one is longer than its column, but still two blanks away from the next."""
    size = f"{tokens} ({messages})" if tokens else f"({messages})" if messages else "nothing"
    return f"{size:<10}  "


def _child_line(end: Mapping[str, Any], place: str) -> str:
    """How a sub-agent ended; the trace of its parent is at `place`."""
    child, status, steps, peak, total = (end.get(key, "?") for key in _CHILD)
    return (f"      sub-agent {child} {status}: {number_of(steps, 'step')}, "
            f"{number_of(peak, 'token')} at most, {total} in all: {place}#{child}")


def _row(start: str, told: Sequence[str]) -> Iterator[str]:
    """The lines of one step: what happened, one thing a line, behind `start` on the first."""
    for at, change in enumerate(told or ("",)):
        yield f"{start if at == 0 else ' ' * len(start)}{change}".rstrip()


def show_steps(path: str, options: ReplayOptions) -> Iterator[str]:
    """The lines about a session that is replayed: one row per step, with its changes."""
    window = window_tokens(options.window) if options.policy else None
    under = "as it was recorded" if window is None else f"under {options.policy} at {window}"
    for name, steps, _ in steps_at(path, options, below=False):
        yield f"{name} {under}"
        yield "step  sent        what happened"
        for taken, view in views(steps):
            told = [_change_in_words(record["payload"]) for record in taken.changes]
            if taken.host:
                told.insert(0, HOST)
            if window is not None and taken.over:
                free = " less what the policy keeps free" * (view.tokens <= window)
                told.append(f"over the window{free}: it would not have been answered")
            yield from _row(f"{taken.step:>4}  {_size(view.tokens, len(view))}", told)


def show_step(path: str, step: int | None, diff: bool,
              options: ReplayOptions = ReplayOptions()) -> Iterator[str]:
    """The lines about one step, or with `diff` about what each step changed.

    A trace shows what its run sent; with a policy, and for any other log, the session is
    replayed first. Raises `UsageError` where no session of the file has such a step.
    """
    found = _steps_of_each(path, step, options)
    for name, steps in found:
        if len(found) > 1:
            yield f"{name}:"
        yield from _lines(steps, step, diff)


class SentStep(TypedDict):
    """What was sent at one step."""

    session: str
    step: int
    tokens: int                    # of the view
    sent: int | None               # tokens, tool declarations too; None where uncounted
    changes: list[dict[str, Any]]  # payloads, as the trace has them
    entries: list[dict[str, Any]]  # the fields of each `compression.view.Entry`


def step_objects(path: str, step: int | None,
                 options: ReplayOptions = ReplayOptions()) -> Iterator[SentStep]:
    """What was sent at one step, or at each. Raises what `show_step` raises."""
    for name, steps in _steps_of_each(path, step, options):
        for taken, view in views(steps):
            if step is None or taken.step == step:
                yield {"session": name, "step": taken.step, "tokens": view.tokens,
                       "sent": taken.sent or None,
                       "changes": [record["payload"] for record in taken.changes],
                       "entries": [entry._asdict() for entry in view.entries]}


def messages_at(path: str, index: int, workspace: str = "") -> list[tuple[str, Message]]:
    """(name, message) of each session of a file that has a message with this number, whole, even
    if it was sent shortened or not at all. Raises `UsageError` where no session has one."""
    found = [(name, history) for name, _, history in steps_at(
        path, ReplayOptions(workspace=workspace), below=False)]
    last = max(len(history) for _, history in found) - 1
    if not 0 <= index <= last:
        raise UsageError(f"there is no message {index}", place=path, value=index,
                         remedy=f"messages are 0 to {last}")
    return [(name, history[index]) for name, history in found if index < len(history)]


def show_message(path: str, index: int, workspace: str = "") -> Iterator[str]:
    """The lines about one message of the log. Raises what `messages_at` raises."""
    for name, message in messages_at(path, index, workspace):
        names = " ".join(filter(None, (message["role"], message.get("name", ""))))
        yield f"{name} #{index} {names}, {number_of(len(message['content']), 'character')}"
        yield from _text_and_calls(message)


def _steps_of_each(path: str, step: int | None,
           options: ReplayOptions) -> list[tuple[str, Sequence[TraceStep]]]:
    """(name, steps) of each session of a file. Raises `UsageError` where none has this step."""
    found = [(name, steps) for name, steps, _ in steps_at(path, options, below=False)]
    taken = [one.step for _, steps in found for one in steps]
    if step is not None and step not in taken:
        raise UsageError(f"there is no step {step}", place=path, value=step,
                         remedy=f"steps are 0 to {max(taken)}" if taken
                         else "no model was called in it")
    return found


def _lines(steps: Sequence[TraceStep], step: int | None, diff: bool) -> Iterator[str]:
    before: list[Entry] = []
    for taken, view in views(steps):
        if step is None or taken.step == step:
            sent = f"; {taken.sent} as sent, with tool declarations" * (taken.sent > view.tokens)
            yield (f"step {taken.step}: {number_of(len(view), 'message')}, "
                   f"{number_of(view.tokens, 'token')}{sent}")
            yield from _changed(before, view, taken) if diff else _whole(view)
        before = list(view.entries)


def _whole(view: View) -> Iterator[str]:
    for at, entry in enumerate(view.entries):
        yield from _entry(f"[{at}]", entry)


def _changed(before: Sequence[Entry], view: View, taken: TraceStep) -> Iterator[str]:
    """The changes of the step, then the entries that left the view (-) and that came (+)."""
    for record in taken.changes:
        yield INDENT + _change_in_words(record["payload"])
    old, new = {id(entry) for entry in before}, {id(entry) for entry in view.entries}
    for at, entry in enumerate(before):
        if id(entry) not in new:
            yield from _entry(f"- [{at}]", entry)
    for at, entry in enumerate(view.entries):
        if id(entry) not in old:
            yield from _entry(f"+ [{at}]", entry)


def _change_in_words(payload: Mapping[str, Any]) -> str:
    """A change in a few words."""
    return (f"{payload['strategy']} ({payload['trigger']}): "
            f"{payload['before_tokens']} -> {number_of(payload['after_tokens'], 'token')}")


def _entry(mark: str, entry: Entry) -> Iterator[str]:
    message = entry.message
    names = " ".join(filter(None, (message["role"], message.get("name", ""))))
    yield (f"{mark} {_span(entry.stands_for)} {names}, {entry.how}, "
           f"{number_of(entry.tokens, 'token')}")
    yield from _text_and_calls(message)


def _text_and_calls(message: Message) -> Iterator[str]:
    for line in message["content"].splitlines():
        yield INDENT + escaped(line)
    for call in calls_of(message):
        yield f"{INDENT}-> {escaped(call['name'])} {escaped(arguments_text(call))}"


def _span(indexes: Sequence[int]) -> str:
    """`#7`, `#2-9` or `#2-9 (5)` for five of them; `(attached)` for none."""
    if not indexes:
        return "(attached)"
    first, last = indexes[0], indexes[-1]
    if first == last:
        return f"#{first}"
    missing = last - first + 1 - len(indexes)
    return f"#{first}-{last}" + (f" ({len(indexes)})" if missing else "")
