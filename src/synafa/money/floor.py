"""A floor under sensitivity or a predictive value: from held-out episodes to a threshold of the class probability.

Sensitivity: with n cases of the class and miss rate a = 1 - floor, let k be the largest number of misses with
P(Binomial(n, a) <= k) <= 1 - confidence; the (k+1)-th smallest score of those cases is the threshold (an order
statistic's tolerance limit, exact for any distribution of scores). Predictive values are not monotone in the threshold:
five chains of thresholds fixed in advance are tested from strict to lax, each at a fifth of 1 - confidence, with exact
binomial tests, until the first failure (fixed-sequence testing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money.words import percent

KINDS = ("sensitivity", "ppv", "npv")
_NAMES = {"sensitivity": "sensitivity", "ppv": "positive predictive value", "npv": "negative predictive value"}
_STARTS = (1.5, 0.75, 0.0, -0.75, -1.5)  # where chains start, in log odds from the floor
_LOGIT_STEP, _LAXEST = 0.1, 0.02  # spacing of the thresholds tried, and the last one


@dataclass(frozen=True)
class Floor:
    """A calibrated floor, or why there is none.

    With kind "sensitivity" or "npv" a case whose probability of `label` falls below `threshold` is ruled out; with
    "ppv" a case whose probability reaches `threshold` is ruled in.

    Attributes
    ----------
    kind : {"sensitivity", "ppv", "npv"}
    label : the class
    floor, confidence : float
        With this confidence over the draw of the calibration rows, the quantity is at least the floor.
    threshold : float or None
        None if no threshold could be shown to hold.
    bound : float or None
        Clopper-Pearson lower limit of the quantity at the threshold, at least `floor`.
    n, errors : int
        Calibration rows that count (of the class; or ruled in or out at the threshold) and the wrong ones among them.
    needed : int
        The smallest `n` with which the floor can be shown at all, without a single error.
    text : str
        The result in a sentence.
    """

    kind: str
    label: Any
    floor: float
    confidence: float
    threshold: float | None
    bound: float | None
    n: int
    errors: int
    needed: int
    text: str

    @property
    def reached(self) -> bool:
        """Whether there is a threshold."""
        return self.threshold is not None

    def fires(self, proba: Any) -> np.ndarray:
        """Which cases are ruled out or in, bool (n,), from the probability of `label`, (n,)."""
        if self.threshold is None:
            raise SynafaError(self.text)
        proba = np.asarray(proba, dtype=np.float64)
        return proba >= self.threshold if self.kind == "ppv" else proba < self.threshold

    def to_meta(self) -> dict[str, Any]:
        """JSON values from which `from_meta` makes the same floor."""
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Floor:
        """The floor that `to_meta` described."""
        try:
            return cls(**meta)
        except TypeError as error:
            raise SynafaError(f"The stored floor cannot be read ({error}); calibrate it again.") from error


def episode_score(proba: Any, kind: str) -> np.ndarray:
    """One score a row from the probabilities of the class along its episode.

    A case is ruled out the first time its probability falls below the threshold, whatever would have followed; so what
    counts is the smallest probability of the episode (sensitivity, npv) or the largest (ppv). The episodes must be run
    without the floor and with all other stop rules.

    Parameters
    ----------
    proba : float (n, steps)
        Probability of the class with nothing measured, after the first measurement, ...; after an episode's end NaN or
        the last value.
    kind : {"sensitivity", "ppv", "npv"}

    Returns
    -------
    score : float64 (n,)
    """
    _check_kind(kind)
    proba = np.asarray(proba, dtype=np.float64)
    return np.nanmax(proba, axis=1) if kind == "ppv" else np.nanmin(proba, axis=1)


def calibrate_floor(
    kind: str, score: Any, is_class: Any, floor: float = 0.95, confidence: float = 0.95, *, label: Any = "the class"
) -> Floor:
    """Choose the threshold at which a floor holds, from rows that neither policy nor predictor was fitted on.

    Parameters
    ----------
    kind : {"sensitivity", "ppv", "npv"}
        sensitivity: of the cases of the class, the share that is not ruled out; ppv: of the cases ruled in, the share
        that is of the class; npv: of the cases ruled out, the share that is not.
    score : float (n,)
        Probability of the class, see `episode_score`; the probability at the end, if the floor only decides.
    is_class : bool (n,)
        Whether the row is of the class. Rows must be independent: one row a patient.
    floor, confidence : float in (0, 1), default=0.95
    label : the class, default="the class"

    Returns
    -------
    result : Floor
        With the largest threshold that holds for sensitivity and npv and the smallest for ppv, or with a sentence why
        there is none.

    Examples
    --------
    >>> import numpy as np
    >>> calibrate_floor("sensitivity", np.linspace(0.2, 1, 100), np.ones(100, bool), 0.95, label="disease").n
    100
    >>> print(calibrate_floor("sensitivity", [0.9, 0.8], [True, True], 0.95, label="disease").text)
    A sensitivity of 95 % for disease cannot be shown with 95 % confidence: it takes at least 59 cases of disease that \
