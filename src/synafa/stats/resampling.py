"""Bootstrap weights: how often each of `n` units is drawn in each resample, a chunk of resamples at a time.

A statistic that is a function of sums over units needs only these weights and one matrix product,
so no row is ever copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synafa.errors import SynafaError

_CELLS_PER_CHUNK = 1 << 20  # draws held in memory at a time
_MOST_KEPT = 1 << 29  # weights that are kept for the next statistic, a byte each


def check_resampling(n_resamples: int, confidence: float) -> None:
    """Refuse settings that no bootstrap can use."""
    if n_resamples < 1:
        raise SynafaError(f"n_resamples must be at least 1, got: {n_resamples}.")
    if not 0.0 < confidence < 1.0:
        raise SynafaError(f"confidence must lie between 0 and 1, got: {confidence}.")


def check_paired(allow_empty: bool = False, **arrays: NDArray[Any]) -> None:
    """Refuse arrays that do not lie side by side; they are named as the caller knows them."""
    shapes = [array.shape for array in arrays.values()]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1 or (shapes[0] == (0,) and not allow_empty):
        *first, last = arrays
        raise SynafaError(
            f"{', '.join(first)} and {last} must be one-dimensional{'' if allow_empty else ', not empty'} and equally "
            f"long, got shapes: {', '.join(map(str, shapes))}."
        )


def check_bits(advice: str, **arrays: NDArray[Any]) -> None:
    """Refuse an array of anything but 0 and 1; `advice` ends the sentence that begins with its name."""
    for name, array in arrays.items():
        if not np.isin(array, (0, 1)).all():
            raise SynafaError(f"{name} {advice}")


def resample_indices(rng: np.random.Generator, n: int, n_resamples: int) -> Iterator[NDArray[np.int64]]:
    """Chunks of shape (some, n): the units drawn with replacement in each resample."""
    chunk = max(1, _CELLS_PER_CHUNK // max(n, 1))
    for start in range(0, n_resamples, chunk):
        yield rng.integers(0, n, size=(min(chunk, n_resamples - start), n))


def resample_weights(rng: np.random.Generator, n: int, n_resamples: int) -> Iterator[NDArray[np.float64]]:
    """Chunks of shape (some, n): multinomial weights, each row summing to n."""
    for drawn in resample_indices(rng, n, n_resamples):
        rows = drawn.shape[0]
        drawn += np.arange(rows)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def kept_weights(rng: np.random.Generator, n: int, n_resamples: int) -> Iterator[NDArray[np.float64]]:
    """`resample_weights`, drawn once for many statistics of equally many units that begin with the same seed.

    The draws are most of the work, and a table of comparisons begins each of them with the same generator. The latest
    ones are kept, one byte a weight, with the generator's state after them: the numbers are those of drawing again.
    """
    if n * n_resamples > _MOST_KEPT:
        yield from resample_weights(rng, n, n_resamples)
        return
    drawn, end = _drawn(json.dumps(rng.bit_generator.state), n, n_resamples)
    chunk = max(1, _CELLS_PER_CHUNK // max(n, 1))
    for start in range(0, n_resamples, chunk):
        yield drawn[start : start + chunk].astype(np.float64)
    rng.bit_generator.state = end


@lru_cache(maxsize=1)
def _drawn(begin: str, n: int, n_resamples: int) -> tuple[NDArray[np.uint8], Any]:
    """All weights of a generator that stands at `begin`, and where it stands after them."""
    state = json.loads(begin)
    rng = np.random.Generator(getattr(np.random, state["bit_generator"])())
    rng.bit_generator.state = state
    whole = np.empty((n_resamples, n), dtype=np.uint8)  # of many units each is drawn some twelve times at most
    at = 0
    for weights in resample_weights(rng, n, n_resamples):
        whole[at : at + len(weights)] = weights
        at += len(weights)
    return whole, rng.bit_generator.state


def percentile_interval(replicates: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """The central percentile interval of bootstrap replicates."""
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(replicates, [tail, 1.0 - tail])
    return float(low), float(high)


def two_sided_pvalue(replicates: NDArray[np.float64]) -> float:
    """Twice the smaller share of replicates on either side of zero (zero counts on both), at most 1."""
    share = min(float(np.mean(replicates <= 0.0)), float(np.mean(replicates >= 0.0)))
    return min(1.0, 2.0 * share)


def replicate_test(replicates: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """The ends of the percentile interval and the two-sided p-value against 0."""
    return *percentile_interval(replicates, confidence), two_sided_pvalue(replicates)
