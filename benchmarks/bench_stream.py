"""A long table in Parquet files to information tables, against Polars reading the same columns and taking their means.

`python -m benchmarks.bench_stream [rows] [kind]`: by default 10 million rows x 50 columns of float32 (a tenth of the
full size), `levels` (about a byte a cell in the files) and `continuous` (four bytes). Each side runs in a process of
its own, in turns, files in the page cache; peak memory is that of the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.long_table import write_long_table
from benchmarks.measure import line
from synafa.files import cache_dir

ROWS, COLUMNS, ROUNDS = 10_000_000, 50, 3
_SIDE = """
import resource, sys, time
import polars as pl
from synafa import InformationTables
side, pattern = sys.argv[1:]
columns = [f"x{j}" for j in range(%d)]
if side == "tables":  # compiled code is loaded, threads are there
    InformationTables.from_stream(pl.scan_parquet(pattern).head(3000).collect(), "y")
before = time.perf_counter(), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
if side == "tables":
    InformationTables.from_stream(pattern, "y")
else:
    pl.scan_parquet(pattern).select(pl.col(columns).mean()).collect()
used = resource.getrusage(resource.RUSAGE_SELF)
print(time.perf_counter() - before[0], sum(used[:2]) - before[1], used.ru_maxrss / 1024**2)
"""


def once(side: str, pattern: str) -> tuple[float, ...]:
    """Seconds, processor seconds and GiB of one side in a process of its own."""
    program = [sys.executable, "-c", _SIDE % COLUMNS, side, pattern]
    done = subprocess.run(program, check=True, capture_output=True, text=True, env=os.environ)
    return tuple(map(float, done.stdout.split()))


def tables_against_means(rows: int, kind: str) -> None:
    """One kind of table."""
    folder = cache_dir() / "long-table" / f"{kind}-{rows}"
    paths = write_long_table(folder, rows, COLUMNS, kind)
    size = sum(path.stat().st_size for path in paths) / 1e9
    pattern = str(Path(folder) / "*.parquet")
    once("means", pattern)
    rounds = [(once("means", pattern), once("tables", pattern)) for _ in range(ROUNDS)]
    means, tables = ([median(values) for values in zip(*side)] for side in zip(*rounds))
    print(f"{rows:,} x {COLUMNS} float32, {kind}, {size:.1f} GB in files", flush=True)
    line("  Polars, one mean of each column", means[0], "s")
    line("  tables", tables[0], "s")
    line("  tables against means", tables[0] / means[0], "times", 1.5)
    line("  the same, processor time", tables[1] / means[1], "times")
    line("  peak memory of Polars", means[2], "GiB")
    line("  peak memory of tables", tables[2], "GiB", 1)


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 and sys.argv[1][0].isdigit() else ROWS
    for kind in [sys.argv[2]] if len(sys.argv) > 2 and sys.argv[1][0].isdigit() else ["levels", "continuous"]:
        tables_against_means(rows, kind)


if __name__ == "__main__":
    main()
