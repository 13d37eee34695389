"""Tail sums over the grid of two independent hypergeometric counts.

On the grid `(i, j)` the statistic is `g0[i] + g1[j] - h[i + j]` and the log probability `l0[i] + l1[j]`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_NEGLIGIBLE = 46.0  # a term e^-46 below the largest one adds less than 1.1e-20 of it


@njit(cache=True, nogil=True)
def tail_sums(
    g0: np.ndarray, l0: np.ndarray, g1: np.ndarray, l1: np.ndarray, h: np.ndarray, observed: float, tolerance: float
) -> tuple[float, float]:
    """Log of P(statistic >= observed) and of P(statistic <= observed), ties within `tolerance` counted in both."""
    right_top, right_sum = -np.inf, 0.0
    left_top, left_sum = -np.inf, 0.0
    for i in range(g0.size):
        base, weight = g0[i] - observed, l0[i]
        for j in range(g1.size):
            excess = base + g1[j] - h[i + j]
            term = weight + l1[j]
            if excess >= -tolerance:
                if term > right_top:
                    right_sum = right_sum * np.exp(right_top - term) + 1.0
                    right_top = term
                elif term > right_top - _NEGLIGIBLE:
                    right_sum += np.exp(term - right_top)
            if excess <= tolerance:
                if term > left_top:
                    left_sum = left_sum * np.exp(left_top - term) + 1.0
                    left_top = term
                elif term > left_top - _NEGLIGIBLE:
                    left_sum += np.exp(term - left_top)
    right = right_top + np.log(right_sum) if right_sum > 0.0 else -np.inf
    left = left_top + np.log(left_sum) if left_sum > 0.0 else -np.inf
    return right, left


@njit(cache=True, nogil=True)
def moments(
    g0: np.ndarray, l0: np.ndarray, g1: np.ndarray, l1: np.ndarray, h: np.ndarray, origin: float
) -> tuple[float, float]:
    """Mean and variance of the statistic over the grid, whose probabilities need not quite sum to 1."""
    p1 = np.exp(l1)
    mass, first, second = 0.0, 0.0, 0.0
    for i in range(g0.size):
        p0, base = np.exp(l0[i]), g0[i] - origin
        for j in range(g1.size):
            p = p0 * p1[j]
            value = base + g1[j] - h[i + j]
            mass += p
            first += p * value
            second += p * value * value
    mean = first / mass
    return origin + mean, max(second / mass - mean * mean, 0.0)
