"""Predictors fitted once and used again: trees of several budgets on the same rows share what judges them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class KeptFits:
    """A function that fits a predictor and remembers what it fitted, by the content of its arguments.

    Given to `PlanTree(predictor=...)`, trees that differ in budget or prices are judged by the same predictors, which
    are fitted once.

    Parameters
    ----------
    fit : function or None, default=None
        `(values, y, n_classes, *, categories, seed, progress)`; None for the package's own.

    Attributes
    ----------
    fitted : int
        How many predictors were really fitted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    >>> kept = KeptFits()
    >>> kept(X, y, 2) is kept(X.copy(), y, 2), kept.fitted
    (True, 1)
    """

    def __init__(self, fit: Callable[..., Any] | None = None) -> None:
        self.fit = fit
        self.takes_hints = fit is None or getattr(fit, "takes_hints", False)
        self.fitted = 0
        self._kept: dict[str, Any] = {}

    def __call__(
        self,
        values: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        categories: Sequence[int] | None = None,
        error_costs: Any = None,
        focus: Any = None,
        seed: int = 0,
        progress: Any = None,
    ) -> Any:
        key = _content(values, y, n_classes, (categories, seed, error_costs, focus))
        if key not in self._kept:
            told: dict[str, Any] = {"categories": categories, "seed": seed, "progress": progress}
            if self.takes_hints:
                told |= {"error_costs": error_costs, "focus": focus}
            self._kept[key] = self._fit(values, y, n_classes, **told)
            self.fitted += 1
        return self._kept[key]

    @property
    def _fit(self) -> Callable[..., Any]:
        if self.fit is not None:
            return self.fit
        from synafa.predictor import fit_predictor

        return fit_predictor


def _content(values: np.ndarray, y: np.ndarray, n_classes: int, settings: tuple[Any, int, Any, Any]) -> str:
    categories, seed, costs, focus = settings
    told = (
        values.shape, n_classes, None if categories is None else [int(c) for c in categories], seed,
        None if costs is None else np.asarray(costs, dtype=np.float64).tolist(),
        None if focus is None else np.asarray(focus, dtype=int).tolist(),
    )  # fmt: skip
    digest = hashlib.sha256(repr(told).encode())
    for array in (np.asarray(values, dtype=np.float64), np.asarray(y, dtype=np.int64)):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
