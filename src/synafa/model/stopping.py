"""A model's stop rule beside the policy's own: a probability, a largest number of measurements, a calibrated floor.

The policy's episodes do not depend on it, so that a case stops at the first of its steps at which the rule fires. A
floor is calibrated on rows that neither policy nor predictor saw, along their episodes under the other rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money.errors import label_text
from synafa.money.floor import calibrate_floor, episode_score
from synafa.money.stops import States, StopReason, StopRule, Stops
from synafa.policy.run import Run

if TYPE_CHECKING:
    from synafa.model.answering import Answering

HELD_OUT = 0.3  # share of the rows that calibrate a floor


@dataclass(frozen=True)
class Wanted:
    """A stop rule as it was asked for: the floor, if any, is not calibrated yet.

    Attributes
    ----------
    rule : StopRule without a floor
    kind, label, floor, confidence : of the floor; kind None for none
    learnt : whether the probability is learnt from the rows that judged a plan tree
    """

    rule: StopRule
    kind: str | None = None
    label: Any = None
    floor: float = 0.95
    confidence: float = 0.95
    learnt: bool = False

    def with_learnt(self, policy: Any) -> Wanted:
        """The same with the probability that is enough by the tree's own rows, where there is one."""
        found = policy.enough_ if self.learnt and hasattr(policy, "enough_") else None
        if found is None:
            return self
        return replace(self, rule=replace(self.rule, probability=found.probability, changes=found.changes))


LEARNT = "learnt"
"""In place of a probability: the one from which going on hardly changes a decision."""


def wanted_stop(spec: Any) -> Wanted | None:
    """The stop rule that a user gave: None, a StopRule, or a mapping of `probability`, `max_measurements`, `floor`."""
    if spec is None:
        return None
    if isinstance(spec, StopRule):
        if spec.budget is not None or spec.money:
            raise SynafaError("The budget and stopping by money are the policy's: give it budget and error_costs.")
        return Wanted(spec)
    if not isinstance(spec, Mapping):
        raise SynafaError(f"stop must be a StopRule or a mapping, got: {spec!r}.")
    unknown = set(spec) - {"probability", "max_measurements", "floor"}
    if unknown:
        raise SynafaError(f"stop knows probability, max_measurements and floor, got: {sorted(unknown)[0]!r}.")
    probability = spec.get("probability")
    learnt = isinstance(probability, str) and probability == LEARNT
    rule = StopRule(probability=None if learnt else probability, max_measurements=spec.get("max_measurements"))
    floor = spec.get("floor")
    if floor is None:
        return Wanted(rule, learnt=learnt)
    parts = tuple(floor) if isinstance(floor, list | tuple) else ()
    if len(parts) not in (3, 4):
        raise SynafaError("floor must be (kind, class, floor) or (kind, class, floor, confidence).")
    confidence = float(parts[3]) if len(parts) == 4 else 0.95
    return Wanted(rule, str(parts[0]), parts[1], float(parts[2]), confidence, learnt)


def check_stop(model: Answering, values: np.ndarray, mask: np.ndarray, measured: np.ndarray) -> Stops:
    """Which cases stop by the model's rule; `values` and `mask` (n, D), `measured` (n,) measurements made."""
    assert model.stop_ is not None
    proba = model.proba_from(values, mask)
    names = model.policy_.encoder_.feature_names_
    nothing = np.zeros(mask.shape)  # what can be paid is the policy's business
    states = States(names, model.classes_.tolist(), nothing, ~mask, measured, proba, model.decide(proba))
    return model.stop_.check(states)


def one_reason(model: Answering, values: np.ndarray, mask: np.ndarray) -> StopReason | None:
    """Why one case stops by the model's rule, or None."""
    if getattr(model, "stop_", None) is None:
        return None
    return check_stop(model, values[None], mask[None], np.array([n_measured(model.policy_, mask)])).reason(0)


def n_measured(policy: Any, mask: np.ndarray) -> int:
    """How many measurements it took to know what is known; a panel is one."""
    left, count, shown = mask & ~policy.rule_.known, 0, reveal_matrix(policy)
    while left.any():
        left = left & ~shown[int(np.argmax(left))]
        count += 1
    return count


