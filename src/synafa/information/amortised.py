"""SynAFA v2: pair and conditional information estimated from small samples by two hurdle models, as in the paper.

A hurdle model is a forest that says whether a value exceeds 0.002 bits and a forest, trained on the values above, that
says how large it is: `estimate = [p >= tau] * magnitude`, tau chosen on held-out reference pairs to minimise the mean
absolute error. `pair[j, k]` is read off the eight frequencies of (X_j, X_k, Y) in a sample of rows, `cond[j, k, v]` off
the four frequencies of (X_j, Y) in a sample of the rows with X_k = v, each with the sample's size. `single` is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.counts import PairCounts, check_codes
from synafa.information.forest import Forest
from synafa.information.labels import check_labels
from synafa.information.tables import InformationTables

THRESHOLD = 0.002  # bits below which a value counts as nothing
SAMPLING = ("corrected", "replacement")
_TAUS = np.linspace(0.05, 0.95, 19)
_BATCH = 64  # features whose strata are counted in one product
_HELD_OUT = 0.2  # share of the reference pairs that tau is chosen on


@dataclass(frozen=True, eq=False)
class Hurdle:
    """A fitted pair of forests and its threshold; `error` is the mean absolute error on the held-out pairs, in bits."""

    classifier: Forest
    regressor: Forest | None
    tau: float
    error: float

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Estimates in bits; equal rows are asked once, and magnitudes only where the hurdle is taken."""
        distinct, where = _distinct(features)
        values = np.zeros(len(distinct))
        above = self.classifier.mean(distinct) >= self.tau
        if self.regressor is not None:
            values[above] = self.regressor.mean(distinct[above])
        return values[where]


