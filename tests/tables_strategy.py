"""Random small tables for Hypothesis: constant columns, duplicated columns, few distinct values, one class, ties."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def coded_tables(draw, max_bins: int = 2, max_classes: int = 2, min_classes: int = 1):
    """Codes (n, D) uint8, classes (n,) and the number of bins."""
    n = draw(st.integers(2, 40))
    d = draw(st.integers(1, 6))
    bins = draw(st.integers(2, max_bins))
    classes = draw(st.integers(min_classes, max_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, bins, size=(n, d))
    y = rng.integers(0, classes, size=n)
    y[: min(n, classes)] = np.arange(min(n, classes))
    for j in range(d):
        kind = draw(st.sampled_from(["random", "constant", "copy", "complement", "class"]))
        if kind == "constant":
            codes[:, j] = draw(st.integers(0, bins - 1))
        elif kind == "copy":
            codes[:, j] = codes[:, draw(st.integers(0, d - 1))]
        elif kind == "complement":
            codes[:, j] = bins - 1 - codes[:, draw(st.integers(0, d - 1))]
        elif kind == "class":
            codes[:, j] = y % bins
    return codes.astype(np.uint8), y, bins


@st.composite
def gapped_tables(draw, max_bins: int = 2, max_classes: int = 2, min_classes: int = 1):
    """As `coded_tables` with missing cells, whose code is the number of bins; at least one cell is missing."""
    codes, y, bins = draw(coded_tables(max_bins, max_classes, min_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = np.array([draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])) for _ in range(codes.shape[1])])
    codes[rng.random(codes.shape) < shares] = bins
    codes[rng.integers(len(codes)), rng.integers(codes.shape[1])] = bins
    return codes, y, bins
