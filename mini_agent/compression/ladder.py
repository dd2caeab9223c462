"""Milestone 3: going down the ladder of a policy, and the one way to change a view.

Cheap rungs come first; after each change the view is measured again. Every change,
however it came about, goes through `_commit`: it is checked against the laws, made as
a whole and recorded, or not made at all. Any other outcome of a rung is one record
with its numbers: no gain, refused by a law, failed, breaker open. What this module
leaves out: when the ladder is taken (`window.py`), how a view gets smaller (strategies).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import LawError, MiniAgentError, SummaryRefused, TraceError
from .attempt import RESUMABLE
from .budget import Budget
from .descent import Descent, Progress
from .index import HistoryIndex
from .laws import Protection, check
from .overflow import protection
from .policies import ALWAYS, Policy, Rung
from .resources import Resources
from .scene import Scene, Strategy
from .shrink import UserShare
from .skips import BREAKER
from .state import WindowState
from .summariser import Summariser
from .view import Change, apply, to_payload


class Ladder:
    """The rungs of a policy over the state of a window."""

    def __init__(self, policy: Policy, budget: Budget, state: WindowState, resources: Resources,
                 tools: Sequence[dict[str, Any]]) -> None:
        self.state, self._tracer, self._store = state, resources.tracer, resources.store
        self.govern(policy, budget)
        self._summariser = Summariser(resources.model, state.history, state.texts)
        for note in state.summaries:
            self._summariser.learn(note)
        self._index = HistoryIndex(state.history) if resources.index is None else resources.index
        self.equip(tools)

    def equip(self, tools: Sequence[dict[str, Any]]) -> None:
        """The agent has these tools from now on."""
        self._tools = frozenset(tool["name"] for tool in tools)
        self.state.declared = self.state.estimate.declarations(tools) if tools else 0

    def govern(self, policy: Policy, budget: Budget) -> None:
        """Take this ladder, within this budget, from now on."""
        self.policy, self.budget = policy, budget
        self._protected, self._protection = tuple[Any, ...](), Protection()  # of that state
        names = [rung.strategy.name for rung in policy.ladder]
        self._twins = {name for name in names if names.count(name) > 1}
        own = [budget.tokens_at(rung.trigger) for rung in policy.ladder
               if rung.trigger is not None and budget.window]
        self._lowest = min([budget.soft, *own])  # below it no rung is taken automatically

    @property
    def tokens(self) -> int:
        """Tokens of all that would be sent now, as the endpoint would count them."""
        return self.state.drift.predict(self.state.tokens)

    @property
    def due(self) -> bool:
        """Whether a rung may be on at the threshold, or was before a process was killed."""
        return self.budget.window is not None and (
            self.tokens > self._lowest or bool(self.state.attempts))

    def record(self, name: str, /, **payload: Any) -> None:
        """Write a record, then fold it in: what cannot be written has not happened (law 8)."""
        self.state.fold(self._tracer.event(name, **payload))

    def take(self, descent: Descent) -> None:
        """Ask rung by rung, again and again, until the request is small enough or no rung gains.

        A rung is asked if the request is over the rung's tier, or was so when another rung
        gained (`ALWAYS` ones aside), and is not down at the target yet. It is not asked again
        about a view with which it could do nothing, unless a summariser has failed and the
        request may not be sent as it is.
        """
        if descent.trigger == "stage" and any(
                attempt.trigger == "threshold" for attempt in self.state.attempts):
            return  # the descent after this one had begun
        so_far = self._so_far(descent)
        again = True
        while again:
            rungs = list(enumerate(self._rungs()))[so_far.next:]
            again = so_far.next > 0  # those above get another turn
            so_far.next = 0
            for number, rung in rungs:
                if self._is_on(number, rung, descent, so_far):
                    again |= self._try_rung(number, rung, descent, so_far)

    def _is_on(self, number: int, rung: Rung, descent: Descent, so_far: Progress) -> bool:
        """Whether to ask a rung now: see `take`."""
        over = self._tier(rung, descent)
        goal = min(descent.target, over) if descent.over else descent.target
        if descent.once and number not in so_far.gained:
            goal = 0
        now = self.tokens
        return (now > goal and max(now, so_far.level) > over
                and so_far.in_vain.get(number) is not self.state.view)

    def _try_rung(self, number: int, rung: Rung, descent: Descent, so_far: Progress) -> bool:
        """Ask a rung. Returns whether it gained, or may be asked again."""
        tokens, failures = self.tokens, self.state.breaker.failures
        if rung.strategy.name in self._twins:
            descent = descent._replace(rung=number)
        if self._ask(rung, descent):
            so_far.gain(number, 0 if rung.trigger == ALWAYS else tokens)
            return True
        if self._may_ask_again(descent, failures):
            return True
        so_far.in_vain[number] = self.state.view
        return False

    def _so_far(self, descent: Descent) -> Progress:
        """Where to begin: at the first rung, or where a killed process had come to."""
        so_far = Progress()
        if self.state.attempts and descent.trigger in RESUMABLE:
            so_far.resume(descent.trigger, self.state, self._rungs())
            self._tell_open(descent)
        return so_far

    def _rungs(self) -> tuple[Rung, ...]:
        """The policy's rungs and, while users' words exceed their share, one that shortens them."""
        users = [index for index, _ in self.state.users]
        if not self.policy.ladder or self.protection().verbatim.issuperset(users):
            return self.policy.ladder
        return (*self.policy.ladder, Rung(UserShare()))

    def _tier(self, rung: Rung, descent: Descent) -> int:
        """The tokens over which a rung is taken: its own tier, or the descent's.

        At the end of a stage a rung with a tier of its own still waits for that tier.
        """
        if rung.trigger is None or self.budget.window is None:
            return descent.over
        own = self.budget.tokens_at(rung.trigger)
        return own if descent.trigger == "stage" else min(descent.over, own)

    def _ask(self, rung: Rung, descent: Descent) -> bool:
        """Ask one strategy for a change and commit it. True if the view got smaller."""
        strategy = rung.strategy
        forced = descent.trigger in ("overflow", "manual") or self.tokens > self.budget.hard
        if strategy.asks_model and not forced and not self._may_ask(strategy.name, descent):
            return False
        applied = False
        try:
            applied = self._propose(rung, descent)
        except TraceError:
            raise
        except MiniAgentError as error:
            self._failed(descent, strategy, error)
        except BaseException as error:  # an interrupt, or a fault: recorded, and raised again
            what = "interrupted by the user" if isinstance(error, KeyboardInterrupt) \
                else repr(error)
            self._skip(descent, strategy.name, "failed", always=True, detail=what)
            raise
        finally:
            for note in self._summariser.take(applied):
                self.record("model_summarize", step=descent.step, **note)
        return applied

    def _propose(self, rung: Rung, descent: Descent) -> bool:
        change = rung.strategy(self.state.view, self._scene(descent, rung))
        if change is not None:
            self._commit(descent, change)
        elif rung.trigger != ALWAYS or self._summariser.asked:
            self._skip(descent, rung.strategy.name, "no_gain")
        return change is not None

    def _may_ask(self, name: str, descent: Descent) -> bool:
        """Whether a model may be asked: not soon after it was asked in vain (except for a stage
        that has just ended), and not while the breaker is open."""
        held = descent.trigger != "stage" and self.state.skips.was_in_vain(name, self.tokens)
        return not (held or self.state.breaker.open)

    def _may_ask_again(self, descent: Descent, failures: int) -> bool:
        """Whether a summariser has failed that is needed: it is asked until the breaker opens."""
        breaker = self.state.breaker
        needed = descent.trigger == "overflow" or self.tokens > self.budget.hard
        return needed and failures < breaker.failures and not breaker.open

    def _commit(self, descent: Descent, change: Change) -> None:
        """The one way in which the view changes. Raises `LawError`, `TraceError`."""
        before = self.state.view
        try:
            after = apply(before, change)
        except ValueError as error:
            raise LawError(2, f"the change does not fit: {error}", place=change.strategy) from error
        check(before, after, change, self.protection(), self.policy.breaks)
        self.state.fold(self._tracer.event("context_compression", **to_payload(
            descent.step, descent.trigger, before, after, change), **descent.rung_field),
            (change, after))

    def _failed(self, descent: Descent, strategy: Strategy, error: MiniAgentError) -> None:
        """Record a strategy's failure; the summariser's third one opens the breaker."""
        reason = "refused" if isinstance(error, (LawError, SummaryRefused)) else "failed"
        if not strategy.asks_model or isinstance(error, LawError):
            self._skip(descent, strategy.name, reason, detail=str(error))
            return
        self._skip(descent, strategy.name, reason, detail=str(error),
                   failures=self.state.breaker.failures + 1)
        self._tell_open(descent)

    def _tell_open(self, descent: Descent) -> None:
        """Say once that the breaker is open; a process may have been killed before it could."""
        if self.state.breaker.open and not self.state.breaker.told:
            self._skip(descent, self.state.skips.last[0], BREAKER, always=True,
                       failures=self.state.breaker.failures)

    def _skip(self, descent: Descent, name: str, reason: str, *, always: bool = False,
              **numbers: Any) -> None:
        """Record that a rung came to nothing, if that is news or has cost a model call."""
        asked = self._summariser.asked
        if always or asked or self.state.skips.is_news(name, reason, self.tokens):
            told = {} if reason == BREAKER else descent.fields | ({"asked": True} if asked else {})
            self.record("compression_skipped", step=descent.step, strategy=name, reason=reason,
                        tokens=self.tokens, soft=self.budget.soft, hard=self.budget.hard,
                        **numbers, **told)

    def _scene(self, descent: Descent, rung: Rung) -> Scene:
        """What a strategy gets to see; its goal is in tokens of the view alone."""
        target = descent.target
        if descent.over and rung.trigger != ALWAYS:
            target = min(target, self._tier(rung, descent))
        state = self.state
        self._summariser.focus = descent.focus
        goal = max(1, state.drift.estimate_of(target) - state.declared) if target else 0
        return Scene(
            step=descent.step, trigger=descent.trigger, focus=descent.focus, goal=goal,
            budget=self.budget, history=state.history, sent=state.sent, frozen=self.policy.frozen,
            protection=self.protection(), pins=state.pins, stages=state.stages,
            times_summarised=state.times_summarised, estimate=state.estimate, texts=state.texts,
            summariser=self._summariser, tools=self._tools, store=self._store, index=self._index)

    def protection(self) -> Protection:
        """What may not be touched now; computed anew only when the state has changed."""
        state = self.state
        protected = (state.view, len(state.view), len(state.history), state.pins)
        if protected != self._protected:
            self._protected, self._protection = protected, protection(
                state, self.policy, self.budget.window)
        return self._protection
