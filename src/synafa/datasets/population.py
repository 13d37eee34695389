"""Exact population information of the pair S1, S2 in the sweeps, without drawing a row.

The background's logit is a sum of 22 signed multiples of 0.01: its distribution over all 2^22 configurations is a
convolution on the integer lattice of hundredths. From it p(Y=1 | S1, S2) is an exact finite sum, and the Williams-Beer
atoms follow: `R = sum_y p(y) min_i I(Y=y; S_i)`, `U_i = I(S_i;Y) - R`, `Syn = V - R - U_1 - U_2`, `V = I(S1,S2;Y)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from synafa.datasets.synthetic import BACKGROUND, sweep_weights
from synafa.errors import SynafaError


@dataclass(frozen=True)
class PopulationPID:
    """Atoms of I(S1,S2;Y) in bits; `joint` is their sum V and `fraction` is synergy / V (0 where V is 0)."""

    redundant: float
    unique1: float
    unique2: float
    synergy: float
    joint: float

    @property
    def fraction(self) -> float:
        return self.synergy / self.joint if self.joint > 0.0 else 0.0


def population_pid(alpha: float) -> PopulationPID:
    """The exact atoms of the synergy sweep at one alpha.

    >>> round(population_pid(1.0).synergy, 4)
    0.1951
    """
    return population_pid_weights(*sweep_weights(alpha))


def population_pid_weights(w_add: float, w_xor: float) -> PopulationPID:
    """The exact atoms for any pair of weights."""
    value, probability = _background()
    sign = np.array([-1.0, 1.0])
    pair_logit = w_add * (sign[:, None] + sign[None, :]) - w_xor * sign[:, None] * sign[None, :]  # xor is -product
    positive = (probability / (1.0 + np.exp(-(value + pair_logit[:, :, None])))).sum(axis=-1)
    joint = np.stack([1.0 - positive, positive], axis=-1) / 4.0  # p(s1, s2, y)
    p_y = joint.sum(axis=(0, 1))
    specific1 = _specific(joint.sum(axis=1), p_y)
    specific2 = _specific(joint.sum(axis=0), p_y)
    single1, single2 = float(p_y @ specific1), float(p_y @ specific2)
    total = float(p_y @ _specific(joint.reshape(4, 2), p_y))
    redundant = max(0.0, float(p_y @ np.minimum(specific1, specific2)))  # negative only by rounding
    unique1, unique2 = max(0.0, single1 - redundant), max(0.0, single2 - redundant)
    return PopulationPID(redundant, unique1, unique2, total - redundant - unique1 - unique2, total)


def _specific(joint: np.ndarray, p_y: np.ndarray) -> np.ndarray:
    """Specific information I(Y=y; S) = sum_s p(s|y) log2 p(y|s)/p(y) from p(s, y); every cell is positive here."""
    return (joint / p_y * np.log2(joint / joint.sum(axis=1, keepdims=True) / p_y)).sum(axis=0)


@cache
def _background() -> tuple[np.ndarray, np.ndarray]:
    """Values of the background logit and their probabilities over all configurations."""
    steps = [round(100 * weight) for weight in BACKGROUND]
    reach = sum(steps)
    probability = np.zeros(2 * reach + 1)
    probability[reach] = 1.0
    for step in steps:  # no mass ever reaches the ends, so rolling does not wrap
        probability = 0.5 * (np.roll(probability, step) + np.roll(probability, -step))
    return np.arange(-reach, reach + 1) / 100.0, probability


def calibrate_fixed_v(fraction: float, v: float = 0.10) -> tuple[float, float]:
    """The weights (w_add, w_xor) that give the pair V = v bits with the share `fraction` of synergy.

    On the curve V = v the share grows from its additive minimum (a little above one half) to 1 for exclusive or.
    """
    from scipy.optimize import brentq

    if not 0.0 < v < population_pid_weights(0.0, _LARGEST).joint:
        raise SynafaError(f"v must be positive and within reach of the sweep (a fraction of a bit), got: {v!r}.")
    if not 0.0 < fraction <= 1.0:
        raise SynafaError(f"fraction must lie above 0 and not above 1, got: {fraction!r}.")

    def weights(angle: float) -> tuple[float, float]:
        """The point of the curve V = v in one direction of the (w_add, w_xor) plane."""
        add, xor = math.cos(angle), math.sin(angle)
        length = brentq(lambda r: population_pid_weights(r * add, r * xor).joint - v, 0.0, _LARGEST, xtol=1e-12)
        return length * add, length * xor

    if fraction == 1.0:
        return 0.0, weights(math.pi / 2)[1]
    lowest = population_pid_weights(*weights(0.0)).fraction
    if fraction < lowest:
        raise SynafaError(f"fraction must be at least {lowest:.4f} at v = {v:g}, got: {fraction!r}.")
    angle = brentq(lambda a: population_pid_weights(*weights(a)).fraction - fraction, 0.0, math.pi / 2, xtol=1e-12)
    return weights(angle)


_LARGEST = 10.0
