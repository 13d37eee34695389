"""What the accepted swaps of a local search do to utility: the change of T and of U of each, and random ones beside.

U is the shared classifier's probability of the true class, one U for each judge; the control replaces the same member
by a random outsider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.study.engine.unit import Unit
from synafa.study.experiments.mnist import probabilities

if TYPE_CHECKING:
    from synafa.analysis.objective import LocalSearch

FIGURES = ("dU", "rho", "spearman", "up", "up_random")
_BLOCK = 8192  # swaps whose masks are held at once


def swap_utilities(
    unit: Unit, begin: Any, judges: Sequence[Any], mask: np.ndarray, found: LocalSearch
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The figures of one setting's accepted swaps, means over judges, and the values behind each (see `FIGURES`).

    Arrays: `aligned_rho` and so on, float32 (judges, test rows), one value a judge and row whose mean is the figure.
    """
    row: dict[str, Any] = {"accepted": len(found.row), "rows_with_swaps": len(np.unique(found.row))}
    if len(found.row) < 3:
        return row, {}
    cells = []
    for judge in judges:
        rng = np.random.default_rng([unit.seed, unit["budget"], 7])  # the same random replacements for every judge
        cells.append(_values(found, *swap_changes(begin, judge, mask, found, rng)))
    arrays = {name: np.stack([cell[name] for cell in cells]) for name in FIGURES}
    row |= {name: float(values.mean()) for name, values in arrays.items()}
    return row, {f"aligned_{name}": values.astype(np.float32) for name, values in arrays.items()}


def swap_changes(
    begin: Any, classifier: Any, mask: np.ndarray, found: LocalSearch, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Change of utility of each accepted swap, and of the same removal with a random replacement."""
    utility = _utility(classifier, begin, np.arange(len(mask)), mask)
    change, at_random = np.zeros(len(found.row)), np.zeros(len(found.row))
    current = mask.copy()
    for turn in range(int(found.round.max(initial=-1)) + 1):
        for swaps in _blocks(np.flatnonzero(found.round == turn)):
            rows, removed = found.row[swaps], found.removed[swaps]
            base = current[rows]
            outside = _random_outsider(base, rng)
            base[np.arange(len(rows)), removed] = False
            control = base.copy()
            control[np.arange(len(rows)), outside] = True
            base[np.arange(len(rows)), found.added[swaps]] = True
            after = _utility(classifier, begin, rows, base)
            change[swaps] = after - utility[rows]
            at_random[swaps] = _utility(classifier, begin, rows, control) - utility[rows]
            current[rows], utility[rows] = base, after
    if not np.array_equal(current, found.mask):
        raise AssertionError("replaying the swaps does not lead to the searched sets")
    return change, at_random


def _blocks(indices: np.ndarray) -> list[np.ndarray]:
    return [indices[i : i + _BLOCK] for i in range(0, len(indices), _BLOCK)]


def _random_outsider(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random feature outside each row's set."""
    keys = rng.random(mask.shape, dtype=np.float32)
    keys[mask] = -1.0
    return keys.argmax(axis=1)


def _utility(classifier: Any, begin: Any, rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Probability of the true class, float64 (n,)."""
    found = np.empty(len(rows))
    for block in _blocks(np.arange(len(rows))):
        which = rows[block]
        chance = probabilities(classifier, begin.X[which], begin.wide(mask[block]))
        found[block] = chance[np.arange(len(which)), begin.y[which]]
    return found


def _values(found: LocalSearch, change: np.ndarray, at_random: np.ndarray) -> dict[str, np.ndarray]:
    """Each figure of one judge as one value a test row."""
    from synafa.stats import clustered_correlation_values, clustered_mean_values

    where = (found.row, len(found.mask))
    return {
        "dU": clustered_mean_values(change, *where),
        "rho": clustered_correlation_values(found.delta, change, *where),
        "spearman": clustered_correlation_values(found.delta, change, *where, "spearman"),
        "up": clustered_mean_values(change > 0, *where),
        "up_random": clustered_mean_values(at_random > 0, *where),
    }
