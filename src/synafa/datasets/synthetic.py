"""The study's generated datasets: the synergy sweep, its fixed-information control, and AFABench's two cubes.

Sweeps: 24 fair bits B1..B22, S1, S2 and Y ~ Bernoulli(sigmoid(l)), with
`l = sum b_i (2 B_i - 1) + w_add [(2 S1 - 1) + (2 S2 - 1)] + w_xor [2 (S1 xor S2) - 1]`;
the sweep mixes `w_add = 0.7 (1 - alpha)` and `w_xor = 1.4 alpha`, the control takes calibrated pairs of weights.
"""

from __future__ import annotations

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.datasets.preprocess import split_rows
from synafa.errors import SynafaError

BACKGROUND = (
    *(0.50, 0.46, 0.42, 0.38, 0.34, 0.30, 0.27, 0.24, 0.21, 0.18, 0.16),
    *(0.14, 0.12, 0.10, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02),
)
SWEEP_ROWS = 30_000
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Target Syn/V -> (w_add, w_xor), the paper's calibration table.
FIXED_V_WEIGHTS = {
    0.52: (0.70875, 0.0629),
    0.65: (0.61239, 0.5283),
    0.78: (0.49142, 0.73411),
    0.90: (0.33509, 0.87496),
    1.00: (0.00000, 0.97202),
}


def sweep_weights(alpha: float) -> tuple[float, float]:
    """(w_add, w_xor) of the synergy sweep: additive at alpha = 0, exclusive-or at alpha = 1."""
    if not 0.0 <= alpha <= 1.0:
        raise SynafaError(f"alpha must lie between 0 and 1, got: {alpha!r}.")
    return (1.0 - alpha) * 0.7, alpha * 1.4


def synergy_sweep(instance: int = 0, *, alpha: float, n: int = SWEEP_ROWS) -> Dataset:
    """The synergy sweep at one alpha; S2 costs 5, everything else 1."""
    return _sweep("synergy-sweep", instance, sweep_weights(alpha), n, (("alpha", float(alpha)),))


def fixed_v(instance: int = 0, *, fraction: float, n: int = SWEEP_ROWS) -> Dataset:
    """The control sweep: the pair's information held near 0.1 bit while its synergy fraction varies."""
    if fraction not in FIXED_V_WEIGHTS:
        raise SynafaError(f"fraction must be one of {list(FIXED_V_WEIGHTS)}, got: {fraction!r}.")
    return _sweep("fixed-v", instance, FIXED_V_WEIGHTS[fraction], n, (("fraction", float(fraction)),))


def _sweep(
    name: str, instance: int, weights: tuple[float, float], n: int, parameters: tuple[tuple[str, float], ...]
) -> Dataset:
    """Draw the bits, then the classes, from the instance's generator, in the study's order."""
    w_add, w_xor = weights
    rng = np.random.default_rng(instance)
    Z = rng.integers(0, 2, size=(n, len(BACKGROUND) + 2))
    sign = 2.0 * Z - 1.0
    s1, s2 = Z[:, -2], Z[:, -1]
    logit = sign[:, :-2] @ np.array(BACKGROUND) + w_add * (sign[:, -2] + sign[:, -1]) + w_xor * (2.0 * (s1 ^ s2) - 1.0)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
    costs = np.ones(Z.shape[1])
    costs[-1] = 5.0
    names = (*(f"B{i + 1}" for i in range(len(BACKGROUND))), "S1", "S2")
    return _dataset(name, instance, Z, y, names, (3.0, 5.0, 8.0), parameters + _unusual(n=(n, SWEEP_ROWS)), costs=costs)


def cube(instance: int = 0, *, noise: float = 0.3, n: int = 1000) -> Dataset:
    """CUBE: 20 features N(0.5, 0.3^2), but y, y+1, y+2 hold the bits of y (lowest first) plus N(0, noise^2)."""
    rng = np.random.default_rng(instance)
    y = rng.integers(0, 8, size=n)
    X = rng.normal(0.5, 0.3, size=(n, 20))
    _write_bits(X, y, y, noise, rng)
    parameters = _unusual(noise=(noise, 0.3), n=(n, 1000))
    return _dataset("cube", instance, X, y, _numbered("x", 20), (3.0, 5.0, 10.0), parameters)


def cube_nm(instance: int = 0, *, noise: float = 0.3, n: int = 1000) -> Dataset:
    """CUBE-NM: five context features (one-hot plus N(0, 0.1^2), one group) say which of five cubes holds y."""
    contexts, width = 5, 10
    rng = np.random.default_rng(instance)
    context = rng.integers(0, contexts, size=n)
    y = rng.integers(0, 8, size=n)
    X = rng.normal(0.5, 0.3, size=(n, contexts + contexts * width))
    X[:, :contexts] = np.eye(contexts)[context] + rng.normal(0.0, 0.1, size=(n, contexts))
    _write_bits(X, y, contexts + width * context + y, noise, rng)
    names = (*_numbered("context", contexts), *(f"block{b}_x{i}" for b in range(contexts) for i in range(width)))
    parameters = _unusual(noise=(noise, 0.3), n=(n, 1000))
    return _dataset(
        "cube-nm", instance, X, y, names, (3.0, 5.0, 7.0, 10.0, 14.0), parameters, groups=(tuple(range(contexts)),)
    )


def _write_bits(X: np.ndarray, y: np.ndarray, start: np.ndarray, noise: float, rng: np.random.Generator) -> None:
    """Put the three bits of y, with noise, into columns start, start+1, start+2 of each row."""
    bits = (y[:, None] >> np.arange(3)) & 1
    X[np.arange(len(y))[:, None], start[:, None] + np.arange(3)] = bits + rng.normal(0.0, noise, size=bits.shape)


def _numbered(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in range(count))


def _unusual(**pairs: tuple[float, float]) -> tuple[tuple[str, float], ...]:
    """The parameters whose (value, default) differ: the study's own settings keep short keys."""
    return tuple((name, float(value)) for name, (value, default) in pairs.items() if value != default)


def _dataset(
    name: str,
    instance: int,
    X: np.ndarray,
    y: np.ndarray,
    names: tuple[str, ...],
    budgets: tuple[float, ...],
    parameters: tuple[tuple[str, float], ...],
    costs: np.ndarray | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
) -> Dataset:
    train, validation, test = split_rows(len(y), instance)
    return Dataset(
        name=name,
        instance=instance,
        X=X.astype(np.float32),
        y=y.astype(np.int64),
        feature_names=names,
        costs=np.ones(X.shape[1]) if costs is None else costs,
        budgets=budgets,
        train=train,
        validation=validation,
        test=test,
        source=f"generated by synafa with seed {instance}",
        parameters=parameters,
        groups=groups,
    )
