"""Slow and obvious versions of the quantities in synafa.stats, synafa.analysis.scan and synafa.analysis.triples."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import scipy


def entropy(*columns) -> float:
    """Plug-in entropy of the joint outcome of some columns, in bits."""
    n = len(columns[0])
    return -sum(c / n * math.log2(c / n) for c in Counter(zip(*columns)).values())


def information(features, y) -> float:
    """Plug-in `I(features; y)` in bits."""
    return entropy(*features) + entropy(y) - entropy(*features, y)


def redundancy(a, b, y) -> float:
    """Williams-Beer I_min of two features about y, in bits, from its definition."""
    n, total = len(y), 0.0
    for outcome in set(y):
        p_y = sum(v == outcome for v in y) / n
        specific = []
        for x in (a, b):
            value = 0.0
            for state in set(x):
                both = sum(s == state and v == outcome for s, v in zip(x, y))
                if both:
                    p_state = sum(s == state for s in x)
                    value += both / (p_y * n) * math.log2(both / p_state / p_y)
            specific.append(value)
        total += p_y * min(specific)
    return total


def permutation_law(a, b, y) -> tuple[list[float], float]:
    """Joint information under every permutation of b within the classes of y, and the observed one."""
    a, b, y = list(a), list(b), list(y)
    groups = [[i for i, v in enumerate(y) if v == outcome] for outcome in sorted(set(y))]
    values = []
    for choice in itertools.product(*[itertools.permutations([b[i] for i in g]) for g in groups]):
        moved = b[:]
        for group, shuffled in zip(groups, choice):
            for i, value in zip(group, shuffled):
                moved[i] = value
        values.append(information([a, moved], y))
    return values, information([a, b], y)


def binarise(x) -> np.ndarray:
    """The study's rule: constant, midpoint of two, else median, else the largest value below the maximum."""
    distinct = sorted(set(x))
    if len(distinct) == 1:
        return np.zeros(len(x), dtype=int)
    threshold = (distinct[0] + distinct[1]) / 2 if len(distinct) == 2 else float(np.median(x))
    bits = np.array([int(v > threshold) for v in x])
    if bits.min() == bits.max():
        bits = np.array([int(v > distinct[-2]) for v in x])
    return bits


def synergy3(codes, y) -> dict[tuple[int, int, int], float]:
    """`I(Xi,Xj,Xk;Y) - max(pair_ij, pair_ik, pair_jk)` of every triple."""
    columns, y = [list(c) for c in np.asarray(codes).T], list(y)
    return {
        t: information([columns[i] for i in t], y)
        - max(information([columns[i], columns[j]], y) for i, j in itertools.combinations(t, 2))
        for t in itertools.combinations(range(len(columns)), 3)
    }


def seeded(seed):
    """The keyword by which this version of SciPy takes a seed."""
    new = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15)
    return {"rng" if new else "random_state": np.random.default_rng(seed)}
