"""All pairs of features of a table, tested for synergy and redundancy by permutation within the classes.

Each pair uses its complete cases and thresholds refitted on those rows; its 2 x 2 x K counts go to
`synafa.stats.pair_permutation_test`; the p-values of each tail are corrected over all tested pairs
(Benjamini-Hochberg). `discovery_validation` does it on one random half and confirms the survivors on the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synafa.errors import SynafaError
from synafa.files import atomic_path
from synafa.information.codes import Discretizer
from synafa.information.counts import PairCounts
from synafa.information.labels import check_labels
from synafa.stats.multiplicity import benjamini_hochberg
from synafa.stats.permutation import PairPermutationResult, exact_pair_columns, pair_permutation_test

if TYPE_CHECKING:
    import polars as pl

TAILS = ("synergy", "redundancy")
NUMBERS = tuple(f.name for f in fields(PairPermutationResult) if f.name not in ("n", "method", "n_permutations"))
_SCREEN_LEVEL = 0.05  # a pair passes the sampled screen when either tail's raw p-value is at most this
_CHUNK = 2000  # pairs between two reports of progress
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ScanResult:
    """One row per pair in `table`, and how the scan was done.

    Columns: `a`, `b` (names), `n` (complete cases), the atoms in bits (`single_a`, `single_b`, `joint`, `redundant`,
    `unique_a`, `unique_b`, `synergy`), `null_mean`, `null_sd` of the joint information and `z`, its distance from that
    mean in standard deviations, for both tails `p_`, `log10_p_`, `q_` and `significant_`, and `method`,
    `n_permutations`. Pairs with too few rows have nulls after `n`.
    """

    table: pl.DataFrame
    feature_names: tuple[str, ...]
    dropped: tuple[str, ...]
    method: str
    q: float
    seed: int

    @property
    def n_tested(self) -> int:
        """How many pairs had enough complete cases."""
        return int(self.table["joint"].is_not_null().sum())

    def significant(self, tail: str = "synergy") -> pl.DataFrame:
        """The significant pairs of a tail: largest synergy first, or furthest (`z`) into the left tail first."""
        _check_tail(tail)
        chosen = self.table.filter(self.table[f"significant_{tail}"].fill_null(False))
        if tail == "synergy":
            return chosen.sort("synergy", descending=True)
        return chosen.sort("z")


@dataclass(frozen=True)
class HalvesResult:
    """A scan of a random half, and the confirmation of its survivors on the other half.

    `confirmation` has one row per survivor and tail: `tail`, `a`, `b`, `n`, `synergy`, `redundant`, `p`, `q`,
    `replicated`.
    """

    discovery: ScanResult
    confirmation: pl.DataFrame
    n_discovery: int
    n_validation: int

    def discovered(self, tail: str = "synergy") -> int:
        """How many pairs survived the correction in the discovery half."""
        _check_tail(tail)
        return int((self.confirmation["tail"] == tail).sum())

    def replicated(self, tail: str = "synergy") -> int:
        """How many of them survived the correction over the confirmatory set in the other half."""
        _check_tail(tail)
        return int(((self.confirmation["tail"] == tail) & self.confirmation["replicated"]).sum())

    def share(self, tail: str = "synergy") -> float:
        """`replicated / discovered`, NaN when nothing was discovered."""
        found = self.discovered(tail)
        return self.replicated(tail) / found if found else float("nan")


def scan(
    values: ArrayLike,
    y: ArrayLike,
    feature_names: Sequence[str] | None = None,
    *,
    max_missing: float = 0.35,
    min_rows: int = 200,
    method: str = "exact",
    q: float = 0.05,
    screen: int = 500,
    confirm: int = 2000,
    seed: int = 0,
    pairs: Sequence[tuple[str, str]] | None = None,
    progress: Progress | None = None,
    output: str | os.PathLike[str] | None = None,
) -> ScanResult:
    """Test all pairs of features for synergy and redundancy.

    Parameters
    ----------
    values : array, shape (n, D)
        Numbers, NaN where missing.
    y : array, shape (n,)
        Classes, of any type.
    feature_names : names of the columns, by default x0, x1, ...
    max_missing : features with at least this share of missing cells are left out
    min_rows : pairs with fewer complete cases are listed but not tested
    method : "exact" or "sampled" (`screen` draws, and `confirm` draws for the pairs with p <= 0.05 in the screen)
    q : false discovery rate, for each tail over all tested pairs
    seed : of the sampled version; every pair has its own stream, so that the order of pairs does not matter
    pairs : names of the pairs to test, by default all
    progress : called with the number of pairs done and the number of all pairs
    output : a Parquet file to which the table is written

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bits = rng.integers(0, 2, (400, 3))
    >>> result = scan(bits, bits[:, 0] ^ bits[:, 1], ["a", "b", "c"])
    >>> result.significant("synergy").select("a", "b").rows()
    [('a', 'b')]
    """
    matrix, label, names = _checked(values, y, feature_names)
    if method not in ("exact", "sampled"):
        raise SynafaError(f"method must be 'exact' or 'sampled', got: {method!r}.")
    missing = np.isnan(matrix).mean(axis=0)
    used = [j for j in range(matrix.shape[1]) if missing[j] < max_missing]
    if len(used) < 2:
        raise SynafaError(
            f"A scan needs two features with less than {max_missing:.0%} missing cells, got: {len(used)}; "
            "raise max_missing or add features."
        )
    chosen = _all_pairs(used) if pairs is None else _indices(pairs, names, used)
    counter = _Counter(matrix, label, used, chosen)
    settings = (method, max(min_rows, 1), screen, confirm, seed)
    return _scan(counter, chosen, names, used, settings, q, progress, output)


def scan_counts(
    counts: PairCounts,
    feature_names: Sequence[str],
    *,
    min_rows: int = 200,
    method: str = "exact",
    q: float = 0.05,
    screen: int = 500,
    confirm: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
    output: str | os.PathLike[str] | None = None,
) -> ScanResult:
    """The same scan from counts of two bins, such as `stream_counts` makes of a table larger than memory.

    No cell of that table may be missing: a pair's complete cases are then all rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bits = rng.integers(0, 2, (400, 3)).astype(np.uint8)
    >>> result = scan_counts(PairCounts.from_codes(bits, bits[:, 0] ^ bits[:, 1]), ["a", "b", "c"])
    >>> result.significant("synergy").select("a", "b").rows()
    [('a', 'b')]
    """
    if counts.n_bins != 2 or len(feature_names) != counts.n_features or counts.n_features < 2:
        raise SynafaError(
            f"A scan needs counts of two bins and a name for each of at least two features, got: {counts.n_bins} bins, "
            f"{counts.n_features} features, {len(feature_names)} names."
        )
    if counts.missing:
        raise SynafaError(
            "A pair is scanned on its complete rows with cuts of its own, and these counts have missing cells; scan "
            "the table itself."
        )
    used = list(range(counts.n_features))
    settings = (method, max(min_rows, 1), screen, confirm, seed)
    return _scan(_Counted(counts), _all_pairs(used), list(feature_names), used, settings, q, progress, output)


def _scan(
    counter: _Counter | _Counted,
    chosen: NDArray[np.int64],
    names: list[str],
    used: list[int],
    settings: tuple[str, int, int, int, int],
    q: float,
    progress: Progress | None,
    output: str | os.PathLike[str] | None,
) -> ScanResult:
    """Test the chosen pairs, some at a time."""
    found = _Found(len(chosen))
    for start in range(0, len(chosen), _CHUNK):
        pairs_here = chosen[start : start + _CHUNK]
        tables = counter.tables(pairs_here)
        found.columns["n"][start : start + len(pairs_here)] = tables.sum(axis=(1, 2, 3))
        _tests(tables, found, start, pairs_here, settings)
        if progress is not None:
            progress(start + len(pairs_here), len(chosen))
    frame = _frame(names, chosen, found, q)
    dropped = tuple(name for j, name in enumerate(names) if j not in set(used))
    realised = "sampled" if found.drawn.any() else settings[0]
    if output is not None:
        with atomic_path(output) as temporary:
            frame.write_parquet(temporary)
    return ScanResult(frame, tuple(names[j] for j in used), dropped, realised, q, settings[-1])


def discovery_validation(
    values: ArrayLike, y: ArrayLike, feature_names: Sequence[str] | None = None, *, seed: int = 0, **settings: Any
) -> HalvesResult:
    """Scan a random half of the rows, then test only the significant pairs on the other half.

    The rows are shuffled with `seed`; the first half discovers. The correction in the other half runs over the
    confirmatory set of each tail; thresholds are refitted there. `settings` are those of `scan`; the features are
    chosen by their missing share in the whole table, so that both halves know the same ones.
    """
    import polars as pl

    matrix, label, names = _checked(values, y, feature_names)
    max_missing = settings.pop("max_missing", 0.35)
    used = np.flatnonzero(np.isnan(matrix).mean(axis=0) < max_missing)
    kept, kept_names = matrix[:, used], [names[j] for j in used]
    order = np.random.default_rng(seed).permutation(label.size)
    first, second = order[: label.size // 2], order[label.size // 2 :]
    discovery = scan(kept[first], label[first], kept_names, max_missing=1.0, seed=seed, **settings)
    parts = []
    for tail in TAILS:
        found = discovery.significant(tail).select("a", "b").rows()
        if not found:
            continue
        settings["pairs"] = found
        table = scan(kept[second], label[second], kept_names, max_missing=1.0, seed=seed + 1, **settings).table
        parts.append(
            table.select(
                pl.lit(tail).alias("tail"),
                *("a", "b", "n", "synergy", "redundant"),
                pl.col(f"p_{tail}").alias("p"),
                pl.col(f"q_{tail}").alias("q"),
                pl.col(f"significant_{tail}").fill_null(False).alias("replicated"),
            )
        )
    kinds = {"tail": pl.String, "a": pl.String, "b": pl.String, "n": pl.Int64, "synergy": pl.Float64}
    kinds |= {"redundant": pl.Float64, "p": pl.Float64, "q": pl.Float64, "replicated": pl.Boolean}
    confirmation = pl.concat(parts) if parts else pl.DataFrame(schema=kinds)
    return HalvesResult(discovery, confirmation, first.size, second.size)


def _checked(
    values: ArrayLike, y: ArrayLike, feature_names: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    matrix, target = np.asarray(values, dtype=np.float64), np.asarray(y)
    if matrix.ndim != 2 or target.shape != matrix.shape[:1] or target.size == 0:
        raise SynafaError(f"values must be (n, D) and y (n,), with rows, got shapes: {matrix.shape}, {target.shape}.")
    names = (
        [f"x{j}" for j in range(matrix.shape[1])] if feature_names is None else [str(name) for name in feature_names]
    )
    if len(names) != matrix.shape[1] or len(set(names)) != len(names):
        raise SynafaError(f"feature_names must be {matrix.shape[1]} different names, got: {len(names)}.")
    if np.isinf(matrix).any():
        column = names[int(np.flatnonzero(np.isinf(matrix).any(axis=0))[0])]
        raise SynafaError(f"The feature {column!r} holds an infinite value; correct it or leave the cell empty.")
    classes, label = np.unique(check_labels(target, len(matrix)), return_inverse=True)
    if classes.size < 2:
        raise SynafaError("y holds a single class, so nothing can inform about it; give at least two.")
    return matrix, label, names


def _check_tail(tail: str) -> None:
    if tail not in TAILS:
        raise SynafaError(f"tail must be 'synergy' or 'redundancy', got: {tail!r}.")


def _all_pairs(used: list[int]) -> NDArray[np.int64]:
    """Every pair of columns, int64 (P, 2), in the order of `itertools.combinations`."""
    first, second = np.triu_indices(len(used), 1)
    return np.array(used, np.int64)[np.column_stack([first, second])]


def _indices(pairs: Sequence[tuple[str, str]], names: list[str], used: list[int]) -> NDArray[np.int64]:
    position = {names[j]: j for j in used}
    for pair in pairs:
        for name in pair:
            if name not in position:
                raise SynafaError(
                    f"The pair {tuple(pair)!r} names {name!r}, which is not a feature that can be scanned."
                )
    return np.array([(position[a], position[b]) for a, b in pairs], np.int64).reshape(-1, 2)


class _Counter:
    """Counts (P, 2, 2, K) of pairs on their complete cases."""

    def __init__(
        self, matrix: NDArray[np.float64], label: NDArray[np.int64], used: list[int], pairs: NDArray[np.int64]
    ) -> None:
        self.n_classes = int(label.max()) + 1
        self.label = label
        self.columns = np.unique(pairs)
        values = np.ascontiguousarray(matrix[:, self.columns].T)
        self.complete = not np.isnan(matrix[:, used]).any()
        if self.complete:
            bits = Discretizer(n_bins=2).fit_transform(values.T).astype(np.float64)
            self.joint = np.stack([bits[label == y].T @ bits[label == y] for y in range(self.n_classes)], axis=-1)
        else:
            self.values = values
            self.present = ~np.isnan(values)
            self.known = self.present.sum(axis=1)
            self.orders = np.argsort(values, axis=1, kind="stable").astype(np.int32)  # missing cells come last

    def tables(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some pairs."""
        first, second = np.ascontiguousarray(np.searchsorted(self.columns, pairs).T)
        if not self.complete:
            from synafa.analysis.kernels.scan import complete_case_counts

            rest = (self.label, self.n_classes, first, second)
            return complete_case_counts(self.values, self.orders, self.known, self.present, *rest)
        both, ones = self.joint[first, second], np.einsum("jjy->jy", self.joint)
        tables = np.empty((len(pairs), 2, 2, self.n_classes))
        tables[:, 1, 1] = both
        tables[:, 1, 0] = ones[first] - both
        tables[:, 0, 1] = ones[second] - both
        tables[:, 0, 0] = np.bincount(self.label, minlength=self.n_classes) - ones[first] - ones[second] + both
        return tables.astype(np.int64)


