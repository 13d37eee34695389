"""One training step of a network in one piece, without Python in between, so that networks learn side by side."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def masked_batch(cells, rows, known, starts, owner):  # type: ignore[no-untyped-def]
    """float32 (b, P): the cells of some rows, 0 where the column's feature is not among the row's `known` (b, D).

    The columns starts[r] to starts[r + 1] - 1 belong to the feature owner[r].
    """
    out = np.zeros((rows.size, starts[-1]), np.float32)
    for i in range(rows.size):
        source, target = cells[rows[i]], out[i]
        for r in range(owner.size):
            if known[i, owner[r]]:
                for c in range(starts[r], starts[r + 1]):
                    target[c] = source[c]
    return out


@njit(cache=True, nogil=True)
def _add_bias(inputs, bias, rectified):  # type: ignore[no-untyped-def]
    """Add the bias to every row, in place; a rectified layer has no value below 0."""
    for i in range(len(inputs)):
        for h in range(bias.size):
            value = inputs[i, h] + bias[h]
            inputs[i, h] = max(value, np.float32(0.0)) if rectified else value


@njit(cache=True, nogil=True)
def _minus_truth(logits, rows, labels, counts):  # type: ignore[no-untyped-def]
    """Logits become the errors of the class probabilities, in place: each row counts, and all are a mean."""
    share = np.float32(1.0) / np.float32(rows.size)
    for i in range(rows.size):
        top, total = logits[i].max(), np.float32(0.0)
        for k in range(logits.shape[1]):
            logits[i, k] = np.exp(logits[i, k] - top)
            total += logits[i, k]
        for k in range(logits.shape[1]):
            error = logits[i, k] / total - np.float32(k == labels[rows[i]])
            logits[i, k] = error * share * counts[rows[i]]


@njit(cache=True, nogil=True)
def _sums(errors):  # type: ignore[no-untyped-def]
    """The sum of every column."""
    out = np.zeros(errors.shape[1], np.float32)
    for i in range(len(errors)):
        for h in range(out.size):
            out[h] += errors[i, h]
    return out


@njit(cache=True, nogil=True)
def _stop_at_zero(errors, outputs):  # type: ignore[no-untyped-def]
    """No error goes back through a rectified output that is 0."""
    for i in range(len(errors)):
        for h in range(errors.shape[1]):
            if not outputs[i, h] > 0:
                errors[i, h] = 0


@njit(cache=True, nogil=True)
def gradients(known, rows, labels, counts, weights, biases):  # type: ignore[no-untyped-def]
    """Gradients of the mean log loss of masked rows (b, P): of the three layers' weights, and of their biases.

    Parameters
    ----------
    known : float32 (b, P)
    rows : int64 (b,), of which rows they are
    labels : int64 (n,); counts : float32 (n,), how much each row counts
    """
    first = np.dot(known, weights[0])
    _add_bias(first, biases[0], True)
    second = np.dot(first, weights[1])
    _add_bias(second, biases[1], True)
    error = np.dot(second, weights[2])
    _add_bias(error, biases[2], False)
    _minus_truth(error, rows, labels, counts)
    back_second = np.dot(error, weights[2].T)
    _stop_at_zero(back_second, second)
    back_first = np.dot(back_second, weights[1].T)
    _stop_at_zero(back_first, first)
    found = np.dot(known.T, back_first), np.dot(first.T, back_second), np.dot(second.T, error)
    return found, (_sums(back_first), _sums(back_second), _sums(error))


@njit(cache=True, nogil=True)
def adam_step(weights, gradient, moment, square, mean, scale, correct, shrink, forget):  # type: ignore[no-untyped-def]
    """One step of flat float32 arrays in place: moments, weights (first shrunk by decay), and their running mean."""
    one = np.float32(1.0)
    for i in range(weights.size):
        g = gradient[i]
        moment[i] = moment[i] * np.float32(0.9) + np.float32(0.1) * g
        square[i] = square[i] * np.float32(0.999) + np.float32(0.001) * g * g
        now = weights[i] * shrink - scale * moment[i] / (np.sqrt(square[i] * correct) + np.float32(1e-8))
        weights[i] = now
        mean[i] = mean[i] * forget + (one - forget) * now


@njit(cache=True, nogil=True)
def _adam_all(weights, gradient, moment, square, mean, rates):  # type: ignore[no-untyped-def]
    """`adam_step` of three arrays each."""
    scale, correct, shrink, forget = rates
    for k in range(3):
        parts = weights[k].ravel(), gradient[k].ravel(), moment[k].ravel(), square[k].ravel(), mean[k].ravel()
        adam_step(parts[0], parts[1], parts[2], parts[3], parts[4], scale, correct, shrink, forget)


@njit(cache=True, nogil=True)
def train_step(cells, rows, known, columns, labels, counts, matrices, biases, rates):  # type: ignore[no-untyped-def]
    """One step in place.

    Parameters
    ----------
    cells, rows, known, columns : as for `masked_batch`
    labels, counts : as for `gradients`
    matrices, biases : weights, moments, squares and running means of the three layers
    rates : scale, correction and decay of the step, and how fast the means forget; biases do not decay
    """
    starts, owner = columns
    found = gradients(masked_batch(cells, rows, known, starts, owner), rows, labels, counts, matrices[0], biases[0])
    scale, correct, _, forget = rates
    _adam_all(matrices[0], found[0], matrices[1], matrices[2], matrices[3], rates)
    _adam_all(biases[0], found[1], biases[1], biases[2], biases[3], (scale, correct, np.float32(1.0), forget))
