"""CAE's draws: a seed -> B Concrete draws a sample -> their elementwise maximum and its gradient, or B hard draws.

A draw is a race. With U uniform, Gumbel noise is -log E, E = -log U; in powers of two, feature i of score s arrives at
t = log2(-log2 U) + (max s - s) log2 e, the hard draw is the first to arrive, and the relaxed one at temperature tau,
softmax((s - log E) / tau), is 2^((min t - t) / tau) over its sum. Samples lie innermost: every loop is the same
arithmetic on neighbours, which vectorises whatever the number of features. The noise is a function of (seed, sample,
draw, feature), not of the order of the work. One thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

BLOCK = 128  # samples worked on together: a draw over 784 features is 400 KB, inside the second-level cache
LOWEST = np.float32(-100.0)  # weights below 2^-100 are 0, far below what Adam's epsilon of 1e-8 lets count
SILENT = np.float32(-127.0)  # its power of two has all bits 0
LOG2_E = np.float32(1.4426950408889634)

# Minimax polynomials of log2(1 + f) / f between sqrt(1/2) and sqrt(2) and of 2^f between -1/2 and 1/2: relative errors
# of 2e-7 and 8e-8, about the rounding of float32.
L0, L1, L2, L3 = np.array([1.44269496, -0.721352788, 0.480923242, -0.360239639], dtype=np.float32)
L4, L5, L6, L7 = np.array([0.287098704, -0.248876876, 0.234042338, -0.145811612], dtype=np.float32)
P0, P1, P2 = np.array([1.00000007, 0.693146967, 0.240221197], dtype=np.float32)
P3, P4, P5 = np.array([0.0555071327, 0.00967554133, 0.00132764718], dtype=np.float32)

HALF, ONE = np.float32(0.5), np.float32(1.0)
SQRT_HALF_BITS, MANTISSA = np.int32(0x3F3504F3), np.int32(0x007FFFFF)


def _same_bits(to: Any) -> Any:
    """A compiled function that reads the 32 bits of a number as the type `to`."""

    @intrinsic
    def read(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(to))

        return to(value), codegen

    return read


_as_int = _same_bits(types.int32)
_as_float = _same_bits(types.float32)


@njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
def log2(x):  # type: ignore[no-untyped-def]
    """log2 of a positive normal float32."""
    shifted = np.int32(_as_int(x) - SQRT_HALF_BITS)
    exponent = np.int32(shifted >> np.int32(23))
    f = _as_float(np.int32((shifted & MANTISSA) + SQRT_HALF_BITS)) - ONE
    q = L4 + f * (L5 + f * (L6 + f * L7))
    return np.float32(exponent) + f * (L0 + f * (L1 + f * (L2 + f * (L3 + f * q))))


@njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
def exp2(x):  # type: ignore[no-untyped-def]
    """2^x for float32 x <= 0; 0 below `LOWEST`."""
    x = SILENT if x < LOWEST else x
    whole = np.int32(x - HALF)  # cut towards zero, so the nearest
    f = x - np.float32(whole)
    p = P0 + f * (P1 + f * (P2 + f * (P3 + f * (P4 + f * P5))))
    return p * _as_float(np.int32((whole + np.int32(127)) << np.int32(23)))


@njit(cache=True, nogil=True)
def keys(seed, n):  # type: ignore[no-untyped-def]
    """uint32 (2, n): what tells one sample's noise from another's (SplitMix64 of seed and sample)."""
    out = np.empty((2, n), dtype=np.uint32)
    for i in range(n):
        z = np.uint64(seed) + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        out[0, i] = np.uint32(z & np.uint64(0xFFFFFFFF))
        out[1, i] = np.uint32(z >> np.uint64(32))
    return out


@njit(cache=True, nogil=True, inline="always")
def uniform(first, second, place):  # type: ignore[no-untyped-def]
    """The noise of a sample with these keys at `place` (draw times features, plus feature): float32 inside (0, 1).

    A multiply-and-shift hash of a counter, one key before and one inside: one-to-one in the counter.
    """
    h = np.uint32(first + np.uint32(place * np.uint32(0x9E3779B9)))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(16)))
    h = np.uint32(np.uint32(h * np.uint32(0x7FEB352D)) + second)
    h = np.uint32(h ^ np.uint32(h >> np.uint32(15)))
    h = np.uint32(h * np.uint32(0x846CA68B))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(16)))
    return (np.float32(np.int32(h >> np.uint32(9))) + HALF) * np.float32(2.0**-23)


@njit(cache=True, nogil=True)
def _handicaps(scores):  # type: ignore[no-untyped-def]
    """(B, d): (max s - s) log2 e, by how much a feature arrives later than the likeliest."""
    out = np.empty(scores.shape, dtype=np.float32)
    for b in range(len(scores)):
        out[b] = (scores[b].max() - scores[b]) * LOG2_E
    return out


@njit(cache=True, nogil=True, fastmath={"contract"})
def _race(handicap, first, second, place, times, start, earliest):  # type: ignore[no-untyped-def]
    """Log2 arrival times of the samples from `start` on to `times` (d, n), the least of each to `earliest` (m,).

    Keys `first`, `second` (m,) and the number `place` of the draw's first feature say which noise.
    """
    m = len(earliest)
    earliest[:] = np.float32(np.inf)
    for j in range(len(handicap)):
        at, late, row = np.uint32(place + j), handicap[j], times[j, start : start + m]
        for i in range(m):
            row[i] = log2(-log2(uniform(first[i], second[i], at))) + late
            earliest[i] = min(earliest[i], row[i])


@njit(cache=True, nogil=True, fastmath={"contract"})
def _weigh(times, start, earliest, rate, scale):  # type: ignore[no-untyped-def]
    """Replace `times` (d, n), from `start` on, by 2^((earliest - time) * rate), `scale` (m,) by one over their sum."""
    m = len(scale)
    scale[:] = np.float32(0.0)
    for j in range(len(times)):
        row = times[j, start : start + m]
        for i in range(m):
            row[i] = exp2((earliest[i] - row[i]) * rate)
            scale[i] += row[i]
    for i in range(m):
        scale[i] = ONE / scale[i]


@njit(cache=True, nogil=True)
def _keep_largest(weights, start, scale, b, largest, winner):  # type: ignore[no-untyped-def]
    """Take draw b's weights (d, n), from `start` on, into the maximum so far and its winner."""
    m = len(scale)
    for j in range(len(weights)):
        row, top, who = weights[j, start : start + m], largest[j, start : start + m], winner[j, start : start + m]
        for i in range(m):
            w = row[i] * scale[i]
            who[i] = np.int32(b) if w > top[i] else who[i]
            top[i] = w if w > top[i] else top[i]


