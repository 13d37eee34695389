"""Tables: CSV, gzip and Parquet files with damaged bytes, odd cells, odd shapes and odd names.

A file that is read is fitted on; nothing may end in anything but an answer or one sentence.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl

from synafa import SynAFA
from synafa.errors import SynafaError
from synafa.table.reading import read_table, split_target
from tests.faults.campaign import one_sentence

CELLS = (
    "", " ", "NA", "nan", "inf", "-inf", "1e999", "1e-999", "-0", "0x10", "1_000", "1,5", "1.234,5", "1.2O", "true",
    "TRUE", "\0", "p\0", "\U0001f600", "\u202e", "ö", "''", '"', '""', '"a""b"', "a\nb", "a\r\nb", "\t", ";", "=1+1",
    "9" * 400,
    "-" * 50, "x" * 3000, "2020-01-01", "[1]", "{}", "None", "?", "\x1c", "\ufeff",
)  # fmt: skip
NAMES = ("", " ", "a", "a ", "y", "1", "\0", "ö", '"', "x" * 2000, "a,b", "\ufeffa", "nan", "__metadata__", "y ")


def attempt_cells(rng: np.random.Generator, folder: Path) -> str:
    """A CSV file of a few columns in which some cells, names or separators are odd."""
    return judge(cells_file(rng, folder))


def attempt_bytes(rng: np.random.Generator, folder: Path) -> str:
    """A good file of any format with damaged bytes."""
    return judge(bytes_file(rng, folder))


def cells_file(rng: np.random.Generator, folder: Path) -> Path:
    """A CSV file with odd cells."""
    n, d = int(rng.integers(0, 60)), int(rng.integers(1, 6))
    separator = str(rng.choice([",", ";", "\t", ",", "|"]))
    names = [f"c{j}" for j in range(d)] + ["y"]
    for _ in range(rng.integers(0, 3)):
        names[rng.integers(len(names))] = NAMES[rng.integers(len(NAMES))]
    rows = [[f"{value:.3g}" for value in rng.normal(size=d)] + [str(rng.integers(0, 3))] for _ in range(n)]
    for _ in range(rng.integers(0, 8)):
        if rows:
            row = rows[rng.integers(len(rows))]
            if row:
                row[rng.integers(len(row))] = CELLS[rng.integers(len(CELLS))]
            if rng.random() < 0.1:
                row.extend(["1"] * int(rng.integers(1, 3)))
            if rng.random() < 0.1 and row:
                row.pop()
    end = str(rng.choice(["\n", "\r\n", "\n", "\r"]))
    text = end.join(separator.join(row) for row in [names, *rows]) + (end if rng.random() < 0.8 else "")
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    path = folder / "t.csv"
    path.write_bytes(text.encode(encoding, "replace"))
    return path


def bytes_file(rng: np.random.Generator, folder: Path) -> Path:
    """A file of any format with damaged bytes."""
    n = 200
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "t": rng.choice(["x", "y", "z"], n).tolist(),
            "b": rng.integers(0, 2, n) == 1,
            "gap": [None if rng.random() < 0.3 else float(v) for v in rng.normal(size=n)],
            "y": rng.integers(0, 2, n),
        }
    )
    kind = int(rng.integers(4))
    path = folder / ("t.csv", "t.csv.gz", "t.parquet", "t.parquet")[kind]
    if kind < 2:
        data = table.write_csv().encode()
        data = gzip.compress(data) if kind else data
    else:
        table.write_parquet(path, compression=str(rng.choice(["zstd", "snappy", "uncompressed", "gzip", "lz4"])))
        data = path.read_bytes()
    path.write_bytes(damaged(rng, data))
    return path


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Cut, flipped, doubled, filled or replaced bytes."""
    changed = bytearray(data)
    change = rng.integers(6)
    at = int(rng.integers(max(len(changed), 1)))
    if change == 0:
        del changed[at:]
    elif change == 1:
        for _ in range(rng.integers(1, 30)):
            changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    elif change == 2:
        changed[at:at] = rng.bytes(rng.integers(1, 200))
    elif change == 3:
        changed[at : at + 50] = bytes([int(rng.integers(256))]) * 50
    elif change == 4:
        del changed[at : at + int(rng.integers(1, 200))]
    else:  # near the end, where Parquet keeps what it says about itself
        for _ in range(rng.integers(1, 6)):
            changed[-int(rng.integers(1, min(len(changed), 600)))] = int(rng.integers(256))
    return bytes(changed)


def judge(path: Path) -> str:
    """`refused` in one sentence at any stage, or `fitted`."""
    try:
        table = read_table(path, tell=lambda notice: one_sentence(notice.text, most=20_000), max_bytes=2**28)
        target = "y" if "y" in table.columns else table.columns[-1]
        features, labels = split_target(table, target)
        policy = SynAFA(budget=2).fit(features, labels)
        assert np.isfinite(policy.rule_.single).all()
        policy.next_feature()
        policy.acquire(features)
    except SynafaError as error:
        one_sentence(str(error), most=20_000)  # names of thousands of characters are repeated whole
        return "refused"
    return "fitted"
