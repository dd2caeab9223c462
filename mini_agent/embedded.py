"""Milestone 6: a policy in the loop of another agent.

    window = EmbeddedWindow(messages, "digest", 32_000, tools)
    reply = ask(messages=window.request(), tools=window.tools)

`messages` is the agent's own list in the chat-completions form, which only grows; what is
sent in place of it is chosen as in `run` and in the lab. With a trace, `why` and `show` can
be asked afterwards. What is left out: asking, stages, other forms of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .asking import Asking
from .compression.inputs import DESCRIBE, DescribeTool
from .compression.means import Means
from .compression.policies import Policy, find_policy, tools_of
from .compression.state import WindowState
from .compression.store import MemoryShelf, RunShelf
from .compression.tools import reading_tools
from .compression.view import Entry
from .compression.window import ContextWindow
from .errors import PromptTooLongError, UsageError
from .governance import governed_by, with_room
from .lab.convert import write_call
from .lab.sessions.chat import calls_in
from .lab.sessions.fields import flat, string_of
from .lab.sessions.log import RawCall
from .messages import Call, Message, assistant, calls_of, system, tool_result, user
from .models.base import Model
from .models.openai import REASONING, usage
from .models.overflow_text import overflow
from .models.received import received_call
from .models.scripted import ScriptedModel
from .texts import Texts, session_language
from .tokens import estimator
from .tools.base import Tool, ToolBox
from .trace import FORMAT, TraceFile, Tracer, trace_folder

ChatMessage = dict[str, Any]  # as an endpoint for chat completions takes it


class EmbeddedWindow:
    """Keeps what an agent sends within a window of so many tokens.

    `policy` is a name or a file, `tools` are the agent's own declarations. A policy whose
    strategies write summaries needs a `model` (`models.connect` makes one). With a `trace`
    the session is recorded in that file, until `close`. Raises `UsageError` for a wrong policy.
    """

    def __init__(self, messages: Sequence[ChatMessage], policy: str, window: int,
                 tools: Sequence[Mapping[str, Any]] = (), *, model: Model | None = None,
                 trace: Path | None = None) -> None:
        chosen, texts = with_room(find_policy(policy), window), Texts(session_language(messages))
        asked = _summariser(chosen, model, texts)
        self._given, self._history = messages, list[Message]()
        self._open: dict[str, Call] = {}  # calls without a result, by id
        self._step, self._said = 0, 0     # requests so far, the step of the newest message
        self._file = None if trace is None else TraceFile(trace)
        tracer = Tracer(*([] if self._file is None else [self._file]))
        shelf = MemoryShelf() if trace is None else RunShelf(trace_folder(trace))
        own = [dict(tool["function"]) for tool in tools]
        self._box = _box(chosen, own, reading_tools(tools_of(chosen), self._history, shelf, texts,
                                                    window), texts)
        self._declared = [*own, *self._box.declarations()]
        governance = governed_by(chosen, window)
        self._window = ContextWindow(
            chosen, governance.budget, WindowState(estimator(governance.estimator), texts),
            Means(asked, tracer, shelf), self._declared)
        self._asking = Asking(asked, tracer, self._window, texts)
        tracer.event("run_start", format=FORMAT, task="embedded", **governance.as_recorded(),
                     language=texts.language)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools to declare: the agent's own, and those by which the model reads again what
        it is sent no more."""
        return [{"type": "function", "function": tool}
                for tool in self._window.declared(self._declared)]

    @property
    def tokens(self) -> int:
        """The tokens of the request as it is now: what is sent, and the tool declarations."""
        return self._window.predicted

    def request(self) -> list[ChatMessage]:
        """What to send now in place of the messages. Raises `ContextOverflowError` where it
        cannot be made to fit, `UsageError` for a message that no endpoint would take."""
        self._take_in()
        if self._open:
            raise _wrong(len(self._given), "a call has no result", [*self._open],
                         "append one for each call before asking again")
        self._window.make_ready(self._history, self._step)
        self._step += 1
        return self._sent()

    def smaller(self, refusal: str) -> list[ChatMessage] | None:
        """What to send after the endpoint has refused the last request with these words, None
        where they do not say that it was too long. A window that they name is kept from now on.
        Raises `PromptTooLongError` where nothing can be left out any more."""
        found = overflow(refusal)
        if found is None:
            return None
        error = PromptTooLongError("the endpoint refused the request as too long", value=refusal,
                                   place="EmbeddedWindow", window=found.window,
                                   tokens=found.tokens, remedy="choose a larger window")
        self._asking.note_refusal(error, self._asked)
        self._window.after_refusal(self._history, self._asked, error)
        return self._sent()

    def _sent(self) -> list[ChatMessage]:
        entries = self._window.view.entries
        self._asking.note_call(len(entries), self._asked)
        return self._as_chat(entries)

    @property
    def _asked(self) -> int:
        """The step of the last request."""
        return max(0, self._step - 1)

    def answer(self, made: Mapping[str, Any]) -> ChatMessage | None:
        """The result of a call of the model, None where it is for one of the agent's own tools."""
        call, = map(_received, calls_in({"tool_calls": [dict(made)]}))
        if call["name"] not in self._box.names:
            return None
        result = self._box.run(call)
        return {"role": "tool", "tool_call_id": call["id"], "content": result["content"]}

    def reported(self, counted: Mapping[str, Any]) -> None:
        """The `usage` of the last answer, as the endpoint reports it: the next request is
        measured by it."""
        tokens = usage(counted)
        if tokens is not None:
            self._asking.note_usage(tokens, self._asked)

    def close(self) -> None:
        """The session has ended."""
        self._take_in()
        self._asking.tracer.event("run_end", step=self._said, reason="closed",
                                  **self._asking.final_size(self._history))
        if self._file is not None:
            self._file.close()

    def _take_in(self) -> None:
        if len(self._given) < len(self._history):
            raise _wrong(len(self._given), "messages were taken out", len(self._history),
                         "only append: the window leaves out what does not fit")
        for at in range(len(self._history), len(self._given)):
            self._enter(self._message(at))

    def _enter(self, message: Message) -> None:
        """A message enters the history: answers at the step that was asked, others at the next."""
        answers = message["role"] in ("assistant", "tool")
        self._said = max(self._said, self._step - answers)
        if message["role"] == "tool":
            call = self._open.pop(message["tool_call_id"])
            write_call(self._asking.tracer, self._said, call, message)
        self._open |= {call["id"]: call for call in calls_of(message)}
        self._asking.tracer.message(self._said, message)
        self._history.append(message)

    def _message(self, at: int) -> Message:
        """The agent's message in our form. `UsageError` if no endpoint would take it there."""
        given = self._given[at]
        if not isinstance(given, Mapping):
            raise _wrong(at, "no dict", type(given).__name__, "append the message as a dict, as "
                         "model_dump() of a client's object gives it")
        role, content = given.get("role"), flat(given.get("content")).text
        if role == "tool":
            call = self._open.get(string_of(given.get("tool_call_id")))
            if call is None:
                raise _wrong(at, "a result of no open call", given.get("tool_call_id"),
                             "append the message that makes the call first, and one result of each")
            return tool_result(call["id"], call["name"], content)
        if self._open:
            raise _wrong(at, "a call has no result before it", [*self._open],
                         "append one for each call first")
        if role == "assistant":
            kept = {key: given[key] for key in REASONING if isinstance(given.get(key), str)}
            return assistant(content, [*map(_received, calls_in(given))],
                             {"openai": kept} if kept else None)
        if role == "user":
            return user(content)
        if role in ("system", "developer"):
            return system(content)
        raise _wrong(at, "no such role", role, "use system, developer, user, assistant or tool")

    def _as_chat(self, entries: Sequence[Entry]) -> list[ChatMessage]:
        """The agent's own messages where nothing was changed, images and all. What was made
        joins the user's message beside it, since many templates refuse two in a row."""
        sent, made = list[ChatMessage](), False
        for entry in entries:
            last, made = made, entry.how in ("summary", "attached")
            message = {"role": "user"} if made else self._given[entry.stands_for[0]]
            if entry.how != "verbatim":
                message = {**message, "content": entry.message["content"]}
            if (made or last) and sent and message["role"] == sent[-1]["role"] == "user":
                content = _both(sent[-1]["content"], message["content"])
                message = {**sent.pop(), **message, "content": content}
            sent.append(message)
        return sent


