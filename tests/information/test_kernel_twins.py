"""Kernels written in vector instructions and their plain twins count the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from numba import njit

from synafa import Discretizer, PairCounts
from synafa.errors import SynafaError
from synafa.information.kernels import planes
from synafa.information.kernels.counts import popcount
from synafa.information.kernels.switch import PLAIN
from synafa.stream.passes import stream_counts

pytestmark = pytest.mark.slow


def digest() -> str:
    """A hash of counts of many tables: both number types, several classes and bins, ties, refused values."""
    found = hashlib.sha256()
    rng = np.random.default_rng(3)
    for n, d, classes, dtype in [
        (planes.STREAMED + 77, 9, 3, np.float32),
        (planes.STREAMED, 17, 2, np.float64),
        (300, 5, 4, np.float64),
        (1, 1, 1, np.float32),
    ]:
        X = np.round(rng.normal(size=(n, d)), 1).astype(dtype)
        y = rng.integers(0, classes, n)
        for counts in (PairCounts.from_values(X, y), PairCounts.from_codes(Discretizer(4).fit_transform(X), y, 4)):
            found.update(np.ascontiguousarray(counts.joint).tobytes())
    X = rng.normal(size=(planes.STREAMED, 8))
    X[5, 3] = np.inf
    try:
        PairCounts.from_values(X, rng.integers(0, 2, len(X)))
    except SynafaError as error:
        found.update(str(error).encode())
    else:
        raise AssertionError("an infinite value was counted")
    for classes, missing in ((2, False), (20, True)):
        found.update(streamed(classes, missing))
    return f"{PLAIN} {found.hexdigest()}"


def streamed(n_classes: int, missing: bool) -> bytes:
    """Counts and edges of a stream of both number types, with values that equal edges."""
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(1500, 3)), 1)
    X[::7, 1] = np.nan if missing else 0.0
    columns = {"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": rng.normal(size=1500)}
    table = pl.DataFrame({**columns, "y": rng.integers(0, n_classes, 1500)})
    result = stream_counts([table[i : i + 333] for i in range(0, 1500, 333)], "y", n_bins=3)
    assert result.passes == 1
    return result.counts.to_bytes() + result.edges.tobytes()


def test_plain_and_vector_kernels_give_the_same_counts():
    program = "from tests.information.test_kernel_twins import digest; print(digest())"
    said = {}
    for switch in ("", "plain"):
        environment = {**os.environ, "SYNAFA_KERNELS": switch, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said[switch] = done.stdout.split()
    assert [said[""][0], said["plain"][0]] == ["False", "True"]
    assert said[""][1] == said["plain"][1]


def test_single_instructions_do_what_their_names_say():
    @njit
    def both(word):
        return popcount(word), planes._lowest_one(word)

    rng = np.random.default_rng(0)
    words = [1, 2**63, 2**64 - 1, *rng.integers(1, 2**64, 50, np.uint64).tolist(), *(3 << i for i in range(63))]
    for word in words:
        text = f"{word:064b}"
        assert both(np.uint64(word)) == (text.count("1"), len(text) - 1 - text.rindex("1"))
