"""What the accepted swaps of a local search do to utility: the change of T and of U of each, and random ones beside.

U is the shared classifier's probability of the true class; the control replaces the same member by a random outsider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.study.engine.unit import Unit
from synafa.study.experiments.mnist import probabilities

if TYPE_CHECKING:
    from synafa.analysis.objective import LocalSearch

_BLOCK = 8192  # swaps whose masks are held at once


def swap_utilities(
    unit: Unit, begin: Any, classifier: Any, mask: np.ndarray, found: LocalSearch
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The figures of one setting's accepted swaps, and dT and dU of each."""
    rng = np.random.default_rng([unit.seed, unit["budget"], 7])
    change, at_random = swap_changes(begin, classifier, mask, found, rng)
    arrays = {"row": found.row.astype(np.int32), "dT": found.delta.astype(np.float32), "dU": change.astype(np.float32)}
    return _figures(found, change, at_random, unit.quick), arrays


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


def _figures(found: LocalSearch, change: np.ndarray, at_random: np.ndarray, quick: bool) -> dict[str, Any]:
    from synafa.stats import cluster_bootstrap, cluster_bootstrap_correlation

    if len(change) < 3:
        return {"accepted": len(change)}
    resamples = 500 if quick else 10_000
    mean = cluster_bootstrap(change, found.row, n_resamples=resamples)
    pearson = cluster_bootstrap_correlation(found.delta, change, found.row, n_resamples=resamples)
    spearman = cluster_bootstrap_correlation(found.delta, change, found.row, "spearman", n_resamples=resamples)
    up = cluster_bootstrap((change > 0).astype(float), found.row, n_resamples=resamples)
    up_random = cluster_bootstrap((at_random > 0).astype(float), found.row, n_resamples=resamples)
    return {
        "accepted": len(change),
        "rows_with_swaps": len(np.unique(found.row)),
        **_named("dU", mean),
        **_named("rho", pearson),
        **_named("spearman", spearman),
        **_named("up", up),
        **_named("up_random", up_random),
    }


def _named(name: str, result: Any) -> dict[str, float]:
    return {name: result.estimate, f"{name}_low": result.low, f"{name}_high": result.high}
