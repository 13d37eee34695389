"""The hard-budget rules written for one row at a time: slow, obvious, and the judge of the batched harness."""

from __future__ import annotations

import numpy as np

from synafa.datasets.dataset import Dataset
from tests import naive


def naive_episode(policy, dataset: Dataset, row: int, budget: float, forced: bool = True):
    """One row's episode: the features, reasons and costs in order, the final mask, and how it ended."""
    known: set[int] = set()
    features, reasons, costs = [], [], []
    remaining = budget
    d = dataset.n_features

    def price(j):
        return float(dataset.costs[j]) if dataset.prices is None else naive.price_now(dataset.prices, j, known)

    while True:
        hidden = [j for j in range(d) if j not in known]
        if not hidden:
            ending = "complete"
            break
        if all(price(j) > remaining + 1e-9 for j in hidden):
            ending = "spent"
            break
        mask = np.array([[j in known for j in range(d)]])
        values = np.array([[dataset.X[row, j] if j in known else 0 for j in range(d)]], dtype=np.float32)
        choice = int(policy.propose(values, mask, np.array([remaining]))[0])
        reason = "policy"
        if choice == -1:
            if not forced:
                ending = "stop"
                break
            choice, reason = hidden[0], "fallback"
        if price(choice) > remaining + 1e-9:
            ending = "unaffordable"
            break
        costs.append(price(choice))
        remaining -= costs[-1]
        known.add(choice)
        for group in dataset.groups:
            if choice in group:
                known.update(group)
        features.append(choice)
        reasons.append(reason)
    return features, reasons, costs, sorted(known), ending
