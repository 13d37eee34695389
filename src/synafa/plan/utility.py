"""How well class probabilities do on rows whose class is known: one number a row, larger is better.

Without error costs it is a proper loss with its sign turned, in bits:
`0.5 * w_y * log2 p_balanced(y) + 0.5 * log2 p(y)`, each logarithm clipped at -8 nats, where p_balanced has the class
shares divided out and w_y is the balanced class weight with mean 1. With error costs it is minus what the decision
costs, half of it averaged over slightly different costs: a plan that brings a case nearer to the right decision then
counts before the decision turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

CLIP = -8.0  # nats: one row cannot count for more
_LN2 = float(np.log(2.0))
_JITTERS = 8
_JITTER_SCALE = 0.5


class Utility(Protocol):
    """Per-row utility of probabilities given classes (n,); `unit` is what it is measured in.

    Called with (n, K); `planes` takes those of C sets of features on the same rows, (K, C, n), and returns (C, n).
    """

    @property
    def unit(self) -> str: ...

    def __call__(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray: ...

    def planes(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class LogUtility:
    """Minus the log loss in bits, half with natural and half with balanced class weights.

    Attributes
    ----------
    prior : float64 (K,), class shares of the training rows
    class_weighted : whether the predictor was trained with balanced weights, so that its output is `p_balanced`
    """

    prior: np.ndarray
    class_weighted: bool = False
    unit: str = "bits"

    def __call__(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.planes(proba.T[:, None], y)[0]

    def planes(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Utilities (C, n) of probabilities (K, C, n)."""
        prior = self.prior.astype(proba.dtype)
        factor = prior if self.class_weighted else 1 / prior
        own = _of_class(proba, y)
        total = proba[0] * factor[0]
        for share, part in zip(factor[1:], proba[1:]):
            total += share * part
        reweighted = own * factor[y] / total
        natural, balanced = (reweighted, own) if self.class_weighted else (own, reweighted)
        weight = (1.0 / (len(prior) * prior))[y]
        floor = np.exp(CLIP, dtype=proba.dtype)
        total = weight * np.log(np.maximum(balanced, floor)) + np.log(np.maximum(natural, floor))
        return total * proba.dtype.type(0.5 / _LN2)

    @classmethod
    def of(cls, y: np.ndarray, n_classes: int, class_weighted: bool = False) -> LogUtility:
        """With the class shares of `y`; an absent class counts as seen once."""
        counts = np.maximum(np.bincount(y, minlength=n_classes), 1).astype(np.float64)
        return cls(counts / counts.sum(), class_weighted)


@dataclass(frozen=True, eq=False)
class MoneyUtility:
    """Minus the cost of the decision that the probabilities suggest.

    Attributes
    ----------
    matrix : float64 (K, K), cost of deciding the column when the row is true
    smooth : False counts the decision alone; True half of it, and half the mean over slightly different class weights
    """

    matrix: np.ndarray
    smooth: bool = True
    unit: str = "money"

    def __call__(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.planes(proba.T[:, None], y)[0]

    def planes(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Utilities (C, n) of probabilities (K, C, n)."""
        exact = self._paid(proba, y)
        if not self.smooth:
            return -exact
        jitters = np.exp(np.random.default_rng(0).normal(0.0, _JITTER_SCALE, (_JITTERS, len(proba))))
        around = np.mean([self._paid(proba * jitter[:, None, None], y) for jitter in jitters], axis=0)
        return -0.5 * (exact + around)

    def exact(self) -> MoneyUtility:
        """The same without smoothing."""
        return MoneyUtility(self.matrix, False, self.unit)

    def _paid(self, proba: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What the decisions cost; `y` are classes (n,), or how probable each class is (n, K)."""
        decided = np.tensordot(self.matrix, proba, axes=(0, 0)).argmin(axis=0)
        return self.matrix[y, decided] if y.ndim == 1 else np.einsum("nk,kcn->cn", y, self.matrix[:, decided])


def _of_class(proba: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The probability (C, n) of each row's class out of (K, C, n)."""
    k, c, n = proba.shape
    place = np.arange(c * n).reshape(c, n) + y * (c * n)
    return proba.reshape(k, c * n).ravel().take(place)
