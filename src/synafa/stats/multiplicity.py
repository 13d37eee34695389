"""Many p-values at once: Benjamini-Hochberg (false discovery rate) and Holm (family-wise error rate).

Sorted ascending, the adjusted values are `p_(i) * m / i` (step-up, running minimum from the right) and
`p_(i) * (m - i + 1)` (step-down, running maximum from the left).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError


@dataclass(frozen=True)
class MultiplicityResult:
    """Adjusted p-values and the rejections at `level`, in the order of the input."""

    adjusted: NDArray[np.float64]
    rejected: NDArray[np.bool_]
    level: float

    @property
    def n_rejected(self) -> int:
        """How many hypotheses are rejected."""
        return int(self.rejected.sum())


def benjamini_hochberg(p: ArrayLike, q: float = 0.05) -> MultiplicityResult:
    """Control the false discovery rate at `q` (independent or positively dependent tests).

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).adjusted.round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    values, order = _checked(p, q)
    m = values.size
    scaled = values[order] * m / np.arange(1, m + 1)
    return _unsorted(np.minimum.accumulate(scaled[::-1])[::-1], order, q)


def pvalue_text(p: float, n_resamples: int = 10_000, digits: int = 4) -> str:
    """A p-value as it is printed: a bootstrap that never crossed zero only says that p is below 2 / n_resamples.

    >>> pvalue_text(0.0), pvalue_text(0.0314), pvalue_text(0.0, n_resamples=1000)
    ('p < 0.0002', 'p = 0.0314', 'p < 0.002')
    """
    least = 2.0 / n_resamples
    if p < least:
        return f"p < {least:.6f}".rstrip("0")
    return f"p = {p:.{digits}f}"


def adjusted_stars(p: Sequence[float | None], q: float = 0.05) -> list[str]:
    """A star for each test that Benjamini-Hochberg rejects among those of one table; None is no test.

    >>> adjusted_stars([0.001, 0.04, None, 0.6])
    ['*', '', '', '']
    """
    tested = [i for i, value in enumerate(p) if value is not None]
    stars = [""] * len(p)
    if tested:
        kept = benjamini_hochberg([float(p[i] or 0.0) for i in tested], q).rejected
        for i, rejected in zip(tested, kept):
            stars[i] = "*" if rejected else ""
    return stars


def holm(p: ArrayLike, alpha: float = 0.05) -> MultiplicityResult:
    """Control the family-wise error rate at `alpha`, whatever the dependence.

    >>> holm([0.01, 0.04, 0.03, 0.5]).adjusted.round(2).tolist()
    [0.04, 0.09, 0.09, 0.5]
    """
    values, order = _checked(p, alpha)
    scaled = values[order] * np.arange(values.size, 0, -1)
    return _unsorted(np.maximum.accumulate(scaled), order, alpha)


def _checked(p: ArrayLike, level: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise SynafaError("p must be a one-dimensional array of values between 0 and 1 without missing ones.")
    if not 0.0 < level < 1.0:
        raise SynafaError(f"The level must lie between 0 and 1, got: {level}.")
    return values, np.argsort(values, kind="stable")


def _unsorted(adjusted: NDArray[np.float64], order: NDArray[np.int64], level: float) -> MultiplicityResult:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return MultiplicityResult(result, result <= level, level)
