"""A decision with its reasons: numbers that were judged when the tree was built, and sentences made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from synafa.plan.decide import QUESTION, REASONS, TELL, Choice, Rule
from synafa.plan.stops import Stop, stop_reason, stop_sentence
from synafa.plan.tree import Tree
from synafa.policy.recommendation import Proposal
from synafa.wording import worded


@dataclass(frozen=True)
class Runner:
    """Another feature that could have come at this place, and the mean loss if it did."""

    feature: str
    loss: float


@worded
@dataclass(frozen=True, kw_only=True)
class PlanRecommendation(Proposal):
    """What to measure next and why, or why to stop.

    Attributes
    ----------
    why : str or None
        "question" (its answer decides what comes next), "plan" (it is next in the plan), "replan" (the plan cannot be
        followed, or there is more money than it needs), "tell" (known from the start); None at a stop.
    stop_reason : str or None
        "budget spent", "nothing left is worth its price", "enough" or "nothing left"; None without a stop.
    {proposal}
    information, score : float
        Loss that the next measurement takes off; the same minus what it has to bring for its price.
    remaining : float
        Budget before this measurement.
    cases : int
        Training rows judged here.
    loss_before, loss_next, loss_after : float
        Mean loss of those rows now, after this measurement, and after the plan.
    unit : str
        Of the losses, "bits" or "money".
    plan : tuple of str
        What is planned after this one, up to what cannot be had.
    known_early, left_out : tuple of str
        Planned after this one and known already: the losses begin without. Planned before it and not to be had: the
        losses begin with it.
    threshold : float or None
        Where the answer of a question is split.
    runners_up : tuple of Runner
        Other features for this place.
    instead_of, because : str or None
        A feature that tells more by itself, and what is known that it mostly repeats.
    probabilities : dict
        Class probabilities from what is known, by class.
    comes_with : str or None
        For "tell": the member of the same panel that is known already, so that this one is at hand without charge.
    best_left, best_left_price, best_left_saving : str or None, float, float
        At a stop: the best test that is left, its price, and by how much it lowers the mean loss of the cases here.
    changes : float
        At a stop: the share of cases whose decision more measurements would change.
    node : int
        Number of the node of the tree.
    """

    cases: int = 0
    loss_before: float = 0.0
    loss_next: float = 0.0
    loss_after: float = 0.0
    unit: str = "bits"
    plan: tuple[str, ...] = ()
    known_early: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    threshold: float | None = None
    runners_up: tuple[Runner, ...] = ()
    instead_of: str | None = None
    because: str | None = None
    probabilities: dict[Any, float] = field(default_factory=dict)
    comes_with: str | None = None
    best_left: str | None = None
    best_left_price: float = 0.0
    best_left_saving: float = 0.0
    changes: float = 0.0
    node: int = 0

    @property
    def known_at_start(self) -> bool:
        return self.why == "tell" and self.comes_with is None

    @property
    def reason(self) -> str:
        """Why, as a sentence without its beginning."""
        return stop_sentence(self.stop_of) if self.feature is None else sentence(self)

    @property
    def stop_of(self) -> Stop:
        """The stop with the numbers of its sentence."""
        sure = max(self.probabilities.values(), default=0.0)
        return Stop(
            self.stop_reason or "", sure, self.changes, self.remaining, self.best_left, self.best_left_price,
            self.best_left_saving, self.unit,
        )  # fmt: skip

    @property
    def free_because(self) -> str:
        """Why asking for `feature` costs nothing, in a few words; "" where it has a price."""
        if self.comes_with is not None:
            return "no charge"
        return "known from the start" if self.known_at_start else ""

    def telling(self, feature: str, comes_with: str) -> PlanRecommendation:
        """In place of this: tell a feature that came with a known one in one panel, at no charge."""
        return PlanRecommendation(
            feature=feature, comes_with=comes_with, remaining=self.remaining, why="tell", unit=self.unit,
            probabilities=self.probabilities, target=self.target,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The fields, `branch`, `reason` and `text` as JSON values."""
        fields = asdict(self) | {"plan": list(self.plan), "known_early": list(self.known_early)}
        fields |= {"left_out": list(self.left_out), "runners_up": [asdict(r) for r in self.runners_up]}
        fields["probabilities"] = {str(name): value for name, value in self.probabilities.items()}
        return fields | {"branch": self.branch, "reason": self.reason, "text": self.text}


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
        common: dict[str, Any] = {
            "feature": self.names[j],
            "remaining": remaining,
            "why": REASONS[choice.reason],
            "unit": self.unit,
            "probabilities": probabilities,
            "target": self.target,
        }
        if choice.reason == TELL:
            return PlanRecommendation(**common)
        price = self.rule.prices.now(j, np.flatnonzero(mask & ~self.rule.known).tolist())
        item = self._item(choice)
        before, after = _losses(tree, choice.node, item)
        other, because = self._instead(j, mask, blocked)
        last, early, out = self._ahead(choice.node, item, mask, remaining, blocked)
        return PlanRecommendation(
            **common,
            cost=price,
            score=before - after - self.margin * price,
            information=before - after,
            cases=int(tree.count[choice.node]),
            loss_before=before,
            loss_next=after,
            loss_after=float(tree.loss_after[last]) if item >= 0 else before,
            plan=tuple(self.names[k] for k in tree.items[item + 1 : last + 1].tolist() if not mask[k]),
            known_early=tuple(self.names[k] for k in early),
            left_out=tuple(self.names[k] for k in out),
            threshold=float(tree.threshold[choice.node]) if choice.reason == QUESTION else None,
            runners_up=_runners(tree, item, self.names, mask),
            instead_of=None if other < 0 else self.names[other],
            because=None if because < 0 else self.names[because],
            node=choice.node,
        )

    def _ahead(
        self, node: int, item: int, mask: np.ndarray, remaining: float, blocked: np.ndarray
    ) -> tuple[int, list[int], list[int]]:
        """How far a node's plan can be followed from an item on; what of it is known early, what cannot be had.

        An item beside the plan stands for itself. What the money left does not pay for cannot be had.
        """
        tree, prices = self.rule.tree, self.rule.prices
        start, stop = int(tree.start[node]), int(tree.planned[node])
        if not start <= item < stop:
            return item, [], []
        features = tree.items.tolist()
        told, last = mask.copy(), item
        for place in range(item, stop):
            j = features[place]
            if not told[j]:
                if not self.rule.can_ask(told, remaining, blocked)[j]:
                    break
                remaining -= prices.now(j, np.flatnonzero(told & ~self.rule.known).tolist())
                told |= prices.reveals[j]
            last = place
        early = [features[place] for place in range(item + 1, last + 1) if mask[features[place]]]
        return last, early, [features[place] for place in range(start, item) if not mask[features[place]]]

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
        tree, node = self.rule.tree, choice.node
        end = int(tree.planned[node]) - 1
        loss = float(tree.loss_after[end]) if end >= tree.start[node] else float(tree.loss_before[node])
        sure = max(probabilities.values(), default=0.0)
        best, price, saving = self._best_left(node, mask, remaining, blocked)
        return PlanRecommendation(
            feature=None,
            remaining=remaining,
            best_left=best,
            best_left_price=price,
            best_left_saving=saving,
            stop_reason=stop_reason(self.rule, node, mask, remaining, blocked, sure),
            cases=int(tree.count[node]),
            loss_before=loss,
            loss_next=loss,
            loss_after=loss,
            unit=self.unit,
            probabilities=probabilities,
            changes=float(tree.changes[node]),
            node=node,
            target=self.target,
        )

    def _best_left(
        self, node: int, mask: np.ndarray, remaining: float, blocked: np.ndarray
    ) -> tuple[str | None, float, float]:
        """The best test that can still be had after the node's whole plan, its price, and what it saves on average."""
        tree = self.rule.tree
        if not mask[list(tree.plan(node))].all():  # the numbers are of cases that followed the plan
            return None, 0.0, 0.0
        can = self.rule.can_ask(mask, remaining, blocked)
        for j, saving in zip(tree.rest[node].tolist(), tree.rest_saving[node].tolist()):
            if j >= 0 and can[j]:
                price = self.rule.prices.now(j, np.flatnonzero(mask & ~self.rule.known).tolist())
                return self.names[j], price, saving
        return None, 0.0, 0.0


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
    """Why a feature is recommended."""
    if found.comes_with is not None:
        return f"it came with {found.comes_with}, in one panel."
    if found.known_at_start:
        return "what follows was planned with it."
    cases = "case" if found.cases == 1 else "cases"
    whom = f"all {found.cases:,} {cases}" if found.node == 0 else f"the {found.cases:,} {cases} like this one"
    then = f" and then {_some(found.plan)}" if found.plan else ""
    verb = "is" if len(found.known_early) == 1 else "are"
    early = f", together with {_some(found.known_early)} that {verb} known already," if found.known_early else ""
    told = f"over {whom}, measuring {found.feature} next{then}{early}"
    what, unit = ("cost of errors", "") if found.unit == "money" else ("loss", f" {found.unit}")
    if found.loss_after < found.loss_before:
        told += f" lowers the expected {what} from {_apart(found.loss_before, found.loss_after)}{unit}"
    else:
        told += f" leaves the expected {what} at {found.loss_before:.2f}{unit}"
    if found.why == "question":
        told += "; what comes after depends on the result"
    if found.left_out:
        told += f"; these numbers begin with {_some(found.left_out)}, which cannot be had"
    elif found.why == "replan":
        told += "; it takes the place of what cannot be measured, or uses money left over (numbers of the whole plan)"
    if found.instead_of is not None:
        told += f"; instead of {found.instead_of}, because {found.because} is known already"
    return f"{told}."


def _apart(before: float, after: float) -> str:
    """Two numbers in words, with two digits or as many as tell them apart, at most five."""
    digits = next((n for n in (2, 3, 4) if f"{before:.{n}f}" != f"{after:.{n}f}"), 5)
    return f"{before:.{digits}f} to {after:.{digits}f}"


def _some(names: Sequence[str]) -> str:
    """The first three names in words."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
