"""One training step against the slow and obvious one; members do not depend on the number of threads."""

from __future__ import annotations

import numpy as np

from synafa.predictor import fit_predictor
from synafa.predictor.network_kernels import adam_step, masked_batch
from tests import naive


def test_a_masked_batch_keeps_the_cells_of_known_features() -> None:
    rng = np.random.default_rng(0)
    cells, feature_of = rng.normal(size=(9, 5)).astype(np.float32), np.array([0, 0, 1, 2, 2])
    rows, known = np.array([4, 1, 4]), rng.random((3, 3)) < 0.5
    np.testing.assert_array_equal(masked_batch(cells, rows, known, feature_of), cells[rows] * known[:, feature_of])


def test_adam_is_adam_and_the_mean_follows() -> None:
    rng = np.random.default_rng(0)
    gradients, rates = rng.normal(size=(30, 4)), np.linspace(0.1, 0.01, 30)
    weights = np.array([0.5, -1.0, 2.0, 0.0], dtype=np.float32)
    start, mean = weights.astype(float), weights.copy()
    moment, square = np.zeros(4, np.float32), np.zeros(4, np.float32)
    wanted_mean = start.copy()
    for t, (gradient, rate) in enumerate(zip(gradients, rates), start=1):
        scale, correct = np.float32(rate / (1 - 0.9**t)), np.float32(1 / (1 - 0.999**t))
        arrays = weights, gradient.astype(np.float32), moment, square, mean
        adam_step(*arrays, scale, correct, np.float32(1 - rate * 0.3), np.float32(0.9))
        wanted_mean = 0.9 * wanted_mean + 0.1 * weights
    wanted = [naive.adam(start[i], gradients[:, i], rates, 0.3) for i in range(4)]
    np.testing.assert_allclose(weights, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, wanted_mean, rtol=1e-4, atol=1e-5)


def test_members_do_not_depend_on_the_number_of_threads() -> None:
    import numba

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    before, found = numba.get_num_threads(), []
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            found.append(fit_predictor(X, y, 2).to_arrays()[0])
    finally:
        numba.set_num_threads(before)
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[-1][name], err_msg=name)
