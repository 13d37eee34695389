"""The exact permutation law of many pairs at once, each in time that grows with the width of its grid, not its area.

On the grid `(i, j)` of the two classes' counts the statistic is `f(i, j) = g0[i] + g1[j] - h[i + j]`, n times the
mutual information of table and class. For fixed class sizes that is convex in the tables of the classes, so for each
`i` the counts `j` with `f <= t` are one interval, found by bisection; its probability comes from running sums of the
law of `j`. The laws are built outwards from their modes by ratios of neighbours, which is exact to the last digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_NEGLIGIBLE = 46.0  # nats: a weight e^-46 of the largest adds less than 1.1e-20 of it
_WINDOWS = (60.0, 250.0, 600.0)  # nats below the mode; e^-600 is still a double
_LOG_ERROR = -23.02585092994046  # log(1e-10), the relative error that leaving out improbable counts may cause


@njit(cache=True)
def _law(row, column, size, window):  # type: ignore[no-untyped-def]
    """First count, log weights below the mode's, and how many counts of the support are left out."""
    low = max(0, row + column - size)
    high = min(row, column)
    mode = min(max(((row + 1) * (column + 1)) // (size + 2), low), high)
    first, down = mode, 0.0
    while first > low:
        i = first - 1
        step = np.log((i + 1.0) * (size - row - column + i + 1.0)) - np.log((row - i) * float(column - i))
        if down + step < -window:
            break
        down += step
        first = i
    last, up = mode, 0.0
    while last < high:
        step = np.log((row - last) * float(column - last)) - np.log((last + 1.0) * (size - row - column + last + 1.0))
        if up + step < -window:
            break
        up += step
        last += 1
    logs = np.empty(last - first + 1)
    logs[mode - first] = 0.0
    total = 0.0
    for i in range(mode - 1, first - 1, -1):
        total += np.log((i + 1.0) * (size - row - column + i + 1.0)) - np.log((row - i) * float(column - i))
        logs[i - first] = total
    total = 0.0
    for i in range(mode, last):
        total += np.log((row - i) * float(column - i)) - np.log((i + 1.0) * (size - row - column + i + 1.0))
        logs[i + 1 - first] = total
    return first, logs, (high - low + 1) - logs.size


@njit(cache=True, inline="always")
def _four(n11, row, column, size, xlogx):  # type: ignore[no-untyped-def]
    return xlogx[n11] + xlogx[row - n11] + xlogx[column - n11] + xlogx[size - row - column + n11]


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _row_moments(base, g1, p1, h, i):  # type: ignore[no-untyped-def]
    """Sums of p * value and p * value^2 over one row of the grid."""
    first, second = 0.0, 0.0
    for j in range(g1.size):
        value = base + g1[j] - h[i + j]
        weighted = p1[j] * value
        first += weighted
        second += weighted * value
    return first, second


@njit(cache=True)
def _moments(g0, l0, g1, l1, h, origin):  # type: ignore[no-untyped-def]
    """Mean and variance of the statistic, from the part of the grid that counts."""
    a0, b0, a1, b1 = 0, g0.size, 0, g1.size
    while l0[a0] < -_NEGLIGIBLE:
        a0 += 1
    while l0[b0 - 1] < -_NEGLIGIBLE:
        b0 -= 1
    while l1[a1] < -_NEGLIGIBLE:
        a1 += 1
    while l1[b1 - 1] < -_NEGLIGIBLE:
        b1 -= 1
    p1 = np.exp(l1[a1:b1])
    mass, first, second = 0.0, 0.0, 0.0
    for i in range(a0, b0):
        p0 = np.exp(l0[i])
        one, two = _row_moments(g0[i] - origin, g1[a1:b1], p1, h[a1:], i)
        mass += p0
        first += p0 * one
        second += p0 * two
    mass *= p1.sum()
    mean = first / mass
    return origin + mean, max(second / mass - mean * mean, 0.0)


@njit(cache=True)
def _below(i, bottom, g0, g1, h, limit, strict):  # type: ignore[no-untyped-def]
    """The interval [first, end) of j with f(i, j) <= limit (or < limit), `bottom` being where f(i, .) is least."""
    least = g0[i] + g1[bottom] - h[i + bottom] - limit
    if least > 0.0 or (strict and least >= 0.0):
        return 0, 0
    low, high = 0, bottom  # the first j of the falling side that is in
    while low < high:
        middle = (low + high) // 2
        excess = g0[i] + g1[middle] - h[i + middle] - limit
        if excess < 0.0 or (not strict and excess == 0.0):
            high = middle
        else:
            low = middle + 1
    first = low
    low, high = bottom, g1.size - 1  # the last j of the rising side that is in
    while low < high:
        middle = (low + high + 1) // 2
        excess = g0[i] + g1[middle] - h[i + middle] - limit
        if excess < 0.0 or (not strict and excess == 0.0):
            low = middle
        else:
            high = middle - 1
    return first, low + 1


@njit(cache=True)
def _bottom(i, g1, h):  # type: ignore[no-untyped-def]
    """Where f(i, .) is least: a convex function of j."""
    low, high = 0, g1.size - 1
    while low < high:
        middle = (low + high) // 2
        if g1[middle + 1] - h[i + middle + 1] >= g1[middle] - h[i + middle]:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def _add(top, total, term):  # type: ignore[no-untyped-def]
    """A running sum of exponentials: the largest logarithm so far, and the sum relative to it."""
    if term == -np.inf:
        return top, total
    if term > top:
        return term, total * np.exp(top - term) + 1.0
    return top, total + np.exp(term - top)


@njit(cache=True)
def _tails(g0, l0, g1, l1, h, observed, tolerance):  # type: ignore[no-untyped-def]
    """Log of P(statistic >= observed) and of P(statistic <= observed), ties within `tolerance` counted in both."""
    width = g1.size
    peak = int(np.argmax(l1))
    p1 = np.exp(l1)
    from_left, from_right = np.zeros(width + 1), np.zeros(width + 1)
    for j in range(width):
        from_left[j + 1] = from_left[j] + p1[j]
    for j in range(width - 1, -1, -1):
        from_right[j] = from_right[j + 1] + p1[j]
    right_top, right_sum, left_top, left_sum = -np.inf, 0.0, -np.inf, 0.0
    for i in range(g0.size):
        bottom = _bottom(i, g1, h)
        first, end = _below(i, bottom, g0, g1, h, observed - tolerance, True)
        outside = from_left[first] + from_right[end] if end > first else from_left[width]
        if outside > 0.0:
            right_top, right_sum = _add(right_top, right_sum, l0[i] + np.log(outside))
        first, end = _below(i, bottom, g0, g1, h, observed + tolerance, False)
        if end > first:
            # From the side on which the interval's largest term is the last one added, so that nothing cancels.
            inside = from_left[end] - from_left[first] if end <= peak + 1 else from_right[first] - from_right[end]
            if first <= peak < end:
                inside = from_left[peak + 1] - from_left[first] + from_right[peak + 1] - from_right[end]
            if inside > 0.0:
                left_top, left_sum = _add(left_top, left_sum, l0[i] + np.log(inside))
    norm = np.log(np.exp(l0).sum()) + np.log(from_left[width])
    right = right_top + np.log(right_sum) - norm if right_sum > 0.0 else -np.inf
    left = left_top + np.log(left_sum) - norm if left_sum > 0.0 else -np.inf
    return right, left


@njit(cache=True)
def _one(table, xlogx, tie):  # type: ignore[no-untyped-def]
    """Log right and left tail, mean and deviation (bits) of a table (2, 2, 2); tails are NaN beyond the windows."""
    rows, columns, sizes, seen = np.empty((4, 2), np.int64)
    for y in range(2):
        seen[y] = table[1, 1, y]
        rows[y] = table[1, 0, y] + seen[y]
        columns[y] = table[0, 1, y] + seen[y]
        sizes[y] = table[0, 0, y] + table[0, 1, y] + table[1, 0, y] + seen[y]
    n = sizes[0] + sizes[1]
    row, column = rows[0] + rows[1], columns[0] + columns[1]
    observed = (
        _four(seen[0], rows[0], columns[0], sizes[0], xlogx)
        + _four(seen[1], rows[1], columns[1], sizes[1], xlogx)
        - _four(seen[0] + seen[1], row, column, n, xlogx)
    )
    scale = n * np.log(2.0)
    mean = deviation = 0.0
    for window in _WINDOWS:
        first0, l0, out0 = _law(rows[0], columns[0], sizes[0], window)
        first1, l1, out1 = _law(rows[1], columns[1], sizes[1], window)
        g0, g1 = np.empty(l0.size), np.empty(l1.size)
        for i in range(l0.size):
            g0[i] = _four(first0 + i, rows[0], columns[0], sizes[0], xlogx)
        for j in range(l1.size):
            g1[j] = _four(first1 + j, rows[1], columns[1], sizes[1], xlogx)
        h = np.empty(l0.size + l1.size - 1)
        for s in range(h.size):
            h[s] = _four(first0 + first1 + s, row, column, n, xlogx)
        if window == _WINDOWS[0]:
            i, j = int(np.argmax(l0)), int(np.argmax(l1))
            mean, variance = _moments(g0, l0, g1, l1, h, g0[i] + g1[j] - h[i + j])
            mean = (mean + xlogx[n] - xlogx[sizes[0]] - xlogx[sizes[1]]) / scale
            deviation = np.sqrt(variance) / scale
        right, left = _tails(g0, l0, g1, l1, h, observed, tie * scale)
        left_out = out0 + out1
        if left_out == 0 or np.log(float(left_out)) - window <= min(right, left) + _LOG_ERROR:
            return right, left, mean, deviation
    return np.nan, np.nan, mean, deviation


@njit(cache=True, parallel=True, nogil=True)
def exact_laws(tables, xlogx, tie):  # type: ignore[no-untyped-def]
    """`_one` of every table (P, 2, 2, 2): float64 (P, 4)."""
    results = np.empty((len(tables), 4))
    for p in prange(len(tables)):
        right, left, mean, deviation = _one(tables[p], xlogx, tie)
        results[p, 0] = right
        results[p, 1] = left
        results[p, 2] = mean
        results[p, 3] = deviation
    return results
