"""Total cost per test case, ours against STreeD's optimal trees of depth 3, on the same files.

`python -m benchmarks.bench_streed --json results.jsonl [--tables heart,...] [--levels low,...] [--folds 1-10]
[--methods ours,streed,...] [--markdown docs/streed.md]`. Both get the binary columns of the fold files, the prices (a
feature is a panel of its columns; groups have reduced prices) and the error costs; a test case costs the tests that
were paid for it plus its error. Results are kept a line a unit and the run goes on from there. STreeD is the package
`pystreed` (extra `oracle`); the folder of the tables is named by SYNAFA_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.test_costs import FOLDS, LEVELS, TABLES, FoldCosts, read_costs, read_rows
from synafa import PlanTree
from synafa.arrays import read_file, write_file
from synafa.files import write_text
from synafa.money import PriceList
from synafa.predictor import fit_predictor, predictor_from_arrays
from synafa.proof.kept import KeptFits

DEPTH = 3
FITS: KeptFits  # predictors do not depend on prices: the levels of a fold share them


class StoredFits:
    """`fit_predictor` that also keeps what it fitted in a folder, for runs that try other trees on them."""

    takes_hints = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, values: np.ndarray, y: np.ndarray, n_classes: int, **options: Any) -> Any:
        costs = options.get("error_costs")
        hints = [None if hint is None else np.asarray(hint).tolist() for hint in (costs, options.get("focus"))]
        told = repr((values.shape, n_classes, options.get("seed"), hints)).encode()
        told += values.tobytes() + y.tobytes()
        path = self.folder / f"{hashlib.sha256(told).hexdigest()[:24]}.fit"
        if path.exists():
            return predictor_from_arrays(*read_file(path, "benchmark-fit"))
        fitted = fit_predictor(values, y, n_classes, **options)
        write_file(path, "benchmark-fit", *fitted.to_arrays())
        return fitted


def folder() -> Path:
    data = os.environ.get("SYNAFA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    return Path(data) / "test-costs" / "folds"


class Fold:
    """One fold of one table at one level of costs."""

    def __init__(self, table: str, level: str, fold: int) -> None:
        self.table, self.level, self.fold = table, level, fold
        self.costs: FoldCosts = read_costs(folder() / f"{table}-{level}-costs.csv")
        self.X, self.y = read_rows(folder() / f"{table}-train-{fold}.csv")
        self.X_test, self.y_test = read_rows(folder() / f"{table}-test-{fold}.csv")

    def paid(self, orders: list[list[int]], decided: np.ndarray) -> tuple[float, float]:
        """Mean price of the tests and mean cost of the errors; an order lists binary columns as they were asked."""
        prices: PriceList = self.costs.column_prices()
        tests = np.zeros(len(orders))
        for i, order in enumerate(orders):
            asked, known = np.zeros(prices.n_features, bool), np.zeros(prices.n_features, bool)
            for j in order:
                if not known[j]:
                    tests[i] += prices.now(asked)[j]
                    asked[j] = True
                    known |= prices.reveals[j]
        return float(tests.mean()), float(self.costs.errors.of(self.y_test, decided).mean())


def ours(data: Fold, adaptive: bool = True) -> tuple[float, float, int]:
    """The plan tree without a budget: it buys what is worth its price."""
    prices = data.costs.column_prices()
    names = prices.feature_names
    policy = PlanTree(None, prices=prices, error_costs=data.costs.errors, predictor=FITS, adaptive=adaptive)
    policy.fit(pl.DataFrame(data.X.astype(float), schema=list(names)), data.y)
    rows = pl.DataFrame(data.X_test.astype(float), schema=list(names))
    run = policy.acquire(rows)
    proba = policy.predict_proba(policy.encode(rows), run.mask)
    tests, errors = data.paid(
        [[j for j in order if j >= 0] for order in run.order.tolist()], _decide(data, policy, proba)
    )
    return tests, errors, policy.tree_.n_leaves


def _decide(data: Fold, policy: PlanTree, proba: np.ndarray) -> np.ndarray:
    assert policy.error_costs_ is not None
    return policy.classes_[policy.error_costs_.decide(proba)]


def streed(data: Fold, tuned: bool = False) -> tuple[float, float, int]:
    """STreeD's optimal tree of depth 3; `tuned` lets it choose a smaller one by its own cross-validation."""
    from pystreed import CostSpecifier, FeatureCostSpecifier, STreeDCostSensitiveClassifier

    prices, groups = data.costs.prices, data.costs.prices.group_names
    features = [
        FeatureCostSpecifier(
            float(prices.price[j]), float(prices.price_in_group[j]),
            groups[prices.group[j]] if prices.group[j] >= 0 else "x", first, last,
        )
        for j, (first, last) in enumerate(data.costs.columns)
    ]  # fmt: skip
    costs = CostSpecifier(data.costs.errors.matrix.tolist(), features)
    model = STreeDCostSensitiveClassifier(max_depth=DEPTH, hyper_tune=tuned, time_limit=300)
    model.fit(data.X.astype(np.int32), data.y.astype(np.int32), costs)
    orders, decided = [], np.empty(len(data.y_test), dtype=np.int64)
    for i, row in enumerate(data.X_test):
        node, order = model.get_tree(), []
        while node.is_branching_node():
            order.append(int(node.feature))
            node = node.right_child if row[node.feature] else node.left_child
        orders.append(order)
        decided[i] = int(node.label)
    assert (decided == np.asarray(model.predict(data.X_test.astype(np.int32)))).all()
    return *data.paid(orders, decided), int(model.get_n_leaves())


