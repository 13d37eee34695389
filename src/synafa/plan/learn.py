"""The two steps of every fit: settings become prices and masks, judged rows become tree, rule and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.plan.build import Progress, Rows, Settings, build
from synafa.plan.case import names_to_mask
from synafa.plan.decide import Rule
from synafa.plan.inputs import Judged, candidates_of, check_width
from synafa.plan.judge import Judge
from synafa.plan.prices import Prices
from synafa.plan.reasons import Overlap
from synafa.plan.root import Hints, best_of, fills, screen
from synafa.plan.scorers import make_scorer
from synafa.plan.search import Task
from synafa.plan.utility import LogUtility, MoneyUtility, Utility
from synafa.table.encoder import TableEncoder

SOFT = 0.5  # share of the prediction from everything in what plans are judged by, where errors have costs

if TYPE_CHECKING:
    from synafa.information.tables import InformationTables
    from synafa.plan.plan_tree import PlanTree


def prepare(
    policy: PlanTree, encoder: TableEncoder, known: Iterable[str], unavailable: Iterable[str], target: str
) -> None:
    """Check the settings and set what follows from them: encoder, prices, masks, error costs, budget."""
    from synafa.money import ErrorCosts, PriceList

    names = encoder.feature_names_
    check_width(len(names), len(policy.classes_))
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
    honest: bool,
    progress: Progress | None,
) -> None:
    """Set tree, rule and judge of a prepared policy.

    copies : bool (D, D), linear copies
    honest : whether no row was seen by what judges it; then the predictor is also told values that follow from a copy
    """
    policy.prices_ = policy.prices_.with_copies(copies, honest)
    search = _search(policy, values, classes, judged, class_weighted, honest)
    policy.overlap_ = Overlap(search.tables.single, search.tables.pair)
    margin = 0.0 if policy.spend_all else policy.margin_
    settings = Settings(policy.budget_, margin, policy.spend_all, adaptive=policy.adaptive, validated=honest)
    rows = Rows(_root_rows(judged, honest, int(policy.random_state)), judged.chosen, judged.checked)
    judge, prices = search.judge, policy.prices_
    built = build(judge, values[judged.rows], prices, search.hints, search.candidates, rows, settings, progress)
    policy.tree_, policy.root_, policy.judge_ = built.tree, built.root, judge
    policy.judged_rows_, policy.judged_values_, policy.checked_rows_ = judged.rows, values[judged.rows], judged.checked
    policy.rule_ = Rule(policy.tree_, prices, policy.known_, policy.unavailable_)
    policy._curve = None


def favourites(
    policy: PlanTree, values: np.ndarray, classes: np.ndarray, judged: Judged, copies: np.ndarray
) -> np.ndarray | None:
    """Sets of features that plans would use, bool (F, D): what is known after each step of the greedy plans.

    None where no plan takes any loss off. In money the answer may change once the sets were learnt, so it is not asked.
    """
    prices = policy.prices_.with_copies(copies, True)
    search = _search(policy, values, classes, judged, False, True, prices)
    margin = 0.0 if policy.spend_all else policy.margin_
    task = Task(search.judge, prices, policy.budget_, margin, search.candidates, policy.spend_all)
    with search.judge.working():
        rows = _root_rows(judged, True, int(policy.random_state))
        found = fills(task, search.hints, screen(task, search.hints), rows)
    if policy.error_costs_ is None and not best_of(task, found):
        return None
    steps = {frozenset(search.judge.closed(each.plan[:k])) for each in found for k in range(len(each.plan) + 1)}
    return _sets(steps, len(prices.price))


def known_sets(policy: PlanTree) -> np.ndarray:
    """What is known after each step that the finished tree can take, bool (F, D)."""
    tree, judge = policy.tree_, policy.judge_
    steps: set[frozenset[int]] = set()
    for node in range(tree.n_nodes):
        asked = tuple(int(tree.ask[parent]) for parent in tree.path_to(node)[:-1])
        plan = tree.plan(node)
        steps |= {frozenset(judge.closed((*asked, *plan[:k]))) for k in range(len(plan) + 1)}
    return _sets(steps, len(policy.known_))


def _sets(steps: set[frozenset[int]], n_features: int) -> np.ndarray:
    out = np.zeros((len(steps), n_features), bool)
    for row, step in zip(out, sorted(steps, key=sorted)):
        row[list(step)] = True
    return out


@dataclass(frozen=True, eq=False)
class _Search:
    """What a search for plans needs besides its settings."""

    judge: Judge
    hints: Hints
    candidates: np.ndarray
    tables: InformationTables


def _search(
    policy: PlanTree,
    values: np.ndarray,
    classes: np.ndarray,
    judged: Judged,
    class_weighted: bool,
    honest: bool,
    prices: Prices | None = None,
) -> _Search:
    """Judge, candidates and what the information tables say, for prices that know the copies."""
    from synafa.information.tables import InformationTables

    prices, k = policy.prices_ if prices is None else prices, len(policy.classes_)
    candidates = candidates_of(prices.reveals, policy.known_, policy.unavailable_)
    proposing = np.sort(judged.rows[judged.chosen])
    tables = InformationTables.from_values(values[proposing], classes[proposing])
    y = classes[judged.rows]
    utility, policy.margin_ = _utility(policy, y, k, class_weighted)
    known = np.flatnonzero(policy.known_).tolist()
    scorer = make_scorer(judged.parts, values[judged.rows], k)
    judge = Judge(scorer, y, utility, prices, known, _threads(policy.n_jobs))
    if policy.error_costs_ is not None and honest:
        judge.truth = softened(judge, candidates, k)
    return _Search(judge, Hints.of(tables.single, tables.pair, candidates), candidates, tables)


def _utility(policy: PlanTree, y: np.ndarray, k: int, class_weighted: bool) -> tuple[Utility, float]:
    """What plans are judged by, and what one unit of price has to bring of it."""
    if policy.error_costs_ is not None:
        return MoneyUtility(policy.error_costs_.matrix), 1.0
    return LogUtility.of(y, k, class_weighted), float(policy.margin) / policy.prices_.typical


def softened(judge: Judge, candidates: np.ndarray, n_classes: int) -> np.ndarray:
    """How probable each class is, (n, K): half the class itself, half what is predicted when everything is known.

    A mistake that is dear and rare would otherwise be judged by a handful of rows.
    """
    proba = judge.proba(candidates.tolist(), np.arange(judge.n))
    return (1 - SOFT) * np.eye(n_classes)[judge.y] + SOFT * proba


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
