"""The exact scan of all pairs: 300 columns x 10,000 rows, and 2,000 columns (two million pairs) to a Parquet file.

`python -m benchmarks.bench_scan [columns rows]`. Each runs in a process of its own, whose peak memory is said.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.measure import line

_RUN = """
import resource, sys, tempfile, time
from pathlib import Path
import numpy as np
from synafa.analysis.scan import scan
columns, rows = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, columns)).astype(np.float32)
y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=rows) > 0).astype(np.int64)
scan(X[:, :3], y)  # compiled code is loaded
before = resource.getrusage(resource.RUSAGE_SELF)
began = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    result = scan(X, y, output=Path(folder) / "pairs.parquet")
used = resource.getrusage(resource.RUSAGE_SELF)
assert result.n_tested == columns * (columns - 1) // 2
print(time.perf_counter() - began, sum(used[:2]) - sum(before[:2]), used.ru_maxrss / 1024**2)
"""


def exact_scan(columns: int, rows: int, aim: float | None) -> None:
    """Time and memory of one size."""
    program = [sys.executable, "-c", _RUN, str(columns), str(rows)]
    done = subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
    took, processor, memory = map(float, done.stdout.split())
    pairs = columns * (columns - 1) // 2
    line(f"exact scan, {pairs:,} pairs of {columns:,} columns x {rows:,} rows", took, "s", aim)
    line("  processor time", processor, "s")
    line("  peak memory", memory, "GiB")


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1].isdigit():
        exact_scan(int(sys.argv[1]), int(sys.argv[2]), None)
    else:
        exact_scan(300, 10_000, 20)
        exact_scan(2000, 1000, None)


if __name__ == "__main__":
    main()
