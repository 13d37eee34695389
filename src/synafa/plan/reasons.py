"""A decision with its reasons: numbers that were judged when the tree was built, and sentences made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synafa.plan.decide import QUESTION, REASONS, TELL, Choice, Rule
from synafa.plan.stops import Stop, stop_of, stop_sentence
from synafa.plan.tree import Tree


@dataclass(frozen=True)
class Runner:
    """Another feature that could have come at this place, and the mean loss if it did."""

    feature: str
    loss: float


@dataclass(frozen=True)
class PlanRecommendation:
    """What to measure next and why; `feature` is None when it is time to stop.

    Attributes
    ----------
    feature, cost : what to measure and its price
    score : loss that the next measurement takes off, minus what it has to bring for its price
    information : loss that it takes off
    branch : "question", "plan", "replan", "tell" or "stop"
    remaining : budget before this measurement
    text : the reason in plain words
    stop_reason : "budget spent", "nothing left is worth its price", "enough" or "nothing left", None when going on
    cases : training rows judged here
    loss_before, loss_next, loss_after : mean loss of those rows now, after this measurement, after the whole plan
    unit : of the losses, "bits" or "money"
    plan : names of what is planned after this one
    threshold : where the answer of a question is split, None otherwise
    runners_up : other features for this place
    instead_of, because : a feature that tells more by itself, and what is known that it mostly repeats
    probabilities : class probabilities from what is known, by class
    node : number of the node of the tree
    partner, given : None; SynAFA's reasons have them
    """

    feature: str | None
    cost: float
    score: float
    information: float
    branch: str
    remaining: float
    text: str
    stop_reason: str | None = None
    cases: int = 0
    loss_before: float = 0.0
    loss_next: float = 0.0
    loss_after: float = 0.0
    unit: str = "bits"
    plan: tuple[str, ...] = ()
    threshold: float | None = None
    runners_up: tuple[Runner, ...] = ()
    instead_of: str | None = None
    because: str | None = None
    probabilities: dict[Any, float] = field(default_factory=dict)
    node: int = 0
    partner: str | None = None
    given: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        fields = dict(self.__dict__)
        fields["plan"] = list(self.plan)
        fields["runners_up"] = [dict(runner.__dict__) for runner in self.runners_up]
        fields["probabilities"] = {str(name): value for name, value in self.probabilities.items()}
        return fields


@dataclass(frozen=True, eq=False)
class Overlap:
    """Which features repeat each other: `single` (D,) bits alone, `pair` (D, D) bits together."""

    single: np.ndarray
    pair: np.ndarray

    def repeats(self, feature: int, known: Sequence[int]) -> int:
        """The known feature that leaves the least of what `feature` tells by itself; -1 when none takes half of it."""
        if not len(known):
            return -1
        left = self.pair[feature, list(known)] - self.single[list(known)]
        best = int(np.argmin(left))
        return int(known[best]) if left[best] < 0.5 * self.single[feature] else -1


@dataclass(frozen=True, eq=False)
class Explainer:
    """Words for the decisions of a rule."""

    rule: Rule
    names: tuple[str, ...]
    overlap: Overlap
    margin: float
    unit: str
    target: str

    def explain(
        self,
        choice: Choice,
        mask: np.ndarray,
        remaining: float,
        blocked: np.ndarray,
        probabilities: dict[Any, float],
    ) -> PlanRecommendation:
        """The recommendation of a decision in a state."""
        if choice.feature < 0:
            return self._stopped(choice, mask, remaining, blocked, probabilities)
        j, tree = choice.feature, self.rule.tree
        price = self.rule.prices.now(j, np.flatnonzero(mask & ~self.rule.known).tolist())
        if choice.reason == TELL:
            text = f"Tell {self.names[j]} (known from the start)."
            return PlanRecommendation(
                self.names[j], 0.0, 0.0, 0.0, "tell", remaining, text, unit=self.unit, probabilities=probabilities
            )
        item = self._item(choice)
        before, after = _losses(tree, choice.node, item)
        last = int(tree.planned[choice.node]) - 1
        end = float(tree.loss_after[max(last, item)]) if item >= 0 else before
        later = [k for k in tree.plan(choice.node) if not mask[k] and k != j]
        other, because = self._instead(j, mask, blocked)
        gain = before - after
        threshold = float(tree.threshold[choice.node]) if choice.reason == QUESTION else None
        found = PlanRecommendation(
            feature=self.names[j],
            cost=price,
            score=gain - self.margin * price,
            information=gain,
            branch=REASONS[choice.reason],
            remaining=remaining,
            text="",
            cases=int(tree.count[choice.node]),
            loss_before=before,
            loss_next=after,
            loss_after=end,
            unit=self.unit,
            plan=tuple(self.names[k] for k in later),
            threshold=threshold,
            runners_up=_runners(tree, item, self.names, mask),
            instead_of=None if other < 0 else self.names[other],
            because=None if because < 0 else self.names[because],
            probabilities=probabilities,
            node=choice.node,
        )
        return PlanRecommendation(**{**found.__dict__, "text": sentence(found)})

    def _item(self, choice: Choice) -> int:
        """The place of the feature in the node's items, or -1."""
        if choice.item >= 0:
            return choice.item
        tree = self.rule.tree
        places = np.arange(tree.start[choice.node], tree.stop[choice.node])
        here = places[tree.items[places] == choice.feature]
        return int(here[0]) if len(here) else -1

    def _instead(self, chosen: int, mask: np.ndarray, blocked: np.ndarray) -> tuple[int, int]:
        """The most informative feature by itself that is passed over because something known repeats it."""
        single = np.where(mask | blocked | self.rule.unavailable, -1.0, self.overlap.single)
        best = int(np.argmax(single))
        if best == chosen or single[best] <= self.overlap.single[chosen]:
            return -1, -1
        because = self.overlap.repeats(best, np.flatnonzero(mask).tolist())
        return (best, because) if because >= 0 else (-1, -1)

    def _stopped(
        self, choice: Choice, mask: np.ndarray, remaining: float, blocked: np.ndarray, probabilities: dict[Any, float]
    ) -> PlanRecommendation:
        tree = self.rule.tree
        stop: Stop = stop_of(self.rule, choice.node, mask, remaining, blocked, probabilities)
        end = int(tree.planned[choice.node]) - 1
        loss = float(tree.loss_after[end]) if end >= tree.start[choice.node] else float(tree.loss_before[choice.node])
        return PlanRecommendation(
            feature=None,
            cost=0.0,
            score=0.0,
            information=0.0,
            branch="stop",
            remaining=remaining,
            text=stop_sentence(stop, remaining, self.target),
            stop_reason=stop.reason,
            cases=int(tree.count[choice.node]),
            loss_before=loss,
            loss_next=loss,
            loss_after=loss,
            unit=self.unit,
            probabilities=probabilities,
            node=choice.node,
        )


