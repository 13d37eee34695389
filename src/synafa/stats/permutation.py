"""Is a pair of binary features synergistic or redundant? A permutation test within the classes.

Permuting one feature within each class keeps every margin, so `single` and the I_min redundancy stay, and only the
count `n11` of each class moves: it is hypergeometric, independently over classes. With `f(x) = x log x`,
`n * I(A,B;Y) = sum_y g_y(n11_y) - h(sum_y n11_y) + const`, where `g_y` sums `f` over the four cells of class `y` and
`h` over the four cells of the pooled table: the exact law is a sum over a small grid. The null is conditional
independence given the class; the right tail of the joint information tests synergy, the left tail redundancy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.stats.resampling import check_bits, check_paired

_LN2 = log(2.0)
_TOLERANCE_BITS = 1e-12  # tables that differ by less than this in joint information are ties
_RELATIVE_ERROR = 1e-10  # of an exact p-value, from leaving out improbable counts
_WINDOWS = (60.0, 250.0, 1000.0, np.inf)  # nats below the mode that are enumerated, widened until the error is met


@dataclass(frozen=True)
class PairPermutationResult:
    """Atoms of a pair in bits, and the two tails of its joint information under permutation within classes.

    `p_synergy` is P(joint* >= joint), `p_redundancy` P(joint* <= joint). The `log10_` fields go on where a p-value
    underflows to 0. `method` is what was used: "exact", or "sampled" with `n_permutations` draws and the p-value
    `(1 + hits) / (1 + n_permutations)`.
    """

    n: int
    single_a: float
    single_b: float
    joint: float
    redundant: float
    unique_a: float
    unique_b: float
    synergy: float
    p_synergy: float
    p_redundancy: float
    log10_p_synergy: float
    log10_p_redundancy: float
    null_mean: float
    null_sd: float
    method: str
    n_permutations: int


def pair_table(a: ArrayLike, b: ArrayLike, y: ArrayLike, n_classes: int | None = None) -> NDArray[np.int64]:
    """Counts (2, 2, K) of two binary features and a class in `0..K-1`.

    >>> pair_table([0, 1, 1], [1, 1, 0], [0, 0, 1]).tolist()
    [[[0, 0], [1, 0]], [[0, 1], [1, 0]]]
    """
    first, second, label = np.asarray(a), np.asarray(b), np.asarray(y)
    check_paired(allow_empty=True, a=first, b=second, y=label)
    check_bits("must be binary (0 or 1); binarise it with synafa.Discretizer(n_bins=2) first.", a=first, b=second)
    label = label.astype(np.int64)
    k = int(label.max(initial=0)) + 1 if n_classes is None else n_classes
    if label.size and (label.min() < 0 or label.max() >= k):
        raise SynafaError(f"y must hold classes 0 to {k - 1}, got values from {label.min()} to {label.max()}.")
    cell = (first.astype(np.int64) * 2 + second.astype(np.int64)) * k + label
    return np.bincount(cell, minlength=4 * k).reshape(2, 2, k)


def pair_permutation_test(
    counts: ArrayLike, method: str = "exact", n_permutations: int = 2000, seed: int | list[int] = 0
) -> PairPermutationResult:
    """Test a pair of binary features for synergy and redundancy by permutation within the classes.

    Parameters
    ----------
    counts : array of int, shape (2, 2, K)
        Joint counts of the two features and the class; `pair_table` makes them.
    method : "exact" or "sampled"
        The p-value of the permutation law itself (relative error below 1e-10), or of `n_permutations` draws from it.
        With more than two classes (that have rows) "exact" falls back to "sampled", and the result says so.
    n_permutations, seed
        For the sampled version.

    Examples
    --------
    >>> xor = [[[50, 0], [0, 50]], [[0, 50], [50, 0]]]
    >>> result = pair_permutation_test(xor)
    >>> result.synergy, result.p_synergy < 1e-50, result.p_redundancy
    (1.0, True, 1.0)
    """
    table = _checked(counts)
    if method not in ("exact", "sampled"):
        raise SynafaError(f"method must be 'exact' or 'sampled', got: {method!r}.")
    strata = table[:, :, table.sum(axis=(0, 1)) > 0]
    if method == "exact" and strata.shape[2] <= 2:
        tails = _exact_tails(strata)
        drawn = 0
    else:
        if n_permutations < 1:
            raise SynafaError(f"n_permutations must be at least 1, got: {n_permutations}.")
        tails = _sampled_tails(strata, n_permutations, np.random.default_rng(seed))
        method, drawn = "sampled", n_permutations
    right, left, mean, deviation = tails
    atoms = pair_atoms(table)
    return PairPermutationResult(
        int(table.sum()),
        *atoms,
        min(1.0, exp(right)),
        min(1.0, exp(left)),
        min(0.0, right / np.log(10.0)),
        min(0.0, left / np.log(10.0)),
        mean,
        deviation,
        method,
        drawn,
    )


def exact_pair_tests(tables: ArrayLike) -> list[PairPermutationResult]:
    """The exact test of many pairs, on all cores: `pair_permutation_test` of each table, much faster.

    Parameters
    ----------
    tables : array of int, shape (P, 2, 2, 2)
        Joint counts of each pair and a class of two values, both of which some row has.

    Returns
    -------
    list of PairPermutationResult

    Examples
    --------
    >>> xor = [[[50, 0], [0, 50]], [[0, 50], [50, 0]]]
    >>> exact_pair_tests([xor, xor])[1] == exact_pair_tests([xor])[0]
    True
    """
    columns = exact_pair_columns(tables)
    rows: list[Any] = list(zip(*(column.tolist() for column in columns.values())))
    exact: Any = ("exact", 0)
    return [PairPermutationResult(*row, *exact) for row in rows]


def exact_pair_columns(tables: ArrayLike) -> dict[str, NDArray[Any]]:
    """The same as arrays (P,), one for each number of a `PairPermutationResult`, in its order."""
    from synafa.stats.exact_kernels import exact_laws

    counts = np.asarray(tables)
    if counts.ndim != 4 or counts.shape[1:] != (2, 2, 2) or not np.issubdtype(counts.dtype, np.integer):
        raise SynafaError(f"tables must be whole numbers of shape (P, 2, 2, 2), got: {counts.dtype}, {counts.shape}.")
    names = [field.name for field in fields(PairPermutationResult)][:-2]
    if not len(counts):
        return {name: np.zeros(0, np.int64 if name == "n" else np.float64) for name in names}
    if counts.min() < 0 or (counts.sum(axis=(1, 2)) == 0).any():
        raise SynafaError("tables must hold no negative counts, and rows of both classes.")
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    sizes = counts.sum(axis=(1, 2, 3))
    laws = exact_laws(counts, _xlogx(np.arange(int(sizes.max()) + 1)), _TOLERANCE_BITS)
    for p in np.flatnonzero(np.isnan(laws[:, 0])):  # p-values below e^-600 or so: the whole grid, in logarithms
        laws[p] = _exact_tails(counts[p])
    atoms = many_pair_atoms(counts)
    tails = np.minimum(1.0, np.exp(laws[:, :2]))
    logs = np.minimum(0.0, laws[:, :2] / np.log(10.0))
    return dict(zip(names, (sizes, *atoms.T, *tails.T, *logs.T, laws[:, 2], laws[:, 3])))


def many_pair_atoms(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """`pair_atoms` of tables (P, 2, 2, K): float64 (P, 7)."""
    p, k = len(tables), tables.shape[3]
    specific_a = _specific_information(tables.sum(axis=2))
    specific_b = _specific_information(tables.sum(axis=1))
    specific_ab = _specific_information(tables.reshape(p, 4, k))
    p_y = tables.sum(axis=(1, 2)) / tables.sum(axis=(1, 2, 3))[:, None]
    single_a, single_b, joint = ((p_y * specific).sum(axis=1) for specific in (specific_a, specific_b, specific_ab))
    redundant = (p_y * np.minimum(specific_a, specific_b)).sum(axis=1)
    # none of the atoms is negative; rounding below zero is cut off
    rest = (single_a - redundant, single_b - redundant, joint - single_a - single_b + redundant)
    return np.column_stack([single_a, single_b, joint, redundant, *(np.maximum(atom, 0.0) for atom in rest)])


def pair_atoms(table: NDArray[np.int64]) -> tuple[float, float, float, float, float, float, float]:
    """`single_a, single_b, joint, redundant, unique_a, unique_b, synergy` (Williams-Beer I_min) in bits."""
    return tuple(many_pair_atoms(table[None])[0].tolist())


def _specific_information(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """`I(Y=y; A) = sum_a p(a|y) log2(p(y|a) / p(y))` for counts (..., states of A, K); 0 for a class without rows."""
    n_a, n_y = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    n = n_y.sum(axis=-1, keepdims=True).astype(np.float64)
    seen = counts > 0
    ratio = np.where(seen, counts * n, 1.0) / np.where(seen, n_a * n_y.astype(np.float64), 1.0)
    return (counts / np.maximum(n_y, 1) * np.log2(ratio)).sum(axis=-2)


def _checked(counts: ArrayLike) -> NDArray[np.int64]:
    table = np.asarray(counts)
    if table.ndim != 3 or table.shape[:2] != (2, 2):
        raise SynafaError(f"counts must have shape (2, 2, K), got: {table.shape}.")
    if not np.issubdtype(table.dtype, np.integer) or table.min(initial=0) < 0 or table.sum() == 0:
        raise SynafaError("counts must be whole numbers, none negative and not all zero.")
    return table.astype(np.int64)


def _xlogx(x: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(x > 0, x * np.log(np.maximum(x, 1)), 0.0)


def _four_cells(n11: NDArray[np.int64], row: int, column: int, n: int) -> NDArray[np.float64]:
    """`sum f(cell)` of the 2x2 tables with the given `n11` and margins."""
    return _xlogx(n11) + _xlogx(row - n11) + _xlogx(column - n11) + _xlogx(n - row - column + n11)


@dataclass(frozen=True)
class _Stratum:
    """The margins of one class, and what can be said of each possible `n11`."""

    row: int
    column: int
    n: int
    observed: int

    @property
    def support(self) -> NDArray[np.int64]:
        return np.arange(max(0, self.row + self.column - self.n), min(self.row, self.column) + 1)

    def information(self, n11: NDArray[np.int64]) -> NDArray[np.float64]:
        """`g_y` at each `n11`."""
        return _four_cells(n11, self.row, self.column, self.n)

    def log_law(self, n11: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log of the hypergeometric probabilities, normalised over the support."""
        from scipy.special import gammaln, logsumexp

        cells = (n11, self.row - n11, self.column - n11, self.n - self.row - self.column + n11)
        unnormalised = -sum(gammaln(cell + 1.0) for cell in cells)
        return unnormalised - logsumexp(unnormalised)


