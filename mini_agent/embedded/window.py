"""Milestone 6: the window of another agent's loop.

It follows the agent's list, and is asked before each request what to send. The view, the
ladder and the records are those of our own runs (`compression/`). What is left out: asking
the endpoint, stages of the work, and the two forms of messages (`forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..asking import Asking
from ..compression.inputs import DESCRIBE, DescribeTool
from ..compression.policies import Policy, find_policy, tools_of
from ..compression.resources import Resources
from ..compression.state import WindowState
from ..compression.store import FolderStore, MemoryStore
from ..compression.tools import reading_tools
from ..compression.view import Entry
from ..compression.window import ContextWindow
from ..errors import PromptTooLongError, UsageError
from ..governance import governed_by, with_room
from ..lab.convert import write_call
from ..lab.sessions.fields import flat
from ..messages import Call, Message, calls_of, system
from ..models.base import Model
from ..models.overflow_text import overflow
from ..models.scripted import ScriptedModel
from ..texts import Texts, language_of
from ..tokens import estimator
from ..tools.base import Tool, ToolBox
from ..trace import FORMAT, TraceFile, Tracer, trace_folder
from .forms import Given, form_of, wrong


class EmbeddedWindow:
    """Keeps what an agent sends within a window of so many tokens.

    `messages` are in the form of the `provider` (openai or anthropic), and so are `tools`, the
    agent's own; a `system` that stands beside them is counted and not sent. `policy` is a name
    or a file; one whose strategies write summaries needs a `model` (`models.connect` makes
    one). With a `trace` the session is recorded in that file, until `close`. Raises
    `UsageError` for a wrong name.
    """

    def __init__(self, messages: Sequence[Given], policy: str, window: int,
                 tools: Sequence[Given] = (), *, provider: str = "openai", system: str = "",
                 model: Model | None = None, trace: Path | None = None) -> None:
        chosen, texts = with_room(find_policy(policy), window), Texts(_language(messages))
        asked = _summariser(chosen, model, texts)
        self._form = form_of(provider)
        self._given, self._beside, self._taken = messages, system, 0
        self._history, self._parts = list[Message](), list[Given | None]()  # None: not sent
        self._open: dict[str, Call] = {}  # calls without a result, by id
        self._step, self._said = 0, 0     # requests so far, the step of the newest message
        self._file = None if trace is None else TraceFile(trace)
        tracer = Tracer(*([] if self._file is None else [self._file]))
        store = MemoryStore() if trace is None else FolderStore(trace_folder(trace))
        self._tools = {self._form.declaration(tool)["name"]: tool for tool in tools}
        own = list(map(self._form.declaration, tools))
        self._box = _box(chosen, own, reading_tools(tools_of(chosen), self._history, store, texts,
                                                    window), texts)
        self._declared = [*own, *self._box.declarations()]
        governance = governed_by(chosen, window)
        self._window = ContextWindow(
            chosen, governance.budget, WindowState(estimator(governance.estimator), texts),
            Resources(asked, tracer, store), self._declared)
        self._asking = Asking(asked, tracer, self._window, texts)
        tracer.event("run_start", format=FORMAT, task="embedded", **governance.as_recorded(),
                     language=texts.language)

    @property
    def tools(self) -> list[Given]:
        """The tools to declare: the agent's own, as they are unless the policy sends them short,
        and those by which the model reads again what it is sent no more."""
        return list(map(self._as_tool, self._window.declared(self._declared)))

    @property
    def tokens(self) -> int:
        """The tokens of the request as it is now: what is sent, and the tool declarations."""
        return self._window.predicted

    def request(self) -> list[Given]:
        """What to send now in place of the messages. Raises `ContextOverflowError` where it
        cannot be made to fit, `UsageError` for a message that no endpoint would take."""
        self._take_in()
        if self._open:
            raise wrong(f"messages[{self._taken}]", "a call has no result", [*self._open],
                        "append one for each call before asking again")
        self._window.make_ready(self._history, self._step)
        self._step += 1
        return self._sent()

    def smaller(self, refusal: str) -> list[Given] | None:
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

    def answer(self, made: Given) -> Given | None:
        """The result of a call of the model, None where it is for one of the agent's own tools."""
        call = self._form.call(made)
        if call["name"] not in self._box.names:
            return None
        return self._form.result(call["id"], self._box.run(call)["content"])

    def reported(self, counted: Mapping[str, Any]) -> None:
        """The `usage` of the last answer, as the endpoint reports it: the next request is
        measured by it."""
        tokens = self._form.usage(counted)
        if tokens is not None:
            self._asking.note_usage(tokens, self._asked)

    def close(self) -> None:
        """The session has ended."""
        self._take_in()
        self._asking.tracer.event("run_end", step=self._said, reason="closed",
                                  **self._asking.final_size(self._history))
        if self._file is not None:
            self._file.close()

    @property
    def _asked(self) -> int:
        """The step of the last request."""
        return max(0, self._step - 1)

    def _take_in(self) -> None:
        """Take in what the agent has appended. `UsageError` if that is not all it has done."""
        if self._beside and not self._history:
            self._enter(system(self._beside), None)
        if len(self._given) < self._taken:
            raise wrong(f"messages[{len(self._given)}]", "messages were taken out", self._taken,
                        "only append: the window leaves out what does not fit")
        for at in range(self._taken, len(self._given)):
            given, place = self._given[at], f"messages[{at}]"
            if not isinstance(given, Mapping):
                raise wrong(place, "no dict", type(given).__name__, "append the message as a "
                            "dict, as model_dump() of a client's object gives it")
            pieces = list(self._form.pieces(given, {**self._open}, place))
            results = [message["role"] == "tool" for message, _ in pieces]
            if self._open and not all(results[:len(self._open)]):
                raise wrong(place, "a call has no result before it", [*self._open],
                            "append one for each call first")
            for message, part in pieces:
                self._enter(message, part)
            self._taken = at + 1

    def _enter(self, message: Message, part: Given | None) -> None:
        """A message enters the history: answers at the step that was asked, others at the next."""
        answers = message["role"] in ("assistant", "tool")
        self._said = max(self._said, self._step - answers)
        if message["role"] == "tool":
            call = self._open.pop(message["tool_call_id"])
            write_call(self._asking.tracer, self._said, call, message)
        self._open |= {made["id"]: made for made in calls_of(message)}
        self._asking.tracer.message(self._said, message)
        self._history.append(message)
        self._parts.append(part)

    def _sent(self) -> list[Given]:
        """The view in the agent's form: its own messages where nothing was changed."""
        entries = self._window.view.entries
        self._asking.note_call(len(entries), self._asked)
        sent, ours = list[Given](), False
        for entry in entries:
            last, ours = ours, entry.how in ("summary", "attached")
            message = self._as_given(entry)
            if message is None:
                continue
            both = self._form.both(sent[-1], message, last or ours) if sent else None
            sent[len(sent) - (both is not None):] = [both or message]
        return sent

    def _as_tool(self, declaration: dict[str, Any]) -> Given:
        own = self._tools.get(declaration["name"])
        if own is not None and self._form.declaration(own) == declaration:
            return own
        return self._form.tool(declaration)

    def _as_given(self, entry: Entry) -> Given | None:
        """An entry in the agent's form; None for what stands beside the messages."""
        text = entry.message["content"]
        if entry.how in ("summary", "attached"):
            return self._form.made(text)
        part = self._parts[entry.stands_for[0]]
        return part if entry.how == "verbatim" or part is None else self._form.shortened(part, text)


def _language(messages: Iterable[Given]) -> str:
    """That of what the user said first."""
    return language_of(next((flat(given.get("content")).text for given in messages
                             if isinstance(given, Mapping) and given.get("role") == "user"), ""))


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
