"""The plan tree against what is simpler, on public tables: `python -m benchmarks.bench_tables`.

Nested cross-validation: five outer folds; panels, strengths and leaf sizes are chosen by cross-validation inside the
training rows. Budgets of 1, 2, 4 and 8 features. A unit (table, fold) is a line of `--json FILE`, and a run goes on
where the last one ended; `--report` writes `docs/plan_tree_tables.md` and its figure. `--last` adds the tables that are
looked at once, at the end. Tables that are not scikit-learn's come from the folder named by SYNAFA_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.bench_predictors import TABLES as ALL
from benchmarks.bench_predictors import Table, _binary
from benchmarks.table_methods import Split, methods
from synafa.predictor.folds import deal_folds
from synafa.stats import auroc_values, log_loss_values

BUDGETS = (1, 2, 4, 8)
OUTER = 5
MOST_ROWS = 3_000
FIRST = ("iris", "heart", "breast", "glass", "flare", "breast cancer", "ckd", "diabetes", "actg175", "bank")
LAST = ("wine", "hepatitis", "digits", "physionet")


def load(name: str) -> Table:
    """A table, cut to 3,000 random rows."""
    X, y, categories = _binary("breast") if name == "breast" else ALL[name]()
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(1).permutation(len(y))[:MOST_ROWS])
        X, y = X[rows], y[rows]
    return X, np.unique(y, return_inverse=True)[1], categories


def measure(name: str, fold: int) -> dict[str, object]:
    """One unit: for every method and budget the rows' log losses and AUROC values, and features used."""
    X, y, categories = load(name)
    dealt = deal_folds(y, OUTER, np.random.default_rng([7, 0]))
    rest, held = dealt != fold, dealt == fold
    n_classes = int(y.max()) + 1
    split = Split(X[rest], y[rest], X[held], n_classes, categories, seed=fold)
    answers: dict[str, dict[str, object]] = {}
    for method, act in methods().items():
        for budget in BUDGETS if method != "all features" else BUDGETS[-1:]:
            start = time.perf_counter()
            proba, used = act(split, budget)
            proba = np.clip(proba, 1e-6, None)
            proba /= proba.sum(axis=1, keepdims=True)
            answers[f"{method}|{budget}"] = {
                "log_loss": _short(log_loss_values(proba[np.arange(len(proba)), y[held]])),
                "auroc": _short(areas(y[held], proba)),
                "used": round(float(used.mean()), 4),
                "seconds": round(time.perf_counter() - start, 2),
            }
    return {
        "table": name,
        "fold": fold,
        "rows": len(y),
        "features": X.shape[1],
        "classes": n_classes,
        "answers": answers,
    }


def areas(y: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """One value a row whose mean is the AUROC, with more classes the mean of each against the rest."""
    classes = [1] if proba.shape[1] == 2 else [k for k in range(proba.shape[1]) if 0 < (y == k).sum() < len(y)]
    return np.mean([auroc_values(y == k, proba[:, k]) for k in classes], axis=0)


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{v:.5g}") for v in values]


def read_lines(path: Path) -> dict[tuple[str, int], dict]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["table"], line["fold"]): line for line in lines}


def run(path: Path, names: list[str]) -> None:
    """Measure what is missing, fold by fold, so that every table has something early."""
    done = read_lines(path)
    for name in names:
        for fold in range(OUTER):
            if (name, fold) not in done:
                line = measure(name, fold)
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(f"{name}, fold {fold + 1}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("build/tables.jsonl"))
    parser.add_argument("--tables", default=",".join(FIRST))
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    words = parser.parse_args()
    words.json.parent.mkdir(parents=True, exist_ok=True)
    names = [name for name in words.tables.split(",") if name] + list(LAST if words.last else ())
    run(words.json, names)
    if words.report:
        from benchmarks.tables_report import write

        print(write(read_lines(words.json), words.docs))


if __name__ == "__main__":
    main()