were not used for fitting, and there are 2.
    """
    _check_kind(kind)
    for name, value in (("floor", floor), ("confidence", confidence)):
        if not 0 < value < 1:
            raise SynafaError(f"The {name} must be between 0 and 1 (95 % is 0.95), got: {value!r}.")
    score, is_class = np.asarray(score, dtype=np.float64), np.asarray(is_class, dtype=bool)
    if score.ndim != 1 or score.shape != is_class.shape:
        raise SynafaError(f"score and is_class must be of one length, got {score.shape} and {is_class.shape}.")
    if np.isnan(score).any():
        raise SynafaError(f"The score of row {int(np.flatnonzero(np.isnan(score))[0]) + 1} is missing.")
    alpha = 1.0 - confidence
    if kind == "sensitivity":
        level = alpha
        threshold, n, allowed = _sensitivity(score[is_class], floor, level)
        errors = 0 if threshold is None else int((score[is_class] < threshold).sum())  # fewer than allowed with ties
    else:
        level = alpha / len(_STARTS)
        threshold, n, errors = _predictive_value(kind, score, is_class, floor, level)
        allowed = errors
    needed = _needed(floor, level)
    bound = None if threshold is None else _lower_limit(allowed, n, level)
    text = _text(kind, label, floor, confidence, threshold, n, needed)
    return Floor(kind, label, float(floor), float(confidence), threshold, bound, n, errors, needed, text)


def _sensitivity(score: np.ndarray, floor: float, alpha: float) -> tuple[float | None, int, int]:
    """Threshold, number of cases, and the largest number of misses that the order statistic allows."""
    from scipy.stats import binom

    n = len(score)
    k = int((binom.cdf(np.arange(n + 1), n, 1.0 - floor) <= alpha * (1 + 1e-12)).sum()) - 1
    return (None, n, 0) if k < 0 else (float(np.sort(score)[k]), n, k)


def _predictive_value(
    kind: str, score: np.ndarray, is_class: np.ndarray, floor: float, level: float
) -> tuple[float | None, int, int]:
    """The laxest threshold that a chain reaches, with the numbers ruled in or out there and the wrong ones."""
    from scipy.stats import binom

    sure = score if kind == "ppv" else 1.0 - score  # probability of what the ruling says
    right = is_class if kind == "ppv" else ~is_class
    found: float | None = None
    most = 0
    for offset in _STARTS:
        for strict in _chain(floor, offset):
            flagged = sure >= strict if kind == "ppv" else score < 1.0 - strict
            n = int(flagged.sum())
            most = max(most, n)
            wrong = int((flagged & ~right).sum())
            if n == 0 or binom.cdf(wrong, n, 1.0 - floor) > level:
                break
            if found is None or strict < found:
                found = float(strict)
    if found is None:
        return None, most, 0
    threshold = found if kind == "ppv" else 1.0 - found
    flagged = score >= threshold if kind == "ppv" else score < threshold
    return threshold, int(flagged.sum()), int((flagged & ~right).sum())


def _chain(floor: float, offset: float) -> np.ndarray:
    """Thresholds from `offset` beside the floor down, evenly spaced in log odds."""
    first, last = np.log(floor / (1 - floor)) + offset, np.log(_LAXEST / (1 - _LAXEST))
    return 1.0 / (1.0 + np.exp(-np.arange(first, last, -_LOGIT_STEP)))


def _needed(floor: float, level: float) -> int:
    """The smallest n with floor ** n <= level."""
    n = max(1, int(np.floor(np.log(level) / np.log(floor))))
    while floor**n > level * (1 + 1e-12):
        n += 1
    return n


def _lower_limit(errors: int, n: int, level: float) -> float:
    """Clopper-Pearson lower limit of the share that is right."""
    from scipy.stats import beta

    return float(1.0 - beta.ppf(1.0 - level, errors + 1, n - errors)) if errors < n else 0.0


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise SynafaError(f"The kind of floor must be one of {', '.join(KINDS)}, got: {kind!r}.")


def _text(kind: str, label: Any, floor: float, confidence: float, threshold: float | None, n: int, needed: int) -> str:
    what = f"A {_NAMES[kind]} of {percent(floor)} for {label}"
    how = {"sensitivity": f"cases of {label}", "ppv": "cases ruled in", "npv": "cases ruled out"}[kind]
    if threshold is None and n < needed:
        return (
            f"{what} cannot be shown with {percent(confidence)} confidence: it takes at least {needed} {how} that were "
            f"not used for fitting, and there are {n}."
        )
    if threshold is None:
        return (
            f"{what} cannot be shown with {percent(confidence)} confidence: at every threshold tried, too many of the "
            f"{how} are wrong or too few cases are left."
        )
    rule = f"ruled in from a probability of {threshold:.3f}" if kind == "ppv" else f"ruled out below {threshold:.3f}"
    return (
        f"{label} is {rule}; so its {_NAMES[kind]} is at least {percent(floor)} with {percent(confidence)} confidence, "
        f"from {n} {how} that were not used for fitting."
    )
