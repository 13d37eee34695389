"""Runs a policy under a hard budget and records every step.

At each step the policy proposes a feature per row; -1 becomes the lowest-index hidden feature when `forced` (the
corrected harness) and ends the episode otherwise; a chosen feature whose cost exceeds what remains ends the episode,
and nothing else is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.evaluation.protocols import Classifier, Policy
from synafa.money.prices import TOLERANCE, PriceList
from synafa.policy.run import COMPLETE, SPENT, STOP, UNAFFORDABLE, Run, cheapest_hidden, known

Rows = np.ndarray | Literal["train", "validation", "test"]
Proposer = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def run_policy(
    policy: Policy,
    dataset: Dataset,
    rows: Rows,
    budget: float,
    classifier: Classifier | None = None,
    forced: bool = True,
    batch_rows: int = 8192,
) -> Run:
    """Run `policy` on dataset rows under a hard budget.

    Parameters
    ----------
    policy : anything with `propose(values, mask, remaining)`; `propose_with_reason` is used where it is offered
    rows : row indices, or "train", "validation", "test"
    budget : what a row may spend
    classifier : predicts after every step; None records no probabilities
    forced : replace a stop by the lowest-index hidden feature
    batch_rows : rows handed to the policy at once; changes memory and speed, not the episodes
    """
    if not budget >= 0:
        raise SynafaError(f"`budget` must be a number >= 0, got: {budget!r}.")
    if batch_rows < 1:
        raise SynafaError(f"`batch_rows` must be at least 1, got: {batch_rows!r}.")
    rows = select_rows(dataset, rows)
    name = policy_name(policy)
    propose, reason_names = _proposer(policy)
    names = reason_names if "fallback" in reason_names else (*reason_names, "fallback")
    stepper = _Stepper(name, propose, names, dataset, float(budget), classifier, forced)
    pieces = [stepper.batch(rows[start : start + batch_rows]) for start in range(0, max(len(rows), 1), batch_rows)]
    steps = max(piece.order.shape[1] for piece in pieces)
    probabilities = None
    if classifier is not None:
        probabilities = np.concatenate([_repeat_last(piece.probabilities, steps + 1) for piece in pieces])
    order = np.concatenate([_pad(piece.order, steps, -1) for piece in pieces])
    step_cost = np.concatenate([_pad(piece.step_cost, steps, 0) for piece in pieces])
    return Run(
        order=order,
        branch=np.concatenate([_pad(piece.branch, steps, -1) for piece in pieces]),
        mask=known(order, dataset.n_features, dataset.groups),
        cost=step_cost.sum(axis=1),
        feature_names=dataset.feature_names,
        branch_names=names,
        step_cost=step_cost,
        ending=np.concatenate([piece.ending for piece in pieces]),
        probabilities=probabilities,
        **_subject(policy, dataset, rows, budget, forced),
    )


def run_compiled(policy: Any, dataset: Dataset, rows: Rows, budget: float, forced: bool = True) -> Run:
    """`run_policy` for SynAFA by its own compiled episodes: the same acquisitions, without how each row ended."""
    rows = select_rows(dataset, rows)
    done = policy.acquire(dataset.X[rows], budget=budget, on_stop="fallback" if forced else "stop")
    return replace(done, **_subject(policy, dataset, rows, budget, forced))


def _subject(policy: Policy, dataset: Dataset, rows: np.ndarray, budget: float, forced: bool) -> dict[str, Any]:
    """What a run was about."""
    return {
        "rows": rows,
        "y": dataset.y[rows],
        "feature_costs": np.asarray(dataset.costs, dtype=np.float64),
        "groups": dataset.groups,
        "policy": policy_name(policy),
        "dataset": dataset.key,
        "budget": float(budget),
        "forced": forced,
        "uses_remaining": bool(getattr(policy, "uses_remaining", True)),
    }


def select_rows(dataset: Dataset, rows: Rows) -> np.ndarray:
    """Row indices, int64, from indices or the name of a part of the split."""
    if isinstance(rows, str):
        if rows not in ("train", "validation", "test"):
            raise SynafaError(f"`rows` must be row indices or one of train, validation, test, got: {rows!r}.")
        return np.asarray(getattr(dataset, rows), dtype=np.int64)
    chosen = np.asarray(rows, dtype=np.int64)
    if chosen.ndim != 1 or (len(chosen) and (chosen.min() < 0 or chosen.max() >= len(dataset.X))):
        raise SynafaError(f"`rows` must be a list of row indices in 0..{len(dataset.X) - 1} of {dataset.key}.")
    return chosen


def policy_name(policy: Policy) -> str:
    """The policy's own name, else that of its class."""
    return str(getattr(policy, "name", None) or type(policy).__name__)


@dataclass(frozen=True)
class _Piece:
    order: np.ndarray
    branch: np.ndarray
    step_cost: np.ndarray
    ending: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True)
