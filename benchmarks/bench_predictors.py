"""Which predictor gives the best probabilities from any subset of features? `python benchmarks/bench_predictors.py`.

Every candidate is fitted on two thirds of a table and judged on masked copies of the rest (known sets of log-uniform
size): log loss in nats, calibration error, seconds. `--quick` takes six small tables and one split; `--times` measures
the default's fit, prediction and size at the stated shapes; `--markdown` prints the table of `docs/predictor.md`.
`--json FILE` keeps what was measured and goes on from there; slow candidates are measured on the first split only.
Tables that are not scikit-learn's or drawn come from the folder named by SYNAFA_DATA.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from synafa.predictor import calibration_error, cross_fit, fit_predictor, log_loss, random_masks
from synafa.predictor.basis import fit_basis
from synafa.predictor.columns import training_columns
from synafa.predictor.folds import deal_folds
from synafa.predictor.linear import fit_linear
from synafa.predictor.masks import training_masks
from synafa.predictor.model import Heads, MaskedPredictor

Table = tuple[np.ndarray, np.ndarray, list[int]]
Proba = Callable[[np.ndarray, np.ndarray], np.ndarray]

QUICK = ("iris", "hepatitis", "heart", "breast cancer", "xor", "noise")
SPLITS = (10, 11, 12)
TEST_ROWS = 3_000
COPIES = 12_000
"""Libraries that fit once get about this many masked rows, and at least two copies of every row."""


def _folder() -> Path:
    return Path(os.environ.get("SYNAFA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def _encoded(source: object, target: str, drop: tuple[str, ...] = (), separator: str = ",") -> Table:
    """A CSV file: numbers, categories as positions, NaN for empty cells."""
    frame = pl.read_csv(source, infer_schema_length=None, separator=separator).drop(drop)  # type: ignore[arg-type]
    columns, categories = [], []
    for name in frame.columns:
        if name == target:
            continue
        text = frame[name].cast(pl.String).str.strip_chars().replace({"?": None, "": None})
        number = text.cast(pl.Float64, strict=False)
        if number.null_count() == text.null_count():
            columns.append(number.to_numpy().astype(float))
            categories.append(0)
        else:
            levels = {level: i for i, level in enumerate(sorted(set(text.drop_nulls())))}
            columns.append(np.array([levels.get(cell, np.nan) for cell in text], dtype=float))
            categories.append(len(levels))
    y = np.unique(frame[target].cast(pl.String).str.strip_chars().to_numpy(), return_inverse=True)[1]
    return np.column_stack(columns), y, categories


def _sklearn(name: str) -> Table:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X.astype(float), y, [0] * X.shape[1]


def _binary(name: str) -> Table:
    """One of the tables of 0/1 columns, class first."""
    parts = [np.loadtxt(_folder() / f"test-costs/folds/{name}-{part}-1.csv") for part in ("train", "test")]
    both = np.vstack(parts)
    return both[:, 1:], both[:, 0].astype(int), [0] * (both.shape[1] - 1)


def _bank() -> Table:
    inner = zipfile.ZipFile(_folder() / "bank/bank.zip").read("bank-full.csv")
    X, y, categories = _encoded(io.BytesIO(inner), "y", separator=";")
    rows = np.random.default_rng(0).permutation(len(y))[:12_000]
    return X[rows], y[rows], categories


def _drawn(name: str) -> Table:
    rng = np.random.default_rng(0)
    n, d = {"xor": (1000, 10), "synergy": (4000, 15), "cube": (3000, 20), "clusters": (2000, 8), "noise": (300, 12)}[
        name
    ]
    X = rng.normal(size=(n, d))
    if name == "xor":
        y = ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (rng.random(n) < 0.05)).astype(int)
    elif name == "synergy":
        chosen = np.where(X[:, 6] > 0, X[:, 7], X[:, 8])
        logit = 1.5 * X[:, 0] * X[:, 1] + 1.5 * np.sign(X[:, 2] * X[:, 3]) + X[:, 4] - 0.7 * X[:, 5] + chosen
        y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    elif name == "cube":
        y, X = rng.integers(0, 8, n), rng.random((n, d))
        for bit in range(3):
            X[np.arange(n), y + bit] = rng.normal((y >> bit) & 1, 0.3)
    elif name == "clusters":
        cluster = rng.integers(0, 9, n)
        X += 1.2 * rng.normal(size=(9, d))[cluster]
        y = cluster % 3
    else:
        y = (rng.random(n) < 0.3).astype(int)
    return X, y, [0] * d


TABLES: dict[str, Callable[[], Table]] = {
    "iris": lambda: _sklearn("iris"),
    "wine": lambda: _sklearn("wine"),
    "breast cancer": lambda: _sklearn("breast_cancer"),
    "digits": lambda: _sklearn("digits"),
    "hepatitis": lambda: _encoded(_folder() / "test-costs/hepatitis.csv", "died"),
    "heart": lambda: _encoded(_folder() / "test-costs/heart.csv", "disease"),
    "diabetes": lambda: _encoded(_folder() / "test-costs/diabetes.csv", "diabetes"),
    "glass": lambda: _binary("glass"),
    "flare": lambda: _binary("flare"),
    "ckd": lambda: _encoded(_folder() / "ckd/kidney_disease_kaggle.csv", "classification", ("id",)),
    "actg175": lambda: _encoded(_folder() / "actg175/actg175_uci.csv", "cid", ("pidnum",)),
    "bank": _bank,
    "physionet": lambda: _encoded(_folder() / "physionet.csv", "Outcome"),
    **{name: (lambda name=name: _drawn(name)) for name in ("xor", "synergy", "cube", "clusters", "noise")},
}


def _copies(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Masked copies for libraries that fit once: NaN where unknown."""
    rng, copies = np.random.default_rng(seed), int(np.clip(COPIES // len(y), 2, 20))
    return np.concatenate([np.where(training_masks(~np.isnan(X), rng), X, np.nan) for _ in range(copies)]), np.tile(
        y, copies
    )


def _widened(proba: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    out = np.full((len(proba), n_classes), 1e-9)
    out[:, classes] = np.maximum(proba, 1e-9)
    return out / out.sum(axis=1, keepdims=True)


def _library(make: Callable[[], object], n_classes: int, X: np.ndarray, y: np.ndarray, seed: int) -> Proba:
    """A scikit-learn classifier on masked copies."""
    model = make()
    model.fit(*_copies(X, y, seed))  # type: ignore[attr-defined]
    return lambda V, M: _widened(model.predict_proba(np.where(M, V, np.nan)), model.classes_, n_classes)  # type: ignore


def _logistic() -> object:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    filled = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return make_pipeline(filled, StandardScaler(), LogisticRegression(C=0.1, max_iter=300))


def _perceptron() -> object:
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    filled = SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True, keep_empty_features=True)
    network = MLPClassifier((64,), alpha=0.01, early_stopping=True, max_iter=30, random_state=0)
    return make_pipeline(StandardScaler(), filled, network)


def _boosting(rounds: int) -> object:
    from sklearn.ensemble import HistGradientBoostingClassifier

    options = {"max_features": 0.3, "early_stopping": False, "max_leaf_nodes": 15, "min_samples_leaf": 40}
    return HistGradientBoostingClassifier(max_iter=rounds, l2_regularization=1.0, random_state=0, **options)


def _additive(X: np.ndarray, y: np.ndarray, n_classes: int, categories: list[int], seed: int) -> Proba:
    """The linear member alone (a GAM: bends and categories, no interactions), fitted on all training rows."""
    columns, cells = training_columns(fit_basis(X, categories), X)
    prior = (np.bincount(y, minlength=n_classes) + 0.5) / (len(y) + 0.5 * n_classes)
    weights = fit_linear(cells, ~np.isnan(X), y, columns.feature_of, prior, [seed])
    numbers, slots = columns.fold(weights[:-1])
    none = np.zeros((0, 1, 1)), np.zeros((0, 1)), np.zeros((0, 1, n_classes)), np.zeros((0, n_classes))
    base = weights[-1].astype(np.float32)
    return MaskedPredictor(columns.basis, numbers, slots, base, Heads(*none, np.ones(1))).predict_proba


def _only(model: MaskedPredictor, weight: list[float]) -> Proba:
    """The default with other weights of its members."""
    heads = Heads(
        *(getattr(model.heads, n) for n in ("second", "second_bias", "output", "output_bias")), np.array(weight)
    )
    return MaskedPredictor(model.basis, model.number_weights, model.slot_weights, model.base, heads).predict_proba


def measure(name: str, split: int) -> dict[str, tuple[float, float, float]]:
    """Log loss, calibration error and processor seconds of fitting, for every candidate on one split of one table."""
    X, y, categories = TABLES[name]()
    n_classes = int(y.max()) + 1
    held = deal_folds(y, 3, np.random.default_rng(split)) == 0
    copies = max(1, TEST_ROWS // int(held.sum()))
    V, truth = np.tile(X[held], (copies, 1)), np.tile(y[held], copies)
    M = random_masks(~np.isnan(V), np.random.default_rng([split, 1]))
    X, y = X[~held], y[~held]
    got: dict[str, np.ndarray] = {}
    took: dict[str, float] = {}

    def fitted(candidate: str, fit: Callable[[], Proba]) -> None:
        start = time.process_time()
        proba = fit()
        took[candidate] = time.process_time() - start
        got[candidate] = proba(V, M)

    shares = (np.bincount(y, minlength=n_classes) + 0.5) / (len(y) + 0.5 * n_classes)
    fitted("class shares", lambda: lambda V, M: np.tile(shares, (len(V), 1)))
    fitted("logistic", lambda: _library(_logistic, n_classes, X, y, split))
    fitted("GAM", lambda: _additive(X, y, n_classes, categories, split))
    fitted("boosting, 60", lambda: _library(lambda: _boosting(60), n_classes, X, y, split))
    if split == SPLITS[0]:
        fitted("MLPClassifier", lambda: _library(_perceptron, n_classes, X, y, split))
        fitted("boosting, 200", lambda: _library(lambda: _boosting(200), n_classes, X, y, split))
    models: list[MaskedPredictor] = []

    def default() -> Proba:
        models.append(fit_predictor(X, y, n_classes, categories=categories, seed=split))
        return models[0].predict_proba

    fitted("default", default)
    n_nets = len(models[0].heads.weight) - 1
    fitted("one network", lambda: _only(models[0], [1.0] + [0.0] * n_nets))
    fitted("networks only", lambda: _only(models[0], [1 / n_nets] * n_nets + [0.0]))
    for first, second in (("logistic", "boosting, 60"), ("GAM", "boosting, 60"), ("default", "boosting, 60")):
        mean = f"{first} + {second}"
        got[mean], took[mean] = (got[first] + got[second]) / 2, took[first] + took[second]
    return {c: (log_loss(p, truth), calibration_error(p, truth), took[c]) for c, p in got.items()}


def _print(results: dict[str, list[dict[str, tuple[float, float, float]]]], markdown: bool) -> None:
    """Candidates side by side, each table over the same splits for all of them."""
    runs = [run for table in results.values() for run in table]
    candidates = [c for c in runs[0] if all(c in run for run in runs)]
    mean = {
        table: {c: np.mean([run[c] for run in runs], axis=0) for c in candidates} for table, runs in results.items()
    }
    bar = " | " if markdown else "  "
    head = ["table".ljust(14), *candidates]
    print(("| " if markdown else "") + bar.join(head) + (" |" if markdown else ""))
    if markdown:
        print("|" + "---|" * len(head))
    rows = [(t, [f"{mean[t][c][0]:.3f}" for c in candidates]) for t in mean]
    for which, what in ((0, "mean log loss"), (1, "mean calib. error"), (2, "most CPU seconds")):
        fold = np.max if which == 2 else np.mean
        rows.append((what, [f"{fold([mean[t][c][which] for t in mean]):.3f}" for c in candidates]))
    for label, cells in rows:
        padded = [cell if markdown else cell.rjust(len(c)) for cell, c in zip(cells, candidates)]
        print(("| " if markdown else "") + bar.join([label.ljust(14), *padded]) + (" |" if markdown else ""))


def times() -> None:
    """Fit, prediction and size of the default at the shapes it is meant for."""
    rng = np.random.default_rng(0)
    print("rows x features    fit: wall  processor   one row   100,000 rows   stored")
    for n, d in ((155, 19), (3_000, 57), (10_000, 30), (1_000_000, 10), (2_000, 1_000)):
        X = rng.normal(size=(n, d))
        y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) > 0).astype(int)
        wall, own = time.perf_counter(), time.process_time()
        model = fit_predictor(X, y, 2)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        M = rng.random((n, d)) < 0.5
        start = time.process_time()
        for _ in range(200):
            model.predict_proba(X[:1], M[:1])
        one = (time.process_time() - start) / 200
        many = np.resize(np.arange(n), 100_000 if d < 200 else 1_000)
        start = time.process_time()
        model.predict_proba(X[many], M[many])
        block = (time.process_time() - start) * 100_000 / len(many)
        size = sum(array.nbytes for array in model.to_arrays()[0].values()) / 1e3
        print(
            f"{n:>9,} x {d:<5} {wall:>9.2f} s {own:>8.2f} s {1e3 * one:>7.2f} ms {block:>10.2f} s {size:>9.0f} KB",
            flush=True,
        )
    X, y = rng.normal(size=(10_000, 30)), rng.integers(0, 2, 10_000)
    start = time.process_time()
    cross_fit(X, y, 2, folds=5)
    print(f"cross_fit, 5 folds, 10,000 x 30 of noise: {time.process_time() - start:.2f} s of processor time")


def main() -> None:
    words = sys.argv[1:]
    if "--times" in words:
        return times()
    names = [name for name in TABLES if "--quick" not in words or name in QUICK]
    kept = Path(words[words.index("--json") + 1]) if "--json" in words else None
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    there = {(name, split): run for name, split, run in lines}
    splits = SPLITS[:1] if "--quick" in words else SPLITS
    for split in splits:
        for name in names:
            if (name, split) in there:
                continue
            there[name, split] = measure(name, split)
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps([name, split, there[name, split]]) + "\n")
    results = {name: [there[name, split] for split in splits] for name in names}
    markdown = "--markdown" in words
    _print(results, markdown)
    if len(splits) > 1:
        print("\nThe first split alone, with the slow candidates:\n")
        _print({name: runs[:1] for name, runs in results.items()}, markdown)


if __name__ == "__main__":
    main()
