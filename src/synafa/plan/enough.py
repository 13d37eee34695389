"""How sure a case has to be so that going on would hardly change anything, learnt from rows that judged the tree.

A plan is made for all cases of a leaf, and some of them are clear after its first measurement. For every probability
of a grid the judged rows are followed along their plans to the first step at which their class is that probable; it is
enough where what they would decide at the end is the same in 99 of 100 and the rest of the plan takes off little loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from synafa.plan.judge import Judge

GRID = (0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
CHANGES = 0.01  # share of the cases that stop whose decision the rest of the plan may change
LOSS = 0.02  # bits that the rest of the plan may take off the mean loss of those cases
LEAST_CASES = 25
MOST_ROWS = 4000


@dataclass(frozen=True)
class Enough:
    """A probability from which cases stop before the end of their plan.

    Attributes
    ----------
    probability : float, of the most probable class
    changes : float, share of the judged cases stopped there whose decision the rest of the plan would change
    cases : int, how many were stopped there
    """

    probability: float
    changes: float
    cases: int


def enough_of(judge: Judge, order: np.ndarray) -> Enough | None:
    """The smallest probability of the grid that is enough, or None; `order` (n, steps) is of the judged rows."""
    order = order[:MOST_ROWS]
    n, steps = order.shape
    if not n or not steps:
        return None
    sure, decided, loss = (np.empty((steps + 1, n)) for _ in range(3))
    for step in range(steps + 1):
        for asked, rows in _same_known(order[:, :step]):
            proba = judge.proba(asked, rows)
            sure[step, rows], decided[step, rows] = proba.max(axis=1), proba.argmax(axis=1)
            loss[step, rows] = -judge.measure(proba, judge.truth[rows])
    length = (order >= 0).sum(axis=1)
    everyone = np.arange(n)
    for probability in GRID:
        reached = sure >= probability
        reached[0] = False  # before the first measurement the class shares alone would decide
        first = np.where(reached.any(axis=0), reached.argmax(axis=0), steps)
        stopped = first < length
        at, end = first[stopped], length[stopped]
        rows = everyone[stopped]
        if len(rows) < LEAST_CASES:
            continue
        changes = float((decided[at, rows] != decided[end, rows]).mean())
        if changes <= CHANGES and float((loss[at, rows] - loss[end, rows]).mean()) <= LOSS:
            return Enough(probability, changes, len(rows))
    return None


def _same_known(order: np.ndarray) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """The different sets of asked features, -1 left out, each with its rows."""
    sets, which = np.unique(np.sort(order, axis=1), axis=0, return_inverse=True)
    which = np.asarray(which).ravel()
    return [(tuple(int(j) for j in one if j >= 0), np.flatnonzero(which == k)) for k, one in enumerate(sets)]