class _Stepper:
    """One policy on one dataset; `batch` runs the rows it is given together, step by step."""

    name: str
    propose: Proposer
    reason_names: tuple[str, ...]
    dataset: Dataset
    budget: float
    classifier: Classifier | None
    forced: bool

    def batch(self, rows: np.ndarray) -> _Piece:
        truth = np.asarray(self.dataset.X[rows], dtype=np.float32)
        n = len(truth)
        costs = np.asarray(self.dataset.costs, dtype=np.float64)
        varying = self.dataset.prices  # prices that depend on what was paid
        revealed = self.dataset.reveals if self.dataset.groups else None
        values, mask = np.zeros_like(truth), np.zeros(truth.shape, dtype=bool)
        remaining = np.full(n, self.budget)
        ending = np.full(n, -1, dtype=np.int8)
        features: list[np.ndarray] = []
        reasons: list[np.ndarray] = []
        paid: list[np.ndarray] = []
        probabilities = [] if self.classifier is None else [self._predict(values, mask)]
        active = np.arange(n)
        while True:
            active = self._still_going(active, mask, remaining, costs if varying is None else varying, ending)
            if not len(active):
                break
            choice, reason = self._ask(rows[active], values[active], mask[active], remaining[active])
            stopped = choice < 0
            ending[active[stopped]] = STOP
            price = costs[choice] if varying is None else varying.now(mask[active])[np.arange(len(choice)), choice]
            too_dear = ~stopped & (price > remaining[active] + TOLERANCE)
            ending[active[too_dear]] = UNAFFORDABLE
            goes_on = ~stopped & ~too_dear
            active, choice, reason, price = active[goes_on], choice[goes_on], reason[goes_on], price[goes_on]
            if not len(active):
                break
            if revealed is None:
                mask[active, choice] = True
                values[active, choice] = truth[active, choice]
            else:
                mask[active] |= revealed[choice]
                values[active] = np.where(mask[active], truth[active], 0)
            remaining[active] -= price
            features.append(_scatter(n, active, choice, -1, np.int32))
            reasons.append(_scatter(n, active, reason, -1, np.int8))
            paid.append(_scatter(n, active, price, 0, np.float64))
            if self.classifier is not None:
                after = probabilities[-1].copy()
                after[active] = self._predict(values[active], mask[active])
                probabilities.append(after)
        return _Piece(
            order=_columns(features, n, np.int32),
            branch=_columns(reasons, n, np.int8),
            step_cost=_columns(paid, n, np.float64),
            ending=ending,
            probabilities=np.stack(probabilities, axis=1) if probabilities else np.zeros((n, 1, 0), dtype=np.float32),
        )

    @staticmethod
    def _still_going(
        active: np.ndarray, mask: np.ndarray, remaining: np.ndarray, costs: np.ndarray | PriceList, ending: np.ndarray
    ) -> np.ndarray:
        """Drop rows with nothing left to acquire, or nothing they could pay for: any choice would end them."""
        complete = mask[active].all(axis=1)
        ending[active[complete]] = COMPLETE
        active = active[~complete]
        # most steps can pay for anything, which spares the search for the cheapest
        listed = costs.price if isinstance(costs, PriceList) else costs
        short = active[remaining[active] + TOLERANCE < listed.max(initial=0.0)]
        now = costs.now(mask[short]) if isinstance(costs, PriceList) else costs
        ending[short[cheapest_hidden(mask[short], now) > remaining[short] + TOLERANCE]] = SPENT
        return active[ending[active] < 0]

    def _ask(
        self, rows: np.ndarray, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The choice and reason of each row, the fallback in place where the harness is forced."""
        known = mask.copy()  # the policy may scribble on what it is handed
        choice, reason = self.propose(rows, values, mask, remaining)
        n, n_features = known.shape
        if choice.shape != (n,) or choice.dtype.kind not in "iu":
            raise SynafaError(
                f"Policy {self.name!r} must propose one integer per row ({n} rows), got: {choice.dtype} {choice.shape}."
            )
        choice = choice.astype(np.int64)
        outside = (choice < -1) | (choice >= n_features)
        if outside.any():
            raise SynafaError(
                f"Policy {self.name!r} proposed feature {choice[outside][0]}, which does not exist; "
                f"features are 0..{n_features - 1}, and -1 means stop."
            )
        again = (choice >= 0) & known[np.arange(n), choice]
        if again.any():
            feature = int(choice[again][0])
            raise SynafaError(
                f"Policy {self.name!r} proposed feature {feature} ({self.dataset.feature_names[feature]!r}), "
                f"which is already known; propose a hidden feature or -1."
            )
        if self.forced:
            stopped = choice < 0
            choice[stopped] = known[stopped].argmin(axis=1)
            reason = np.where(stopped, self.reason_names.index("fallback"), reason)
        return choice, reason.astype(np.int8)

    def _predict(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        assert self.classifier is not None
        return np.asarray(self.classifier.predict_proba(values, mask), dtype=np.float32)


def _proposer(policy: Policy) -> tuple[Proposer, tuple[str, ...]]:
    """The policy as (rows, values, mask, remaining) -> (feature, reason), and the names of its reasons."""
    with_reason = getattr(policy, "propose_with_reason", None)
    for_rows = getattr(policy, "propose_for_rows", None)  # a policy that is random per row must know which row it is

    def propose(
        rows: np.ndarray, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if with_reason is not None:
            choice, reason = with_reason(values, mask, remaining)
            return np.asarray(choice), np.asarray(reason)
        if for_rows is not None:
            choice = np.asarray(for_rows(rows, values, mask, remaining))
        else:
            choice = np.asarray(policy.propose(values, mask, remaining))
        return choice, np.zeros(choice.shape, dtype=np.int8)

    return propose, tuple(policy.reason_names) if with_reason is not None else ("policy",)  # type: ignore[attr-defined]


def _scatter(n: int, where: np.ndarray, what: np.ndarray, fill: float, dtype: type) -> np.ndarray:
    column: np.ndarray = np.full(n, fill, dtype=dtype)
    column[where] = what
    return column


def _columns(columns: list[np.ndarray], n: int, dtype: type) -> np.ndarray:
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0), dtype=dtype)


def _pad(array: np.ndarray, steps: int, fill: float) -> np.ndarray:
    return np.pad(array, ((0, 0), (0, steps - array.shape[1])), constant_values=fill)


def _repeat_last(array: np.ndarray, length: int) -> np.ndarray:
    missing = length - array.shape[1]
    return np.concatenate([array, np.repeat(array[:, -1:], missing, axis=1)], axis=1) if missing else array
