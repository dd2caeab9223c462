"""Milestone 6: the window of another agent's loop.

It is asked before each request what to send. The view, the ladder and the records are those
of our own runs (`compression/`). What is left out: asking the endpoint, stages of the work,
what comes in (`intake.py`), and the two forms of messages (`forms.py`).
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..asking import Asking
from ..compression.inputs import DESCRIBE, describe_tool
from ..compression.policies import Policy, find_policy, tools_of
from ..compression.resources import Resources
from ..compression.state import WindowState
from ..compression.store import FolderStore, MemoryStore
from ..compression.tools import reading_tools
from ..compression.view import Entry
from ..compression.window import ContextWindow
from ..errors import MiniAgentError, PromptTooLongError, ToolError, UsageError
from ..governance import governed_by, with_room
from ..models.base import Model
from ..models.overflow_text import overflow
from ..models.scripted import ScriptedModel
from ..texts import Texts
from ..tokens import estimator
from ..tools.base import Tool, ToolBox
from ..trace import FORMAT, TraceFile, Tracer, trace_folder
from .forms import form_of
from .given import (
    Given, check_apart, check_window, checked_dict, checked_system, checked_tools, checked_trace,
    language, wrong)
from .intake import Intake


class EmbeddedWindow:
    """Keeps what an agent sends within a `window` in tokens.

    `messages` are in the form of the `provider` (openai or anthropic), and so are `tools`, the
    agent's own; in the messages protocol, `system` goes beside them: it is counted but not
    sent. `policy` is a name or a file; one whose strategies write summaries needs a `model`
    (`models.connect` makes one). A `window` of None is unknown: only a refusal (`smaller`)
    then tells what is too much for the model. With a `trace` the session is recorded in
    that file, until `close`, or the end of a `with`. One thread at a time may use it.
    `UsageError` for arguments that cannot be used.
    """

    def __init__(self, messages: MutableSequence[Given], policy: str | Path, window: int | None,
                 tools: Sequence[Given] = (), *, provider: str = "openai",
                 system: str | Sequence[Given] = "", model: Model | None = None,
                 trace: str | Path | None = None) -> None:
        check_window(window)
        chosen = with_room(find_policy(str(policy)), window)
        governance = governed_by(chosen, window)
        self._form = form_of(provider)
        beside = checked_system(system, provider)
        self._intake = Intake(messages, self._form, beside)
        texts = Texts(language(messages, beside))
        asked = _summariser(chosen, model, texts)
        given = checked_tools(tools, provider)
        own = list(map(self._form.declaration, given))
        path = checked_trace(trace)
        store = MemoryStore() if path is None else FolderStore(trace_folder(path))
        self._box = _box(chosen, own, reading_tools(tools_of(chosen), self._intake.history, store,
                                                    texts, window), texts)
        check_apart((tool["name"] for tool in own), self._box.names)
        self._own = {tool["name"]: (tool, as_it_is) for tool, as_it_is in zip(own, given)}
        self._declared = [*own, *self._box.declarations()]
        self._asked = 0  # requests so far
        self._is_out = False  # whether the last of them could be sent
        self._closed = False
        with ExitStack() as opened:
            sinks = [] if path is None else [opened.enter_context(TraceFile(path))]
            tracer = Tracer(*sinks)
            self._window = ContextWindow(
                chosen, governance.budget, WindowState(estimator(governance.estimator), texts),
                Resources(asked, tracer, store), self._declared)
            self._asking = Asking(asked, tracer, self._window, texts)
            tracer.event("run_start", format=FORMAT, task="embedded", **governance.as_recorded(),
                         language=texts.language)
            self._opened = opened.pop_all()

    @property
    def tools(self) -> list[Given]:
        """The tools to declare: the agent's own, as they are unless the policy sends them short,
        and those with which the model can reread what is no longer sent. Ask after `request`,
        which may change them."""
        return list(map(self._as_tool, self._window.declared(self._declared)))

    @property
    def tokens(self) -> int:
        """The tokens of the last request, estimated or as the endpoint counts: what was sent,
        and the tool declarations."""
        return self._window.predicted

    def request(self) -> list[Given]:
        """What to send now instead of the messages: the agent's own dicts where nothing was
        changed, so copy any that you mark. Raises `ContextOverflowError` where it
        cannot be made to fit, `UsageError` for a message that no endpoint would take."""
        self._check_open()
        self._is_out = False
        self._intake.check_kept(self._window.view.entries)
        self._intake.take_in(self._asked, self._asking.tracer)
        self._intake.check_answered()
        self._window.make_ready(self._intake.history, self._asked)
        self._asked += 1
        return self._sent()

    def smaller(self, refusal: str | Exception) -> list[Given] | None:
        """What to send after the endpoint has refused the last request with these words, or None
        if they do not say that it was too long. A window that they name is kept from now on.
        Raises `PromptTooLongError` when nothing more can be left out, and
        `ContextOverflowError` when what is left does not fit into that window."""
        self._check_open("smaller")
        refusal = str(refusal)
        found = overflow(refusal)
        if found is None:
            return None
        error = PromptTooLongError(
            "the endpoint refused a request of which nothing more can be left out", value=refusal,
            place="EmbeddedWindow", window=found.window, tokens=found.tokens,
            remedy="ask a model with a larger window, or take another policy")
        self._asking.note_refusal(error, self._step)
        self._is_out = False
        self._window.after_refusal(self._intake.history, self._step, error)
        return self._sent()

    def answer(self, made: Given) -> Given | None:
        """The result of a call by the model, or None if it is for one of the agent's own tools.
        What is read again is text; for an image, a note of what it was."""
        call = self._form.call(checked_dict(made, "answer"))
        return self._form.result(self._box.run(call)) if call["name"] in self._box.names else None

    def reported(self, counted: Given | None) -> None:
        """The `usage` of the last answer, as the endpoint reports it, or None; the size of the
        next request is predicted from it."""
        self._check_open("reported")
        tokens = self._form.usage(checked_dict(counted or {}, "reported"))
        if tokens is not None:
            self._asking.note_usage(tokens, self._step)

    def close(self) -> None:
        """End the session; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        with self._opened:
            try:
                self._intake.take_in(self._asked, self._asking.tracer)
            finally:  # what cannot come in is told, and the trace ends without it
                error = ToolError("INTERRUPTED", self._asking.texts("cut_off"))
                self._intake.cut_off(self._asked, self._asking.tracer,
                                     partial(self._box.failure, error=error))
                size = self._asking.final_size(self._intake.history)
                step = max(self._intake.said, self._step)
                self._asking.tracer.event("run_end", step=step, reason="closed", **size)

    def __enter__(self) -> EmbeddedWindow:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(MiniAgentError):  # the error on its way out is the one to report
            self.close()

    @property
    def _step(self) -> int:
        """The step of the last request."""
        return max(0, self._asked - 1)

    def _check_open(self, answer: str = "") -> None:
        """`UsageError` where it is closed, or what is named `answer` is to no request."""
        if self._closed:
            raise wrong("EmbeddedWindow", "it was closed", None, "make a new one for a new session")
        if answer and not self._is_out:
            raise wrong(answer, "there is no request that could have been answered", None,
                        "send what request() gives first")

    def _sent(self) -> list[Given]:
        """The view in the agent's form: its own messages where nothing was changed."""
        entries = self._window.view.entries
        self._asking.note_call(len(entries), self._step)
        self._is_out = True
        sent = list[Given]()
        last: Entry | None = None
        for entry in entries:
            message = self._as_given(entry)
            if message is None:
                continue
            apart = last is not None and not _side_by_side(last, entry)
            joined = self._form.joined(sent[-1], message, apart) if sent else None
            if joined is None:
                sent.append(message)
            else:
                sent[-1] = joined
            last = entry
        return sent

    def _as_tool(self, declaration: dict[str, Any]) -> Given:
        """A declaration in the agent's form: its own tool where nothing was changed."""
        whole, own = self._own.get(declaration["name"], ({}, {}))
        if whole == declaration or own and not whole["parameters"]:
            return own
        return self._form.tool(declaration, own)

    def _as_given(self, entry: Entry) -> Given | None:
        """An entry in the agent's form; None for the system text, which is not sent."""
        text = entry.message["content"]
        if entry.made:
            return self._form.user_message(text)
        part = self._intake.parts[entry.stands_for[0]]
        return part if entry.how == "verbatim" or part is None else self._form.shortened(part, text)


