"""Slow and obvious versions of what the kernels of streams do to one column of a batch; bits are lists of 0 and 1."""

from __future__ import annotations

import struct
from collections import Counter
from fractions import Fraction
from math import isinf, isnan

# --- numbers -------------------------------------------------------------------------------------------------------


def present(values):
    """What is not missing, in order, -0.0 as 0.0."""
    return [float(x) + 0.0 for x in values if not isnan(x)]


def first_infinite(values):
    """The place of the first infinite value; -1 where there is none."""
    return next((i for i, x in enumerate(values) if isinf(x)), -1)


def mean(values):
    """The mean of finite numbers, rounded once; 0 of none."""
    return float(sum(map(Fraction, values)) / len(values)) if len(values) else 0.0


def extremes(values):
    """The least, the second largest distinct and the largest value; infinities where there is none."""
    ordered = [-float("inf"), -float("inf"), *sorted(set(values))]
    return [min(values, default=float("inf")), ordered[-2], ordered[-1]]


def distinct(values, most):
    """The first different values, at most so many."""
    return list(dict.fromkeys(values))[:most]


def key(value):
    """A whole number that grows with a double, one step from each double to the next."""
    bits = struct.unpack(">q", struct.pack(">d", value + 0.0))[0]
    return bits if bits >= 0 else -(bits + 2**63)


def buckets(values, low, high, shift):
    """How many values lie below a bracket, and a Counter of those in it by their distance from its low end."""
    inside = Counter((key(x) - key(low)) >> shift for x in values if low <= x <= high)
    return sum(1 for x in values if x < low), inside


def merged(values, counts, more, often):
    """Distinct values in order, and how often each occurs in both lists."""
    total = Counter()
    for value, count in [*zip(values, counts), *zip(more, often)]:
        total[value] += count
    return sorted(total), [total[value] for value in sorted(total)]


# --- bits ----------------------------------------------------------------------------------------------------------


def bits(plane, n):
    """The first n bits of a list of words."""
    return [(int(plane[i // 64]) >> (i % 64)) & 1 for i in range(n)]


def code(value, edges, fill):
    """The number of edges that a value exceeds; `fill` for a missing one."""
    return fill if isnan(value) else sum(1 for edge in edges if value > edge)


def planes(values, edges, fill, n_planes):
    """Plane b has a 1 in every row with the code b + 1."""
    codes = [code(float(x), edges, fill) for x in values]
    return [[int(c == b + 1) for c in codes] for b in range(n_planes)]


def by_class(plane, y, starts):
    """The bits of a plane, class after class in the order of the rows; class k begins with word starts[k]."""
    found = [0] * (64 * starts[-1])
    for k, first in enumerate(starts[:-1]):
        for i, row in enumerate(row for row, label in enumerate(y) if label == k):
            found[64 * first + i] = plane[row]
    return found
