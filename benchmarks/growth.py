"""How the cost from a streamed table to information tables grows with rows, columns, bins and classes.

`python -m benchmarks.growth [figure.svg]` prints a table in Markdown with the slopes in log-log scale (least squares
over the last four sizes) and draws them. Processor time of one thread, the least of three runs, tables of float32 in
memory: what reading costs is left out.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np
import polars as pl

from synafa import InformationTables
from synafa.report.figures import line_with_interval, new_figure

BASE = {"rows": 1 << 17, "columns": 50, "bins": 2, "classes": 2}
SIZES = {
    "rows": [1 << k for k in range(16, 23)],
    "columns": [50, 100, 200, 400, 800, 1600, 3200],
    "bins": [2, 3, 4, 6, 8, 12, 16],
    "classes": [2, 4, 8, 16, 32, 64],
}
SHAPES = {"columns": {"rows": 1 << 15}}  # narrower elsewhere, so that no run takes long


def seconds(rows: int, columns: int, bins: int, classes: int) -> float:
    """Processor time of one size."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    table = pl.DataFrame({f"x{j}": rng.standard_normal(rows, dtype=np.float32) for j in range(columns)} | {"y": y})
    frames = [table[i : i + 131_072].rechunk() for i in range(0, rows, 131_072)]
    found = []
    for _ in range(3):
        began = time.process_time()
        InformationTables.from_stream(frames, "y", n_bins=bins)
        found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    seconds(4096, 3, 2, 2)
    seconds(4096, 3, 3, 9)
    measured = {
        what: [seconds(**{**BASE, **SHAPES.get(what, {}), what: size}) for size in sizes]
        for what, sizes in SIZES.items()
    }
    print("| grows | others stand at | from | to | seconds of one core | slope |\n|---|---|---|---|---|---|")
    for what, took in measured.items():
        others = {**BASE, **SHAPES.get(what, {})}
        stand = ", ".join(f"{value:,} {name}" for name, value in others.items() if name != what)
        slope = np.polyfit(np.log(SIZES[what][-4:]), np.log(took[-4:]), 1)[0]
        first, last = SIZES[what][0], SIZES[what][-1]
        print(f"| {what} | {stand} | {first:,} | {last:,} | {took[0]:.3g} to {took[-1]:.3g} | {slope:.2f} |")
    if len(sys.argv) > 1:
        draw(measured, Path(sys.argv[1]))


def draw(measured: dict[str, list[float]], path: Path) -> None:
    """One log-log line a quantity, each over its multiple of the smallest size."""
    figure, (axes,) = new_figure(width=5.2, height=3.6)
    for index, (what, took) in enumerate(measured.items()):
        sizes = np.array(SIZES[what])
        label = f"{what} ({sizes[0]:,} to {sizes[-1]:,})"
        line_with_interval(axes, (sizes / sizes[0]).tolist(), took, label=label, index=index)
    axes.set(xscale="log", yscale="log", xlabel="size, as a multiple of the smallest", ylabel="processor time (s)")
    axes.grid(True, which="both", alpha=0.2)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