@dataclass(frozen=True, eq=False)
class AmortisedEstimator:
    """Two hurdle models, trained once for a table and then asked for any sample size."""

    pair: Hurdle
    cond: Hurdle
    k_range: tuple[int, int]
    seed: int

    @classmethod
    def fit(
        cls,
        codes: Any,
        y: Any,
        *,
        k_range: tuple[int, int] = (20, 300),
        seed: int = 0,
        reference_pairs: int = 4000,
        draws: int = 8,
        trees: int = 300,
        informative: bool = False,
    ) -> AmortisedEstimator:
        """Learn from random reference pairs of a table of binary codes and two classes.

        Parameters
        ----------
        codes : uint8 (n, D)
            Binary codes of the training rows.
        y : array (n,)
            Two classes.
        k_range : tuple of int, default=(20, 300)
            Sample sizes of the training draws, log-uniform.
        seed : int, default=0
            Of pairs, draws and forests.
        reference_pairs : int, default=4000
            Pairs that are learnt from.
        draws : int, default=8
            Samples of rows, with replacement, for each reference pair (and for each value v of the second feature).
        trees : int, default=300
            Trees of a forest.
        informative : bool, default=False
            Draw the reference pairs among the features that tell more than the threshold by themselves, in place of
            all; the paper does not say among which.

        Returns
        -------
        AmortisedEstimator
            It estimates tables from samples.
        """
        counts = _counts(codes, y)
        if not 1 <= k_range[0] <= k_range[1]:
            raise SynafaError(f"k_range must be two sample sizes in ascending order, got: {k_range!r}.")
        rng = np.random.default_rng([seed, 1])
        tables = InformationTables.from_counts(counts)
        among = np.flatnonzero(tables.single > THRESHOLD) if informative else np.arange(counts.n_features)
        if len(among) < 2:
            raise SynafaError(f"Only {len(among)} features tell more than {THRESHOLD} bits; use informative=False.")
        j, k = _reference_pairs(among, reference_pairs, rng)
        held = rng.random(len(j)) < _HELD_OUT
        cells = _all_cells(counts, j, k)  # (pairs, 2, 2, 2): x_j, x_k, y
        pair = _fit_hurdle(*_examples(cells.reshape(-1, 8), tables.pair[j, k], held, draws, k_range, rng), trees, seed)
        given = [
            _examples(cells[:, :, v].reshape(-1, 4), tables.cond[j, k, v], held, draws, k_range, rng) for v in (0, 1)
        ]
        features, target, held_out = (np.concatenate(parts) for parts in zip(*given))
        return cls(pair, _fit_hurdle(features, target, held_out, trees, seed + 1), k_range, seed)

    def tables(self, codes: Any, y: Any, k_infer: int, sampling: str = "corrected") -> InformationTables:
        """Estimated tables from one sample of `k_infer` rows for `pair` and one for each stratum (k, v) for `cond`.

        sampling : "corrected" draws without replacement, so that a sample as large as the rows is the rows, each once;
            "replacement" draws with replacement whatever the size, as the study's first version did
        """
        if sampling not in SAMPLING:
            raise SynafaError(f"sampling must be one of {list(SAMPLING)}, got: {sampling!r}.")
        if k_infer < 1:
            raise SynafaError(f"k_infer must be at least 1, got: {k_infer!r}.")
        counts = _counts(codes, y)
        codes, y = check_codes(codes), np.searchsorted(counts.classes, check_labels(y, len(codes)))
        rng = np.random.default_rng([self.seed, 2])
        return InformationTables(
            single=InformationTables.from_counts(counts).single,
            pair=self._pairs(codes, y, counts, k_infer, sampling, rng),
            cond=self._conditionals(codes, y, counts, k_infer, sampling, rng),
            specific=None,
            class_counts=counts.class_counts,
        )

    def _pairs(
        self, codes: np.ndarray, y: np.ndarray, counts: PairCounts, k: int, sampling: str, rng: np.random.Generator
    ) -> np.ndarray:
        d, n = counts.n_features, counts.n_rows
        sample = counts
        if sampling == "replacement" or k < n:
            rows = rng.integers(0, n, k) if sampling == "replacement" else rng.choice(n, k, replace=False)
            sample = PairCounts(d, 2, [0, 1]).update(codes[rows], y[rows])
        first, second = np.triu_indices(d, k=1)
        pair = np.zeros((d, d))
        pair[first, second] = self.pair.predict(_frequencies(_all_cells(sample, first, second).reshape(-1, 8)))
        pair += pair.T
        np.fill_diagonal(pair, InformationTables.from_counts(counts).single)
        return pair

    def _conditionals(
        self, codes: np.ndarray, y: np.ndarray, counts: PairCounts, k: int, sampling: str, rng: np.random.Generator
    ) -> np.ndarray:
        d = counts.n_features
        cells = np.zeros((d, 2, d, 2, 2))  # k, v, j, x_j, y
        if sampling == "corrected" and k >= counts.n_rows:
            first, second = np.triu_indices(d, k=1)
            whole = _all_cells(counts, first, second)
            for v in (0, 1):
                cells[second, v, first] = whole[:, :, v]
                cells[first, v, second] = whole[:, v]
        else:
            by_class = [codes[y == label].astype(np.float32) for label in (0, 1)]
            for start in range(0, d, _BATCH):
                features = range(start, min(start + _BATCH, d))
                weights = np.concatenate([_stratum_weights(codes, feature, k, sampling, rng) for feature in features])
                cells[start : start + _BATCH] = _weighted_cells(weights, by_class, y).reshape(-1, 2, d, 2, 2)
        estimates = self.cond.predict(_frequencies(cells.reshape(-1, 4))).reshape(d, 2, d)
        empty = cells.sum(axis=(2, 3, 4)) == 0
        estimates[empty] = 0.0
        cond = np.ascontiguousarray(estimates.transpose(2, 0, 1))
        cond[np.arange(d), np.arange(d)] = 0.0
        return cond


def amortised_tables(
    codes: Any,
    y: Any,
    k_infer: int = 36_000,
    sampling: str = "corrected",
    k_range: tuple[int, int] = (20, 300),
    seed: int = 0,
    **settings: Any,
) -> InformationTables:
    """The tables of SynAFA v2; `settings` are those of `AmortisedEstimator.fit`."""
    return AmortisedEstimator.fit(codes, y, k_range=k_range, seed=seed, **settings).tables(codes, y, k_infer, sampling)


def _counts(codes: Any, y: Any) -> PairCounts:
    counts = PairCounts.from_codes(codes, y, n_bins=2)
    if len(counts.classes) != 2 or counts.n_features < 2:
        raise SynafaError(
            f"The amortised estimator needs two classes and two features or more, got: {len(counts.classes)} and "
            f"{counts.n_features}; use the exact tables."
        )
    return counts