def _losses(tree: Tree, node: int, item: int) -> tuple[float, float]:
    """Mean loss before and after an item of a node's list."""
    if item < 0:
        return float(tree.loss_before[node]), float(tree.loss_before[node])
    before = tree.loss_before[node] if item == tree.start[node] else tree.loss_after[item - 1]
    return float(before), float(tree.loss_after[item])


def _runners(tree: Tree, item: int, names: Sequence[str], mask: np.ndarray) -> tuple[Runner, ...]:
    if item < 0:
        return ()
    pairs = zip(tree.runner[item].tolist(), tree.runner_loss[item].tolist())
    return tuple(Runner(names[j], loss) for j, loss in pairs if j >= 0 and not mask[j])


def sentence(found: PlanRecommendation) -> str:
    """The reason of a measurement in words."""
    name = found.feature
    head = f"Measure {name} (cost {found.cost:g})"
    cases = "case" if found.cases == 1 else "cases"
    then = f" and then {_some(found.plan)}" if found.plan else ""
    lowers = f"over the {found.cases:,} {cases} like this one, measuring {name} next{then}"
    if found.loss_after < found.loss_before:
        lowers += f" lowers the expected loss from {found.loss_before:.2f} to {found.loss_after:.2f} {found.unit}"
    else:
        lowers += f" leaves the expected loss at {found.loss_before:.2f} {found.unit}"
    tail = ""
    if found.branch == "question":
        tail = f"; what comes after depends on whether it is above {found.threshold:.4g}"
    if found.branch == "replan":
        tail = "; it takes the place of what cannot be measured, or uses money that is left"
    if found.instead_of is not None:
        tail += f"; instead of {found.instead_of}, because {found.because} is known already"
    return f"{head}: {lowers}{tail}."


def _some(names: Sequence[str]) -> str:
    """The first three names in words."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
