"""Reading: `read_table` and whole fits beside what Polars needs for the same file, 5,000,000 rows of 20 columns.

"Read and fit" is the decision rule of SynAFA; `synafa fit` is a whole command, once for each file and policy, and
learns a predictor besides, from 50,000 of the rows. `SYNAFA_BENCH_ROWS` makes it smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import in_turns, line

ROWS = int(os.environ.get("SYNAFA_BENCH_ROWS", "5000000"))
ROUNDS = 3
_CODE = "import sys; from synafa.cli.app import run; sys.exit(run(sys.argv[1:]))"


def main() -> None:
    from synafa import SynAFA
    from synafa.table.reading import read_table, split_target

    table = _table()
    with tempfile.TemporaryDirectory() as folder:
        for suffix, write, read in (
            ("csv", table.write_csv, pl.read_csv),
            ("parquet", table.write_parquet, pl.read_parquet),
        ):
            path = Path(folder) / f"t.{suffix}"
            write(path)
            theirs, ours, whole = in_turns(
                lambda read=read, path=path: read(path),
                lambda path=path: read_table(path),
                lambda path=path: SynAFA().fit(*split_target(read_table(path), "y")),
                rounds=ROUNDS,
            )
            line(f"{suffix}, {ROWS:,} x 20: Polars", theirs, "s")
            line(f"{suffix}, {ROWS:,} x 20: read_table over Polars", ours / theirs, "times")
            line(f"{suffix}, {ROWS:,} x 20: read and fit", whole, "s", 2 * theirs + 5)
            for policy in ("synafa", "plan-tree"):
                taken = _fit(path, policy, Path(folder))
                line(f"{suffix}, {ROWS:,} x 20: synafa fit --policy {policy}", taken, "s", 2 * theirs + 5)


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"n{i}": np.round(rng.normal(size=ROWS), 4) for i in range(12)}
    columns |= {f"i{i}": rng.integers(0, 100, ROWS) for i in range(3)}
    columns |= {f"t{i}": rng.choice(["alpha", "beta", "gamma", "delta"], ROWS) for i in range(4)}
    return pl.DataFrame({**columns, "y": rng.integers(0, 2, ROWS)})


def _fit(path: Path, policy: str, folder: Path) -> float:
    """Seconds of a whole command."""
    words = ["fit", str(path), "--target", "y", "--policy", policy, "-o", str(folder / "m.synafa")]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _CODE, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
