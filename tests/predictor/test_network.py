"""One training step against the slow and obvious one; members do not depend on the number of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from synafa.predictor import fit_predictor
from synafa.predictor.network import runs_of
from synafa.predictor.network_kernels import adam_step, gradients, masked_batch, train_step
from tests import naive


def test_a_masked_batch_keeps_the_cells_of_known_features() -> None:
    rng = np.random.default_rng(0)
    cells, feature_of = rng.normal(size=(9, 6)).astype(np.float32), np.array([0, 0, 2, 1, 1, 0])
    rows, known = np.array([4, 1, 4]), rng.random((3, 3)) < 0.5
    found = masked_batch(cells, rows, known, *runs_of(feature_of))
    np.testing.assert_array_equal(found, cells[rows] * known[:, feature_of])


def test_gradients_are_those_of_the_mean_log_loss() -> None:
    rng = np.random.default_rng(0)
    sizes = (7, 5, 4, 3)
    weights = tuple(rng.normal(size=shape).astype(np.float32) for shape in pairwise(sizes))
    biases = tuple(rng.normal(size=size).astype(np.float32) for size in sizes[1:])
    known, rows = rng.normal(size=(6, 7)).astype(np.float32), np.array([8, 0, 3, 3, 1, 2])
    labels, counts = rng.integers(0, 3, 9), rng.uniform(0.5, 2, 9).astype(np.float32)
    found = gradients(known, rows, labels, counts, weights, biases)
    args = known, labels[rows], counts[rows]
    for part, part_found in ((weights, found[0]), (biases, found[1])):
        for array, gradient in zip(part, part_found):
            for at in np.ndindex(array.shape):
                up, down = (_moved(array, at, step, weights, biases) for step in (1e-4, -1e-4))
                slope = (naive.network_loss(*args, *up) - naive.network_loss(*args, *down)) / 2e-4
                assert abs(slope - gradient[at]) < 1e-4


def _moved(array, at, step, weights, biases):
    """Weights and biases in doubles, one of them moved by a step."""
    parts = [[each.astype(float) for each in part] for part in (weights, biases)]
    for old, new in zip((*weights, *biases), (*parts[0], *parts[1])):
        if old is array:
            new[at] += step
    return parts


def test_one_step_is_masking_gradients_and_adam() -> None:
    rng = np.random.default_rng(1)
    feature_of, labels = np.array([0, 0, 2, 1]), rng.integers(0, 2, 9)
    cells, known = rng.normal(size=(9, 4)).astype(np.float32), rng.random((5, 3)) < 0.5
    shapes = ((4, 5), (5, 3), (3, 2))
    matrices = tuple(tuple(rng.uniform(0.1, 1, shape).astype(np.float32) for shape in shapes) for _ in range(4))
    biases = tuple(tuple(rng.uniform(0.1, 1, shape[1]).astype(np.float32) for shape in shapes) for _ in range(4))
    rows, counts, rates = np.arange(5), np.ones(9, np.float32), np.array([0.1, 1.5, 0.9, 0.7], np.float32)
    found = gradients(
        masked_batch(cells, rows, known, *runs_of(feature_of)), rows, labels, counts, matrices[0], biases[0]
    )
    wanted = [[each.copy() for each in part] for kind in (matrices, biases) for part in kind]
    for first, gradient, shrink in ((0, found[0], rates[2]), (4, found[1], np.float32(1))):
        for k in range(3):
            parts = [wanted[first + i][k].ravel() for i in range(4)]
            adam_step(parts[0], gradient[k].ravel(), *parts[1:], rates[0], rates[1], shrink, rates[3])
    train_step(cells, rows, known, runs_of(feature_of), labels, counts, matrices, biases, tuple(rates))
    for part, other in zip((*matrices, *biases), wanted):
        for array, expected in zip(part, other):
            np.testing.assert_array_equal(array, expected)


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