def _reference_pairs(among: np.ndarray, wanted: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Distinct random pairs j < k of some features (ascending), at most as many as there are."""
    first, second = np.triu_indices(len(among), k=1)
    chosen = rng.choice(len(first), min(wanted, len(first)), replace=False)
    return among[first[chosen]], among[second[chosen]]


def _all_cells(counts: PairCounts, j: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Counts of (x_j, x_k, y) for many pairs j < k at once, float64 (pairs, 2, 2, 2)."""
    cells = np.empty((len(j), 2, 2, 2))
    for y in (0, 1):
        both, alone = counts.joint[y, j, k], counts.plane_counts[y]
        cells[:, 1, 1, y] = both
        cells[:, 1, 0, y] = alone[j] - both
        cells[:, 0, 1, y] = alone[k] - both
        cells[:, 0, 0, y] = counts.class_counts[y] - alone[j] - alone[k] + both
    return cells


def _examples(
    cells: np.ndarray, target: np.ndarray, held: np.ndarray, draws: int, k_range: tuple[int, int], rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, target and held-out flag of every draw; drawing rows with replacement is drawing cells."""
    total = cells.sum(axis=1)
    filled = total > 0
    shares = np.repeat(cells[filled] / total[filled, None], draws, axis=0)
    low, high = np.log(k_range[0]), np.log(k_range[1] + 1)
    sizes = np.minimum(np.exp(rng.uniform(low, high, len(shares))).astype(np.int64), k_range[1])
    drawn = rng.multinomial(sizes, shares)
    return _frequencies(drawn), np.repeat(target[filled], draws), np.repeat(held[filled], draws)


def _frequencies(cells: np.ndarray) -> np.ndarray:
    """Cell frequencies and the sample's size, float32 (n, cells + 1); an empty sample is all zeros."""
    total = cells.sum(axis=1, keepdims=True)
    return np.hstack([cells / np.maximum(total, 1), total]).astype(np.float32)


def _stratum_weights(codes: np.ndarray, feature: int, k: int, sampling: str, rng: np.random.Generator) -> np.ndarray:
    """How often each row is in the sample of the strata v = 0 and v = 1 of a feature, float32 (2, n)."""
    weights = np.zeros((2, len(codes)), np.float32)
    for v in (0, 1):
        rows = np.flatnonzero(codes[:, feature] == v)
        if len(rows) and sampling == "replacement":
            weights[v, rows] = np.bincount(rng.integers(0, len(rows), k), minlength=len(rows))
        elif len(rows):
            weights[v, rows if k >= len(rows) else rng.choice(rows, k, replace=False)] = 1
    return weights


def _weighted_cells(weights: np.ndarray, by_class: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Weighted counts of (x_j, y) under each row of weights, (m, D, 2, 2); whole numbers, exact in float32."""
    cells = np.zeros((len(weights), by_class[0].shape[1], 2, 2))
    for label, ones in enumerate(by_class):
        of_class = weights[:, y == label]
        cells[:, :, 1, label] = of_class @ ones
        cells[:, :, 0, label] = of_class.sum(axis=1, dtype=np.float64)[:, None] - cells[:, :, 1, label]
    return cells


def _fit_hurdle(features: np.ndarray, target: np.ndarray, held: np.ndarray, trees: int, seed: int) -> Hurdle:
    """Both forests on the reference pairs that are not held out, then tau on those that are."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    large = target > THRESHOLD
    fitted = RandomForestClassifier(trees, random_state=seed, n_jobs=1).fit(features[~held], large[~held])
    classifier = Forest.of(fitted) if len(fitted.classes_) > 1 else Forest.constant(float(fitted.classes_[0]))
    kept = large & ~held
    regressor = None
    if kept.any():
        regressor = Forest.of(
            RandomForestRegressor(trees, random_state=seed, n_jobs=1).fit(features[kept], target[kept])
        )
    if not held.any():
        return Hurdle(classifier, regressor, 0.5, float("nan"))
    chance = classifier.mean(features[held])
    size = np.zeros(len(chance)) if regressor is None else regressor.mean(features[held])
    errors = [float(np.abs(np.where(chance >= tau, size, 0.0) - target[held]).mean()) for tau in _TAUS]
    best = int(np.argmin(errors))
    return Hurdle(classifier, regressor, float(_TAUS[best]), errors[best])


def _distinct(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows and where each row is among them, by a 64-bit hash (sorting whole rows takes ten times as long)."""
    words = np.ascontiguousarray(features).view(np.uint32).astype(np.uint64)
    rng = np.random.default_rng(0)
    factors = [np.uint64(2 * int(rng.integers(1, 2**62)) + 1) for _ in range(words.shape[1])]
    keys = np.zeros(len(words), np.uint64)
    for i, factor in enumerate(factors):
        keys = (keys ^ (words[:, i] * factor)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    distinct = features[first]
    if not np.array_equal(distinct[where], features):  # two rows with one hash: never seen, but never wrong
        distinct, where = np.unique(features, axis=0, return_inverse=True)
    return distinct, where.ravel()