def _strata(table: NDArray[np.int64]) -> list[_Stratum]:
    rows, columns, sizes = table[1].sum(axis=0), table[:, 1].sum(axis=0), table.sum(axis=(0, 1))
    return [_Stratum(int(r), int(c), int(n), int(o)) for r, c, n, o in zip(rows, columns, sizes, table[1, 1])]


def _pooled(strata: list[_Stratum], total: NDArray[np.int64]) -> NDArray[np.float64]:
    """`h` at each possible pooled count."""
    return _four_cells(total, sum(s.row for s in strata), sum(s.column for s in strata), sum(s.n for s in strata))


def _constant(strata: list[_Stratum]) -> float:
    sizes = np.array([s.n for s in strata])
    return float(_xlogx(sizes.sum(keepdims=True))[0] - _xlogx(sizes).sum())


def _exact_tails(table: NDArray[np.int64]) -> tuple[float, float, float, float]:
    """Log right tail, log left tail, mean and standard deviation (bits) of the joint information under the null."""
    from synafa.stats.permutation_kernels import moments, tail_sums

    strata = _strata(table)
    if len(strata) == 1:  # one class: no information whatever is permuted; a second, empty one keeps the code simple
        strata.append(_Stratum(0, 0, 0, 0))
    n = sum(s.n for s in strata)
    support = [s.support for s in strata]
    laws = [s.log_law(x) for s, x in zip(strata, support)]
    gains = [s.information(x) for s, x in zip(strata, support)]
    origin = sum(int(x[0]) for x in support)
    pooled = _pooled(strata, np.arange(origin, sum(int(x[-1]) for x in support) + 1))
    at = [s.observed - int(x[0]) for s, x in zip(strata, support)]
    observed = float(gains[0][at[0]] + gains[1][at[1]] - pooled[at[0] + at[1]])
    tolerance = _TOLERANCE_BITS * n * _LN2
    right = left = -np.inf
    mean = variance = 0.0
    for window in _WINDOWS:
        kept = [np.flatnonzero(law >= law.max() - window) for law in laws]
        (a0, b0), (a1, b1) = [(int(k[0]), int(k[-1]) + 1) for k in kept]
        grid = (gains[0][a0:b0], laws[0][a0:b0], gains[1][a1:b1], laws[1][a1:b1], pooled[a0 + a1 :])
        if window == _WINDOWS[0]:
            mean, variance = moments(*grid, observed)
        right, left = tail_sums(*grid, observed, tolerance)
        left_out = sum(law.size - k.size for law, k in zip(laws, kept))
        if left_out == 0 or log(left_out) - window <= min(right, left) + log(_RELATIVE_ERROR):
            break
    return right, left, (mean + _constant(strata)) / (n * _LN2), variance**0.5 / (n * _LN2)


def _sampled_tails(
    table: NDArray[np.int64], n_permutations: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """As `_exact_tails`, from drawn counts: the law of permuting rows, without touching a row."""
    strata = _strata(table)
    n = sum(s.n for s in strata)
    drawn = [rng.hypergeometric(s.row, s.n - s.row, s.column, size=n_permutations) for s in strata]
    total = np.sum(drawn, axis=0)
    values = np.sum([s.information(x) for s, x in zip(strata, drawn)], axis=0) - _pooled(strata, total)
    at = np.array([sum(s.observed for s in strata)])
    observed = sum(float(s.information(np.array([s.observed]))[0]) for s in strata) - float(_pooled(strata, at)[0])
    tolerance = _TOLERANCE_BITS * n * _LN2
    right = log((1 + np.sum(values >= observed - tolerance)) / (1 + n_permutations))
    left = log((1 + np.sum(values <= observed + tolerance)) / (1 + n_permutations))
    scale = n * _LN2
    return right, left, float((values.mean() + _constant(strata)) / scale), float(values.std() / scale)
