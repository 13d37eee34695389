"""From judged rows to the finished tree: the root panel, the grown and pruned tree, the numbers for its reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from synafa.plan.finish import finish
from synafa.plan.grow import Grower, Growth, Node, grow_tree
from synafa.plan.judge import Judge
from synafa.plan.prices import Prices
from synafa.plan.root import Hints, Root, find_root
from synafa.plan.search import Task
from synafa.plan.tree import Tree
from synafa.plan.validate import grow_validated

Progress = Callable[[float, str], None]
VALIDATED_ROWS = 1_500  # up to so many rows cross-validation judges the tree
GROW_ROWS = 12_000  # rows that propose splits; all that there are confirm them


@dataclass(frozen=True)
class Settings:
    """How a tree is built.

    Attributes
    ----------
    budget : what a row may spend, infinite for no limit
    margin : utility that one unit of price must bring
    spend_all : go on to the budget, whatever it brings
    growth : how the tree is grown
    adaptive : False keeps the fixed panel
    validated : whether no row was seen by what judges it, so that few rows may all grow the tree (`validate.py`)
    """

    budget: float
    margin: float
    spend_all: bool = False
    growth: Growth = field(default_factory=Growth)
    adaptive: bool = True
    validated: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows choose the root panel, propose splits, and confirm them; each in random order."""

    root: np.ndarray
    chosen: np.ndarray
    checked: np.ndarray


@dataclass(frozen=True, eq=False)
class Built:
    """A finished tree, the root panel's judgement, and what judged it."""

    tree: Tree
    root: Root
    task: Task


def build(
    judge: Judge,
    values: np.ndarray,
    prices: Prices,
    hints: Hints,
    candidates: np.ndarray,
    rows: Rows,
    settings: Settings,
    progress: Progress | None = None,
) -> Built:
    """The tree of these rows, as array."""
    say = progress or (lambda share, text: None)
    task = Task(judge, prices, settings.budget, settings.margin, candidates, settings.spend_all)
    with judge.working():
        say(0.0, "searching for the best fixed panel")
        root = find_root(task, hints, rows.root)
        start = Node((), settings.budget, root.plan, rows.chosen[:GROW_ROWS], rows.checked)
        grower = Grower(task, hints, values, root.candidates, settings.growth)
        if settings.adaptive:
            say(0.4, "looking for questions whose answer changes the plan")
            if settings.validated and len(rows.root) <= VALIDATED_ROWS:
                start = grow_validated(grower, start, list(dict.fromkeys([root.plan, root.eager])))
            else:
                start = grow_tree(grower, start, root.eager)
        say(0.9, "putting the plans in order")
        tree = finish(grower, start, judge.scorer.n_classes)
    say(1.0, "the tree is ready")
    return Built(tree, root, replace(task))


def deal_rows(y: np.ndarray, groups: np.ndarray | None, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that propose and rows that confirm, `share` of each class (or of the groups), each in random order."""
    rng = np.random.default_rng([seed, 11])
    n = len(y)
    if groups is not None:
        _, unit = np.unique(groups, return_inverse=True)
        order = rng.permutation(unit.max() + 1)
        confirms = np.isin(unit, order[: round(share * len(order))])
    else:
        confirms = np.zeros(n, bool)
        for k in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == k))
            confirms[members[: round(share * len(members))]] = True
    mixed = rng.permutation(n)
    return mixed[~confirms[mixed]], mixed[confirms[mixed]]


def linear_copies(values: np.ndarray, most_rows: int = 2000, seed: int = 0) -> np.ndarray:
    """bool (D, D): pairs of columns that are the same quantity up to a linear change of units, on all rows."""
    n, d = values.shape
    rows = np.sort(np.random.default_rng([seed, 12]).permutation(n)[:most_rows])
    sample = values[rows].astype(np.float64)
    empty = np.isnan(sample)
    centre = np.where(empty.all(axis=0), 0.0, np.nanmean(np.where(empty.all(axis=0), 0.0, sample), axis=0))
    filled = np.where(empty, 0.0, sample - centre)
    norm = np.sqrt((filled**2).sum(axis=0))
    scaled = filled / np.where(norm > 0, norm, 1.0)
    alike = (np.abs(scaled.T @ scaled) > 1 - 1e-6) & ~np.eye(d, dtype=bool) & (norm > 0)[:, None] & (norm > 0)
    copies = np.zeros((d, d), bool)
    for j, k in zip(*np.nonzero(np.triu(alike))):
        both = np.isnan(values[:, j]) == np.isnan(values[:, k])
        if both.all() and _is_line(values[:, j], values[:, k]):
            copies[j, k] = copies[k, j] = True
    return copies


def line_between(source: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Slope and intercept that give the target from the source."""
    there = ~np.isnan(source)
    low, high = int(np.nanargmin(source)), int(np.nanargmax(source))
    slope = (target[high] - target[low]) / (source[high] - source[low]) if there.any() else 0.0
    return float(slope), float(target[low] - slope * source[low])


def _is_line(source: np.ndarray, target: np.ndarray) -> bool:
    source, target = source.astype(np.float64), target.astype(np.float64)
    slope, intercept = line_between(source, target)
    spread = np.nanmax(target) - np.nanmin(target)
    return bool(np.nanmax(np.abs(slope * source + intercept - target)) <= 1e-5 * spread)
