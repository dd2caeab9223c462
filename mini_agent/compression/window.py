"""Milestone 3: the window, the only thing of all this that the loop sees.

Before each model call it takes in what is new, measures, and while the view is
over the trigger takes the next rung of the policy's ladder, cheap ones first.
Every change, whichever way it came, goes through `_commit`: applied whole, held
to the laws, recorded. Over the hard limit with nothing left to move it raises
`ContextOverflowError`. What it leaves out: how a view gets smaller (strategies).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import (ContextOverflowError, LawError, PromptTooLongError, StrategyError,
                      SummaryRefused)
from ..messages import Message
from ..models.base import Model
from ..texts import Texts
from ..tokens import Estimator
from ..trace import Tracer
from .budget import Budget, tokens_at
from .drift import Drift
from .laws import Protection, check, protected_users, tail_start
from .overflow import immovable
from .pins import Pins
from .policies import ALWAYS, Policy, Rung
from .scene import Scene, Shelf, Strategy
from .skips import Breaker, Skips
from .summariser import Summariser
from .view import Change, Entry, View, apply, to_payload


class ContextWindow:
    """Governs what one session's model is sent.

    `tokens` is what the next request has: the view plus the tool declarations. Both
    are estimates; `predicted` is held against the budget: it knows what a live
    endpoint has reported, and is the same number where none has.
    """

    def __init__(self, policy: Policy, budget: Budget, estimate: Estimator, model: Model,
                 tracer: Tracer, texts: Texts, declarations: Sequence[dict[str, Any]] = (), *,
                 shelf: Shelf | None = None) -> None:
        self.policy, self.budget, self.texts = policy, budget, texts
        self._estimate, self._tracer = estimate, tracer
        self._declared = estimate.declarations(declarations) if declarations else 0
        self.view = View()
        self._history: list[Message] = []
        self._heads: list[int] = []                  # history indexes of system messages
        self._users: list[tuple[int, int]] = []      # (history index, tokens) of user messages
        self._asked = 0                              # entries of the request without an answer
        self._sent = 0                               # leading entries of the last one answered
        self._summariser = Summariser(model, self._history, texts)
        self._tools = frozenset(tool["name"] for tool in declarations)
        self._shelf = shelf
        self.pins = Pins()
        self._breaker, self._skips, self.drift = Breaker(), Skips(), Drift()
        self._rounds = 0                             # summaries applied so far

    @property
    def tokens(self) -> int:
        """Tokens of all that would be sent now."""
        return self.view.tokens + self._declared

    @property
    def predicted(self) -> int:
        """`tokens` as the endpoint would count them."""
        return self.drift.predict(self.tokens)

    def reported(self, prompt: int, answer: int = 0) -> int:
        """What the endpoint counted of the last request; how far that is from predicted."""
        self.drift.report(self.tokens, prompt, answer, len(self.view))
        return self.drift.tokens or 0

    @property
    def messages(self) -> int:
        """Messages that would be sent now."""
        return len(self.view)

    def take_in(self, history: Sequence[Message]) -> None:
        """Append the messages that the history has gained; each is counted once."""
        for index in range(len(self._history), len(history)):
            message = history[index]
            entry = Entry(message, self._estimate.message(message), (index,))
            self._history.append(message)
            self.view.append(entry)
            if message["role"] == "system":
                self._heads.append(index)
            elif message["role"] == "user":
                self._users.append((index, entry.tokens))
            elif message["role"] == "assistant":
                self._sent, self._asked = self._asked or self._sent, 0
                self.drift.answered(entry.tokens)

    def before_model_call(self, history: Sequence[Message], step: int) -> list[Message]:
        """The messages to send at `step`. Raises `ContextOverflowError`."""
        self.make_ready(history, step)
        return self.view.messages()

    def make_ready(self, history: Sequence[Message], step: int) -> None:
        """`before_model_call` for one who looks at the view and sends nothing."""
        self.take_in(history)
        if step == 0:
            self._refuse_hopeless()
        self._govern(step, "threshold", self.budget.soft, self.budget.target)
        self._refuse_overflow(step)

    def after_refusal(self, history: Sequence[Message], step: int,
                      error: PromptTooLongError) -> list[Message]:
        """A smaller request after the endpoint said that the last one is too long.

        Raises `error` again where nothing could be made smaller.
        """
        self.take_in(history)
        before = self.view.tokens
        self._govern(step, "overflow", 0, self._goal_after_refusal(error))
        if self.view.tokens >= before:
            raise error
        self._refuse_overflow(step)
        return self.view.messages()

    def _goal_after_refusal(self, error: PromptTooLongError) -> int:
        """What was refused is too much: aim at the window that was named, else at half."""
        goal = min(error.window or self.predicted, self.predicted) * 3 // 4
        return goal if self.budget.window is None else min(goal, self.budget.target)

    def _govern(self, step: int, trigger: str, soft: int, target: int) -> None:
        """Take the ladder, rung by rung, until the view is down or no rung gains."""
        if self.budget.window is None and trigger == "threshold":
            return
        begun = False
        progress = True
        while progress:
            progress = False
            for rung in self.policy.ladder:
                if self.predicted <= self._limit(rung, target if begun else soft):
                    continue
                over = self.predicted > soft and rung.trigger != ALWAYS
                if self._take(rung, step, trigger, target):
                    progress, begun = True, begun or over

    def _limit(self, rung: Rung, soft: int) -> int:
        """The tokens over which a rung is taken: its own tier, or the ladder's."""
        if rung.trigger is None or self.budget.window is None:
            return soft
        return min(soft, tokens_at(rung.trigger, self.budget.window)) if soft else soft

    def _take(self, rung: Rung, step: int, trigger: str, target: int) -> bool:
        """Ask one strategy for a change and commit it. True if the view got smaller."""
        strategy = rung.strategy
        forced = self.predicted > self.budget.hard or trigger != "threshold"
        if strategy.asks_model and not forced and not self._may_ask(strategy.name, step):
            return False
        change = None
        try:
            change = strategy(self.view, self._scene(step, target))
            if change is not None:
                self._commit(step, trigger, change)
        except (StrategyError, LawError) as error:
            change = None
            return self._failed(step, strategy, error)
        except KeyboardInterrupt:
            self._skips.clear()  # an interrupt is always news
            self._skip(step, strategy.name, "failed", detail="interrupted by the user")
            raise
        finally:
            self._record_summaries(step, applied=change is not None)
        if change is None:
            if rung.trigger != ALWAYS:
                self._skip(step, strategy.name, "no_gain")
        elif strategy.asks_model:
            self._breaker.succeeded()
        return change is not None

    def _failed(self, step: int, strategy: Strategy, error: StrategyError | LawError) -> bool:
        """Record why nothing came of a strategy; a failing summariser opens the breaker. False."""
        reason = "refused" if isinstance(error, (LawError, SummaryRefused)) else "failed"
        self._skip(step, strategy.name, reason, detail=str(error))
        if strategy.asks_model and isinstance(error, StrategyError) and self._breaker.failed():
            self._skip(step, strategy.name, "breaker_open", failures=self._breaker.failures)
        return False

    def _may_ask(self, name: str, step: int) -> bool:
        """Between soft and hard a model is not asked in vain or behind an open breaker."""
        return not self._breaker.open and not self._skips.holds(name, self.tokens)

    def _commit(self, step: int, trigger: str, change: Change) -> None:
        """The one way by which the view changes: whole, lawful and recorded, or not at all."""
        after = apply(self.view, change)
        check(self.view, after, change, self.protection(), self.policy.breaks)
        self._tracer.event("context_compression",
                           **to_payload(step, trigger, self.view, after, change))
        if min([*change.affected, *(at for at, _ in change.inserts)]) < self.drift.covers:
            self.drift.changed()
        self._sent -= sum(1 for at in change.affected if at < self._sent)
        for at, _ in change.inserts:
            self._sent += at < self._sent
        self.view = after
        self._rounds += any(entry.how == "summary" for _, entry in change.inserts)
        self._skips.clear()

    def _skip(self, step: int, name: str, reason: str, **numbers: Any) -> None:
        if self._skips.is_news(name, reason, self.tokens):
            self._tracer.event("compression_skipped", step=step, strategy=name, reason=reason,
                               tokens=self.tokens, soft=self.budget.soft,
                               hard=self.budget.hard, **numbers)

    def _record_summaries(self, step: int, applied: bool) -> None:
        for note in self._summariser.take(applied):
            self._tracer.event("model_summarize", step=step, **note)

    def _scene(self, step: int, target: int) -> Scene:
        goal = max(0, self.drift.estimate_of(target) - self._declared)
        return Scene(step, self._history, goal, self.budget, self._estimate, self.texts,
                     self.protection(), self._sent, self.policy.frozen, self._summariser,
                     self.pins, self._tools, shelf=self._shelf, rounds=self._rounds)

    def protection(self) -> Protection:
        """What no strategy may touch in the view as it is now."""
        share = self.policy.user_share * (self.budget.window or 0)
        users = protected_users(self._users, int(share))
        return Protection(frozenset(users.union(self._heads)),
                          tail_start(self.view, self.policy.protect_last),
                          self.policy.shorten_tail, self.pins, self._history)

    def _refuse_overflow(self, step: int) -> None:
        """The view is what is asked from here on; over hard the overflow is raised."""
        if self.budget.window is not None and self.predicted > self.budget.hard:
            self._overflow(step, self.predicted)
        self._asked = len(self.view)

    def _refuse_hopeless(self) -> None:
        """At the start: protected parts and declarations alone over hard can never work."""
        verbatim = self.protection().verbatim
        least = self._declared + sum(entry.tokens for entry in self.view.entries
                                     if not verbatim.isdisjoint(entry.stands_for))
        if self.budget.window is not None and least > self.budget.hard:
            self._overflow(0, least)

    def _overflow(self, step: int, tokens: int) -> None:
        parts = immovable(self.view, self.protection(), self._declared)
        self._tracer.event("context_overflow", step=step, tokens=tokens, hard=self.budget.hard,
                           immovable=[{"name": name, "tokens": size} for name, size in parts])
        named = ", ".join(f"{name} {size}" for name, size in parts)
        raise ContextOverflowError(
            f"{tokens} tokens are over the limit of {self.budget.hard} at step {step} and "
            f"cannot be moved: {named}", tokens=tokens, limit=self.budget.hard,
            immovable=parts, place="window",
            remedy=f"raise the window to {tokens} or more, or protect less")
