"""Numbers from arrays: how good the predictions are, what they cost, and how varied the acquired sets are.

Plain accuracy under a class-weighted classifier can be gained by pushing it towards the majority class, so balanced
accuracy, AUROC and the threshold-matched difference stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.errors import SynafaError

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "auroc", "log_loss", "calibration_error")
_SMALLEST = float(np.finfo(np.float32).eps)


def accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Share of rows whose predicted class is the true one."""
    return float(np.mean(y == predicted)) if len(y) else float("nan")


def confusion(y: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts (true class, predicted class), int64 (K, K)."""
    flat = np.bincount(np.asarray(y) * n_classes + predicted, minlength=n_classes * n_classes)
    return flat.reshape(n_classes, n_classes)


def balanced_accuracy(y: np.ndarray, predicted: np.ndarray, n_classes: int | None = None) -> float:
    """Mean recall over the classes that occur in `y`."""
    counts = confusion(y, predicted, n_classes or _classes(y, predicted))
    occurs = counts.sum(axis=1) > 0
    return _mean(np.diag(counts)[occurs] / counts.sum(axis=1)[occurs])


def macro_f1(y: np.ndarray, predicted: np.ndarray, n_classes: int | None = None) -> float:
    """Mean F1 = 2 TP / (2 TP + FP + FN) over the classes that occur among true or predicted ones."""
    counts = confusion(y, predicted, n_classes or _classes(y, predicted))
    total = counts.sum(axis=0) + counts.sum(axis=1)
    return _mean(2 * np.diag(counts)[total > 0] / total[total > 0])


def auroc(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Area under the ROC curve; with more than two classes the mean of one class against the rest; NaN without two."""
    from synafa.stats import roc_area

    k = np.shape(probabilities)[1]
    areas = np.array([roc_area(np.equal(y, c), probabilities[:, c]) for c in ([1] if k == 2 else range(k))])
    return _mean(areas[~np.isnan(areas)])


def log_loss(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Mean of -ln p(true class); a probability of 0 counts as float32's epsilon."""
    chosen = np.asarray(probabilities, dtype=np.float64)[np.arange(len(y)), y]
    return _mean(-np.log(np.clip(chosen, _SMALLEST, 1)))


def calibration_error(y: np.ndarray, probabilities: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error: |accuracy - confidence| in equal-width bins of confidence, weighted by rows."""
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if not len(y):
        return float("nan")
    confidence = probabilities.max(axis=1)
    hit = probabilities.argmax(axis=1) == y
    where = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    gap = np.bincount(where, weights=hit - confidence, minlength=bins)
    return float(np.abs(gap).sum() / len(y))


def prediction_metrics(y: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Every entry of `METRICS` from classes (n,) and probabilities (n, K); the most probable class is predicted."""
    predicted = probabilities.argmax(axis=1)
    k = probabilities.shape[1]
    return {
        "accuracy": accuracy(y, predicted),
        "balanced_accuracy": balanced_accuracy(y, predicted, k),
        "macro_f1": macro_f1(y, predicted, k),
        "auroc": auroc(y, probabilities),
        "log_loss": log_loss(y, probabilities),
        "calibration_error": calibration_error(y, probabilities),
    }


def acquired_sets(mask: np.ndarray) -> tuple[int, float]:
    """How many different feature sets were acquired, and the share of rows with the most frequent one."""
    if not len(mask):
        return 0, float("nan")
    counts = np.unique(np.packbits(mask, axis=1), axis=0, return_counts=True)[1]
    return len(counts), float(counts.max() / len(mask))


def matched_threshold(scores: np.ndarray, share: float) -> float:
    """The threshold t for which the share of `scores` above t is nearest to `share`.

    t lies midway between two neighbouring distinct scores, so that equal scores are never split; of two equally near
    shares the smaller wins.
    """
    values, counts = np.unique(np.asarray(scores, dtype=np.float64), return_counts=True)
    if not len(values):
        raise SynafaError("A threshold cannot be set on no validation rows; give validation episodes.")
    above = np.append(counts[::-1].cumsum()[::-1], 0) / counts.sum()  # share of scores >= values[i], then none
    cut = len(above) - 1 - int(np.abs(above - share)[::-1].argmin())
    if cut == 0:
        return float(-np.inf)
    if cut == len(values):
        return float(np.inf)
    return float((values[cut - 1] + values[cut]) / 2)


@dataclass(frozen=True)
class ThresholdMatched:
    """Accuracy difference, first minus second, with both thresholds set to the same predicted positive share.

    share : the share aimed at on the validation rows; share_a, share_b : the shares predicted positive on the test rows
    """

    difference: float
    low: float
    high: float
    pvalue: float
    accuracy_a: float
    accuracy_b: float
    share: float
    share_a: float
    share_b: float
    threshold_a: float
    threshold_b: float


def threshold_matched_difference(
    validation: tuple[np.ndarray, np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray, np.ndarray],
    share: float | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> ThresholdMatched:
    """Compare two binary policies at the same predicted positive share.

    Parameters
    ----------
    validation, test : (y, probabilities of the first policy (n, 2), probabilities of the second), on the same rows
    share : predicted positive share on the validation rows; None takes the positive rate of the validation classes
    """
    from synafa.stats import paired_bootstrap

    for _, *both in (validation, test):
        if any(p.ndim != 2 or p.shape[1] != 2 for p in both):
            raise SynafaError("The threshold-matched difference is defined for two classes only.")
    y_validation, *scores = validation
    y, *probabilities = test
    aim = float(np.mean(y_validation)) if share is None else float(share)
    t_a, t_b = (matched_threshold(p[:, 1], aim) for p in scores)
    a, b = probabilities[0][:, 1] > t_a, probabilities[1][:, 1] > t_b
    right_a, right_b = a == (y == 1), b == (y == 1)
    result = paired_bootstrap(right_a, right_b, n_resamples=n_resamples, seed=seed)
    return ThresholdMatched(
        difference=result.difference,
        low=result.low,
        high=result.high,
        pvalue=result.pvalue,
        accuracy_a=_mean(right_a),
        accuracy_b=_mean(right_b),
        share=aim,
        share_a=_mean(a),
        share_b=_mean(b),
        threshold_a=t_a,
        threshold_b=t_b,
    )


def _classes(y: np.ndarray, predicted: np.ndarray) -> int:
    return int(max(np.max(y, initial=0), np.max(predicted, initial=0))) + 1


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
