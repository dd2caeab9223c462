"""Milestone 3: what a strategy gets to see, and what it has to give back.

A strategy is a callable with settings: given the view and the scene it proposes
a change, or None where it has none to offer. It applies nothing, writes nothing
and keeps nothing between calls. What is left out: who asks it, and what becomes of its
proposal (`ladder.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from ..messages import Message
from ..texts import Texts
from ..tokens import PER_MESSAGE, Estimator, by_lines
from .budget import Budget
from .index import HistoryIndex
from .laws import Protection
from .pins import Pins
from .summariser import Summariser
from .view import Change, Entry, View


class Store(Protocol):
    """Keeps whole what leaves the view.

    All methods raise `StrategyError` where nothing can be written or read.
    """

    def put(self, index: int, text: str) -> None:
        """Keep a large result, the history message `index`, whole."""

    def unknown(self, indexes: Iterable[int]) -> list[int]:
        """Those of these history messages that `remember` has not been given yet."""

    def remember(self, texts: Mapping[int, str]) -> None:
        """Make history messages findable by their text: all of them, or none."""


@dataclass(frozen=True)
class Stage:
    """A stage of the work that has ended: the history messages from `start` to `stop`."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Scene:
    """The situation in which a strategy is asked."""

    step: int
    history: Sequence[Message]
    goal: int               # tokens that the view should come down to
    budget: Budget
    estimate: Estimator
    texts: Texts
    protection: Protection
    sent: int               # how many leading entries have been sent already
    frozen: bool            # whether the policy leaves those as they are
    summariser: Summariser  # asks the model
    pins: Pins = Pins()
    tools: frozenset[str] = frozenset()  # that the agent has: no text may name another
    store: Store | None = None           # keeps what leaves the view; not every session has one
    stages: tuple[Stage, ...] = ()       # of the work, that have ended, oldest first
    times_summarised: int = 0            # changes of this session that made a summary
    trigger: str = "threshold"           # or "stage", "overflow", "manual"
    focus: str = ""                      # what a user who asked for it cares about
    index: HistoryIndex = field(default_factory=lambda: HistoryIndex(()))  # call `grow` first

    def entry(self, message: Message, stands_for: Sequence[int], how: str) -> Entry:
        """An entry with its tokens counted; its text carries the pins of what it stands for."""
        text = message["content"] if how == "verbatim" else self.pins.carry(
            message["content"], stands_for)
        made = message if text is message["content"] else {**message, "content": text}
        return Entry(made, self._tokens(made, how), tuple(stands_for), how)

    def _tokens(self, message: Message, how: str) -> int:
        """The tokens of an entry. A text that the harness wrote is counted line by line: most of
        its lines stood in the last change too, and the lab's estimator remembers them."""
        if how == "verbatim" or "tool_calls" in message or "opaque" in message:
            return self.estimate.message(message)
        return PER_MESSAGE + by_lines(self.estimate, message["content"])

    def protects(self, entry: Entry) -> bool:
        """Whether an entry is a message that has to stay verbatim, and still is."""
        return entry.how == "verbatim" and entry.covers(self.protection.verbatim)

    def way_back(self, index: int) -> str:
        """How the whole of history message `index` can be read again."""
        return self.texts(self._way_back, index=index)

    @property
    def way_back_bare(self) -> str:
        """`way_back` without the number, for a lower bound on its length."""
        return self.texts.bare(self._way_back)

    @property
    def _way_back(self) -> str:
        return "way_back_tool" if "read_result" in self.tools else "way_back_log"


class Strategy(Protocol):
    """One way to make a view smaller; a frozen dataclass, whose fields are its settings.

    `name` is the `strategy` of the records. `asks_model`: a proposal costs a
    model call, so the window asks less often once one has come to nothing. It may also have
    `tools`, the names of tools that its texts mention, and `CHOICES`, the values that a
    setting may take (`policies.py` reads both).
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    asks_model: ClassVar[bool]

    def __call__(self, view: View, scene: Scene) -> Change | None: ...
