"""From a table to answers: how long a person waits for a fit, a report and the answer of a fresh process.

`python -m benchmarks bedside`; the tables are drawn with a few features that matter, some empty cells and some text.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from benchmarks.measure import line

_CODE = "import sys; from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"


def drawn(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """`d` features, one in ten of them text, a tenth of the cells of the others empty, and the class `y`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.where(X[:, 3] > 0, X[:, 4], -X[:, 5])
    y = np.where(score + rng.normal(size=n) > 0, "ill", "well")
    X[rng.random((n, d)) < 0.1] = np.nan
    texts = [j for j in range(6, d) if j % 10 == 9]
    words = np.array(["a", "b", "c", "d"])
    columns: dict[str, object] = {f"f{j}": np.round(X[:, j], 4) for j in range(d)}
    columns |= {f"f{j}": words[np.nan_to_num(np.abs(X[:, j]) * 2).astype(int).clip(0, 3)] for j in texts}
    return pl.DataFrame({**columns, "y": y}).fill_nan(None)


def command(*words: object) -> float:
    """Seconds of one command in a process of its own."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _CODE, *map(str, words)], check=True, capture_output=True)
    return time.perf_counter() - start


def main(*parts: str) -> None:
    chosen = parts or ("next", "classifier", "million", "report")
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        if "next" in chosen or "classifier" in chosen:
            drawn(3000, 57).write_csv(where / "t.csv")
            command("fit", where / "t.csv", "-t", "y", "--budget", 8, "-o", where / "m")  # compiles what is missing
        if "classifier" in chosen:
            took = median(
                command("fit", where / "t.csv", "-t", "y", "--budget", 8, "-o", where / "m") for _ in range(3)
            )
            line("synafa fit, the default, 3,000 x 57, whole command", took, "s")
            line("AcquisitionClassifier().fit, 3,000 x 57", _classifier(where / "t.csv"), "s", 10.0)
        if "next" in chosen:
            words = ("next", where / "m", "--observed", "f0=1.5")
            command(*words)
            line("synafa next, fresh process", median(command(*words) for _ in range(7)), "s", 0.5)
        if "million" in chosen:
            drawn(1_000_000, 10).write_csv(where / "big.csv")
            line(
                "synafa fit, 1,000,000 x 10", command("fit", where / "big.csv", "-t", "y", "-o", where / "b"), "s", 20.0
            )
        if "report" in chosen:
            drawn(10_000, 30).write_csv(where / "r.csv")
            words = ("report", where / "r.csv", "-t", "y", "-o", where / "r.html")
            line("synafa report, 10,000 x 30", command(*words), "s", 120.0)


def _classifier(path: Path) -> float:
    from synafa import AcquisitionClassifier

    table = pl.read_csv(path)
    X, y = table.drop("y"), table["y"].to_numpy()
    AcquisitionClassifier().fit(X[:200], y[:200])  # loads and compiles
    start = time.perf_counter()
    AcquisitionClassifier().fit(X, y)
    return time.perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
