"""The members of a predictor are trained: a network for every fold and, on small tables, a linear model.

A member is trained on all folds but one, on freshly masked copies of its rows, and judged on masked copies of the fold
it did not see. The step at which networks stop, their sharpness and the share of the linear model are chosen on these
judgements together. The networks of all folds stay, the linear models of all folds become their mean. Members are
trained side by side, each by one thread at a time, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.predictor.calibration import best_share, best_sharpness, log_loss
from synafa.predictor.linear import fit_linear
from synafa.predictor.masks import focused, random_masks
from synafa.predictor.network import NetworkSettings, Weights, forward, softmax, start_weights, train_network
from synafa.predictor.stakes import Stakes

Progress = Callable[[float, str], None]

JUDGED = 2_000
"""About this many masked rows of a fold judge its members."""
PATIENCE = 7
"""Training ends after so many checkpoints without a lower log loss."""
WORTH = 0.001
"""Networks must beat the class shares by this much, in nats, to be used at all."""


@dataclass(frozen=True)
class Work:
    """Expanded training rows: float32 (n, P), bool (n, D), int64 (n,), (P,), class shares, fold of every row, seed.

    With `stakes` (what errors cost) rows count by their class, and the class shares are those of the weighted rows;
    with `focus`, bool (F, D), half of the masked copies know one of these sets.
    """

    cells: np.ndarray
    observed: np.ndarray
    y: np.ndarray
    feature_of: np.ndarray
    prior: np.ndarray
    fold: np.ndarray
    seed: int
    stakes: Stakes | None = None
    focus: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray | None:
        return None if self.stakes is None else self.stakes.weights


@dataclass(frozen=True)
class Members:
    """Trained networks (sharpness folded in), the linear weights (P + 1, K), its share, and what was measured."""

    networks: list[Weights]
    linear: np.ndarray
    share: float
    notes: dict[str, Any]


def train_members(work: Work, settings: NetworkSettings, with_linear: bool, few: bool, progress: Progress) -> Members:
    """Train and judge all members; with `few` rows they stay at the class shares."""
    n_folds = int(work.fold.max()) + 1
    starts = [
        start_weights(work.cells.shape[1], work.observed.shape[1], work.prior, settings, [work.seed, 2, e])
        for e in range(n_folds)
    ]
    nothing = np.zeros((work.cells.shape[1] + 1, len(work.prior)))
    if few or n_folds < 2:
        return Members(starts, nothing, 0.0, {"checkpoint": 0, "sharpness": 1.0, "linear_share": 0.0})
    trained = [work.fold != e for e in range(n_folds)]
    parts = [(work.cells[own], work.observed[own], work.y[own], work.feature_of) for own in trained]
    judged = [_masked_rows(work, np.flatnonzero(~own), [work.seed, 4, e]) for e, own in enumerate(trained)]
    counted, linear = (work.weights, work.focus), []
    with ThreadPoolExecutor(min(_threads(), n_folds)) as pool:
        if with_linear:
            jobs = [pool.submit(fit_linear, *parts[e], work.prior, [work.seed, 5, e], *counted) for e in range(n_folds)]
            for e, job in enumerate(jobs):
                progress(0.02 + 0.08 * e / n_folds, "training the predictor")
                linear.append(job.result())
        running = [train_network(*parts[e], starts[e], settings, [work.seed, 3, e], *counted) for e in range(n_folds)]
        best, losses = _train_together(running, starts, judged, settings, work.weights, progress, pool)
    truth = np.concatenate([y for _, y in judged])
    logits = np.concatenate([forward(known, net)[2] for net, (known, _) in zip(best, judged)])
    sharpness = best_sharpness(logits, work.prior, truth, work.weights)
    networks = [_sharpened(net, work.prior, sharpness) for net in best]
    share, mean = 0.0, nothing
    if linear:
        ours = np.concatenate([forward(known, net)[2] for net, (known, _) in zip(networks, judged)])
        theirs = np.concatenate([known @ w[:-1] + w[-1] for w, (known, _) in zip(linear, judged)])
        share, mean = _share(work, softmax(ours), softmax(theirs), truth), np.mean(linear, axis=0)
    notes = {"checkpoint": int(np.argmin(losses)), "sharpness": sharpness, "linear_share": share}
    notes |= {"masked_log_loss": round(min(losses), 4), "prior_log_loss": round(losses[0], 4)}
    return Members(networks, mean, share, notes)


def _share(work: Work, networks: np.ndarray, linear: np.ndarray, truth: np.ndarray) -> float:
    """The share of the linear member: of least log loss, or where errors cost very different sums by decisions."""
    if work.stakes is None or not work.stakes.unequal:
        return best_share(networks, linear, truth, work.weights)
    return work.stakes.share(networks, linear, truth, len(work.y))


def _masked_rows(work: Work, rows: np.ndarray, seed: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Masked copies of some rows, and their classes."""
    rng = np.random.default_rng(seed)
    rows = np.tile(rows, JUDGED // len(rows)) if len(rows) <= JUDGED else rng.permutation(rows)[:JUDGED]
    masks = random_masks(work.observed[rows], rng)
    if work.focus is not None:
        masks = focused(masks, work.observed[rows], work.focus, rng)
    return work.cells[rows] * masks[:, work.feature_of], work.y[rows]


def _train_together(
    running: list[Iterator[Weights]],
    starts: list[Weights],
    judged: list[tuple[np.ndarray, np.ndarray]],
    settings: NetworkSettings,
    weights: np.ndarray | None,
    progress: Progress,
    pool: ThreadPoolExecutor,
) -> tuple[list[Weights], list[float]]:
    """All networks advance from checkpoint to checkpoint until their mean log loss has not fallen for a while.

    Returns
    -------
    The networks at the best checkpoint (the start, which is the class shares, unless they beat it by `WORTH`), and the
    mean log loss at the start and at every checkpoint.
    """

    def judge(net: Weights, rows: tuple[np.ndarray, np.ndarray]) -> float:
        return log_loss(softmax(forward(rows[0], net)[2]), rows[1], weights)

    def advance(training: Iterator[Weights], rows: tuple[np.ndarray, np.ndarray]) -> tuple[Weights, float]:
        net = next(training)
        return net, judge(net, rows)

    best, losses = starts, [float(np.mean([judge(net, rows) for net, rows in zip(starts, judged)]))]
    bar, at = losses[0] - WORTH, 0
    for checkpoint in range(1, settings.steps // max(1, settings.steps // settings.checkpoints) + 1):
        found = list(pool.map(advance, running, judged))
        losses.append(float(np.mean([loss for _, loss in found])))
        if losses[-1] < bar:
            best, bar, at = [net for net, _ in found], losses[-1], checkpoint
        progress(0.1 + 0.85 * checkpoint / settings.checkpoints, "training the predictor")
        if checkpoint - at >= PATIENCE:
            break
    return best, losses[: at + 1]


def _sharpened(net: Weights, prior: np.ndarray, sharpness: float) -> Weights:
    """The network with logits `log prior + sharpness * (logits - log prior)`."""
    bias = sharpness * net[5] + (1 - sharpness) * np.log(prior)
    return (*net[:4], net[4] * np.float32(sharpness), bias.astype(np.float32))


def _threads() -> int:
    import numba

    return int(numba.get_num_threads())
