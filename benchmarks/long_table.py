"""A long table for benchmarks, as Parquet files: columns of float32 that carry a little of the class.

`levels` rounds to 1/32, so that Parquet's dictionaries take about a byte a cell (100 million x 50: about 5 GB, as
measured values with few digits do); `continuous` keeps all bits (20 GB).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE_ROWS = 1_000_000


def write_long_table(
    folder: Path, rows: int, columns: int = 50, kind: str = "continuous", classes: int = 2, seed: int = 0
) -> list[Path]:
    """Files of a million rows each; those that are there already are kept."""
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        n = min(FILE_ROWS, rows - first)
        path = folder / f"{kind}-{columns}-{classes}-{seed}-{number:04}-{n}.parquet"
        paths.append(path)
        if path.exists():
            continue
        rng = np.random.default_rng([seed, number])
        y = rng.integers(0, classes, n).astype(np.int8)
        table = {}
        for j in range(columns):
            x = rng.standard_normal(n, dtype=np.float32)
            x += np.float32(0.02 * (j % 10)) * y
            if kind == "levels":
                x = np.round(32 * x) / np.float32(32)
            table[f"x{j}"] = x
        pl.DataFrame({**table, "y": y}).write_parquet(path.with_suffix(".new"), row_group_size=1 << 17)
        path.with_suffix(".new").rename(path)
    return paths