class _Counted:
    """The same from counts that were made elsewhere."""

    def __init__(self, counts: PairCounts) -> None:
        self.counts = counts

    def tables(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some pairs."""
        first, second = pairs.min(axis=1), pairs.max(axis=1)
        ones, both = self.counts.plane_counts.T, self.counts.joint[:, first, second].T
        tables = np.empty((len(pairs), 2, 2, len(self.counts.classes)), np.int64)
        tables[:, 1, 1], tables[:, 1, 0], tables[:, 0, 1] = both, ones[first] - both, ones[second] - both
        tables[:, 0, 0] = self.counts.class_counts - ones[first] - ones[second] + both
        return tables


class _Found:
    """What the tests found, one array a column: nothing else grows with the pairs."""

    def __init__(self, n_pairs: int) -> None:
        self.columns: dict[str, NDArray[Any]] = {"n": np.zeros(n_pairs, np.int64)}
        self.columns |= {name: np.full(n_pairs, np.nan) for name in NUMBERS}
        self.tested = np.zeros(n_pairs, bool)
        self.drawn = np.zeros(n_pairs, np.int64)  # permutations; 0 for exact p-values


def _tests(
    tables: NDArray[np.int64],
    found: _Found,
    start: int,
    pairs: NDArray[np.int64],
    settings: tuple[str, int, int, int, int],
) -> None:
    """Test the pairs with enough rows and enter what is found; tables of two classes are tested exactly together."""
    method, least, screen, confirm, seed = settings
    enough = tables.sum(axis=(1, 2, 3)) >= least
    found.tested[start : start + len(pairs)] = enough
    exact = method == "exact" and tables.shape[3] == 2
    together = np.flatnonzero(enough & (tables.sum(axis=(1, 2)) > 0).all(axis=1)) if exact else np.zeros(0, np.intp)
    if len(together):
        columns = exact_pair_columns(tables[together])
        for name in NUMBERS:
            found.columns[name][start + together] = columns[name]
    for p in np.setdiff1d(np.flatnonzero(enough), together).tolist():
        result = _test(tables[p], method, screen, confirm, [seed, *pairs[p].tolist()])
        for name in NUMBERS:
            found.columns[name][start + p] = getattr(result, name)
        found.drawn[start + p] = result.n_permutations


def _test(table: NDArray[np.int64], method: str, screen: int, confirm: int, stream: list[int]) -> PairPermutationResult:
    """Test one pair; the sampled version looks closer when the screen finds something."""
    result = pair_permutation_test(table, method, screen, stream)
    if result.method == "sampled" and min(result.p_synergy, result.p_redundancy) <= _SCREEN_LEVEL:
        result = pair_permutation_test(table, "sampled", confirm, [*stream, 1])
    return result


def _frame(names: list[str], pairs: NDArray[np.int64], found: _Found, q: float) -> pl.DataFrame:
    import polars as pl

    tested, named = pl.Series(found.tested), pl.Series(names, dtype=pl.String)
    columns: dict[str, pl.Series] = {"a": named.gather(pairs[:, 0]), "b": named.gather(pairs[:, 1])}
    columns["n"] = pl.Series(found.columns["n"])
    for name in NUMBERS:
        columns[name] = pl.Series(found.columns[name])
    for tail in TAILS:
        corrected = benjamini_hochberg(found.columns[f"p_{tail}"][found.tested], q)
        adjusted, rejected = np.full(len(pairs), np.nan), np.zeros(len(pairs), bool)
        adjusted[found.tested], rejected[found.tested] = corrected.adjusted, corrected.rejected
        columns[f"q_{tail}"], columns[f"significant_{tail}"] = pl.Series(adjusted), pl.Series(rejected)
    columns["n_permutations"] = pl.Series(found.drawn)
    method = pl.when(pl.col("n_permutations") > 0).then(pl.lit("sampled")).otherwise(pl.lit("exact"))
    order = ["a", "b", "n", *NUMBERS, "method", "n_permutations"]
    order += [f"{name}_{tail}" for tail in TAILS for name in ("q", "significant")] + ["z"]
    spread = pl.when(pl.col("null_sd") > 0).then(pl.col("null_sd"))
    z = ((pl.col("joint") - pl.col("null_mean")) / spread).fill_null(0.0)
    frame = pl.DataFrame(columns).with_columns(method=method, z=z).select(order)
    return frame.with_columns(pl.when(tested).then(pl.col(name)).alias(name) for name in order[3:])