def _both(one: Any, other: Any) -> Any:
    """Two contents as one: a text, or a list of parts."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [part for content in (one, other) for part in (
        content if isinstance(content, list) else [{"type": "text", "text": content}])]


def _box(policy: Policy, own: Sequence[dict[str, Any]], reading: list[Tool],
         texts: Texts) -> ToolBox:
    """The tools that the texts of a policy speak of."""
    if DESCRIBE not in tools_of(policy):
        return ToolBox(reading, texts)
    return ToolBox([*reading, DescribeTool(
        [*own, *ToolBox(reading, texts).declarations()], texts)], texts)


def _summariser(policy: Policy, model: Model | None, texts: Texts) -> Model:
    """Who writes summaries. `UsageError` where somebody has to and nobody can."""
    asking = [rung.strategy.name for rung in policy.ladder if rung.strategy.asks_model]
    if asking and model is None:
        raise UsageError(f"policy {policy.name!r} asks a model ({', '.join(asking)})",
                         place="EmbeddedWindow", value=policy.name,
                         remedy="give a model, or take a policy that asks none (digest)")
    return model or ScriptedModel([], (), texts)


def _received(made: RawCall) -> Call:
    return received_call(made.call_id, made.name, made.raw)


def _wrong(at: int, what: str, value: object, remedy: str) -> UsageError:
    return UsageError(what, place=f"messages[{at}]", value=value, remedy=remedy)
