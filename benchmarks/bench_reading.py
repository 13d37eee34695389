"""Reading: `read_table` and a whole fit beside what Polars needs for the same file, 1,000,000 rows of 20 columns."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import in_turns, line

ROWS = 1_000_000


def main() -> None:
    from synafa import SynAFA
    from synafa.table.reading import read_table, split_target

    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"n{i}": np.round(rng.normal(size=ROWS), 4) for i in range(12)}
    columns |= {f"i{i}": rng.integers(0, 100, ROWS) for i in range(3)}
    columns |= {f"t{i}": rng.choice(["alpha", "beta", "gamma", "delta"], ROWS) for i in range(4)}
    table = pl.DataFrame({**columns, "y": rng.integers(0, 2, ROWS)})
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
                rounds=5,
            )
            line(f"{suffix}, {ROWS:,} x 20: Polars", theirs, "s")
            line(f"{suffix}, {ROWS:,} x 20: read_table over Polars", ours / theirs, "times")
            line(f"{suffix}, {ROWS:,} x 20: read and fit", whole, "s", 2 * theirs + 5)


if __name__ == "__main__":
    main()