def cut(model: Answering, values: np.ndarray, run: Run, start: np.ndarray) -> Run:
    """The run with every row ended at the first step at which the model's rule fires; `start` (n, D) known at first."""
    if getattr(model, "stop_", None) is None:
        return run
    kept = np.zeros(run.order.shape, bool)
    going = np.ones(len(run.order), bool)
    for step, mask in enumerate(states_of(model.policy_, run, start)):
        if step == run.order.shape[1]:
            break
        rows = np.flatnonzero(going & (run.order[:, step] >= 0))
        if len(rows):
            kept[rows, step] = ~check_stop(model, values[rows], mask[rows], np.full(len(rows), step)).stop
        going = kept[:, step]
    order = np.where(kept, run.order, -1)
    paid = np.where(kept, step_costs(model.policy_, run, start), 0.0)
    *_, mask = states_of(model.policy_, replace(run, order=order), start)
    steps = int(kept.any(axis=0).sum())
    branch = np.where(kept, run.branch, -1).astype(np.int8)
    return replace(run, order=order[:, :steps], branch=branch[:, :steps], mask=mask, cost=paid.sum(axis=1))


def states_of(policy: Any, run: Run, start: np.ndarray) -> Iterator[np.ndarray]:
    """What is known before each step and at the end, bool (n, D) each."""
    shown, mask = reveal_matrix(policy), np.array(start, dtype=bool)
    yield mask.copy()
    for step in range(run.order.shape[1]):
        rows = np.flatnonzero(run.order[:, step] >= 0)
        mask[rows] |= shown[run.order[rows, step]] & run.mask[rows]  # a panel's member may not be had
        yield mask.copy()


def step_costs(policy: Any, run: Run, start: np.ndarray | None = None) -> np.ndarray:
    """What each step cost, float64 (n, steps); in a group the later members cost less."""
    rule = policy.rule_
    if hasattr(policy, "prices_"):
        price, in_group, group = policy.prices_.price, policy.prices_.price_in_group, policy.prices_.group
    else:
        price, in_group = rule.costs, rule.costs_in_group
        group = np.full(len(price), -1) if rule.prices is None else rule.prices.group
    paid = np.zeros(run.order.shape)
    start = np.broadcast_to(rule.known, run.mask.shape) if start is None else start
    for step, mask in enumerate(states_of(policy, run, start)):
        if step == run.order.shape[1]:
            break
        rows = np.flatnonzero(run.order[:, step] >= 0)
        feature = run.order[rows, step]
        same = (group[None, :] == group[feature][:, None]) & (group[feature] >= 0)[:, None]
        again = (same & mask[rows] & ~rule.known).any(axis=1)
        paid[rows, step] = np.where(again, in_group[feature], price[feature])
    return paid


def calibrated(model: Answering, wanted: Wanted, values: np.ndarray, y: np.ndarray, run: Run) -> StopRule:
    """The rule with its floor, from held-out rows (n, D), their classes as positions, and their episodes."""
    names = [label_text(label) for label in model.classes_.tolist()]
    if label_text(wanted.label) not in names:
        raise SynafaError(f"The floor is for {label_text(wanted.label)!r}; the classes are: {', '.join(names)}.")
    k = names.index(label_text(wanted.label))
    start = np.broadcast_to(model.policy_.rule_.known, run.mask.shape)
    along = [model.proba_from(values, mask)[:, k] for mask in states_of(model.policy_, run, start)]
    score = episode_score(np.stack(along, axis=1), str(wanted.kind))
    label = model.classes_.tolist()[k]
    floor = calibrate_floor(str(wanted.kind), score, y == k, wanted.floor, wanted.confidence, label=label)
    return replace(wanted.rule, floor=floor)


def reveal_matrix(policy: Any) -> np.ndarray:
    """bool (D, D): row j holds all that asking for feature j reveals."""
    return getattr(policy, "prices_", policy.rule_).reveals


@dataclass(frozen=True)
class RuleStop:
    """A recommendation to stop that comes from the model's rule, with the fields that every recommendation has.

    Attributes
    ----------
    found : StopReason
    remaining : float
        Budget that is left.
    target : str
        What the class is called.
    """

    found: StopReason
    remaining: float
    target: str = "the class"
    feature: None = None
    why: None = None
    cost: float = 0.0
    known_at_start: bool = False
    branch: str = "stop"

    @property
    def stop_reason(self) -> str:
        """ "enough" where a class is sure enough, else the name of the rule."""
        return "enough" if self.found.rule in ("probability", "floor") else self.found.rule

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return self.found.text

    @property
    def reason(self) -> str:
        """The sentence without its first word."""
        return self.found.text.partition(": ")[2]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        told = {"feature": None, "why": None, "cost": 0.0, "remaining": self.remaining, "target": self.target}
        told |= {"stop_reason": self.stop_reason, "branch": self.branch, "reason": self.reason, "text": self.text}
        return told | {"stop_rule": self.found.to_dict()}
