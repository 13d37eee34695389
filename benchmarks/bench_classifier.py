"""How fast the shared classifier trains and predicts on one thread: `python benchmarks/bench_classifier.py`."""

from __future__ import annotations

import time

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.neural import MaskedMLP, MLPConfig


def drawn(n: int, d: int) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.8).astype(np.int64)
    parts = np.split(np.arange(n), [int(0.6 * n), int(0.8 * n)])
    return Dataset("drawn", 0, X, y, tuple(map(str, range(d))), np.ones(d), (5.0,), *parts, source="drawn")


def main() -> None:
    MaskedMLP.fit(drawn(1000, 5), MLPConfig(epochs=1))  # first use loads libraries
    print(f"{'shape':>14} {'ms a step':>10} {'published epochs':>18}")
    for name, n, d, epochs in (("physionet", 12000, 41, 100), ("bank", 45211, 16, 300), ("mnist-loop", 60000, 784, 60)):
        dataset = drawn(n, d)
        steps = -(-len(dataset.train) // 128)
        start = time.perf_counter()
        MaskedMLP.fit(dataset, MLPConfig(epochs=max(1, 300 // steps)))
        step = (time.perf_counter() - start) / (steps * max(1, 300 // steps))
        print(f"{name:>14} {1000 * step:>10.2f} {step * steps * epochs:>16.0f} s")
    rng = np.random.default_rng(1)
    model = MaskedMLP.fit(drawn(1000, 50), MLPConfig(epochs=1))
    mask = rng.random((100_000, 50)) < 0.5
    values = np.where(mask, rng.normal(size=mask.shape), 0).astype(np.float32)
    start = time.perf_counter()
    model.predict_proba(values, mask)
    print(f"100,000 masked rows at D = 50: {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
