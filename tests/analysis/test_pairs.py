"""The strongest pairs of a table, and the labels that every analysis refuses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from synafa import SynafaError
from synafa.analysis.pairs import strongest_pairs
from synafa.analysis.retained import retained_information
from synafa.analysis.scan import scan
from synafa.analysis.triples import synergy3


def bits(n=80, d=4):
    return np.random.default_rng(0).integers(0, 2, (n, d))


def test_a_planted_pair_comes_first_and_its_atoms_add_up():
    X = bits(400)
    found = strongest_pairs(pl.DataFrame(X, schema=list("abcd")), X[:, 1] ^ X[:, 3], top=2)
    first = found["synergistic"][0]
    assert (first.first, first.second) == ("b", "d")
    parts = first.redundant + first.unique_first + first.unique_second + first.synergy
    assert parts == pytest.approx(first.joint)


@pytest.mark.parametrize("analysis", [strongest_pairs, retained_information, scan, synergy3])
@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_missing_label_is_not_a_class(analysis, missing):
    X = bits()
    y = X[:, 0].astype(float if missing is not None else object)
    y[7] = missing
    with pytest.raises(SynafaError, match=r"missing"):
        analysis(X, y)
