"""Milestone 6: two policies that only the lab has, to read the others against.

Both put one message in place of all that is older than the tail. `oracle` knows the rest of
the session: it writes down the evidence that the steps to come will use, the soonest first.
Its recall is an upper bound. `bag_of_words` writes the telling words of what it removes, the
newest first, and not one sentence. It has nearly the recall of a good digest and is of no use
to anybody, which is why far recall is never shown without far recall in context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..compression.policies import Policy, Rung, find_policy, no_policy, policy_names
from ..compression.scene import Scene
from ..compression.view import Change, View, stood_for, tokens_of
from ..messages import groups, user
from .recording import Recording
from .variants import GRID, VARIANTS, variant

TARGET = "65%"  # of the window: the size that a change brings the view down to
MESSAGE = 40    # percent of the window that the one message may have


def _one_message(name: str, view: View, scene: Scene,
                 pieces: Callable[[Sequence[int]], Iterable[str]]) -> Change | None:
    """All that is older than the tail and not protected becomes one message, with as many as fit
    of the `pieces` made from the history indexes of what is removed; None without gain."""
    room = (scene.budget.window or scene.goal) * MESSAGE // 100
    affected, covered = _older(view, scene, scene.goal - room)
    if not affected:
        return None
    header = scene.texts(f"{name}_header", count=len(covered))
    room -= scene.estimate.message(user(header))
    kept = _that_fit(pieces(covered), room, scene)
    entry = scene.entry(user("\n".join([header, *kept])), covered, "summary")
    gone = tokens_of(view.at(affected))
    return None if entry.tokens >= gone else Change(
        name, tuple(affected), ((affected[-1] + 1 - len(affected), entry),))


def _older(view: View, scene: Scene, room: int) -> tuple[list[int], list[int]]:
    """View and history indexes of what is neither protected nor in a tail of `room` tokens."""
    stays = [at for at, entry in enumerate(view.entries)
             if entry.covers(scene.protection.verbatim)]
    room -= tokens_of(view.at(stays))
    start = len(view)
    for group in reversed(list(groups(view.messages()))):
        room -= tokens_of(view.at(group))
        if room < 0 and group.stop <= scene.protection.tail:
            break
        start = group.start
    affected = [at for at in range(start) if at not in set(stays)]
    return affected, sorted(stood_for(view.at(affected)))


def _that_fit(pieces: Iterable[str], room: int, scene: Scene) -> Iterator[str]:
    for piece in pieces:
        room -= scene.estimate.text(piece + "\n")
        if room < 0:
            return
        yield piece


@dataclass(frozen=True)
class Oracle:
    """Writes down what the steps to come will use of what it removes."""

    name: ClassVar[str] = "oracle"
    asks_model: ClassVar[bool] = False
    recording: Recording

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One message of future evidence."""
        return _one_message(self.name, view, scene,
                            lambda covered: self._coming(covered, scene.step))

    def _coming(self, covered: Sequence[int], step: int) -> Iterator[str]:
        evidence = self.recording.evidence
        held = {number for index in covered for number in evidence.holds[index]}
        for coming in evidence.steps[step:]:
            for number in coming.items:
                if number in held:
                    held.remove(number)
                    yield evidence.text(number)


@dataclass(frozen=True)
class BagOfWords:
    """Writes down the telling words of what it removes, the newest first."""

    name: ClassVar[str] = "bag_of_words"
    asks_model: ClassVar[bool] = False
    recording: Recording

    def __call__(self, view: View, scene: Scene) -> Change | None:
        """One message of words."""
        return _one_message(self.name, view, scene, self._words)

    def _words(self, covered: Sequence[int]) -> Iterator[str]:
        written: set[str] = set()
        for index in reversed(covered):
            for word in self.recording.words(index):
                if word not in written:
                    written.add(word)
                    yield word


EXTREMES: Mapping[str, type[Oracle] | type[BagOfWords]] = {
    made.name: made for made in (Oracle, BagOfWords)}


def lab_policy(name: str, recording: Recording) -> Policy:
    """The policy `name` for this session: of the catalogue, of a file, or one that only the lab
    has. It keeps the name by which it was asked for, since two files may have the same name
    in them, or that of a policy of the catalogue."""
    if name in VARIANTS or name in GRID:
        return variant(name)
    if name not in EXTREMES:
        return replace(find_policy(name), name=name)
    return Policy(name, source="the lab", about=(EXTREMES[name].__doc__ or "").strip(),
                  ladder=(Rung(EXTREMES[name](recording)),), target=TARGET)


def check_names(names: Sequence[str]) -> None:
    """`UsageError` with close names where one of `names` is not a policy."""
    known = [*policy_names(), *EXTREMES, *VARIANTS, *GRID]
    for name in names:
        if name.endswith(".json"):
            find_policy(name)  # what is wrong in the file is said before anything runs
        elif name not in known:
            raise no_policy(name, known, "--policy")
