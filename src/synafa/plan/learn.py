"""The two steps of every fit: settings become prices and masks, judged rows become tree, rule and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.plan.build import Progress, Rows, Settings, build
from synafa.plan.case import names_to_mask
from synafa.plan.decide import Rule
from synafa.plan.inputs import Judged, candidates_of
from synafa.plan.judge import Judge
from synafa.plan.prices import Prices
from synafa.plan.reasons import Overlap
from synafa.plan.root import Hints
from synafa.plan.scorers import make_scorer
from synafa.plan.utility import LogUtility, MoneyUtility, Utility
from synafa.table.encoder import TableEncoder

if TYPE_CHECKING:
    from synafa.plan.plan_tree import PlanTree


def prepare(
    policy: PlanTree, encoder: TableEncoder, known: Iterable[str], unavailable: Iterable[str], target: str
) -> None:
    """Check the settings and set what follows from them: encoder, prices, masks, error costs, budget."""
    from synafa.money import ErrorCosts, PriceList

    names = encoder.feature_names_
    budget, margin = policy.budget, policy.margin
    if budget is not None and not (np.isfinite(float(budget)) and float(budget) >= 0):
        raise SynafaError(f"budget must be a finite number of at least 0, or None, got: {budget!r}.")
    if not (np.isfinite(margin) and margin >= 0):
        raise SynafaError(f"margin must be a finite number of at least 0, got: {margin!r}.")
    policy.encoder_, policy.target_ = encoder, target or "the class"
    policy.known_ = names_to_mask(known, names)
    policy.unavailable_ = names_to_mask(unavailable, names) & ~policy.known_
    spec = policy.costs if policy.prices is None else policy.prices
    policy.prices_ = Prices.of(PriceList.resolve(spec, names)).free(policy.known_)
    policy.error_costs_ = ErrorCosts.resolve(policy.error_costs, policy.classes_.tolist())
    policy.budget_ = np.inf if budget is None else float(budget)


def learn_tree(
    policy: PlanTree,
    values: np.ndarray,
    classes: np.ndarray,
    judged: Judged,
    copies: np.ndarray,
    class_weighted: bool,
    fills: bool,
    progress: Progress | None,
) -> None:
    """Set tree, rule and judge of a prepared policy.

    copies : bool (D, D), linear copies; fills : whether the predictor is told values that follow from a copy
    """
    from synafa.information.tables import InformationTables

    k, prices = len(policy.classes_), policy.prices_.with_copies(copies, fills)
    candidates = candidates_of(prices.reveals, policy.known_, policy.unavailable_)
    proposing = np.sort(judged.rows[judged.chosen])
    tables = InformationTables.from_values(values[proposing], classes[proposing])
    policy.prices_, policy.overlap_ = prices, Overlap(tables.single, tables.pair)
    rows_values, rows_y = values[judged.rows], classes[judged.rows]
    utility, policy.margin_ = _utility(policy, rows_y, k, class_weighted)
    known = np.flatnonzero(policy.known_).tolist()
    judge = Judge(make_scorer(judged.parts, rows_values, k), rows_y, utility, prices, known, _threads(policy.n_jobs))
    margin = 0.0 if policy.spend_all else policy.margin_
    settings = Settings(policy.budget_, margin, policy.spend_all, adaptive=policy.adaptive)
    hints = Hints.of(tables.single, tables.pair, candidates)
    rows = Rows(_root_rows(judged, fills, int(policy.random_state)), judged.chosen, judged.checked)
    built = build(judge, rows_values, prices, hints, candidates, rows, settings, progress)
    policy.tree_, policy.root_, policy.judge_ = built.tree, built.root, judge
    policy.judged_rows_, policy.judged_values_, policy.checked_rows_ = judged.rows, rows_values, judged.checked
    policy.rule_ = Rule(policy.tree_, prices, policy.known_, policy.unavailable_)
    policy._curve = None


def _utility(policy: PlanTree, y: np.ndarray, k: int, class_weighted: bool) -> tuple[Utility, float]:
    """What plans are judged by, and what one unit of price has to bring of it."""
    if policy.error_costs_ is not None:
        return MoneyUtility(policy.error_costs_.matrix), 1.0
    return LogUtility.of(y, k, class_weighted), float(policy.margin) / policy.prices_.typical


def _root_rows(judged: Judged, honest: bool, seed: int) -> np.ndarray:
    """Rows that choose the panel: all, unless the predictor saw those that propose and so must not be mixed."""
    if not honest:
        return judged.chosen
    return np.random.default_rng([seed, 15]).permutation(np.concatenate([judged.chosen, judged.checked]))


def _threads(n_jobs: Any) -> int:
    if n_jobs is not None:
        return max(1, int(n_jobs))
    import numba

    return int(numba.get_num_threads())
