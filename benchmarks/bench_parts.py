"""Parts that must stay quick: prices of many states, resampling, the scan of all pairs, the shared network."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import line, seconds
from synafa import SynafaError
from synafa.analysis.scan import scan
from synafa.datasets import load, load_raw
from synafa.money import PriceList
from synafa.stats import cluster_bootstrap_correlation


def prices_of_many_states() -> None:
    """`PriceList.now` of 8,192 states of 784 features in 40 groups."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(784)]
    group = [f"g{j % 40}" for j in range(784)]
    prices = PriceList.from_columns(names, [10.0] * 784, group=group, price_in_group=[1.0] * 784)
    acquired = rng.random((8192, 784)) < 0.02
    line("prices of 8,192 states of 784 features", seconds(lambda: prices.now(acquired), awake=True), "s", 0.5)


def correlations_of_swaps() -> None:
    """A cluster bootstrap of 100,000 swaps of 12,000 instances."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 12_000, 100_000)
    x, y = rng.normal(size=(2, 100_000))
    took = seconds(lambda: cluster_bootstrap_correlation(x, y, clusters, n_resamples=10_000))
    line("cluster bootstrap, 100,000 swaps, 10,000 resamples", took, "s", 10)


def scan_of_physionet() -> None:
    """The exact scan of all pairs of PhysioNet's raw values, when its file is there."""
    try:
        raw = load_raw("physionet")
    except SynafaError:
        print("  PhysioNet's file is not here: the scan is left out")
        return
    values, y = raw.values, raw.y
    names = list(raw.feature_names)
    line("exact scan of PhysioNet", seconds(lambda: scan(values, y, names), awake=True), "s", 15)


def masked_rows() -> None:
    """The shared classifier's network on 100,000 masked rows (extra `neural`)."""
    from synafa.neural import MaskedMLP, MLPConfig

    data = load("cube-nm")
    model = MaskedMLP.fit(data, MLPConfig(epochs=1, batch=64))
    rng = np.random.default_rng(0)
    mask = rng.random((100_000, data.n_features)) < 0.5
    values = np.where(mask, rng.normal(size=mask.shape), 0).astype(np.float32)
    took = seconds(lambda: model.predict_proba(values, mask), awake=True)
    line(f"shared network, 100,000 masked rows at D = {data.n_features}", took, "s", 1)


def main() -> None:
    prices_of_many_states()
    correlations_of_swaps()
    scan_of_physionet()
    masked_rows()


if __name__ == "__main__":
    main()