def nothing(data: Fold) -> tuple[float, float, int]:
    """No test; the class with the smallest mean cost on the training rows."""
    shares = np.bincount(data.y, minlength=len(data.costs.errors.classes)) / len(data.y)
    best = int(data.costs.errors.decide(shares[None])[0])
    return *data.paid([[] for _ in data.y_test], np.full(len(data.y_test), best)), 1


METHODS: dict[str, Callable[[Fold], tuple[float, float, int]]] = {
    "ours": ours,
    "ours, one panel": lambda data: ours(data, adaptive=False),
    "streed": streed,
    "streed, tuned": lambda data: streed(data, tuned=True),
    "nothing": nothing,
}


def read_lines(path: Path) -> dict[tuple[str, str, int, str], dict[str, float]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["table"], line["level"], line["fold"], line["method"]): line for line in lines}


def run(path: Path, tables: list[str], levels: list[str], folds: list[int], methods: list[str], keep: bool) -> None:
    """Measure what is missing, a line a unit."""
    global FITS
    done = read_lines(path)
    for table in tables:
        for fold in folds:
            FITS = KeptFits(StoredFits(path.parent) if keep else None)
            for level in levels:
                for method in methods:
                    if (table, level, fold, method) in done:
                        continue
                    start = time.perf_counter()
                    tests, errors, leaves = METHODS[method](Fold(table, level, fold))
                    line = {"table": table, "level": level, "fold": fold, "method": method, "tests": tests}
                    line |= {"errors": errors, "leaves": leaves, "seconds": round(time.perf_counter() - start, 2)}
                    with path.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def summary(path: Path) -> str:
    """The markdown table: mean total cost over the folds, and ours relative to STreeD's."""
    done = read_lines(path)
    methods = [m for m in METHODS if any(key[3] == m for key in done)]
    head = ["table", "level", "folds", *methods, "ours / streed"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios: dict[str, list[float]] = {}
    for table in TABLES:
        for level in LEVELS:
            folds = [f for f in FOLDS if all((table, level, f, m) in done for m in methods)]
            if not folds:
                continue
            total = {
                m: float(
                    np.mean([done[table, level, f, m]["tests"] + done[table, level, f, m]["errors"] for f in folds])
                )
                for m in methods
            }
            ratio = total.get("ours", np.nan) / total.get("streed", np.nan)
            ratios.setdefault(table, []).append(ratio)
            cells = [table, level, str(len(folds)), *(f"{total[m]:.2f}" for m in methods), f"{ratio:.3f}"]
            lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    by_table = {table: float(np.mean(found)) for table, found in ratios.items()}
    lines.append("Mean of the three levels, ours / streed: " + ", ".join(f"{t} {r:.3f}" for t, r in by_table.items()))
    lines.append(f"Mean of the tables: {np.mean(list(by_table.values())):.3f}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("build/streed.jsonl"))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--folds", default="1-10")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    parser.add_argument("--keep-fits", action="store_true", help="keep predictors beside the results")
    parser.add_argument("--markdown", type=Path)
    words = parser.parse_args()
    words.json.parent.mkdir(parents=True, exist_ok=True)
    first, _, last = words.folds.partition("-")
    folds = list(range(int(first), int(last or first) + 1))
    run(words.json, words.tables.split(","), words.levels.split(","), folds, words.methods.split(";"), words.keep_fits)
    text = summary(words.json)
    print(text)
    if words.markdown:
        write_text(words.markdown, text)


if __name__ == "__main__":
    main()
