"""What several tests of streams read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def folder(tmp_path):
    """The same table as CSV and as Parquet files, in parts, and the whole as one CSV."""
    rng = np.random.default_rng(3)
    n = 900
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n).round(3),
            "b": [None if r < 0.1 else int(9 * r) for r in rng.random(n)],
            "c": rng.choice(["x", "y y", "z"], n),
            "late": ["7"] * 800 + ["seven"] * 100,
            "y": rng.choice(["no", "yes"], n),
        }
    )
    for i in range(3):
        part = table[300 * i : 300 * i + 300]
        part.write_csv(tmp_path / f"part{i}.csv")
        (part if i else part.select(reversed(part.columns))).write_parquet(tmp_path / f"part{i}.parquet")
    (tmp_path / "whole").mkdir()
    table.write_csv(tmp_path / "whole" / "table.csv")
    return tmp_path
