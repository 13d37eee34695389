"""Which rows of a very long table are looked at where all of them would only cost time."""

from __future__ import annotations

import numpy as np

MOST_ROWS = 200_000
"""Of more rows than this, plan trees and ranges of values are learnt from a random sample of this size."""


def sampled_rows(n: int, seed: int) -> np.ndarray | slice:
    """All rows, or the ascending places of a random sample of `MOST_ROWS` of them.

    >>> sampled_rows(10, 0), len(sampled_rows(300_000, 0))
    (slice(None, None, None), 200000)
    """
    if n <= MOST_ROWS:
        return slice(None)
    return np.sort(np.random.default_rng([seed, 31]).choice(n, MOST_ROWS, replace=False))
