"""Kernels written in vector instructions and their plain twins count the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from synafa import Discretizer, PairCounts
from synafa.errors import SynafaError
from synafa.information.kernels import planes
from synafa.information.kernels.switch import PLAIN

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
    return f"{PLAIN} {found.hexdigest()}"


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
