"""`prove`: every row of a table is judged by models that did not see it, for the model and for what is simpler.

Rows are dealt into folds (rows of one group together). In each, the plan tree of every budget, its own root plan, a
panel by logistic regression, a CART of the same depth, all features and nothing predict the rows of the fold. The
predictors are shared by all budgets, and those of the folds judge the model that is fitted on all rows at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money import ErrorCosts, PriceList
from synafa.plan.case import names_to_mask
from synafa.plan.inputs import CROSS_FIT_ROWS, FIVE_FOLD_ROWS
from synafa.plan.plan_tree import PlanTree
from synafa.predictor.folds import deal_folds
from synafa.proof.kept import KeptFits
from synafa.proof.rivals import Cart, ForwardPanel, widened
from synafa.proof.table import ProofTable

MODEL, ROOT, PANEL, CART, ALL, NOTHING = (
    "model",
    "its fixed panel",
    "panel, logistic regression",
    "CART of the same depth",
    "all features",
    "nothing",
)
METHODS = (MODEL, ROOT, PANEL, CART, ALL, NOTHING)
BUDGETS = (1.0, 2.0, 4.0, 8.0)
SHARES = (0.05, 0.1, 0.25, 0.5)  # of the price of everything: the budgets when features have prices
ALONE_CELLS = 600_000
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Settings:
    """How a model is fitted and compared.

    Attributes
    ----------
    budgets : tuple of float, infinite for no limit; empty for a default
    prices : None, PriceList, path of its CSV or mapping by name
    error_costs : None or whatever `ErrorCosts.resolve` takes
    known, unavailable : names of features that are there from the start, or never to be had
    seed : int
    """

    budgets: tuple[float, ...] = ()
    prices: Any = None
    error_costs: Any = None
    known: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()
    seed: int = 0


@dataclass(eq=False)
class Judged:
    """What one method gives for every row at one budget.

    proba : float64 (n, K); paid : float64 (n,); asked : int64 (n,), measurements made; known : bool (n, D)
    """

    proba: np.ndarray
    paid: np.ndarray
    asked: np.ndarray
    known: np.ndarray

    @classmethod
    def empty(cls, n: int, k: int, d: int) -> Judged:
        return cls(np.zeros((n, k)), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros((n, d), bool))

    def put(self, rows: np.ndarray, proba: np.ndarray, paid: Any, asked: Any, known: np.ndarray) -> None:
        self.proba[rows], self.paid[rows], self.asked[rows], self.known[rows] = proba, paid, asked, known


@dataclass(frozen=True, eq=False)
class Proof:
    """Everything that was measured; `findings` turns it into numbers and sentences.

    Attributes
    ----------
    table, settings, prices, errors : what was asked
    budgets : tuple of float
    fold : int64 (n,)
    judged : Judged by (method, budget); methods that have no budget are there at every one
    alone : float64 (D,), held-out AUROC of every feature alone; alone_loss : its log loss as a share of that of nothing
    leaves : leaves of every fold's tree by budget
    model : PlanTree fitted on all rows at `model_budget`
    fits : predictors that were fitted
    """

    table: ProofTable
    settings: Settings
    prices: PriceList
    errors: ErrorCosts | None
    budgets: tuple[float, ...]
    fold: np.ndarray
    judged: dict[tuple[str, float], Judged]
    alone: np.ndarray
    alone_loss: np.ndarray
    leaves: dict[float, list[int]]
    model: PlanTree
    model_budget: float
    fits: int
    known: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def methods(self) -> tuple[str, ...]:
        """What was judged, the model first."""
        return tuple(dict.fromkeys(method for method, _ in self.judged))


def prove(
    table: ProofTable,
    settings: Settings | None = None,
    progress: Progress | None = None,
    kept: KeptFits | None = None,
) -> Proof:
    """Cross-fit the model and what is simpler on a table.

    Parameters
    ----------
    table : ProofTable
    settings : Settings or None, default=None
    progress : function or None, default=None
        Called as `progress(share, text)`.
    kept : KeptFits or None, default=None
        Predictors that were fitted before, and that may be used again afterwards.

    Returns
    -------
    Proof

    Raises
    ------
    SynafaError
        When a price, an error cost, a name or a budget cannot be used.

    Examples
    --------
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> X = pl.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    >>> proof = prove(ProofTable.of(X, (X["a"].to_numpy() > 0).astype(int)), Settings(budgets=(1.0,)))
    >>> proof.judged["model", 1.0].proba.shape, proof.model.tree_.plan()
    ((200, 2), (0,))
    """
    settings = settings or Settings()
    say = progress or (lambda share, text: None)
    names = tuple(table.features.columns)
    prices = PriceList.resolve(settings.prices, names, known=settings.known)
    known = names_to_mask(settings.known, names)
    errors = ErrorCosts.resolve(settings.error_costs, table.classes)
    budgets = check_budgets(settings.budgets, prices, known, errors is not None)
    n, k, d = len(table.y), table.n_classes, len(names)
    units = n if table.groups is None else len(np.unique(table.groups))
    folds = min(5 if n <= FIVE_FOLD_ROWS else 3, units)
    assert n <= CROSS_FIT_ROWS
    # dealt as PlanTree deals its own rows, so that the folds' predictors judge the final tree
    fold = deal_folds(table.y, folds, np.random.default_rng([settings.seed, 13]), table.groups)
    judged = {(m, b): Judged.empty(n, k, d) for m in METHODS for b in budgets}
    kept = KeptFits() if kept is None else kept
    alone = np.zeros((n, d, k), dtype=np.float32)
    judged_alone = np.zeros(n, bool)
    leaves: dict[float, list[int]] = {b: [] for b in budgets}
    for f in range(folds):
        said = _part(say, f / (folds + 0.4), (f + 1) / (folds + 0.4), f"fold {f + 1} of {folds}: ")
        one = _Fold(table, settings, prices, errors, known, np.flatnonzero(fold != f), np.flatnonzero(fold == f), kept)
        for budget, found in one.run(budgets, judged, said).items():
            leaves[budget].append(found)
        some = one.held[: max(1, ALONE_CELLS // (d * folds))]
        alone[some], judged_alone[some] = one.each_alone(some), True
    say(folds / (folds + 0.4), "the model of all rows")
    model = _tree(settings, prices, errors, budgets[-1], kept, settings.error_costs)
    model.fit(
        table.features, np.asarray(table.classes, dtype=object if _mixed(table.classes) else None)[table.y],
        known=settings.known, unavailable=settings.unavailable, target=table.target, groups=table.groups,
    )  # fmt: skip
    say(1.0, "done")
    areas, losses = _alone(alone[judged_alone], table.y[judged_alone])
    return Proof(
        table, settings, prices, errors, budgets, fold, judged, areas, losses, leaves, model, budgets[-1], kept.fitted,
        known,
    )  # fmt: skip


def check_budgets(
    budgets: Iterable[float], prices: PriceList, known: np.ndarray, with_errors: bool
) -> tuple[float, ...]:
    """Ascending budgets; without any, 1, 2, 4, 8 features, or shares of the price of everything and no limit."""
    wanted = sorted({float(b) for b in budgets})
    if any(not b >= 0 for b in wanted):
        raise SynafaError(f"Budgets must be numbers of at least 0, got: {', '.join(f'{b:g}' for b in wanted)}.")
    if wanted:
        return tuple(wanted)
    everything = prices.cost_of(np.flatnonzero(~known).tolist())
    if prices.is_plain and (prices.price == 1).all():
        found = [b for b in BUDGETS if b <= max(everything, 1.0)]
    else:
        found = [float(f"{share * everything:.2g}") for share in SHARES]
    return (*found, float("inf")) if with_errors else tuple(found)


class _Fold:
    """One fold: what is learnt from `rest` predicts `held`."""

    def __init__(
        self, table: ProofTable, settings: Settings, prices: PriceList, errors: ErrorCosts | None, known: np.ndarray,
        rest: np.ndarray, held: np.ndarray, kept: KeptFits,
    ) -> None:  # fmt: skip
        self.table, self.settings, self.prices, self.errors, self.known = table, settings, prices, errors, known
        self.rest, self.held, self.kept = rest, held, kept
        self.y = table.y[rest]
        self.seen = np.unique(self.y)
        self.tree: PlanTree | None = None

    def run(
        self, budgets: tuple[float, ...], judged: dict[tuple[str, float], Judged], say: Progress
    ) -> dict[float, int]:
        """Fill in the held rows of every method and budget; returns the leaves of the trees."""
        table, held, d = self.table, self.held, self.table.features.width
        depth, leaves = {}, {}
        rows = table.features[held]
        for i, budget in enumerate(budgets):
            start, end = (0.9 * each / len(budgets) for each in (i, i + 1))
            tree = self._fitted(budget, _part(say, start, end, ""))
            self.tree, leaves[budget] = tree, tree.tree_.n_leaves
            run = tree.acquire(rows)
            values = tree.encode(rows)
            judged[MODEL, budget].put(held, self._proba(tree, values, run.mask), run.cost, run.n_acquired, run.mask)
            depth[budget] = int(run.n_acquired.max(initial=0))
            self._panel(judged[ROOT, budget], tree, tuple(tree.root_.plan), values)
        assert self.tree is not None
        say(0.9, "panels and CART")
        X = self.tree.encode(table.features[self.rest])
        allowed = ~self.tree.unavailable_
        categories = [len(column.categories) for column in self.tree.encoder_.columns_]
        groups = None if table.groups is None else table.groups[self.rest]
        seen = np.where(allowed, X, np.nan)
        forward = ForwardPanel(
            seen, self.y, table.n_classes, categories,
            prices=self.prices, known=self.known | ~allowed, groups=groups, seed=self.settings.seed,
        )  # fmt: skip
        shares = np.bincount(self.y, minlength=table.n_classes) / len(self.y)
        known = np.broadcast_to(self.known, (len(held), d))
        everything = np.broadcast_to(allowed | self.known, (len(held), d))
        bought = np.flatnonzero(allowed & ~self.known).tolist()
        carts: dict[int, Cart] = {}
        values = self.tree.encode(rows)
        whole = self._proba(self.tree, values, everything)
        for budget in budgets:
            order = forward.choose(budget)
            mask = np.zeros(d, bool)
            mask[forward.shown(order)] = True
            proba = forward.predict(order, np.where(allowed, values, np.nan))
            judged[PANEL, budget].put(held, proba, self._price(order), len(order), mask & allowed)
            if depth[budget] not in carts:
                carts[depth[budget]] = Cart(seen, self.y, table.n_classes, depth[budget])
            cart = carts[depth[budget]]
            orders = cart.orders(np.where(allowed, values, np.nan))
            paid = [self._price(tuple(way)) for way in orders]
            asked = [sum(not self.known[j] for j in way) for way in orders]
            mask = np.zeros((len(held), d), bool)
            for i, way in enumerate(orders):
                mask[i, way] = True
            judged[CART, budget].put(held, cart.predict(np.where(allowed, values, np.nan)), paid, asked, mask)
            judged[ALL, budget].put(held, whole, self._price(tuple(bought)), len(bought), everything)
            judged[NOTHING, budget].put(held, np.tile(shares, (len(held), 1)), 0.0, 0, known)
        return leaves

    def each_alone(self, rows: np.ndarray) -> np.ndarray:
        """Class probabilities from every feature alone, float32 (len(rows), D, K)."""
        assert self.tree is not None
        values = self.tree.encode(self.table.features[rows])
        out = np.empty((len(rows), values.shape[1], self.table.n_classes), dtype=np.float32)
        for j in range(values.shape[1]):
            mask = np.zeros(values.shape, bool)
            mask[:, j] = True
            out[:, j] = widened(self.tree.predictor_.predict_proba(values, mask), self.seen, self.table.n_classes)
        return out

    def _fitted(self, budget: float, say: Progress) -> PlanTree:
        table, settings = self.table, self.settings
        errors = self.errors
        if errors is not None and len(self.seen) < table.n_classes:
            errors = ErrorCosts(tuple(self.seen.tolist()), errors.matrix[np.ix_(self.seen, self.seen)])
        elif errors is not None:
            errors = ErrorCosts(tuple(range(table.n_classes)), errors.matrix)
        tree = _tree(settings, self.prices, errors, budget, self.kept, errors)
        groups = None if table.groups is None else table.groups[self.rest]
        return tree.fit(
            table.features[self.rest], self.y, known=settings.known, unavailable=settings.unavailable,
            target=table.target, groups=groups, progress=say,
        )  # fmt: skip

    def _proba(self, tree: PlanTree, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return widened(tree.predict_proba(values, mask), tree.classes_, self.table.n_classes)

    def _panel(self, into: Judged, tree: PlanTree, plan: tuple[int, ...], values: np.ndarray) -> None:
        mask = self.known | self.prices.reveals[list(plan)].any(axis=0) if plan else self.known
        mask = np.broadcast_to(mask, values.shape)
        into.put(self.held, self._proba(tree, values, mask), self._price(plan), len(plan), mask)

    def _price(self, order: tuple[int, ...]) -> float:
        """What asking in this order costs; what is known or was revealed by a panel costs nothing."""
        asked, known, total = np.zeros(len(self.known), bool), self.known.copy(), 0.0
        for j in order:
            if not known[j]:
                total += float(self.prices.now(asked)[j])
                asked[j] = True
                known |= self.prices.reveals[j]
        return total


def _tree(
    settings: Settings, prices: PriceList, errors: Any, budget: float, kept: KeptFits, error_costs: Any
) -> PlanTree:
    limit = None if np.isinf(budget) else budget
    costs = None if errors is None else error_costs
    return PlanTree(limit, prices=prices, error_costs=costs, predictor=kept, random_state=settings.seed)


def _alone(proba: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """AUROC of every feature alone, and its log loss as a share of that of the class shares."""
    from synafa.evaluation.metrics import auroc, log_loss

    shares = np.bincount(y, minlength=proba.shape[2]) / len(y)
    least = log_loss(y, np.tile(shares, (len(y), 1)))
    areas = np.array([auroc(y, proba[:, j]) for j in range(proba.shape[1])])
    return areas, np.array([log_loss(y, proba[:, j]) / max(least, 1e-12) for j in range(proba.shape[1])])


def _part(say: Progress, start: float, end: float, before: str) -> Progress:
    return lambda share, text: say(start + (end - start) * share, before + text)


def _mixed(classes: tuple[Any, ...]) -> bool:
    return len({type(label) for label in classes}) > 1
