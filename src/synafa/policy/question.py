"""What decides which feature comes next, beside the information of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """`single` (D,) in bits; `costs` (D,); `known` (D,) features that cost nothing and are known from the start;
    `unavailable` (D,) features that are never acquired; and the settings of `SynAFA`."""

    single: np.ndarray
    costs: np.ndarray
    known: np.ndarray
    unavailable: np.ndarray
    budget: float
    cost_weight: float
    pair_branch: bool
    affordability: str