@njit(cache=True, nogil=True)
def relaxed(scores, seed, n, temperature, keep):  # type: ignore[no-untyped-def]
    """The maximum of B Concrete draws of each of n samples, with what its gradient needs.

    scores : float32 (B, d)
    keep : whether a gradient will be asked for; without it only the first result may be used
    Returns the maximum (d, n), the draw it is of (d, n), all draws (B, d, n) up to a factor, and that factor (B, n).
    """
    size, d = scores.shape
    handicaps, key = _handicaps(scores), keys(seed, n)
    weights = np.empty((size if keep else 1, d, n), dtype=np.float32)
    scale, earliest = np.empty((size, n), dtype=np.float32), np.empty(n, dtype=np.float32)
    largest, winner = np.zeros((d, n), dtype=np.float32), np.zeros((d, n), dtype=np.int32)
    rate = np.float32(1.0 / temperature)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        first = earliest[start:stop]
        for b in range(size):
            times, inverse = weights[b % len(weights)], scale[b, start:stop]
            _race(handicaps[b], key[0, start:stop], key[1, start:stop], b * d, times, start, first)
            _weigh(times, start, first, rate, inverse)
            _keep_largest(times, start, inverse, b, largest, winner)
    return largest, winner, weights, scale


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def relaxed_gradient(gradient, largest, winner, weights, scale, temperature):  # type: ignore[no-untyped-def]
    """float32 (B, d): the gradient in the scores from that in the maximum (n, d) and what `relaxed` returned.

    It flows through winning draws only: with g the gradient where a draw's weight w wins, else 0, the sum over samples
    of w (g - sum of w g) / temperature. The difference is taken sample by sample, for at low temperatures it nearly
    vanishes and rounding would drown it.
    """
    size, d, n = weights.shape
    upstream = np.empty((d, n), dtype=np.float32)
    mean = np.zeros((size, n), dtype=np.float32)
    for j in range(d):
        for i in range(n):
            upstream[j, i] = gradient[i, j]
            mean[winner[j, i], i] += gradient[i, j] * largest[j, i]
    total = np.empty((size, d), dtype=np.float32)
    for j in range(d):
        for b in range(size):
            part = np.float32(0.0)
            for i in range(n):
                g = upstream[j, i] if winner[j, i] == b else np.float32(0.0)
                part += weights[b, j, i] * scale[b, i] * (g - mean[b, i])
            total[b, j] = part / np.float32(temperature)
    return total


@njit(cache=True, nogil=True)
def hard(scores, seed, n):  # type: ignore[no-untyped-def]
    """float32 (n, d): 1 for each feature that is the first of one of the B races."""
    size, d = scores.shape
    handicaps, key = _handicaps(scores), keys(seed, n)
    out = np.zeros((n, d), dtype=np.float32)
    times, earliest = np.empty((d, n), dtype=np.float32), np.empty(n, dtype=np.float32)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        for b in range(size):
            _race(handicaps[b], key[0, start:stop], key[1, start:stop], b * d, times, start, earliest[start:stop])
            for j in range(d):
                for i in range(start, stop):
                    if times[j, i] == earliest[i]:
                        out[i, j] = ONE
                        earliest[i] = -np.inf  # of two that tie, the first
    return out
