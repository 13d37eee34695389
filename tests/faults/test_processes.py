"""Forked children compute, and what does not fit into memory is refused before the work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.information import counts
from synafa.policy.synafa import SynAFA

ROOT = Path(__file__).resolve().parents[2]
FORKED = """
import multiprocessing
import numpy as np
from synafa import SynAFA

def work(late):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    policy = SynAFA(budget=3).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    run = policy.acquire(X)
    if late:  # kernels that the parent never loaded
        from synafa.analysis.kernels.triples import triple_information
        assert not triple_information.targetoptions.get("parallel")
    return policy.rule_.pair.tobytes(), run.order.tobytes()

if __name__ == "__main__":
    here = work(False)
    import numba
    layer = numba.threading_layer()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(work, (layer == "omp",)) == here
    assert work(False) == here
    print("equal")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_forked_after_use_gets_the_same_numbers():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["equal"]


def test_too_many_features_are_refused_before_counting_with_all_that_decides_it(monkeypatch):
    monkeypatch.setattr(counts, "available_bytes", lambda: 3 * 2**30)
    with pytest.raises(SynafaError, match=r"30,000 features in 2 bins and 2 classes takes 36,000,000,000 bytes"):
        counts.PairCounts(30_000, 2, [0, 1])
    with pytest.raises(SynafaError, match=r"2,000 features in 16 bins and 2 classes"):
        counts.check_memory(2000, 16, 2)
    counts.check_memory(2000, 2, 2)
    monkeypatch.setattr(counts, "available_bytes", lambda: 0)
    X = np.zeros((4, 3000), np.float32)
    for fit in (lambda: counts.PairCounts.from_values(X, [0, 1, 0, 1]), lambda: SynAFA().fit(X, [0, 1, 0, 1])):
        with pytest.raises(SynafaError, match="3,000 features"):
            fit()


def test_a_million_features_are_refused_on_any_machine():
    with pytest.raises(SynafaError, match="features"):
        counts.check_memory(10**6, 16, 100)
