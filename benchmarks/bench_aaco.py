"""AACO's time per decision against the public implementation's 4 ms (PhysioNet) and 70 ms (MNIST-loop) on one thread.

    python benchmarks/bench_aaco.py [--rows N] [--profile quick]

Decides for all test rows (PhysioNet 2,400 at budget 15, MNIST-loop 12,000 at budget 20) and prints the ratios; the bars
are 10x and 40x. The published times are those of the study's machine, so the ratio is between machines.
"""

from __future__ import annotations

import argparse
import time

import numba
import numpy as np

from synafa.baselines.aaco import AACO, Settings
from synafa.datasets import load
from synafa.neural import shared_classifier

CASES = (("physionet", 15, 4.0, 10.0), ("mnist-loop", 20, 70.0, 40.0))


def decide_all(policy: AACO, X: np.ndarray, steps: int) -> float:
    """Seconds to make `steps` decisions for every row, all costs 1."""
    mask = np.zeros(X.shape, dtype=bool)
    seconds = 0.0
    for step in range(steps):
        values, remaining = X * mask, np.full(len(X), float(steps - step))
        start = time.perf_counter()
        choice = policy.propose(values, mask, remaining)
        seconds += time.perf_counter() - start
        mask[np.arange(len(X)), choice] = True
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None, help="at most this many test rows")
    parser.add_argument("--profile", default="standard", help="profile of the shared classifier")
    parser.add_argument("--dataset", choices=[case[0] for case in CASES], default=None)
    arguments = parser.parse_args()
    for name, budget, published, bar in CASES:
        if arguments.dataset not in (None, name):
            continue
        dataset = load(name)
        policy = AACO().fit(dataset, budget, Settings(), 0, classifier=shared_classifier(dataset, arguments.profile))
        X = dataset.X[dataset.test][: arguments.rows]
        decide_all(policy, X[:2], 2)  # compile
        seconds = decide_all(policy, X, budget)
        each = 1000 * seconds / (len(X) * budget)
        print(
            f"{name}: {len(X)} rows, budget {budget}, {numba.get_num_threads()} threads: {seconds:.1f} s, "
            f"{each:.3f} ms a decision, {published / each:.0f}x less than {published:g} ms (bar {bar:g}x)"
        )


if __name__ == "__main__":
    main()
