"""OL's dropout passes behind the first layer: hidden units and what is kept of them -> mean class probabilities.

A pass drops the same units for all rows, so a dropped unit is neither computed nor read: with half of them dropped a
layer costs a quarter. Rows lie innermost, in blocks that stay in cache. One thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from synafa.baselines.cae_kernels import LOG2_E, exp2

BLOCK = 768  # rows worked on together: eight units of as many rows are 24 KB
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@njit(cache=True, nogil=True, forceinline=True, fastmath={"contract"})
def _add_eight(x, unit, weight, factor, out):  # type: ignore[no-untyped-def]
    """out (m,) += the sum of factor[t] * weight[u] * x[u], u = unit[t], over eight t."""
    a, b, c, d = x[unit[0]], x[unit[1]], x[unit[2]], x[unit[3]]
    e, f, g, h = x[unit[4]], x[unit[5]], x[unit[6]], x[unit[7]]
    wa, wb = factor[0] * weight[unit[0]], factor[1] * weight[unit[1]]
    wc, wd = factor[2] * weight[unit[2]], factor[3] * weight[unit[3]]
    we, wf = factor[4] * weight[unit[4]], factor[5] * weight[unit[5]]
    wg, wh = factor[6] * weight[unit[6]], factor[7] * weight[unit[7]]
    for i in range(len(out)):
        low = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i]
        out[i] += low + (we * e[i] + wf * f[i] + wg * g[i] + wh * h[i])


@njit(cache=True, nogil=True)
def _kept(keep, unit, factor, scale):  # type: ignore[no-untyped-def]
    """Write the kept units' numbers to `unit`, with factor `scale`, the last again with factor 0 to fill up eight.

    Returns how many are kept.
    """
    count = 0
    for j in range(len(keep)):
        if keep[j]:
            unit[count], factor[count] = j, scale
            count += 1
    for j in range(count, -(-count // 8) * 8):
        unit[j], factor[j] = unit[count - 1], ZERO
    return count


@njit(cache=True, nogil=True)
def _linear(x, unit, factor, count, weights, biases, wanted, y):  # type: ignore[no-untyped-def]
    """y[j] = biases[j] + the sum of factor * weights[j, u] * x[u] over the first `count` of `unit`, for j in `wanted`.

    Eight inputs at a time for all outputs: they stay in the first-level cache meanwhile.
    """
    for j in wanted:
        y[j] = biases[j]
    for at in range(0, count, 8):
        for j in wanted:
            _add_eight(x, unit[at : at + 8], weights[j], factor[at : at + 8], y[j])


@njit(cache=True, nogil=True)
def _relu(x):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        x[i] = max(x[i], ZERO)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _add_softmax(scores, total, top, whole):  # type: ignore[no-untyped-def]
    """total (K, m) += softmax of scores (K, m) over the classes; scores, top and whole (m,) are overwritten."""
    m = len(top)
    top[:] = scores[0]
    for k in range(1, len(total)):
        row = scores[k]
        for i in range(m):
            top[i] = max(top[i], row[i])
    whole[:] = ZERO
    for k in range(len(total)):
        row = scores[k]
        for i in range(m):
            row[i] = exp2((row[i] - top[i]) * LOG2_E)
            whole[i] += row[i]
    for i in range(m):
        whole[i] = ONE / whole[i]
    for k in range(len(total)):
        row, sums = scores[k], total[k]
        for i in range(m):
            sums[i] += row[i] * whole[i]


@njit(cache=True, nogil=True)
def _one_pass(first, keep, parameters, widths, scale, spare, units, factors):  # type: ignore[no-untyped-def]
    """The scores of one pass over a block of rows: the first K rows of the result, which is one of `spare`."""
    x, seen, at = first, 0, 0
    count = _kept(keep[: widths[0]], units[0], factors[0], scale)
    for layer in range(1, len(widths)):
        fan_in, width = widths[layer - 1], widths[layer]
        old, new = (layer - 1) % 2, layer % 2
        seen += fan_in
        weights = parameters[at : at + width * fan_in].reshape(width, fan_in)
        biases = parameters[at + width * fan_in : at + width * (fan_in + 1)]
        at += width * (fan_in + 1)
        alive = _kept(keep[seen : seen + width], units[new], factors[new], scale)
        wanted = units[new, :alive]
        _linear(x, units[old], factors[old], count, weights, biases, wanted, spare[new])
        if layer < len(widths) - 1:
            for j in wanted:
                _relu(spare[new, j])
        x, count = spare[new], alive
    return x


@njit(cache=True, nogil=True)
def mean_of_passes(first, keep, parameters, widths, scale):  # type: ignore[no-untyped-def]
    """float32 (n, K): the class probabilities of each row, their mean over dropout passes.

    first : float32 (h0, n), the first layer's units after their ReLU
    keep : bool (passes, h0 + h1 + ... + K), the units kept in each pass, all K classes among them
    parameters : float32, weight (out, in) and bias of each further layer one after the other
    widths : int64 (h0, h1, ..., K)
    scale : what a kept unit is multiplied by
    """
    n, widest, n_classes = first.shape[1], widths.max(), widths[-1]
    blocks = max(1, -(-n // BLOCK))
    size = -(-n // (16 * blocks)) * 16  # the last block may have fewer rows; what is beside them is not read
    mean = np.empty((n, n_classes), dtype=np.float32)
    block, sums = np.zeros((widths[0], size), dtype=np.float32), np.empty((n_classes, size), dtype=np.float32)
    spare, units = np.empty((2, widest, size), dtype=np.float32), np.empty((2, widest + 8), dtype=np.uint64)
    top, whole, factors = np.empty(size, np.float32), np.empty(size, np.float32), np.empty((2, widest + 8), np.float32)
    for start in range(0, n, size):
        m = min(size, n - start)
        block[:, :m] = first[:, start : start + m]
        sums[:] = ZERO
        for one in range(len(keep)):
            scores = _one_pass(block, keep[one], parameters, widths, np.float32(scale), spare, units, factors)
            _add_softmax(scores, sums, top, whole)
        mean[start : start + m] = sums[:, :m].T / np.float32(len(keep))
    return mean
