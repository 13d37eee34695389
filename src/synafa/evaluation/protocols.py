"""What the harness asks of a policy and of a classifier. Anything with these methods can be evaluated."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Policy(Protocol):
    """Chooses the next feature of every row in a batch; rows are independent.

    Optional attributes: `name`; `uses_remaining` (False promises that `remaining` is not looked at, so that one run at
    the largest budget serves the smaller ones); `propose_with_reason` returning (feature, reason int8) with
    `reason_names`; `propose_for_rows(rows, values, mask, remaining)`, which also gets the dataset's row numbers.
    """

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """The feature index of each row, int64 (n,), -1 for stop.

        values : float32 (n, D), 0 where hidden; mask : bool (n, D), True where known; remaining : float64 (n,)
        """
        ...


@runtime_checkable
class Classifier(Protocol):
    """Predicts from whatever is known."""

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities, float32 (n, K), from the arrays a policy sees."""
        ...