def _side_by_side(one: Entry, other: Entry) -> bool:
    """Whether the agent put one right behind the other in its own list."""
    return (not one.made and not other.made
            and one.stands_for[-1] + 1 == other.stands_for[0])


def _box(policy: Policy, own: Sequence[dict[str, Any]], reading: list[Tool],
         texts: Texts) -> ToolBox:
    """The tools that the texts of a policy speak of."""
    if DESCRIBE not in tools_of(policy):
        return ToolBox(reading, texts)
    return ToolBox([*reading, describe_tool(
        [*own, *ToolBox(reading, texts).declarations()], texts)], texts)


def _summariser(policy: Policy, model: Model | None, texts: Texts) -> Model:
    """The model that writes summaries. `UsageError` if the policy needs one and none is given."""
    if not (model is None or callable(getattr(model, "summarize", None))):
        raise wrong("model", f"not a model but {type(model).__name__}", model,
                    "give one that mini_agent.models.connect makes, or one that can summarize()")
    asking = [rung.strategy.name for rung in policy.ladder if rung.strategy.asks_model]
    if asking and model is None:
        raise UsageError(f"policy {policy.name!r} asks a model ({', '.join(asking)})",
                         place="EmbeddedWindow", value=policy.name,
                         remedy="give a model, or take a policy that asks none (digest)")
    return model or ScriptedModel([], (), texts)
