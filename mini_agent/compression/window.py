"""Milestone 3: the window, the only part of all this that the loop sees.

Before each model call it takes in what is new and measures; while the view is over the
trigger, the strategies of the policy's ladder are tried in order. Over the hard limit
with nothing left to move it raises `ContextOverflowError`. Through it a person compresses
by hand, takes that back, pins and ends stages; all that it knows is a fold over its
records (`state.py`). What it leaves out: the ladder (`ladder.py`) and the strategies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import PromptTooLongError, UsageError
from ..messages import Message
from .budget import Budget
from .descent import Descent
from .inputs import Inputs, input_budget_of
from .ladder import Ladder
from .laws import Protection
from .overflow import immovable, least_tokens, overflow_error
from .pinning import new_marks, pin_refusal, put_back, record_of, whole
from .pins import Pin, Pins
from .policies import Policy
from .resources import Resources
from .skips import NEWS_GROWTH
from .state import WindowState
from .view import View, manual_payload


class ContextWindow:
    """Governs what one session's model is sent.

    `tokens` estimates the next request, view and tool declarations; what is compared with the
    budget is `predicted`: the same, until an endpoint reports its own count.
    `state` is a new one, or that of a session being resumed.
    """

    def __init__(self, policy: Policy, budget: Budget, state: WindowState, resources: Resources,
                 declarations: Sequence[dict[str, Any]] = ()) -> None:
        self.state = state
        self._ladder = Ladder(policy, budget, state, resources, declarations)
        self._inputs = Inputs(declarations, state.estimate, state.texts,
                              input_budget_of(policy.ladder))
        self._base = budget
        self._narrow(policy)

    @property
    def policy(self) -> Policy:
        """The policy that governs now."""
        return self._ladder.policy

    @property
    def budget(self) -> Budget:
        """The budget as it is now: an endpoint may have reported a smaller window."""
        return self._ladder.budget

    @property
    def view(self) -> View:
        """What would be sent now."""
        return self.state.view

    @property
    def pins(self) -> Pins:
        """The pins that hold now."""
        return self.state.pins

    @property
    def tokens(self) -> int:
        """Tokens of all that would be sent now, as estimated."""
        return self.state.tokens

    @property
    def predicted(self) -> int:
        """`tokens` as the endpoint would count them."""
        return self._ladder.tokens

    @property
    def messages(self) -> int:
        """Messages that would be sent now."""
        return len(self.view)

    def reported(self, prompt: int, answer: int = 0) -> int:
        """Take in what the endpoint counted for the last request; how far off `predicted` was."""
        self.state.reported(prompt, answer)
        return self.state.drift.off or 0

    def take_in(self, history: Sequence[Message]) -> None:
        """Append the messages that the history has gained; each is counted once."""
        for message in history[len(self.state.history):]:
            self.state.enter(message)

    def before_model_call(self, history: Sequence[Message], step: int) -> list[Message]:
        """The messages to send at `step`. Raises `ContextOverflowError`."""
        self.make_ready(history, step)
        return self.view.messages()

    def make_ready(self, history: Sequence[Message], step: int) -> None:
        """Everything that `before_model_call` does, for a caller that takes the view itself."""
        state, ladder = self.state, self._ladder
        self.take_in(history)
        self._inputs.settle(step, state, ladder.budget.window, ladder.record)
        for pin, wrong in new_marks(state):
            self.pin(pin, step, "mark", wrong)
        if step == 0:
            self._refuse_hopeless()
        if ladder.policy.stages and state.at_boundary:
            ladder.take(Descent(step, "stage", 0, ladder.budget.target))
        if ladder.due:
            if not self._rests():
                ladder.take(Descent(step, "threshold", ladder.budget.soft, ladder.budget.target))
            self._refuse_overflow(step)
        state.call(step)

    def declared(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """These tool declarations as they are sent: whole, short, or left out."""
        return self._inputs.sent(tools, self.state)

    def after_refusal(self, history: Sequence[Message], step: int,
                      error: PromptTooLongError) -> list[Message]:
        """A smaller request after the endpoint said that the last one is too long.

        A window that its answer names is kept for the rest of the session. Raises
        `error` again where nothing could be made smaller.
        """
        self.take_in(history)
        if error.window and self.budget.within(error.window) != self.budget:
            self._ladder.record("settings", step=step, learned_window=error.window)
            self._narrow(self.policy)
        before = self.view.tokens
        self._ladder.take(Descent(step, "overflow", 0, self._goal_after_refusal(error)))
        if self.view.tokens >= before:
            raise error
        self._refuse_overflow(step)
        self.state.call(step)
        return self.view.messages()

    def compact(self, step: int, focus: str = "") -> tuple[int, int]:
        """Compress by hand, whatever the size: tokens before and after.

        `focus` is what the user wants a summary to keep. An open breaker is closed.
        """
        if self.state.breaker.open:
            self.close_breaker(step)
        before, budget = self.tokens, self.budget
        target = budget.target if budget.target < budget.soft else budget.by_hand
        self._ladder.take(Descent(step, "manual", 0, target, focus))
        return before, self.tokens

    def undo(self, step: int) -> tuple[int, int]:
        """Take back the last change of the view: tokens before and after.

        Nothing is compressed again until the view has grown by 5 % or is over the
        hard limit. `UsageError` where there is nothing to take back.
        """
        if not self.state.undoable:
            raise UsageError("there is no compression to undo", place="undo",
                             remedy="there is one after a compression")
        before = self.tokens
        seq, change = self.state.undoable[-1]
        self._ladder.record("undo", **{
            "step": step, "seq": seq, **manual_payload(step, self.view, change)})
        for pin in self.pins.pins:  # what came back was written before some of them were set
            if put_back(pin, self.state) is not None:
                self._ladder.record("pin", **record_of(pin, step, "undo", "", self.state))
        return before, self.tokens

    def close_breaker(self, step: int) -> None:
        """Let automatic summaries be tried again."""
        self._ladder.record("settings", step=step, breaker="closed")

    def note(self, step: int, **settings: Any) -> None:
        """Record a new setting of the session that is not the window's own (the model)."""
        self._ladder.record("settings", step=step, **settings)

    def stage_done(self, history: Sequence[Message], name: str, step: int) -> None:
        """A stage of the work ends with the group that is open, or with what is there."""
        self.take_in(history)
        self._ladder.record("stage", step=step, name=name)

    def use(self, policy: Policy, budget: Budget, step: int,
            declarations: Sequence[dict[str, Any]] | None = None, /, **settings: Any) -> None:
        """Govern by another policy from now on, and with these tools if they differ;
        `settings` are what the record says."""
        if self.state.settings.get("inputs") and input_budget_of(policy.ladder) is None:
            settings["inputs"] = {}  # from here on every tool is sent whole
        self._ladder.record("settings", step=step, **settings)
        self._base = budget
        if declarations is not None:
            self._ladder.equip(declarations)
            self._inputs = self._inputs.of(declarations, input_budget_of(policy.ladder))
        self._narrow(policy)

    def pin(self, pin: Pin, step: int, by: str, wrong: str = "") -> str:
        """Set a pin. Returns "", or why it was refused. `by` says who asks: mark, tool or user.

        Without a text it pins the whole message. Set or refused, it is recorded. If it is
        refused but protects paths, these are pinned first, in a record of their own.
        """
        pin = whole(pin, self.state)
        refused = wrong or pin_refusal(pin, self.state, self.budget.window)
        if refused and pin.protect and pin.text and replace(pin, text="") not in self.state.marks:
            self.pin(replace(pin, text=""), step, by)
        self._ladder.record("pin", **record_of(pin, step, by, refused, self.state))
        return refused

    def protection(self) -> Protection:
        """What no strategy may touch in the view as it is now."""
        return self._ladder.protection()

    def _narrow(self, policy: Policy) -> None:
        """Govern by this policy, within the window that an endpoint has reported if that is
        smaller than the one given."""
        told = self.state.settings.get("learned_window")
        self._ladder.govern(policy, self._base.within(told) if told else self._base)

    def _rests(self) -> bool:
        """Whether an undo holds: the view has not grown by 5 % since, and may be sent."""
        return (self.view.tokens < self.state.resting * NEWS_GROWTH
                and self.predicted <= self.budget.hard)

    def _goal_after_refusal(self, error: PromptTooLongError) -> int:
        """Three quarters of what was refused, or of the window that the refusal names if that
        is smaller; the target of the budget, if that is smaller still."""
        goal = min(error.window or self.predicted, self.predicted) * 3 // 4
        return goal if self.budget.window is None else min(goal, self.budget.target)

    def _refuse_overflow(self, step: int) -> None:
        """Raise the overflow if the request is over hard."""
        if self.budget.window is not None and self.predicted > self.budget.hard:
            self._overflow(step, self.predicted)

    def _refuse_hopeless(self) -> None:
        """Raise the overflow at once if protected parts and declarations alone are over hard."""
        tokens = least_tokens(self.view, self.protection(), self.state.declared)
        if self.budget.window is not None and tokens > self.budget.hard:
            self._overflow(0, tokens, movable=False)

    def _overflow(self, step: int, tokens: int, movable: bool = True) -> None:
        parts = immovable(self.view, self.protection(), self.state.declared)
        estimated = {"estimated": self.tokens} if self.tokens != tokens else {}
        self._ladder.record("context_overflow", step=step, tokens=tokens, **estimated,
                            messages=self.messages, hard=self.budget.hard,
                            immovable=[{"name": name, "tokens": size} for name, size in parts])
        raise overflow_error(self.state, step, tokens, self.budget, parts, movable)
