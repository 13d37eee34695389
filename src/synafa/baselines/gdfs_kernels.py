"""GDFS's draws among features, softmax(s) with s = (l - log c) / scale: hard ones, relaxed ones and their gradient.

A draw is a race as in `cae_kernels`: with Gumbel noise -log E, E = -log U, feature i arrives at log2 E - s log2 e; the
first to arrive is the hard draw, and 2^((first - arrival) / tau) over its sum the relaxed one, softmax((s - log E) /
tau). States are rows [x*m, m] of the selector's input. One thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from synafa.baselines.cae_kernels import LOG2_E, exp2, keys, log2
from synafa.baselines.cae_kernels import uniform as noise
from synafa.baselines.selector_kernels import TOLERANCE, possible

NEVER = np.float32(1e30)  # the arrival of what cannot be bought


@njit(cache=True, nogil=True, fastmath={"contract"})
def _arrivals(logits, log_costs, scale, seed):  # type: ignore[no-untyped-def]
    """float32 (n, D): when each feature arrives."""
    n, d = logits.shape
    times = np.empty((n, d), dtype=np.float32)
    flat, key = times.reshape(n * d), keys(seed, 1)
    first, second = key[0, 0], key[1, 0]
    for i in range(n * d):  # all entries alike, which vectorises whatever the number of features
        flat[i] = log2(-log2(noise(first, second, np.uint32(i))))
    rate = np.float32(LOG2_E / scale)
    for r in range(n):
        for i in range(d):
            times[r, i] -= (logits[r, i] - log_costs[i]) * rate
    return times


@njit(cache=True, nogil=True)
def drawn(logits, log_costs, scale, seed, states, left, costs):  # type: ignore[no-untyped-def]
    """int64 (n,): one of the possible features, drawn from the softmax over them; -1 where there is none.

    logits : float32 (n, D); log_costs, costs : float32 (D,); states : float32 (n, 2D); left : float32 (n,)
    """
    n, d = logits.shape
    times = _arrivals(logits, log_costs, scale, seed)
    choice = np.full(n, -1, dtype=np.int64)
    for r in range(n):
        earliest = np.float32(np.inf)
        for i in range(d):
            if times[r, i] < earliest and possible(states[r, d + i], costs[i], left[r]):
                earliest, choice[r] = times[r, i], i
    return choice


@njit(cache=True, nogil=True)
def relaxed(logits, log_costs, scale, seed, states, left, costs, temperature):  # type: ignore[no-untyped-def]
    """float32 (n, D): a relaxed draw over all features but the hidden ones that cost more than what is left."""
    n, d = logits.shape
    weights = _arrivals(logits, log_costs, scale, seed)
    rate = np.float32(1.0 / temperature)
    for r in range(n):
        earliest = NEVER
        for i in range(d):
            if states[r, d + i] == 0 and costs[i] > left[r] + TOLERANCE:
                weights[r, i] = NEVER
            earliest = min(earliest, weights[r, i])
        for i in range(d):
            weights[r, i] = (earliest - weights[r, i]) * rate
    flat = weights.reshape(n * d)
    for i in range(n * d):
        flat[i] = exp2(flat[i])
    for r in range(n):
        total = np.float32(0.0)
        for i in range(d):
            total += weights[r, i]
        for i in range(d):
            weights[r, i] /= total
    return weights


@njit(cache=True, nogil=True)
def soften(x, states, sample, into):  # type: ignore[no-untyped-def]
    """Write the inputs [x*s, s] of the relaxed masks s = max(m, sample) to `into` (m, 2D); row r is of x[r % n]."""
    n, d = x.shape
    for r in range(len(sample)):
        value = x[r % n]
        for i in range(d):
            soft = max(states[r, d + i], sample[r, i])
            into[r, i] = value[i] * soft
            into[r, d + i] = soft


@njit(cache=True, nogil=True)
def by_sample(x, states, gradient):  # type: ignore[no-untyped-def]
    """float32 (m, D): the gradient in the sample from that in what `soften` wrote; none where the mask is 1."""
    n, d = x.shape
    out = np.empty((len(gradient), d), dtype=np.float32)
    for r in range(len(gradient)):
        value = x[r % n]
        for i in range(d):
            both = gradient[r, i] * value[i] + gradient[r, d + i]
            out[r, i] = both if states[r, d + i] == 0 else np.float32(0.0)
    return out


@njit(cache=True, nogil=True)
def by_logits(weights, gradient, factor, into):  # type: ignore[no-untyped-def]
    """Write w (g - sum of w g) * factor, the gradient in what a softmax with results w was taken of times the factor.

    At low temperatures it is a difference of nearly equal numbers, so it is taken before it is multiplied.
    """
    for r in range(len(weights)):
        mean = np.float32(0.0)
        for i in range(weights.shape[1]):
            mean += weights[r, i] * gradient[r, i]
        for i in range(weights.shape[1]):
            into[r, i] = weights[r, i] * (gradient[r, i] - mean) * np.float32(factor)
